//===- MmaBytesTest.cpp - compensators of bytes on tensor cores -----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compensators that are codes under a scale of their own, of several rounds, of
// ranks that a factor in registers has not, and in windows that are longer than
// a warp: what the decant presets have. The judge is that of MmaFormatsTest.
//
//===----------------------------------------------------------------------===//

#include "MmaLayer.h"

#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

struct BytesCase {
  MmaCase layer;
  const char *type;
  int rounds;
};

void PrintTo(const BytesCase &test, std::ostream *out) {
  *out << test.layer.name() << "_" << test.type << "_" << test.rounds;
}

class MmaBytes : public testing::TestWithParam<BytesCase> {};

TEST_P(MmaBytes, CostWhatTheFormatCosts) {
  const MmaCase &test = GetParam().layer;
  const DecodeSpec spec = test.spec(
      {std::string("window.compensator_type=") + GetParam().type,
       "window.compensator_rounds=" + std::to_string(GetParam().rounds)});
  Layer layer = mmaLayer(spec, inOrder(rowsFor(test)), test.record());
  const int tokens = test.window == 1 ? 6 : 2 * test.window + 1;
  expectFormatCosts(runFormat(layer, spec, tokens), spec, tokens);
}

INSTANTIATE_TEST_SUITE_P(
    Grid, MmaBytes,
    testing::Values(
        BytesCase{
            {"gated_delta", "smooth_key_value", 4, 64, 32, 32}, "int8", 2},
        BytesCase{{"kda", "smooth_key_value", 2, 33, 32, 32}, "int8", 2},
        BytesCase{
            {"gated_delta", "smooth_key_value", 16, 4, 32, 32}, "int8", 2},
        BytesCase{{"kda", "int4", 4, 4, 48, 32}, "e4m3", 3},
        BytesCase{{"gated_delta", "int4", 3, 1, 48, 32}, "int8", 1}),
    [](const auto &info) { return testing::PrintToString(info.param); });

} // namespace
