//===- LanesTest.cpp - the GPU's lanes, on the CPU ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host runs the lanes of a GPU's schedule one after the other. What they
// store and answer is compared with the host's own kernels of one lane, which
// other tests compare with float64: sums are trees over the index whatever the
// lanes (LaneTile.h), so with powers of two all bits are the same.
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "decant/Reference/ReferenceRun.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

struct Case {
  const char *name;
  int key, value;
  std::vector<std::string> overrides;
};
void PrintTo(const Case &test, std::ostream *out) {
  *out << test.name << " " << test.key << " x " << test.value;
}
std::string nameOf(const testing::TestParamInfo<Case> &info) {
  return fmt::format("{}{}x{}", info.param.name, info.param.key,
                     info.param.value);
}

DecodeSpec specOf(const Case &test) {
  std::vector<std::string> overrides = test.overrides;
  overrides.push_back(fmt::format("heads.key_dim={}", test.key));
  overrides.push_back(fmt::format("heads.value_dim={}", test.value));
  return makeSpec(overrides);
}

Schedule gpuSchedule(const SlotLayout &layout) {
  return defaultSchedule(layout, valueOf(lookupTarget("sm_90a")));
}

std::vector<double> denseStates(int64_t count) {
  std::vector<double> states;
  for (int64_t i = 0; i < count; ++i)
    states.push_back(float(3 * std::sin(0.7 * i) + std::cos(0.013 * i)));
  return states;
}

const std::vector<std::string> kGdnInt8 = {
    R"(state={"codes": "int8", "scale": [)"
    R"({"axis": "key", "fit": "sqrt_mean_abs", "type": "f32"},)"
    R"({"axis": "value", "fit": "absmax", "type": "f32"}]})",
    "window.length=4", "window.compensators=3", "window.records=f16"};
const std::vector<std::string> kKdaF32 = {"rule=kda", "window.length=5"};

class SameBits : public testing::TestWithParam<Case> {};

TEST_P(SameBits, AsOneLane) {
  const DecodeSpec spec = specOf(GetParam());
  Layer one(spec, inOrder(2), Kernels::All);
  const Schedule schedule = gpuSchedule(one.layout());
  ASSERT_GT(schedule.threads(), 1);
  Layer many(spec, inOrder(2), schedule);
  const Oracle oracle(spec, one.layout(), 2);

  const std::vector<double> states =
      denseStates(2 * 2 * int64_t(GetParam().key) * GetParam().value);
  one.pack(states);
  many.pack(states);
  ASSERT_TRUE(one.pool() == many.pool()) << "packed";
  // Two windows and a bit.
  for (int token = 0; token < 11; ++token) {
    const Token inputs = makeToken(oracle, token);
    ASSERT_EQ(one.step(inputs), many.step(inputs)) << "token " << token;
    ASSERT_TRUE(one.pool() == many.pool()) << "token " << token;
  }
  EXPECT_EQ(one.unpack(), many.unpack());
  one.flush();
  many.flush();
  EXPECT_TRUE(one.pool() == many.pool()) << "flushed";
  EXPECT_EQ(one.unpack(ElementType::BF16, DenseOrder::ValueKey),
            many.unpack(ElementType::BF16, DenseOrder::ValueKey));
}

INSTANTIATE_TEST_SUITE_P(PowersOfTwo, SameBits,
                         testing::Values(Case{"GdnInt8", 32, 32, kGdnInt8},
                                         Case{"GdnInt8", 128, 64, kGdnInt8},
                                         Case{"GdnInt8", 128, 128, kGdnInt8},
                                         Case{"KdaF32", 16, 32, kKdaF32},
                                         Case{"KdaF32", 64, 128, kKdaF32}),
                         nameOf);

Schedule cut(const SlotLayout &layout, int keyLanes, int valueLanes,
             RowLoop rows) {
  Schedule schedule;
  schedule.keyLanes = keyLanes;
  schedule.keysPerLane = layout.paddedKey / keyLanes;
  schedule.valueLanes = valueLanes;
  schedule.valuesPerLane = layout.paddedValue / valueLanes;
  schedule.rows = rows;
  return schedule;
}

// The value axis may be cut as one likes; sums over keys have 16 parts
// (defaultKeyLanes) in all of these.
TEST(ManyLanes, StoreTheSameBitsHoweverValuesAreCut) {
  const DecodeSpec spec = specOf({"GdnInt8", 64, 64, kGdnInt8});
  Layer one(spec, inOrder(2), Kernels::All);
  const Oracle oracle(spec, one.layout(), 2);
  std::vector<std::vector<double>> outputs;
  const std::vector<double> states = denseStates(2 * 2 * 64 * 64);
  one.pack(states);
  for (int token = 0; token < 5; ++token)
    outputs.push_back(one.step(makeToken(oracle, token)));

  for (const Schedule &schedule :
       {cut(one.layout(), 16, 1, RowLoop::Rolled),
        cut(one.layout(), 16, 4, RowLoop::Rolled),
        cut(one.layout(), 16, 16, RowLoop::Unrolled)}) {
    Layer many(spec, inOrder(2), schedule);
    many.pack(states);
    for (int token = 0; token < 5; ++token)
      ASSERT_EQ(outputs[token], many.step(makeToken(oracle, token)))
          << toString(schedule);
    EXPECT_TRUE(one.pool() == many.pool()) << toString(schedule);
  }
}

// Other numbers of key lanes round elsewhere.
TEST(ManyLanes, FollowTheRuleHoweverKeysAreCut) {
  const DecodeSpec spec = specOf({"Kda", 64, 64, kKdaF32});
  const SlotLayout layout = Layer(spec, inOrder(2)).layout();
  for (const Schedule &schedule :
       {cut(layout, 32, 4, RowLoop::Unrolled),
        cut(layout, 32, 8, RowLoop::Rolled), cut(layout, 8, 2, RowLoop::Rolled),
        cut(layout, 2, 32, RowLoop::Unrolled),
        cut(layout, 1, 8, RowLoop::Rolled)}) {
    Layer many(spec, inOrder(2), schedule);
    Oracle oracle(spec, layout, 2);
    const Errors errors = runBoth(many, oracle, 7);
    EXPECT_TRUE(errors.finite) << toString(schedule);
    EXPECT_LE(errors.output, kF32Bound) << toString(schedule);
    EXPECT_LE(errors.state, kF32Bound) << toString(schedule);
  }
}

// Other dims have no tree that all schedules share, and lanes hold padding; the
// float64 rule is the judge.
class F32Lanes : public testing::TestWithParam<Case> {};

TEST_P(F32Lanes, FollowTheRule) {
  const DecodeSpec spec = specOf(GetParam());
  const Layer one(spec, inOrder(2));
  Layer many(spec, inOrder(2), gpuSchedule(one.layout()));
  Oracle oracle(spec, one.layout(), 2);
  const Errors errors = runBoth(many, oracle, 7);
  EXPECT_TRUE(errors.finite);
  EXPECT_LE(errors.output, kF32Bound);
  EXPECT_LE(errors.state, kF32Bound);
}

INSTANTIATE_TEST_SUITE_P(OtherDims, F32Lanes,
                         testing::Values(Case{"Kda", 48, 72, kKdaF32},
                                         Case{"Kda", 100, 60, kKdaF32},
                                         Case{"Gdn", 72, 48, {}}),
                         nameOf);

// The error that the format makes is what it is on one lane. The bound is that
// of DimsTest, for the same reason.
TEST(Int8Lanes, CostWhatTheFormatCosts) {
  const DecodeSpec spec = specOf({"GdnInt8", 48, 72, kGdnInt8});
  Layer one(spec, inOrder(2));
  Layer many(spec, inOrder(2), gpuSchedule(one.layout()));
  Oracle oracle(spec, one.layout(), 2);
  for (int token = 0; token < 12; ++token) {
    const Token inputs = makeToken(oracle, token);
    one.step(inputs);
    many.step(inputs);
    oracle.step(inputs);
  }
  auto error = [&](Layer &layer) {
    return relativeError(layer.states(), oracle.states);
  };
  EXPECT_GT(error(one), 1e-4); // the format does round
  EXPECT_NEAR(error(many) / error(one), 1, 0.02);
}

} // namespace
