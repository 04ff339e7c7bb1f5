//===- MmaKernelsTest.cpp - what strategy mma must leave alone ------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bits that may not depend on who folds a window, on where a row stands in a
// batch and on what stands beside it; states that are empty or of low rank.
//
//===----------------------------------------------------------------------===//

#include "MmaLayer.h"
#include "decant/Reference/ReferenceRun.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

class MmaKernels : public testing::TestWithParam<MmaCase> {};

// A step that folds a full window itself leaves what a step and a commit leave.
TEST_P(MmaKernels, FoldInTheStepAsACommitDoes) {
  const MmaCase &test = GetParam();
  const DecodeSpec spec = test.spec();
  Layer step = mmaLayer(spec, inOrder(2), test.record(), Boundary::Step);
  Layer apart = mmaLayer(spec, inOrder(2), test.record(), Boundary::Apart);
  const Oracle oracle(spec, step.layout(), 2);
  for (int token = 0; token < 2 * test.window + 1; ++token) {
    const Token inputs = makeToken(oracle, token);
    ASSERT_EQ(step.step(inputs), apart.step(inputs)) << "token " << token;
    if ((token + 1) % test.window == 0)
      apart.flush();
    ASSERT_TRUE(step.pool() == apart.pool()) << "token " << token;
  }
  step.flush();
  apart.flush();
  EXPECT_TRUE(step.pool() == apart.pool()) << "flushed";
}

// Rows 0, 1 in slots 0, 1, and the same two rows among others and padding, in
// other slots and with other strides.
TEST_P(MmaKernels, GiveARowTheSameBitsAnywhere) {
  const MmaCase &test = GetParam();
  const DecodeSpec spec = test.spec();
  Placement elsewhere;
  elsewhere.slots = {3, -1, 5, 0, -7, 1};
  elsewhere.slotCount = 7;
  elsewhere.spread = true;
  Layer dense = mmaLayer(spec, inOrder(2), test.record());
  Layer spread = mmaLayer(spec, elsewhere, test.record());
  const Oracle two(spec, dense.layout(), 2), six(spec, dense.layout(), 6);
  const std::vector<int> identities = {9, 8, 1, 7, 6, 0};
  for (int token = 0; token < test.window + 1; ++token) {
    const std::vector<double> expected = dense.step(makeToken(two, token)),
                              all = spread.step(
                                  makeToken(six, token, identities));
    const size_t width = expected.size() / 2;
    auto row = [width](const std::vector<double> &rows, int number) {
      return std::vector<double>(rows.begin() + number * width,
                                 rows.begin() + (number + 1) * width);
    };
    ASSERT_EQ(row(expected, 0), row(all, 5)) << "token " << token;
    ASSERT_EQ(row(expected, 1), row(all, 2)) << "token " << token;
    for (int padding : {1, 4})
      ASSERT_EQ(row(all, padding), std::vector<double>(width));
  }
  const int64_t bytes = dense.program().info().slotBytes;
  EXPECT_EQ(std::memcmp(dense.slot(0), spread.slot(1), bytes), 0);
  EXPECT_EQ(std::memcmp(dense.slot(1), spread.slot(5), bytes), 0);
  EXPECT_TRUE(spread.poolGapsIntact());
}

// Where codes wait for the read is no part of the computation.
TEST(MmaFetch, ChangesNothing) {
  const MmaCase test = {"gated_delta", "smooth_key_value", 4, 3, 64, 48};
  const DecodeSpec spec = test.spec();
  Schedule schedule = mmaScheduleOf(spec, test.record());
  std::vector<std::vector<double>> states;
  for (CodeFetch fetch :
       {CodeFetch::Registers, CodeFetch::Shared, CodeFetch::Bulk}) {
    schedule.fetch = fetch;
    Layer layer(spec, inOrder(2), schedule, CodeOrder::Fragments,
                Kernels::Decode);
    const Oracle oracle(spec, layer.layout(), 2);
    for (int token = 0; token < 5; ++token)
      layer.step(makeToken(oracle, token));
    states.push_back(layer.states());
  }
  EXPECT_EQ(states[0], states[1]);
  EXPECT_EQ(states[0], states[2]);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, MmaKernels,
    testing::Values(MmaCase{"gated_delta", "smooth_key_value", 4, 4, 64, 64},
                    MmaCase{"kda", "smooth_key_value", 4, 3, 48, 80},
                    MmaCase{"gated_delta", "int4", 2, 4, 48, 64},
                    MmaCase{"gated_delta", "int6", 2, 3, 32, 32},
                    MmaCase{"kda", "bf16", 0, 3, 64, 32}),
    [](const auto &info) { return info.param.name(); });

struct Sequence {
  const char *name;
  std::function<void(Token &, int token)> change;
};
void PrintTo(const Sequence &sequence, std::ostream *out) {
  *out << sequence.name;
}
void set(Token &token, const char *name, double value) {
  for (double &x : token[name])
    x = value;
}
void multiply(Token &token, const char *name, double factor) {
  for (double &x : token[name])
    x = float(x * factor);
}

class MmaLowRank : public testing::TestWithParam<Sequence> {};

// States of rank 0, 1, 2, ... compared at every token. The codec keeps them up
// to 2^-11; a fold rounds terms to f16 once more, see expectFormatCosts.
TEST_P(MmaLowRank, StaysAsCloseAsTheCodec) {
  for (int window : {1, 3}) {
    const MmaCase test = {"gated_delta", "smooth_key_value", 4, window, 32, 32};
    const DecodeSpec spec = test.spec();
    Layer layer = mmaLayer(spec, inOrder(2), test.record());
    Oracle exact(spec, layer.layout(), 2);
    Oracle codec(spec, layer.layout(), 2, Stored::Format);
    for (int token = 0; token < 10; ++token) {
      Token inputs = makeToken(exact, token);
      GetParam().change(inputs, token);
      const std::vector<double> output = layer.step(inputs);
      exact.step(inputs);
      codec.step(inputs);
      const std::vector<double> states = layer.states();
      EXPECT_TRUE(allFinite(output) && allFinite(states)) << "token " << token;
      EXPECT_LE(relativeError(states, exact.states),
                1.1 * relativeError(codec.states, exact.states) +
                    std::sqrt(1 + token / window) * kF16Norm)
          << "window " << window << ", token " << token;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sequences, MmaLowRank,
    testing::Values(Sequence{"first_tokens", [](Token &, int) {}},
                    Sequence{"one_key",
                             [](Token &token, int) { set(token, "k", 0.5); }},
                    Sequence{"one_key_and_value",
                             [](Token &token, int) {
                               set(token, "k", 0.5);
                               set(token, "v", -2);
                             }},
                    Sequence{"zeros",
                             [](Token &token, int) {
                               for (const char *name : {"q", "k", "v"})
                                 set(token, name, 0);
                             }},
                    Sequence{"zeros_after_three_tokens",
                             [](Token &token, int number) {
                               if (number > 2)
                                 for (const char *name : {"k", "v"})
                                   set(token, name, 0);
                             }},
                    Sequence{"large", [](Token &token,
                                         int) { multiply(token, "v", 4096); }},
                    Sequence{"small", [](Token &token,
                                         int) { multiply(token, "v", 1e-3); }}),
    [](const auto &info) { return std::string(info.param.name); });

// At window 1 a token's own terms go through f16 in two parts, which saturate
// at twice 65504, as records do at 65504: never does a state become NaN.
TEST(MmaSteps, KeepValuesOfEverySize) {
  const MmaCase test = {"gated_delta", "smooth_key_value", 0, 1, 32, 32};
  const DecodeSpec spec = test.spec();
  for (double size : {1e-4, 1e4, 1e6}) {
    Layer layer = mmaLayer(spec, inOrder(1), test.record());
    Oracle exact(spec, layer.layout(), 1);
    Oracle codec(spec, layer.layout(), 1, Stored::Format);
    for (int token = 0; token < 6; ++token) {
      Token inputs = makeToken(exact, token);
      multiply(inputs, "v", size);
      EXPECT_TRUE(allFinite(layer.step(inputs))) << size;
      exact.step(inputs);
      codec.step(inputs);
    }
    // What is left of 1e6 has its signs: closer to the truth than zeros are.
    const double error = relativeError(layer.states(), exact.states);
    if (size > 1e5)
      EXPECT_LT(error, 0.95);
    else
      EXPECT_LE(error, 1.1 * relativeError(codec.states, exact.states)) << size;
  }
}

} // namespace
