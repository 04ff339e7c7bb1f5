//===- GroupedLanesTest.cpp - groups of scales over many lanes ------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group of elements that share a scale may reach over several lanes, and over
// the end of the state. The host runs the lanes of a GPU's schedule; extremes
// have no order, so they store what one lane does, and that is what the codec
// stores.
//
//===----------------------------------------------------------------------===//

#include "FormatList.h"
#include "Oracle.h"
#include "decant/Reference/ReferenceRun.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

struct Dims {
  int key, value;
};

DecodeSpec specOf(const Format &format, Dims dims) {
  return makeSpec({fmt::format("state={}", format.state), "window.length=4",
                   "window.records=f16",
                   fmt::format("heads.key_dim={}", dims.key),
                   fmt::format("heads.value_dim={}", dims.value)});
}

std::vector<double> denseStates(int64_t count) {
  std::vector<double> states;
  for (int64_t i = 0; i < count; ++i)
    states.push_back(float(3 * std::sin(0.7 * i) + std::cos(0.013 * i)));
  return states;
}

class GroupedLanes : public testing::TestWithParam<Format> {};

TEST_P(GroupedLanes, StoreAndAnswerAsOneLane) {
  const DecodeSpec spec = specOf(GetParam(), {64, 64});
  Layer one(spec, inOrder(2), Kernels::All);
  const Schedule schedule =
      defaultSchedule(one.layout(), valueOf(lookupTarget("sm_90a")));
  ASSERT_GT(schedule.threads(), 1);
  Layer many(spec, inOrder(2), schedule);
  const Oracle oracle(spec, one.layout(), 2);
  const std::vector<double> states = denseStates(2 * 2 * 64 * 64);
  one.pack(states);
  many.pack(states);
  ASSERT_TRUE(one.pool() == many.pool()) << "packed";
  for (int token = 0; token < 6; ++token) {
    const Token inputs = makeToken(oracle, token);
    ASSERT_EQ(one.step(inputs), many.step(inputs)) << "token " << token;
    ASSERT_TRUE(one.pool() == many.pool()) << "token " << token;
  }
  EXPECT_EQ(one.unpack(), many.unpack());
}

// Kernel and codec must store nearly the same state; the bound is that of
// DimsTest, for the same reason. Zero bytes are zeros.
TEST_P(GroupedLanes, EncodeAsTheCodecDoesWhereGroupsAreCutOff) {
  // Rotations need dims that 16 divides.
  const bool rotates = GetParam().state.find("rotate") != std::string::npos;
  const Dims dims = rotates ? Dims{48, 80} : Dims{40, 100};
  const DecodeSpec spec = specOf(GetParam(), dims);
  Layer one(spec, inOrder(2), Kernels::All);
  Layer many(spec, inOrder(2),
             defaultSchedule(one.layout(), valueOf(lookupTarget("sm_90a"))));
  const std::vector<double> states =
      denseStates(2 * 2 * int64_t(dims.key) * dims.value);
  const std::vector<double> codec = throughCodec(one.layout(), states);
  const double error = relativeError(codec, states);
  EXPECT_GT(error, 1e-4);
  for (Layer *layer : {&one, &many}) {
    EXPECT_EQ(
        relativeError(layer->unpack(), std::vector<double>(states.size())), 0);
    layer->pack(states);
    EXPECT_LE(relativeError(layer->states(), codec), 0.2 * error);
    EXPECT_LE(relativeError(layer->unpack(), layer->states()), kF32Bound);
  }
}

/// Each way in which groups and scales are found once.
std::vector<Format> fewFormats() {
  std::vector<Format> few;
  for (const char *name :
       {"int8_head_key_value", "int4_value_16", "int4_minmax_key_32", "nvfp6",
        "int6_refit_value", "e2m1_refit_key", "lloyd4_rotated",
        "lloyd4_kept_norm", "int8_rotated_32", "e4m3_stochastic"})
    for (const Format &format : groupedFormats())
      if (format.name == std::string(name))
        few.push_back(format);
  return few;
}

INSTANTIATE_TEST_SUITE_P(All, GroupedLanes, testing::ValuesIn(fewFormats()),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace
