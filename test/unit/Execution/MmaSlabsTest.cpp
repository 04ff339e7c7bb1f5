//===- MmaSlabsTest.cpp - rows of different bits on tensor cores ----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaLayer.h"
#include "decant/Reference/ReferenceRun.h"

#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

class MmaSlabs : public testing::TestWithParam<MmaCase> {
protected:
  DecodeSpec spec(const std::vector<std::string> &more = {}) const {
    std::vector<std::string> overrides = {
        "state.plan=" + slabPlan(3, GetParam().key), "heads.key=3",
        "heads.value=3", "window.compensator_type=int8",
        "window.compensator_rounds=2"};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return GetParam().spec(overrides);
  }
};

// The judge of MmaFormatsTest: the codec rounds every row to its own bits.
TEST_P(MmaSlabs, CostWhatTheFormatCosts) {
  const MmaCase &test = GetParam();
  Layer layer = mmaLayer(spec(), inOrder(rowsFor(test)), test.record());
  const int tokens = 2 * test.window + 1;
  expectFormatCosts(runFormat(layer, spec(), tokens), spec(), tokens);
}

// A fold at the end of a step is a function of its own, which is told its head.
INSTANTIATE_TEST_SUITE_P(
    Grid, MmaSlabs,
    testing::Values(MmaCase{"gated_delta", "smooth_key_value", 2, 3, 64, 64},
                    MmaCase{"kda", "smooth_key_value", 0, 4, 48, 32}),
    [](const auto &info) { return info.param.name(); });

// Lanes of a transfer share bytes: many lanes leave what one does.
TEST(MmaSlabsTransfer, IsTheSameFromManyLanes) {
  const MmaCase test{"gated_delta", "smooth_key_value", 2, 2, 64, 32};
  const DecodeSpec spec = test.spec(
      {"state.plan=" + slabPlan(2, 64), "heads.key=2", "heads.value=2"});
  Layer one(spec, inOrder(1), Kernels::All, sharedEngine(),
            CodeOrder::Fragments);
  Schedule lanes;
  lanes.keyLanes = 16;
  lanes.keysPerLane = 4;
  lanes.valueLanes = 2;
  lanes.valuesPerLane = 16;
  lanes.rows = RowLoop::Unrolled;
  Layer many(spec, inOrder(1), lanes, CodeOrder::Fragments, Kernels::All);
  std::vector<double> states;
  for (int i = 0; i < 2 * 64 * 32; ++i)
    states.push_back(float(((i * 37) % 101 - 50) * 0.03125));
  one.pack(states);
  many.pack(states);
  EXPECT_TRUE(one.pool() == many.pool());
  EXPECT_LE(relativeError(many.unpack(), one.unpack()), 0.0);
}

} // namespace
