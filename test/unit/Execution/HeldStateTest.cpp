//===- HeldStateTest.cpp - states in registers, heads over blocks ---------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step that holds the state from its reads to its write, in blocks that share
// a head, computes the bits of one that reads it twice, whole: outputs, codes,
// cursors and headers. (FormatsTest and DimsTest compare the latter with
// float64.)
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

struct Case {
  const char *rule, *codes;
  int keyDim, valueDim;
};
void PrintTo(const Case &c, std::ostream *out) {
  *out << c.rule << " " << c.codes << " " << c.keyDim << " x " << c.valueDim;
}

class HeldState : public testing::TestWithParam<Case> {
protected:
  DecodeSpec spec() const {
    const Case &c = GetParam();
    return makeSpec({fmt::format("rule={}", c.rule),
                     fmt::format(R"(state={{"codes": "{}"}})", c.codes),
                     fmt::format("heads.key_dim={}", c.keyDim),
                     fmt::format("heads.value_dim={}", c.valueDim)});
  }

  /// One lane that holds at most 128 elements: all keys of a few columns.
  static Schedule schedule(const SlotLayout &layout) {
    Schedule schedule;
    schedule.rows = RowLoop::Unrolled;
    schedule.lanes = LaneOrder::ValueFirst;
    schedule.keysPerLane = layout.paddedKey;
    schedule.valuesPerLane = 8;
    while (schedule.valuesPerLane * schedule.keysPerLane > 128)
      schedule.valuesPerLane /= 2;
    schedule.split = layout.paddedValue / schedule.valuesPerLane;
    EXPECT_GT(schedule.split, 1);
    return schedule;
  }
};

/// What `schedule` computes against one lane that reads the state twice.
void expectTheBitsOfTwoPasses(const DecodeSpec &spec,
                              Schedule (*schedule)(const SlotLayout &)) {
  Layer whole(spec, inOrder(3), Kernels::All);
  const Schedule cut = schedule(whole.layout());
  ASSERT_TRUE(holdsState(cut, whole.layout()));
  Layer held(spec, inOrder(3), cut);
  Oracle oracle(spec, whole.layout(), 3);
  auto expectSame = [&](int tokens) {
    for (int token = 0; token < tokens; ++token) {
      const Token input = makeToken(oracle, token);
      ASSERT_EQ(whole.step(input), held.step(input)) << token;
    }
    EXPECT_TRUE(whole.pool() == held.pool());
    EXPECT_TRUE(held.poolGapsIntact());
  };
  expectSame(4);
  // Blocks that share a head also pack and unpack it.
  const std::vector<double> dense = whole.unpack();
  EXPECT_EQ(dense, held.unpack());
  whole.pack(dense);
  held.pack(dense);
  EXPECT_TRUE(whole.pool() == held.pool());
  expectSame(2);
}

TEST_P(HeldState, HasTheBitsOfTwoPasses) {
  expectTheBitsOfTwoPasses(spec(), schedule);
}

// Dims with padding, key dims that are no power of two, several parts a lane.
INSTANTIATE_TEST_SUITE_P(All, HeldState,
                         testing::Values(Case{"gated_delta", "f32", 32, 24},
                                         Case{"gated_delta", "f32", 128, 16},
                                         Case{"gated_delta", "f32", 20, 40},
                                         Case{"gated_delta", "bf16", 64, 32},
                                         Case{"gated_delta", "f16", 16, 48},
                                         Case{"kda", "f32", 64, 16},
                                         Case{"kda", "bf16", 40, 24},
                                         Case{"kda", "f16", 32, 64}));

// The lanes of a GPU, value lanes first, run by the host.
class HeldStateOfManyLanes : public HeldState {
protected:
  static Schedule gpuSchedule(const SlotLayout &layout) {
    return defaultSchedule(layout, valueOf(lookupTarget("sm_90a")));
  }
};

TEST_P(HeldStateOfManyLanes, HasTheBitsOfTwoPasses) {
  expectTheBitsOfTwoPasses(spec(), gpuSchedule);
}

INSTANTIATE_TEST_SUITE_P(All, HeldStateOfManyLanes,
                         testing::Values(Case{"gated_delta", "f32", 128, 128},
                                         Case{"gated_delta", "bf16", 128, 128},
                                         Case{"gated_delta", "f32", 64, 40},
                                         Case{"kda", "f32", 128, 64},
                                         Case{"kda", "f16", 32, 16}));

} // namespace
