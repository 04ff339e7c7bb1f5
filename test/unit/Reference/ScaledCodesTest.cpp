//===- ScaledCodesTest.cpp - codes times scales ---------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scales of heads and groups and the codes under them, against numbers worked
// out by hand and against the formats' definitions element by element.
//
//===----------------------------------------------------------------------===//
#include "TestSpecs.h"
#include "decant/Core/CodeStore.h"
#include "decant/Core/Numeric.h"
#include "decant/Reference/Codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using namespace decant;
using namespace decant::test;

namespace {

using E = ElementType;
constexpr ScaleFit kMax = ScaleFit::AbsMax;

struct Head {
  SlotLayout layout;
  std::vector<uint8_t> bytes;

  Head(int keyDim, int valueDim, E codes, std::vector<ScaleSpec> scales)
      : layout(
            makeSlotLayout(makeSpec(keyDim, valueDim, codes, std::move(scales)),
                           scalarDecay())),
        bytes(layout.headBytes, 0xa5) {}
  std::vector<double> through(const std::vector<double> &state) {
    encodeHead(layout, state.data(), bytes.data());
    return decodeHead(layout, bytes.data());
  }
  double get(const Region &region, int64_t index) const {
    return loadElement(region.type, bytes.data() + region.offset +
                                        index * elementBytes(region.type));
  }
  double code(int k, int v) const {
    return loadCode(layout, bytes.data(), k, v);
  }
};

std::vector<double> noise(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> state;
  for (int i = 0; i < count; ++i)
    state.push_back(normal(random) * std::exp(normal(random)));
  return state;
}

TEST(ScaledCodes, OneScaleForAHead) {
  std::vector<double> state(16 * 16);
  state[0] = -254;
  state[17] = 3;
  Head head(16, 16, E::I8, {{Axis::Head, kMax, E::F32}});
  const std::vector<double> decoded = head.through(state);
  EXPECT_EQ(head.get(head.layout.headScale, 0), 2);
  EXPECT_EQ(decoded[0], -254);
  EXPECT_EQ(decoded[17], 4); // 1.5 steps, to even
  EXPECT_EQ(head.layout.stateBytesPerHead(), 256 + 4);
}

// One column: |E| of 0.75 .. 8 in keys 0 .. 15, less than 2^-6 below them.
TEST(ScaledCodes, MicroscalingByHand) {
  std::vector<double> state(64 * 16);
  state[0 * 16] = 13; // 2^3 <= 13 < 2^4, over 2^2: the scale is 2
  state[1 * 16] = 2.4;
  state[2 * 16] = -9;   // 4.5 steps: e2m1 has 4 and 6
  state[32 * 16] = 0.3; // 2^-2 <= 0.3: 2^-4
  Head head(64, 16, E::E2M1, {{Axis::Value, kMax, E::E8M0, 32}});
  const std::vector<double> decoded = head.through(state);
  EXPECT_EQ(head.layout.groupScale.count, 2);
  EXPECT_EQ(head.layout.groupScale.width, 16);
  EXPECT_EQ(head.get(head.layout.groupScale, 0), 2);
  EXPECT_EQ(head.get(head.layout.groupScale, 16), 0.0625);
  EXPECT_EQ(head.get(head.layout.groupScale, 1), 0); // a group of zeros
  EXPECT_EQ(decoded[0], 12);                         // 6.5 saturates at 6
  EXPECT_EQ(decoded[1 * 16], 2);
  EXPECT_EQ(decoded[2 * 16], -8);
  EXPECT_EQ(decoded[32 * 16], 0.25);
}

// The head's scale maps its largest element to 448 x 6, so the largest group
// has the largest e4m3 for a scale.
TEST(ScaledCodes, Nvfp4ByHand) {
  std::vector<double> state(16 * 32);
  state[0] = 2688; // 448 x 6
  state[1] = 900;
  state[20] = -3;
  Head head(16, 32, E::E2M1,
            {{Axis::Head, kMax, E::F32}, {Axis::Key, kMax, E::E4M3, 16}});
  const std::vector<double> decoded = head.through(state);
  EXPECT_EQ(head.get(head.layout.headScale, 0), 1);
  EXPECT_EQ(head.get(head.layout.groupScale, 0), 448);
  EXPECT_EQ(head.get(head.layout.groupScale, 1), 0.5);
  EXPECT_EQ(decoded[0], 2688);
  EXPECT_EQ(decoded[1], 896); // 2.009 steps of 448
  EXPECT_EQ(decoded[20], -3);
}

TEST(ScaledCodes, MinMaxReachesBothEnds) {
  std::vector<double> state(16 * 16);
  for (int k = 0; k < 16; ++k)
    for (int v = 0; v < 16; ++v)
      state[k * 16 + v] = 10 + v + k; // column v: 10 + v .. 25 + v
  Head head(16, 16, E::I4, {{Axis::Value, ScaleFit::MinMax, E::F32}});
  const std::vector<double> decoded = head.through(state);
  for (int v = 0; v < 16; ++v) {
    EXPECT_EQ(head.get(head.layout.groupScale, v), 1);
    EXPECT_EQ(head.get(head.layout.groupOffset, v), 18 + v);
    EXPECT_EQ(head.code(0, v), -8);
    EXPECT_EQ(head.code(15, v), 7);
  }
  EXPECT_EQ(decoded, state);
}

// A line of equal elements has no range: all of it is offset.
TEST(ScaledCodes, MinMaxOfAConstant) {
  const std::vector<double> state(16 * 32, 0.75);
  Head head(16, 32, E::I8, {{Axis::Key, ScaleFit::MinMax, E::F16, 16}});
  EXPECT_EQ(head.through(state), state);
}

// Value 0 has |E| of 1, 4 and 1: the scale is 4 / 7, the codes are 2, 7 and
// 2, and (2 + 28 + 2) / (4 + 49 + 4) is the best scale for them.
TEST(ScaledCodes, LeastSquaresByHand) {
  std::vector<double> state(16 * 16);
  state[0] = 1;
  state[1 * 16] = -4;
  state[2 * 16] = 1;
  Head head(16, 16, E::I4, {{Axis::Value, ScaleFit::LeastSquares, E::F32}});
  const std::vector<double> decoded = head.through(state);
  const double scale = float(32.0 / 57);
  EXPECT_EQ(head.get(head.layout.valueScale, 0), scale);
  EXPECT_EQ(decoded[0], 2 * scale);
  EXPECT_EQ(decoded[1 * 16], -7 * scale);
  EXPECT_EQ(head.get(head.layout.valueScale, 1), 0);
}

// With the codes as they are, no other scale of a line is better.
TEST(ScaledCodes, LeastSquaresIsLeast) {
  const std::vector<double> state = noise(48 * 32, 5);
  Head head(48, 32, E::I6,
            {{Axis::Key, ScaleFit::SqrtMeanAbs, E::F16},
             {Axis::Value, ScaleFit::LeastSquares, E::F32}});
  head.through(state);
  // The codes that the scale was fitted to are those of absmax.
  Head before(48, 32, E::I6,
              {{Axis::Key, ScaleFit::SqrtMeanAbs, E::F16},
               {Axis::Value, kMax, E::F32}});
  before.through(state);
  auto error = [&](int v, double scale) {
    double sum = 0;
    for (int k = 0; k < 48; ++k) {
      const double y =
          before.code(k, v) * scale * before.get(before.layout.keyScale, k);
      sum += (state[k * 32 + v] - y) * (state[k * 32 + v] - y);
    }
    return sum;
  };
  for (int v = 0; v < 32; ++v) {
    const double scale = head.get(head.layout.valueScale, v);
    EXPECT_LE(error(v, scale), error(v, scale * 1.001)) << v;
    EXPECT_LE(error(v, scale), error(v, scale * 0.999)) << v;
  }
}

// One element of value 0, rotated: 16 equal ones, which codes hold exactly.
TEST(ScaledCodes, RotationSpreadsAnOutlier) {
  for (Rotation rotation : {Rotation::Value, Rotation::Key, Rotation::Both}) {
    DecodeSpec spec = makeSpec(16, 32, E::I8, {{Axis::Head, kMax, E::F32}});
    spec.state.rotation = rotation;
    const SlotLayout layout = makeSlotLayout(spec, scalarDecay());
    std::vector<double> state(16 * 32);
    state[3 * 32 + 20] = 2;
    std::vector<uint8_t> bytes(layout.headBytes);
    encodeHead(layout, state.data(), bytes.data());
    const bool keys = rotation != Rotation::Value;
    const bool values = rotation != Rotation::Key;
    for (int k = 0; k < 16; ++k)
      for (int v = 0; v < 32; ++v)
        ASSERT_EQ(std::fabs(loadCode(layout, bytes.data(), k, v)),
                  (keys || k == 3) && (values || v == 20) ? 127 : 0);
    const std::vector<double> decoded = decodeHead(layout, bytes.data());
    for (size_t i = 0; i < state.size(); ++i)
      ASSERT_NEAR(decoded[i], state[i], 1e-6); // the f32 scale
  }
}

// Per-row noise of any size has the error of the codebook: 0.00950 and 0.03455
// of its power for a normal distribution, which 128 x 128 samples meet to 3 %.
TEST(ScaledCodes, CodebooksHaveTheirErrorOnNormalRows) {
  std::mt19937 random(9);
  std::normal_distribution<double> normal;
  std::vector<double> state;
  for (int k = 0; k < 128; ++k)
    for (int v = 0; v < 128; ++v)
      state.push_back(normal(random) * std::exp2(k % 7));
  for (auto [type, expected] :
       {std::pair(E::L4, 0.00950), std::pair(E::L3, 0.03455)}) {
    Head head(128, 128, type, {{Axis::Key, ScaleFit::RootMeanSquare, E::F16}});
    const std::vector<double> decoded = head.through(state);
    double error = 0, power = 0;
    for (size_t i = 0; i < state.size(); ++i) {
      const double size = std::exp2(double(i / 128 % 7));
      error += std::pow((decoded[i] - state[i]) / size, 2);
      power += std::pow(state[i] / size, 2);
    }
    EXPECT_NEAR(error / power, expected, 0.05 * expected) << toString(type);
  }
}

struct Choice {
  E codes;
  std::vector<ScaleSpec> scales;
};
const Choice kChoices[] = {
    {E::I8, {{Axis::Head, kMax, E::BF16}}},
    {E::I6, {{Axis::Key, kMax, E::F16, 16}}},
    {E::I4, {{Axis::Value, kMax, E::F32, 64}}},
    {E::I4,
     {{Axis::Key, ScaleFit::SqrtMeanAbs, E::F16},
      {Axis::Value, kMax, E::E8M0, 32}}},
    {E::I8, {{Axis::Key, ScaleFit::MinMax, E::F16, 32}}},
    {E::I3, {{Axis::Value, ScaleFit::MinMax, E::BF16}}},
    {E::E4M3, {{Axis::Value, kMax, E::F32}}},
    {E::E5M2, {{Axis::Head, kMax, E::F32}}},
    {E::E4M3, {{Axis::Key, kMax, E::E8M0, 32}}},
    {E::E3M2, {{Axis::Value, kMax, E::E8M0, 32}}},
    {E::E2M3, {{Axis::Head, kMax, E::F32}, {Axis::Key, kMax, E::E4M3, 16}}},
    {E::E2M1, {{Axis::Head, kMax, E::F32}, {Axis::Value, kMax, E::E4M3, 16}}},
};

// What an element becomes, from the scales as they are stored: its nearest
// code. Dims that no block divides.
TEST(ScaledCodes, AreNearestUnderTheStoredScales) {
  const int keyDim = 40, valueDim = 72;
  const std::vector<double> state = noise(keyDim * valueDim, 3);
  for (const Choice &choice : kChoices) {
    Head head(keyDim, valueDim, choice.codes, choice.scales);
    const std::vector<double> decoded = head.through(state);
    const SlotLayout &layout = head.layout;
    auto or1 = [&](const Region &region, int64_t index) {
      return region.empty() ? 1.0 : head.get(region, index);
    };
    for (int k = 0; k < keyDim; ++k)
      for (int v = 0; v < valueDim; ++v) {
        const double outer = or1(layout.keyScale, k) *
                             or1(layout.valueScale, v) *
                             or1(layout.headScale, 0);
        const ScaleSpec &last = choice.scales.back();
        int64_t group = 0;
        if (isGrouped(last) && last.axis == Axis::Key)
          group =
              k * layout.groupScale.width + (last.block ? v / last.block : 0);
        else if (isGrouped(last))
          group = (last.block ? k / last.block : 0) * layout.paddedValue + v;
        const double scale = or1(layout.groupScale, group) * outer;
        const double offset = layout.groupOffset.empty()
                                  ? 0
                                  : head.get(layout.groupOffset, group) * outer;
        const double x = (state[k * valueDim + v] - offset) / scale;
        const double code =
            isInteger(choice.codes)
                ? toCode(choice.codes, x,
                         offset == 0 ? CodeRange::Symmetric : CodeRange::All)
                : roundTo(choice.codes, x);
        ASSERT_EQ(head.code(k, v), code) << toString(choice.codes);
        ASSERT_NEAR(decoded[k * valueDim + v], code * scale + offset,
                    1e-12 * std::fabs(code * scale + offset));
      }
    // Zero bytes are the zero state.
    head.bytes.assign(layout.headBytes, 0);
    for (double x : decodeHead(layout, head.bytes.data()))
      ASSERT_EQ(x, 0);
  }
}

/// A head whose plan is `tables`.
Head planned(E codes, std::vector<ScaleSpec> scales, PlanTables tables) {
  Head head(16, 16, E::I8, {{Axis::Value, kMax, E::F32}});
  DecodeSpec spec = makeSpec(16, 16, codes, std::move(scales));
  spec.state.tables = std::move(tables);
  head.layout = makeSlotLayout(spec, scalarDecay());
  head.bytes.assign(head.layout.headBytes, 0xa5);
  return head;
}

// One column from -1 to 3: scale 2, offset 1, levels at -1, -0.5, ..., 1.
TEST(ScaledCodes, LevelsOfAPlanByHand) {
  PlanTables tables;
  tables.levels = {-1, -0.5f, -0.25f, 0, 0.125f, 0.25f, 0.5f, 1};
  Head head = planned(E::T3, {{Axis::Value, ScaleFit::MinMax, E::F32}}, tables);
  std::vector<double> state(16 * 16);
  const double column[] = {-1, 3, 1.3, -0.3, 1.5, 1.25};
  for (int k = 0; k < 6; ++k)
    state[k * 16] = column[k];
  const std::vector<double> decoded = head.through(state);
  EXPECT_EQ(head.get(head.layout.groupScale, 0), 2);
  EXPECT_EQ(head.get(head.layout.groupOffset, 0), 1);
  EXPECT_EQ(decoded[0], -1);
  EXPECT_EQ(decoded[16], 3);
  EXPECT_EQ(decoded[32], 1.25); // 0.15 is nearest to 0.125
  EXPECT_EQ(decoded[48], 0);    // -0.65 to -0.5
  EXPECT_EQ(decoded[64], 1.5);
  EXPECT_EQ(decoded[80], 1.25);
}

// Static scales are neither fitted nor stored; codes go down to -128.
TEST(ScaledCodes, StaticScalesByHand) {
  PlanTables tables;
  tables.scales.assign(16, 0.5f);
  tables.scales[1] = 2;
  Head head = planned(E::I8, {{Axis::Key, ScaleFit::Static, E::F32}}, tables);
  std::vector<double> state(16 * 16, 3);
  state[0] = -200;
  state[1] = 200;
  const std::vector<double> decoded = head.through(state);
  EXPECT_EQ(decoded[0], -64);
  EXPECT_EQ(decoded[1], 63.5);
  EXPECT_EQ(decoded[2], 3);
  EXPECT_EQ(decoded[16], 4); // 1.5 steps of 2, to even
  EXPECT_EQ(head.layout.stateBytesPerHead(), 256);
}

// The norm of what is stored is the norm of what was to be stored, and the
// codes are those of the scale without that.
TEST(ScaledCodes, KeptNormsAreKept) {
  const std::vector<double> state = noise(64 * 64, 8);
  for (Axis axis : {Axis::Key, Axis::Value}) {
    Head plain(64, 64, E::L3, {{axis, ScaleFit::RootMeanSquare, E::F32}});
    Head kept(64, 64, E::L3, {{axis, ScaleFit::KeptNorm, E::F32}});
    const std::vector<double> before = plain.through(state);
    const std::vector<double> after = kept.through(state);
    for (int line = 0; line < 64; ++line) {
      double given = 0, stored = 0, other = 0;
      for (int i = 0; i < 64; ++i) {
        const int at = axis == Axis::Key ? line * 64 + i : i * 64 + line;
        given += state[at] * state[at];
        stored += after[at] * after[at];
        other += before[at] * before[at];
        ASSERT_EQ(plain.code(at / 64, at % 64), kept.code(at / 64, at % 64));
      }
      EXPECT_NEAR(stored, given, 1e-6 * given); // a scale in f32
      EXPECT_GT(std::fabs(other - given), 1e-4 * given);
    }
  }
}

// A row that weighs 16 times as much has a quarter of the scale, and a column's
// scale is refitted to it 256 times as much.
TEST(ScaledCodes, WeightsOfRowsCount) {
  PlanTables tables;
  tables.weights.assign(16, 1);
  tables.weights[0] = 16;
  const std::vector<ScaleSpec> scales = {
      {Axis::Key, ScaleFit::SqrtMeanAbs, E::F32},
      {Axis::Value, ScaleFit::LeastSquares, E::F32}};
  Head even(16, 16, E::I4, scales);
  Head weighed = planned(E::I4, scales, tables);
  const std::vector<double> state = noise(16 * 16, 12);
  const std::vector<double> a = even.through(state);
  const std::vector<double> b = weighed.through(state);
  EXPECT_FLOAT_EQ(float(weighed.get(weighed.layout.keyScale, 0)),
                  float(even.get(even.layout.keyScale, 0) / 4));
  EXPECT_EQ(weighed.get(weighed.layout.keyScale, 1),
            even.get(even.layout.keyScale, 1));
  for (int v = 0; v < 16; ++v) {
    double ax = 0, aa = 0;
    const double column = weighed.get(weighed.layout.valueScale, v);
    // The codes of the refitted scale are nearly those that it was fitted to:
    // the best scale for them is within a step of it.
    for (int k = 0; k < 16; ++k) {
      const double weight = k == 0 ? 256 : 1;
      const double part = b[k * 16 + v] / column;
      ax += weight * part * state[k * 16 + v];
      aa += weight * part * part;
    }
    EXPECT_NEAR(ax / aa, column, 0.1 * column);
  }
  auto errorOfRow0 = [&](const std::vector<double> &decoded) {
    double sum = 0;
    for (int v = 0; v < 16; ++v)
      sum += std::pow(decoded[v] - state[v], 2);
    return sum;
  };
  EXPECT_LT(errorOfRow0(b), 0.5 * errorOfRow0(a));
}

// A pivot takes no part in the scales of others, and theirs none in it.
TEST(ScaledCodes, PivotsStandAside) {
  DecodeSpec spec = makeSpec(16, 16, E::I8, leapQuantScales());
  spec.state.bits.widths.assign(16, 8);
  spec.state.bits.widths[5] = kPivotBits;
  const SlotLayout layout = makeSlotLayout(spec, scalarDecay()).ofHead(0);
  std::vector<uint8_t> bytes(layout.headBytes, 0xa5);
  std::vector<double> state = noise(16 * 16, 4);
  for (int v = 0; v < 16; ++v)
    state[5 * 16 + v] = 1000.3 * (v - 7);
  for (int k = 0; k < 16; ++k)
    if (k != 5)
      state[k * 16 + 3] = 0; // a column of nothing but the pivot
  encodeHead(layout, state.data(), bytes.data());
  const std::vector<double> decoded = decodeHead(layout, bytes.data());
  for (int k = 0; k < 16; ++k)
    for (int v = 0; v < 16; ++v)
      if (k == 5)
        EXPECT_EQ(decoded[k * 16 + v], roundTo(E::F16, state[k * 16 + v]));
      else
        EXPECT_NEAR(decoded[k * 16 + v], state[k * 16 + v], 0.2);
}

} // namespace
