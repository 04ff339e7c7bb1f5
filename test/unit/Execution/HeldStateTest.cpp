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
// float64.) In columns it computes the bits of rows.
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"

#include <cstring>
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

/// Whether headers, up to the order, and cursors have the same bytes.
bool countAlike(Layer &a, Layer &b) {
  const SlotLayout &layout = a.layout();
  bool same = true;
  for (int32_t row = 0; row < a.rows(); ++row) {
    const uint8_t *x = a.slot(row), *y = b.slot(row);
    same &= std::memcmp(x, y, 4 * kCodeOrderWord) == 0;
    for (int head = 0; head < layout.valueHeads; ++head) {
      const int64_t at =
          kSlotHeaderBytes + head * layout.headBytes + layout.cursor.offset;
      same &= std::memcmp(x + at, y + at, layout.cursor.bytes()) == 0;
    }
  }
  return same;
}

/// Tokens, transfers and cursors of two layers that differ in order and
/// schedule.
void expectTheSameStates(const DecodeSpec &spec, Layer &rows, Layer &columns) {
  ASSERT_EQ(columns.layout().codeOrder, CodeOrder::Columns);
  Oracle oracle(spec, rows.layout(), 3);
  auto expectSame = [&](int tokens) {
    for (int token = 0; token < tokens; ++token) {
      const Token input = makeToken(oracle, token);
      ASSERT_EQ(rows.step(input), columns.step(input)) << token;
    }
    EXPECT_EQ(rows.states(), columns.states());
    EXPECT_TRUE(countAlike(rows, columns));
    EXPECT_TRUE(columns.poolGapsIntact());
  };
  expectSame(4);
  const std::vector<double> dense = rows.unpack();
  EXPECT_EQ(dense, columns.unpack());
  rows.pack(dense);
  columns.pack(dense);
  EXPECT_EQ(dense, columns.unpack());
  expectSame(2);
}

class Columns : public HeldState {};

// Whole, and by the lanes of a GPU, in which keys come first.
TEST_P(Columns, HaveTheBitsOfRows) {
  Layer expected(spec(), inOrder(3), Kernels::All);
  Layer whole(spec(), inOrder(3), Kernels::All, sharedEngine(),
              CodeOrder::Columns);
  expectTheSameStates(spec(), expected, whole);
  Layer again(spec(), inOrder(3), Kernels::All);
  const Schedule lanes =
      defaultSchedule(whole.layout(), valueOf(lookupTarget("sm_90a")));
  ASSERT_EQ(lanes.threads(), 32);
  Layer held(spec(), inOrder(3), lanes, CodeOrder::Columns);
  expectTheSameStates(spec(), again, held);
}

INSTANTIATE_TEST_SUITE_P(All, Columns,
                         testing::Values(Case{"gated_delta", "f32", 128, 128},
                                         Case{"gated_delta", "bf16", 128, 40},
                                         Case{"gated_delta", "f16", 64, 48},
                                         Case{"gated_delta", "f32", 256, 20},
                                         Case{"gated_delta", "f32", 16, 16},
                                         Case{"kda", "f32", 128, 64},
                                         Case{"kda", "bf16", 256, 32},
                                         Case{"kda", "f16", 32, 16}));

// Other dims have no tree that all schedules share, and some lanes have no
// keys.
class ColumnsOfOtherDims : public HeldState {};

TEST_P(ColumnsOfOtherDims, FollowTheRule) {
  Layer one(spec(), inOrder(2), Kernels::Decode, sharedEngine(),
            CodeOrder::Columns);
  const Schedule schedule =
      defaultSchedule(one.layout(), valueOf(lookupTarget("sm_90a")));
  ASSERT_GT(schedule.keyLanes * schedule.keysPerLane, one.layout().paddedKey);
  Layer many(spec(), inOrder(2), schedule, CodeOrder::Columns);
  Oracle oracle(spec(), one.layout(), 2);
  const Errors errors = runBoth(many, oracle, 7);
  EXPECT_TRUE(errors.finite);
  EXPECT_LE(errors.output, kF32Bound);
  EXPECT_LE(errors.state, kF32Bound);
  // What a transfer has of it, on lanes of its own.
  const std::vector<double> dense = many.unpack();
  EXPECT_EQ(dense, many.states());
  many.pack(dense);
  EXPECT_EQ(dense, many.unpack());
}

INSTANTIATE_TEST_SUITE_P(All, ColumnsOfOtherDims,
                         testing::Values(Case{"gated_delta", "f32", 48, 72},
                                         Case{"gated_delta", "f32", 100, 96},
                                         Case{"gated_delta", "f32", 197, 20},
                                         Case{"kda", "f32", 72, 100},
                                         Case{"kda", "f32", 96, 48}));

} // namespace
