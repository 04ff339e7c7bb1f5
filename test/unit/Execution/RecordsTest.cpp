//===- RecordsTest.cpp - what the tokens of a window are kept in ----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

class Records
    : public testing::TestWithParam<std::tuple<const char *, const char *>> {};

// With f32 codes, records are all that rounds. Each record rounds a key and a
// value; a vector of decays is kept in 16 bits as well, and those of up to 7
// later tokens multiply a record: 9 roundings, independent.
TEST_P(Records, RoundAsTheirTypeDoes) {
  const auto [rule, type] = GetParam();
  const DecodeSpec spec =
      makeSpec({fmt::format("rule={}", rule), "window.length=8",
                fmt::format("window.records={}", type), "heads.key_dim=64",
                "heads.value_dim=64"});
  const FormatErrors errors = runFormat(spec, 2, 15);
  EXPECT_TRUE(errors.finite);
  const bool isF32 = std::string(type) == "f32";
  const double step = isF32                        ? kF32Bound
                      : std::string(type) == "f16" ? kF16Norm
                                                   : kBf16Norm;
  const bool scalarDecay = std::string(rule) == "gated_delta";
  EXPECT_LE(errors.kernel, (scalarDecay || isF32 ? std::sqrt(2) : 3) * step);
  EXPECT_LE(errors.output, (scalarDecay || isF32 ? std::sqrt(2) : 3) * step);
  if (isF32)
    return;
  EXPECT_GT(errors.kernel, step / 4);
  // The oracle rounds keys and values, but not decays.
  if (scalarDecay) {
    EXPECT_LE(errors.ratio(), 1.02);
    EXPECT_GE(errors.ratio(), 1 / 1.02);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Records,
                         testing::Combine(testing::Values("gated_delta", "kda"),
                                          testing::Values("f32", "f16",
                                                          "bf16")));

// Numbers beyond f16 saturate: an infinity would stay in the state for good.
TEST(F16, SaturatesInCodesAndRecords) {
  for (int window : {1, 3}) {
    const DecodeSpec spec = makeSpec({"state.codes=f16", "window.records=f16",
                                      "window.compensators=1",
                                      fmt::format("window.length={}", window)});
    Layer layer(spec, inOrder(1));
    Oracle oracle(spec, layer.layout(), 1);
    for (int token = 0; token < 7; ++token) {
      Token inputs = makeToken(oracle, token);
      for (double &x : inputs["v"])
        x *= 1e7;
      EXPECT_TRUE(allFinite(layer.step(inputs))) << token;
      EXPECT_TRUE(allFinite(layer.states())) << token;
    }
  }
}

} // namespace
