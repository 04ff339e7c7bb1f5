//===- RoundingErrorTest.cpp - what rounding is expected to cost ----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// roundingError() sees bytes only; here the state that was rounded is known, so
// that the expectation meets what rounding did cost. The root of the sum of
// squares of N numbers that are uniform on [-1, 1] scatters by 0.45 / sqrt(N):
// 0.7 % for the 64 x 64 elements, four times as much where one row in eight, or
// one column in four, has most of the error. Three of those are allowed.
//
//===----------------------------------------------------------------------===//
#include "TestSpecs.h"
#include "decant/Core/Numeric.h"
#include "decant/Reference/Codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

using namespace decant;
using namespace decant::test;

namespace {

using E = ElementType;
constexpr ScaleFit kMax = ScaleFit::AbsMax;
constexpr int kDim = 64;
constexpr double kScatter = 3 * 4 * 0.007;

/// Rows differ in size.
std::vector<double> stateOf(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> state;
  for (int k = 0; k < kDim; ++k)
    for (int v = 0; v < kDim; ++v)
      state.push_back(normal(random) * std::exp2(k % 4));
  return state;
}

double distance(const std::vector<double> &a, const std::vector<double> &b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

/// What rounding is expected to cost beside what it did.
double ratioOf(const DecodeSpec &spec) {
  const SlotLayout layout = makeSlotLayout(spec, scalarDecay()).ofHead(0);
  const std::vector<double> state = stateOf(7);
  std::vector<uint8_t> bytes(layout.headBytes);
  encodeHead(layout, state.data(), bytes.data(), 3);
  return roundingError(layout, bytes.data()) /
         distance(decodeHead(layout, bytes.data()), state);
}

DecodeSpec specOf(E codes, std::vector<ScaleSpec> scales,
                  int compensators = 0) {
  return makeSpec(kDim, kDim, codes, std::move(scales), compensators,
                  compensators ? 16 : 1);
}

TEST(RoundingError, OfIntegersIsAStepOverTheRootOfTwelve) {
  for (const std::vector<ScaleSpec> &scales :
       {std::vector<ScaleSpec>{{Axis::Head, kMax, E::F32}},
        perValueChannel(),
        leapQuantScales(),
        {{Axis::Key, kMax, E::F16, 16}},
        {{Axis::Value, kMax, E::E8M0, 32}},
        {{Axis::Value, ScaleFit::MinMax, E::F16}}})
    for (E codes : {E::I8, E::I6, E::I4})
      EXPECT_NEAR(ratioOf(specOf(codes, scales)), 1, kScatter)
          << toString(codes) << " " << toString(scales.back().axis);
  for (int compensators : {1, 4})
    EXPECT_NEAR(ratioOf(specOf(E::I8, leapQuantScales(), compensators)), 1,
                kScatter);
}

// What is rounded to a power of two came from below it as often as from above,
// where steps are half as wide: its variance is 5/8 of what is expected. With 2
// or 3 fraction bits that is one code in four or eight, of the top binade,
// whose larger ones are rare, most of them: between none and all, sqrt(8 / 5)
// = 1.26.
TEST(RoundingError, OfFloatsIsThatOfTheirBinade) {
  for (E codes : {E::F32, E::F16, E::BF16})
    EXPECT_NEAR(ratioOf(specOf(codes, {})), 1, kScatter) << toString(codes);
  for (E codes : {E::E4M3, E::E2M3, E::E3M2, E::E2M1}) {
    const double ratio = ratioOf(specOf(codes, perValueChannel()));
    EXPECT_GT(ratio, 1 - kScatter) << toString(codes);
    EXPECT_LT(ratio, 1.26) << toString(codes);
  }
}

// Within a level's reach the distribution is not even, and beyond the last one
// it has no end.
TEST(RoundingError, OfLevelsIsHalfTheWayToTheNeighbours) {
  for (E codes : {E::L4, E::L3})
    EXPECT_NEAR(
        ratioOf(specOf(codes, {{Axis::Key, ScaleFit::RootMeanSquare, E::F16}})),
        1, 0.1)
        << toString(codes);
}

TEST(RoundingError, OfStochasticRoundingIsTwiceTheVariance) {
  DecodeSpec spec = specOf(E::I8, perValueChannel());
  spec.state.rounding = Rounding::Stochastic;
  EXPECT_NEAR(ratioOf(spec), 1, kScatter);
}

// Of a row of 2 bits most elements lie nearer to 0 than half a code.
TEST(RoundingError, OfRowsOfTheirOwnBits) {
  DecodeSpec spec = specOf(E::I8, leapQuantScales());
  for (int k = 0; k < kDim; ++k)
    spec.state.bits.widths.push_back(k % 8 == 5 ? kPivotBits : 2 + k % 7);
  EXPECT_NEAR(ratioOf(spec), 1, 0.1);
}

// A window of one token that wrote nothing: what is left of the codes is
// diag(P) C0, in rotated axes too, where P acts on what was rotated back.
TEST(RoundingError, DecaysWithTheWindow) {
  RecordShape record;
  record.keyDecay = DecayShape::Vector;
  for (Rotation rotation : {Rotation::None, Rotation::Key, Rotation::Both}) {
    DecodeSpec spec = specOf(E::I8, perValueChannel());
    spec.window.length = 16;
    spec.state.rotation = rotation;
    const SlotLayout layout = makeSlotLayout(spec, record);
    std::vector<uint8_t> bytes(layout.headBytes);
    std::vector<double> state = stateOf(8);
    encodeHead(layout, state.data(), bytes.data());
    const double before = roundingError(layout, bytes.data());
    for (int k = 0; k < kDim; ++k) {
      const double decay = std::exp2(-k % 8);
      storeElement(E::F32, decay, &bytes[layout.totalKeyDecay.offset + 4 * k]);
      for (int v = 0; v < kDim; ++v)
        state[k * kDim + v] *= decay;
    }
    const uint32_t fill = 1;
    std::memcpy(&bytes[layout.cursor.offset], &fill, sizeof(fill));
    const double after = roundingError(layout, bytes.data());
    EXPECT_NEAR(after / distance(decodeHead(layout, bytes.data()), state), 1,
                kScatter);
    EXPECT_LT(after, 0.5 * before);
  }
}

TEST(RoundingError, OfAnEmptySequenceIsNone) {
  const SlotLayout layout =
      makeSlotLayout(specOf(E::I8, leapQuantScales(), 4), scalarDecay());
  EXPECT_EQ(
      roundingError(layout, std::vector<uint8_t>(layout.headBytes).data()), 0);
}

} // namespace
