//===- AgreementTest.cpp - what two devices may differ by -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two "devices" that hold LeapQuant heads of the same sequences, which they
// folded from states that differ by 2^-12, as tensor cores that hold terms in
// f16 make them. Then one of them is wrong in one head.
//
//===----------------------------------------------------------------------===//

#include "Bench/Agreement.h"
#include "decant/Core/CodeStore.h"
#include "decant/Core/Numeric.h"
#include "decant/Reference/Codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

using namespace decant;
using namespace decant::bench;

namespace {

constexpr int kDim = 64, kRows = 4, kHeads = 8, kTokens = 20, kFill = 4;

DecodeSpec leapQuant(ElementType codes) {
  DecodeSpec spec;
  spec.rule.text = "no layout depends on it";
  spec.heads = {1, 1, kDim, kDim, HeadMap::Group};
  spec.state.codes = codes;
  spec.state.scales = {{Axis::Key, ScaleFit::SqrtMeanAbs, ElementType::F32},
                       {Axis::Value, ScaleFit::AbsMax, ElementType::F32}};
  spec.window.length = 16;
  spec.window.compensators = 4;
  return spec;
}

/// A device's heads and what it makes of queries.
class Side {
public:
  using Fault = std::function<void(const SlotLayout &, uint8_t *)>;

  /// `seed` is of what differs between devices.
  Side(ElementType codes, unsigned seed) : seed(seed) {
    RecordShape record;
    record.keyDecay = DecayShape::Scalar;
    layout = makeSlotLayout(leapQuant(codes), record);
  }

  /// `largest`: how much one column is larger than the others. `fault` is done
  /// to one head.
  BatchResults run(double largest, const Fault &fault = {}) {
    BatchResults results;
    results.rows = kRows;
    results.tokens = kTokens;
    results.heads = kHeads;
    results.roundings = roundingsOf(layout, kTokens);
    results.recordRounding = recordRounding(layout);
    results.tensorCores = true;
    std::vector<std::vector<double>> states;
    for (int i = 0; i < kRows * kHeads; ++i) {
      std::vector<uint8_t> head = make(unsigned(i), largest);
      if (fault && i == 2 * kHeads + 3)
        fault(layout, head.data());
      states.push_back(decodeHead(layout, head.data()));
      results.states.values.insert(results.states.values.end(),
                                   states.back().begin(), states.back().end());
      results.states.rounding.push_back(roundingError(layout, head.data()));
      results.states.folded.push_back(roundingOfFold(layout, head.data()));
    }
    std::mt19937 random(5);
    std::normal_distribution<double> normal;
    for (int token = 0; token < kTokens; ++token)
      for (const std::vector<double> &state : states) {
        std::vector<double> output(kDim);
        for (int k = 0; k < kDim; ++k) {
          const double q = normal(random);
          for (int v = 0; v < kDim; ++v)
            output[v] += q * state[k * kDim + v];
        }
        for (double x : output)
          results.outputs.push_back(roundTo(ElementType::BF16, x));
      }
    return results;
  }

private:
  /// A fold of sixteen tokens, seen by this device with errors of its own, then
  /// four records that both have.
  std::vector<uint8_t> make(unsigned number, double largest) const {
    std::mt19937 shared(number), own(seed + 1000 * number);
    std::normal_distribution<double> normal;
    std::vector<double> state(kDim * kDim);
    for (int token = 0; token < 16; ++token) {
      std::vector<double> key(kDim), value(kDim);
      for (double &x : key)
        x = normal(shared);
      for (double &x : value)
        x = normal(shared);
      value[7] *= largest;
      for (int k = 0; k < kDim; ++k)
        for (int v = 0; v < kDim; ++v)
          state[k * kDim + v] += key[k] * value[v];
    }
    for (double &x : state)
      x *= 1 + 0x1p-12 * normal(own);
    std::vector<uint8_t> head(layout.headBytes);
    encodeHead(layout, state.data(), head.data());
    const auto fill = [&](const Region &region, int64_t count, double value) {
      for (int64_t i = 0; i < count; ++i)
        storeElement(region.type, value == 0 ? normal(shared) : value,
                     &head[region.offset + i * elementBytes(region.type)]);
    };
    fill(layout.recordKeys, kFill * layout.recordKeys.width, 0);
    fill(layout.recordValues, kFill * layout.recordValues.width, 0);
    fill(layout.recordKeyDecay, kFill, 0.9);
    fill(layout.totalKeyDecay, 1, 0.6561);
    setFill(layout, head.data(), kFill);
    return head;
  }

public:
  static void setFill(const SlotLayout &layout, uint8_t *head, uint32_t fill) {
    std::memcpy(head + layout.cursor.offset, &fill, sizeof(fill));
  }

private:
  unsigned seed;
  SlotLayout layout;
};

void scaleColumn(const SlotLayout &layout, uint8_t *head, double factor) {
  uint8_t *at = head + layout.valueScale.offset + 20 * sizeof(float);
  storeElement(ElementType::F32, factor * loadElement(ElementType::F32, at),
               at);
}

class Agreements : public testing::TestWithParam<ElementType> {};
INSTANTIATE_TEST_SUITE_P(Codes, Agreements,
                         testing::Values(ElementType::I8, ElementType::I6),
                         [](const auto &info) {
                           return std::string(toString(info.param));
                         });

// One column that is larger than the others is what compensators take out: then
// codes are finer beside their head, and so is the bound.
TEST_P(Agreements, RoundingsOfTheSameStatesAgree) {
  for (double largest : {1.0, 10.0, 100.0}) {
    const BatchResults expected = Side(GetParam(), 1).run(largest);
    const BatchResults tested = Side(GetParam(), 2).run(largest);
    const Agreement found = compare(tested, expected);
    EXPECT_TRUE(found.good()) << describe(found);
    EXPECT_GT(found.state, 0.1 * found.bound);
    EXPECT_EQ(found.rows, kRows);
    EXPECT_EQ(found.tokens, kTokens);
  }
}

// One head of 32 is enough.
TEST_P(Agreements, FaultsInOneHeadDoNot) {
  const BatchResults expected = Side(GetParam(), 1).run(1);
  const std::pair<const char *, Side::Fault> faults[] = {
      {"a row of codes is that of its neighbour",
       [](const SlotLayout &layout, uint8_t *head) {
         for (int v = 0; v < kDim; ++v)
           storeCode(layout, head, 9, v, loadCode(layout, head, 8, v));
       }},
      {"a column's scale is too large",
       [](const SlotLayout &layout, uint8_t *head) {
         scaleColumn(layout, head, 1.5);
       }},
      {"a column's scale is 0",
       [](const SlotLayout &layout, uint8_t *head) {
         scaleColumn(layout, head, 0);
       }},
      {"the last record is missing",
       [](const SlotLayout &layout, uint8_t *head) {
         Side::setFill(layout, head, kFill - 1);
       }},
      {"the decay since the fold is missing",
       [](const SlotLayout &layout, uint8_t *head) {
         storeElement(ElementType::F32, 1, head + layout.totalKeyDecay.offset);
       }},
      {"a compensator is missing", [](const SlotLayout &layout, uint8_t *head) {
         std::memset(head + layout.compKeys.offset, 0,
                     size_t(layout.compKeys.bytes()) / 4);
       }}};
  for (const auto &[what, fault] : faults) {
    const Agreement found =
        compare(Side(GetParam(), 2).run(1, fault), expected);
    EXPECT_FALSE(found.good()) << what << ": " << describe(found);
    EXPECT_EQ(found.row, 2) << what;
    EXPECT_EQ(found.head, 3) << what;
  }
}

// The bound is that of what is expected: coarse scales of its own do not
// excuse a kernel.
TEST(Agreement, WrongScalesDoNotWidenTheBound) {
  const BatchResults expected = Side(ElementType::I8, 1).run(1);
  const BatchResults coarse = Side(ElementType::I4, 2).run(1);
  const Agreement found = compare(coarse, expected);
  EXPECT_FALSE(found.good()) << describe(found);
  EXPECT_TRUE(compare(expected, coarse).good());
}

TEST(Agreement, WithoutTensorCoresRoundingIsTheSame) {
  BatchResults expected = Side(ElementType::I6, 1).run(1);
  BatchResults tested = Side(ElementType::I6, 2).run(1);
  expected.tensorCores = tested.tensorCores = false;
  EXPECT_FALSE(compare(tested, expected).good());
  EXPECT_DOUBLE_EQ(compare(expected, expected).bound, 2e-3);
  tested.tensorCores = true;
  EXPECT_TRUE(compare(tested, expected).good());
}

TEST(Agreement, ANaNIsBeyondEveryBound) {
  const BatchResults expected = Side(ElementType::I8, 1).run(1);
  BatchResults state = expected, output = expected;
  state.states.values[5] = std::numeric_limits<double>::quiet_NaN();
  output.outputs[3 * kDim] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(compare(state, expected).good());
  const Agreement found = compare(output, expected);
  EXPECT_FALSE(found.good());
  EXPECT_EQ(found.head, 3);
}

// An unused head holds zeros, relative to which everything is infinite.
TEST(Agreement, HeadsOfZerosHaveToBeZeros) {
  BatchResults expected = Side(ElementType::I8, 1).run(1);
  const int64_t size = kDim * kDim;
  std::fill_n(expected.states.values.begin(), size, 0);
  expected.states.rounding[0] = expected.states.folded[0] = 0;
  BatchResults tested = expected;
  EXPECT_TRUE(compare(tested, expected).good());
  tested.states.values[7] = 0.5;
  EXPECT_FALSE(compare(tested, expected).good());
}

// A decay after the fold takes off what its rounding costs the state, and not
// what it has cost the outputs before.
TEST(Agreement, OutputsRememberTheFold) {
  const BatchResults expected = Side(ElementType::I6, 1).run(1);
  for (size_t i = 0; i < expected.states.folded.size(); ++i)
    EXPECT_GT(expected.states.folded[i], 0);
  BatchResults later = expected;
  for (double &rounding : later.states.rounding)
    rounding *= 1e-3;
  const Agreement found = compare(later, later);
  EXPECT_LT(found.bound, 2.1e-3);
  EXPECT_GT(found.outputBound, 2 * found.bound);
  for (double &x : later.outputs)
    x *= 1 + 1.5 * found.bound;
  EXPECT_TRUE(compare(later, expected).good());
  BatchResults states = expected;
  for (double &x : states.states.values)
    x *= 1 + 1.5 * found.bound;
  BatchResults strict = expected;
  for (double &rounding : strict.states.rounding)
    rounding *= 1e-3;
  EXPECT_FALSE(compare(states, strict).good());
}

// sqrt(2 n) roundings, in quadrature with a half step of bf16.
TEST(Agreement, BoundsByHand) {
  EXPECT_DOUBLE_EQ(agreementBound({0.01, 0, 1}, false), 2e-3);
  EXPECT_NEAR(agreementBound({0.01, 0, 2}, true), std::hypot(2e-3, 0.02),
              1e-12);
  EXPECT_NEAR(agreementBound({0, 0.01, 8}, true),
              std::hypot(2e-3, std::sqrt(2) * 0.01), 1e-12);
}

// Numbers whose logarithm is uniform over binades, rounded to bf16.
TEST(Agreement, RecordsAreRoundedByTheirBinade) {
  RecordShape record;
  DecodeSpec spec = leapQuant(ElementType::I8);
  spec.window.records = ElementType::BF16;
  const SlotLayout layout = makeSlotLayout(spec, record);
  ASSERT_EQ(layout.recordValues.type, ElementType::BF16);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform(0, 1);
  double error = 0, square = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = std::exp2(uniform(random));
    error += std::pow(roundTo(ElementType::BF16, x) - x, 2);
    square += x * x;
  }
  EXPECT_NEAR(recordRounding(layout) / std::sqrt(error / square), 1, 0.02);
  spec.window.length = 1;
  spec.window.compensators = 0;
  EXPECT_EQ(recordRounding(makeSlotLayout(spec, record)), 0);
}

} // namespace
