//===- CodecTest.cpp - what the bytes of a head mean ----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/Codec.h"

#include "decant/Core/CodeStore.h"

#include "TestSpecs.h"
#include "decant/Core/Numeric.h"
#include "decant/Reference/Compensator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

using namespace decant;
using namespace decant::test;

namespace {

using State = std::vector<double>;

/// Gaussian, with rows and columns of very different size.
State outlierState(int keyDim, int valueDim, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  State rows(keyDim), columns(valueDim), state;
  for (double &row : rows)
    row = std::exp(normal(random));
  for (double &column : columns)
    column = std::exp(normal(random));
  for (double row : rows)
    for (double column : columns)
      state.push_back(row * column * normal(random));
  return state;
}

State lowRankState(int keyDim, int valueDim, int rank, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  State state(keyDim * valueDim);
  for (int r = 0; r < rank; ++r) {
    State key(keyDim), value(valueDim);
    for (double &element : key)
      element = normal(random);
    for (double &element : value)
      element = normal(random);
    for (int k = 0; k < keyDim; ++k)
      for (int v = 0; v < valueDim; ++v)
        state[k * valueDim + v] += key[k] * value[v];
  }
  return state;
}

double largest(const State &state) {
  double result = 0;
  for (double element : state)
    result = std::max(result, std::fabs(element));
  return result;
}

double norm(const State &state) {
  double sum = 0;
  for (double element : state)
    sum += element * element;
  return std::sqrt(sum);
}

State difference(State a, const State &b) {
  for (size_t i = 0; i < a.size(); ++i)
    a[i] -= b[i];
  return a;
}

/// One head's bytes; starts as garbage, so that a byte which encodeHead()
/// should write and does not is seen.
struct Head {
  SlotLayout layout;
  std::vector<uint8_t> bytes;

  explicit Head(const DecodeSpec &spec,
                const RecordShape &record = scalarDecay(), uint8_t fill = 0xa5)
      : layout(makeSlotLayout(spec, record)), bytes(layout.headBytes, fill) {}

  void encode(const State &state) {
    encodeHead(layout, state.data(), bytes.data());
  }
  State decode() const { return decodeHead(layout, bytes.data()); }
  uint8_t *at(const Region &region, int64_t index) {
    return bytes.data() + region.offset + index * elementBytes(region.type);
  }
  double get(const Region &region, int64_t index) {
    return loadElement(region.type, at(region, index));
  }
  void set(const Region &region, int64_t index, double value) {
    storeElement(region.type, value, at(region, index));
  }
  void setFill(uint32_t fill) {
    std::memcpy(bytes.data() + layout.cursor.offset, &fill, sizeof(fill));
  }
};

TEST(Codec, FloatCodesRoundEachElement) {
  const State state = outlierState(48, 20, 1);
  for (ElementType type :
       {ElementType::F32, ElementType::F16, ElementType::BF16}) {
    Head head(makeSpec(48, 20, type, {}));
    head.encode(state);
    const State decoded = head.decode();
    for (size_t i = 0; i < state.size(); ++i)
      ASSERT_EQ(decoded[i], roundTo(type, state[i])) << toString(type);
  }
}

TEST(Codec, HalfCodesSaturate) {
  State state(16 * 16);
  state[5] = 1e6;
  state[6] = -1e6;
  Head head(makeSpec(16, 16, ElementType::F16, {}));
  head.encode(state);
  EXPECT_EQ(head.decode()[5], 65504);
  EXPECT_EQ(head.decode()[6], -65504);
}

class IntegerCodes : public testing::TestWithParam<ElementType> {};
INSTANTIATE_TEST_SUITE_P(All, IntegerCodes,
                         testing::Values(ElementType::I8, ElementType::I6,
                                         ElementType::I4, ElementType::I3,
                                         ElementType::I2),
                         [](const auto &info) { return toString(info.param); });

TEST_P(IntegerCodes, AreWithinHalfAStepWhateverTheScales) {
  const ScaleSpec keyMax = {Axis::Key, ScaleFit::AbsMax, ElementType::F32};
  const ScaleSpec valueMax = {Axis::Value, ScaleFit::AbsMax, ElementType::F32};
  const std::vector<std::vector<ScaleSpec>> choices = {{keyMax},
                                                       {valueMax},
                                                       {keyMax, valueMax},
                                                       {valueMax, keyMax},
                                                       leapQuantScales()};
  const State state = outlierState(100, 72, 2);
  for (const std::vector<ScaleSpec> &scales : choices) {
    Head head(makeSpec(100, 72, GetParam(), scales));
    head.encode(state);
    const State decoded = head.decode();
    for (int k = 0; k < 100; ++k)
      for (int v = 0; v < 72; ++v) {
        const Region &keys = head.layout.keyScale;
        const Region &values = head.layout.valueScale;
        const double step = (keys.empty() ? 1 : head.get(keys, k)) *
                            (values.empty() ? 1 : head.get(values, v));
        // An absmax scale is rounded to f32, which may put the largest element
        // 2^-24 beyond the largest code.
        ASSERT_LE(std::fabs(decoded[k * 72 + v] - state[k * 72 + v]),
                  step * (0.5 + maxCode(GetParam()) * std::ldexp(1, -24)));
      }
  }
}

TEST_P(IntegerCodes, UseTheirWholeRangeUnderAnAbsMaxScale) {
  const State state = outlierState(64, 32, 3);
  Head head(makeSpec(64, 32, GetParam(), leapQuantScales()));
  head.encode(state);
  for (int v = 0; v < 32; ++v) {
    double most = 0;
    for (int k = 0; k < 64; ++k)
      most = std::max(
          most, std::fabs(loadCode(head.layout, head.bytes.data(), k, v)));
    EXPECT_EQ(most, maxCode(GetParam())) << "column " << v;
  }
}

TEST(Codec, KeyScaleIsTheRootOfTheMean) {
  State state(16 * 16);
  for (int v = 0; v < 16; ++v)
    state[3 * 16 + v] = v % 2 ? -9 : 9;
  Head head(makeSpec(16, 16, ElementType::I8, leapQuantScales()));
  head.encode(state);
  EXPECT_EQ(head.get(head.layout.keyScale, 3), 3);
  EXPECT_EQ(head.get(head.layout.keyScale, 2), double(1e-12f));
  // |E| / 3 is 3 everywhere in row 3, 0 elsewhere.
  EXPECT_EQ(head.get(head.layout.valueScale, 0), double(float(3.0 / 127)));
}

TEST(Codec, HalfScalesAreUsedAsStored) {
  std::vector<ScaleSpec> scales = leapQuantScales();
  scales[0].type = scales[1].type = ElementType::F16;
  const State state = outlierState(32, 32, 4);
  Head head(makeSpec(32, 32, ElementType::I8, scales));
  head.encode(state);
  const auto keyScale = [&](int k) {
    return head.get(head.layout.keyScale, k);
  };
  for (int v = 0; v < 32; ++v) {
    const double valueScale = head.get(head.layout.valueScale, v);
    double most = 0;
    for (int k = 0; k < 32; ++k) {
      const double element = state[k * 32 + v];
      most = std::max(most, std::fabs(element / keyScale(k)));
      const double code = std::nearbyint(element / (keyScale(k) * valueScale));
      ASSERT_EQ(head.get(head.layout.codes, k * 32 + v),
                std::min(127.0, std::max(-127.0, code)));
    }
    // The value scale was fitted to what the stored key scale left.
    EXPECT_EQ(valueScale, roundTo(ElementType::F16, most / 127));
  }
}

TEST(Codec, PaddingIsZero) {
  Head head(leapQuantInt8(20, 18));
  ASSERT_EQ(head.layout.paddedKey, 24);
  ASSERT_EQ(head.layout.paddedValue, 32);
  head.encode(outlierState(20, 18, 5));
  for (int k = 0; k < 24; ++k)
    for (int v = 0; v < 32; ++v)
      if (k >= 20 || v >= 18)
        ASSERT_EQ(head.get(head.layout.codes, k * 32 + v), 0);
  for (int r = 0; r < 4; ++r) {
    for (int k = 20; k < 24; ++k)
      EXPECT_EQ(head.get(head.layout.compKeys, r * 24 + k), 0);
    for (int v = 18; v < 32; ++v)
      EXPECT_EQ(head.get(head.layout.compValues, r * 32 + v), 0);
  }
  for (int k = 20; k < 24; ++k)
    EXPECT_EQ(head.get(head.layout.keyScale, k), 0);
  for (int v = 18; v < 32; ++v)
    EXPECT_EQ(head.get(head.layout.valueScale, v), 0);
}

TEST_P(IntegerCodes, AreTheSameInFragments) {
  const DecodeSpec spec = makeSpec(20, 18, GetParam(), leapQuantScales());
  const State state = outlierState(20, 18, 5);
  Head rows(spec);
  rows.encode(state);
  Head tiles(spec);
  tiles.layout = makeSlotLayout(spec, scalarDecay(), CodeOrder::Fragments);
  tiles.bytes.assign(tiles.layout.headBytes, 0xa5);
  tiles.encode(state);
  EXPECT_EQ(rows.decode(), tiles.decode());
  for (int k = 0; k < tiles.layout.paddedKey; ++k)
    for (int v = 0; v < tiles.layout.paddedValue; ++v)
      if (k >= 20 || v >= 18)
        ASSERT_EQ(loadCode(tiles.layout, tiles.bytes.data(), k, v), 0);
  // Zero bytes are the lowest code under scales of zero.
  tiles.bytes.assign(tiles.layout.headBytes, 0);
  EXPECT_EQ(largest(tiles.decode()), 0);
}

TEST(Codec, ZeroBytesAreTheZeroState) {
  Head head(leapQuantInt8(32, 48), scalarDecay(), 0);
  EXPECT_EQ(largest(head.decode()), 0);
}

TEST(Codec, ZeroStateIsExact) {
  Head head(leapQuantInt8(32, 48));
  head.encode(State(32 * 48));
  EXPECT_EQ(largest(head.decode()), 0);
}

TEST(Codec, EmptiesTheWindowAndKeepsTheRecords) {
  Head head(leapQuantInt8(32, 32));
  const std::vector<uint8_t> before = head.bytes;
  head.setFill(7);
  head.encode(outlierState(32, 32, 6));
  uint32_t fill;
  std::memcpy(&fill, head.bytes.data() + head.layout.cursor.offset, 4);
  EXPECT_EQ(fill, 0u);
  const int64_t records = head.layout.cursor.offset + 4;
  EXPECT_TRUE(std::equal(before.begin() + records, before.end(),
                         head.bytes.begin() + records));
}

TEST(Codec, StatesOfLowRankLeaveNothingForTheCodes) {
  // Whatever the compensators take is rounded to f16, on both factors: 2^-11
  // each, relative to the term. The codes then hold that rounding error with
  // half a step of 1/127, so the state is far more exact than either alone.
  for (int rank : {0, 1, 2, 3, 4}) {
    const State state = lowRankState(128, 128, rank, 10 + rank);
    Head head(leapQuantInt8(128, 128));
    head.encode(state);
    const double error = norm(difference(head.decode(), state));
    EXPECT_LE(error, norm(state) * 2 * std::ldexp(1, -11) / 127 * 4) << rank;
  }
}

TEST(Codec, SurplusCompensatorsAreZero) {
  for (int rank : {0, 1, 3}) {
    Head head(leapQuantInt8(64, 48));
    head.encode(lowRankState(64, 48, rank, 20 + rank));
    const auto size = [&](const Region &region, int row) {
      double result = 0;
      for (int64_t i = 0; i < region.width; ++i)
        result = std::max(result,
                          std::fabs(head.get(region, row * region.width + i)));
      return result;
    };
    for (int r = 0; r < 4; ++r) {
      EXPECT_EQ(size(head.layout.compKeys, r) > 0, r < rank)
          << "term " << r << " of rank " << rank;
      EXPECT_EQ(size(head.layout.compValues, r) > 0, r < rank)
          << "term " << r << " of rank " << rank;
    }
  }
}

/// int4 codes with key smoothing, and compensators of `type`.
DecodeSpec withCompensators(ElementType type, int count, int rounds = 1) {
  DecodeSpec spec =
      makeSpec(64, 48, ElementType::I4, leapQuantScales(), count, 16);
  spec.window.compensatorType = type;
  spec.window.compensatorRounds = rounds;
  return spec;
}

// A vector's largest element is the largest code, and the scale that both share
// is the product of the two maxima over 127^2.
TEST(Codec, IntegerCompensatorsHaveOneScale) {
  const State state = outlierState(64, 48, 7);
  Head head(withCompensators(ElementType::I8, 5));
  head.encode(state);
  const Compensators fit = fitCompensators(state.data(), 64, 48, 5);
  for (int r = 0; r < 5; ++r) {
    auto most = [&](const State &vectors, int length) {
      double result = 0;
      for (int i = 0; i < length; ++i)
        result = std::max(result, std::fabs(vectors[r * length + i]));
      return result;
    };
    const double key = most(fit.keys, 64) / 127;
    const double value = most(fit.values, 48) / 127;
    EXPECT_EQ(head.get(head.layout.compScale, r),
              roundTo(ElementType::F32, key * value));
    for (int k = 0; k < 64; ++k)
      EXPECT_EQ(head.get(head.layout.compKeys, r * 64 + k),
                std::nearbyint(fit.keys[r * 64 + k] / key));
    for (int v = 0; v < 48; ++v)
      EXPECT_EQ(head.get(head.layout.compValues, r * 48 + v),
                std::nearbyint(fit.values[r * 48 + v] / value));
  }
}

// Codes hold what rounding the compensators leaves: an int4 scale then covers
// at most half a step of each vector more, 1/254 of the term's largest element.
TEST(Codec, RoundedCompensatorsLeaveTheRestToTheCodes) {
  const State state = outlierState(64, 48, 8);
  const auto error = [&](ElementType type) {
    Head head(withCompensators(type, 4));
    head.encode(state);
    return norm(difference(head.decode(), state));
  };
  const double best = error(ElementType::F16);
  EXPECT_LE(error(ElementType::I8), 1.1 * best);
  EXPECT_LE(error(ElementType::BF16), 1.1 * best);
}

// An integer term costs its codes and four bytes.
TEST(Codec, IntegerCompensatorsTakeHalfTheBytes) {
  DecodeSpec spec = makeSpec(128, 128, ElementType::I4, leapQuantScales(), 8);
  EXPECT_EQ(makeSlotLayout(spec, scalarDecay()).stateBytesPerHead(),
            8192 + 1024 + 8 * 512);
  spec.window.compensatorType = ElementType::I8;
  EXPECT_EQ(makeSlotLayout(spec, scalarDecay()).stateBytesPerHead(),
            8192 + 1024 + 8 * (256 + 4));
}

// Each round turns the directions further towards the strongest ones.
TEST(Codec, RoundsLeaveLess) {
  const State state = outlierState(64, 48, 9);
  double before = norm(state);
  for (int rounds : {1, 2, 4}) {
    const Compensators fit = fitCompensators(state.data(), 64, 48, 4, rounds);
    State rest = state;
    for (int r = 0; r < 4; ++r)
      for (int k = 0; k < 64; ++k)
        for (int v = 0; v < 48; ++v)
          rest[k * 48 + v] -= fit.keys[r * 64 + k] * fit.values[r * 48 + v];
    EXPECT_LT(norm(rest), before) << rounds;
    before = norm(rest);
  }
}

TEST(Codec, OneElementState) {
  State state(64 * 64);
  state[17 * 64 + 5] = 3;
  Head head(leapQuantInt8(64, 64));
  head.encode(state);
  // The single direction is a unit vector: both factors are exact in f16 up to
  // the sign, and orthonormalization rounds in float64 only.
  EXPECT_LE(norm(difference(head.decode(), state)), 1e-12);
}

TEST(Codec, LeapQuantTakesNineAndAHalfBits) {
  const SlotLayout layout =
      makeSlotLayout(leapQuantInt8(128, 128), scalarDecay());
  EXPECT_EQ(layout.stateBytesPerHead(), 19456);
  EXPECT_EQ(layout.bitsPerElement(), 9.5);
}

TEST(Compensator, RowsAreOrthonormalAndCatchOutliers) {
  State state = lowRankState(96, 80, 2, 30);
  const State noise = lowRankState(96, 80, 40, 31);
  for (size_t i = 0; i < state.size(); ++i)
    state[i] = 10 * state[i] + 0.01 * noise[i];
  const Compensators fit = fitCompensators(state.data(), 96, 80, 4);
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 4; ++b) {
      double product = 0;
      for (int v = 0; v < 80; ++v)
        product += fit.values[a * 80 + v] * fit.values[b * 80 + v];
      if (a == b && product == 0)
        continue; // a direction below the pivot floor
      EXPECT_NEAR(product, a == b, 1e-13);
    }
  State residual = state;
  for (int r = 0; r < 4; ++r)
    for (int k = 0; k < 96; ++k)
      for (int v = 0; v < 80; ++v)
        residual[k * 80 + v] -= fit.keys[r * 96 + k] * fit.values[r * 80 + v];
  // Two directions are outliers 1000 times the noise; a rank-2 fit of them
  // leaves no more than the noise itself.
  EXPECT_LE(norm(residual), 0.011 * norm(noise));
}

TEST(Compensator, StartIsTheHash) {
  // Computed apart from the code, with 32-bit arithmetic in Python.
  EXPECT_EQ(startElement(0, 0), 0.0);
  EXPECT_EQ(startElement(0, 1), std::ldexp(-1832243442, -31));
  EXPECT_EQ(startElement(1, 0), std::ldexp(-491957830, -31));
  EXPECT_EQ(startElement(127, 3), std::ldexp(-1411342250, -31));
  EXPECT_EQ(startElement(255, 15), std::ldexp(-1102451743, -31));
}

/// Window contents by the definition: every token's decay acts on everything
/// before it, one token after the other.
struct Window {
  State state;
  int keyDim, valueDim;

  void decay(const State &key, const State &value) {
    for (int k = 0; k < keyDim; ++k)
      for (int v = 0; v < valueDim; ++v)
        state[k * valueDim + v] *= key[k] * value[v];
  }
  void write(const State &key, const State &value) {
    for (int k = 0; k < keyDim; ++k)
      for (int v = 0; v < valueDim; ++v)
        state[k * valueDim + v] += key[k] * value[v];
  }
};

/// Fills `tokens` tokens into the records and into `window` alike.
void fillWindow(Head &head, Window &window, int tokens, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0.25, 1);
  const SlotLayout &layout = head.layout;
  State keyTotal(layout.keyDim, 1.0), valueTotal(layout.valueDim, 1.0);

  // A region's row of fresh random numbers, as stored.
  const auto draw = [&](const Region &region, int row, int length) {
    State result(length, 1.0);
    if (region.empty())
      return result;
    for (int64_t i = 0; i < region.width; ++i)
      head.set(region, row * region.width + i, uniform(random));
    for (int i = 0; i < length; ++i)
      result[i] =
          head.get(region, row * region.width + (region.width == 1 ? 0 : i));
    return result;
  };
  for (int token = 0; token < tokens; ++token) {
    const State key = draw(layout.recordKeyDecay, token, layout.keyDim);
    const State value = draw(layout.recordValueDecay, token, layout.valueDim);
    window.decay(key, value);
    for (int k = 0; k < layout.keyDim; ++k)
      keyTotal[k] *= key[k];
    for (int v = 0; v < layout.valueDim; ++v)
      valueTotal[v] *= value[v];
    for (int write = 0; write < layout.record.writes; ++write) {
      const int row = token * layout.record.writes + write;
      window.write(draw(layout.recordKeys, row, layout.keyDim),
                   draw(layout.recordValues, row, layout.valueDim));
    }
  }
  for (int64_t i = 0; i < layout.totalKeyDecay.width; ++i)
    head.set(layout.totalKeyDecay, i, keyTotal[i]);
  for (int64_t i = 0; i < layout.totalValueDecay.width; ++i)
    head.set(layout.totalValueDecay, i, valueTotal[i]);
  head.setFill(tokens);
}

TEST(Codec, WindowIsReplayedTokenByToken) {
  const DecayShape shapes[] = {DecayShape::None, DecayShape::Scalar,
                               DecayShape::Vector};
  for (DecayShape keyDecay : shapes)
    for (DecayShape valueDecay : shapes)
      for (int writes : {1, 2})
        for (int tokens : {0, 1, 5, 16}) {
          // Dims that need no padding, so that a scalar's width 1 is the only
          // width that differs.
          Head head(leapQuantInt8(24, 16), {writes, keyDecay, valueDecay}, 0);
          head.encode(outlierState(24, 16, 40));
          Window window{head.decode(), 24, 16};
          fillWindow(head, window, tokens, 41);
          // The stored total decay is rounded to f32: 2^-24 of the checkpoint
          // part per axis.
          EXPECT_LE(norm(difference(head.decode(), window.state)),
                    2.1 * std::ldexp(1, -24) * norm(window.state))
              << toString(keyDecay) << " " << toString(valueDecay) << " "
              << writes << " writes, " << tokens << " tokens";
        }
}

TEST(Codec, TotalDecayOfAnEmptyWindowIsIgnored) {
  Head head(leapQuantInt8(16, 16), scalarDecay(), 0);
  const State state = lowRankState(16, 16, 1, 50);
  head.encode(state);
  ASSERT_EQ(head.get(head.layout.totalKeyDecay, 0), 0);
  EXPECT_LE(norm(difference(head.decode(), state)), 1e-3 * norm(state));
}

TEST(Codec, FillBeyondTheWindowReadsAFullWindow) {
  Head head(leapQuantInt8(16, 16), scalarDecay(), 0);
  Window window{State(16 * 16), 16, 16};
  fillWindow(head, window, 16, 60);
  const State full = head.decode();
  head.setFill(0xffffffff);
  EXPECT_EQ(head.decode(), full);
}

} // namespace
