//===- LowRankTest.cpp - first tokens, repeated keys, idle sequences ------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormatList.h"
#include "Oracle.h"
#include "decant/Reference/ReferenceRun.h"

#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

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

class LowRank : public testing::TestWithParam<std::tuple<Sequence, int>> {};

// Compared at every token, since the first ones have ranks 1, 2, 3. f16 keeps
// such a state up to 2^-11, and int8 codes keep what is left up to 1/254 of it,
// so the codec's error is near that of f32 arithmetic, which the kernel adds.
TEST_P(LowRank, StaysAsCloseAsTheCodec) {
  const auto &[sequence, window] = GetParam();
  const DecodeSpec spec = makeSpec(
      {fmt::format("state={}", formats()[7].state), "window.compensators=4",
       "window.records=f16", fmt::format("window.length={}", window)});
  Layer layer(spec, inOrder(2));
  Oracle exact(spec, layer.layout(), 2);
  Oracle codec(spec, layer.layout(), 2, Stored::Format);
  for (int token = 0; token < 10; ++token) {
    Token inputs = makeToken(exact, token);
    sequence.change(inputs, token);
    const std::vector<double> output = layer.step(inputs);
    const std::vector<double> expected = exact.step(inputs);
    codec.step(inputs);
    const std::vector<double> states = layer.states();
    EXPECT_TRUE(allFinite(output) && allFinite(states)) << "token " << token;
    EXPECT_LE(relativeError(states, exact.states),
              1.1 * relativeError(codec.states, exact.states) + 5 * kF32Bound)
        << "token " << token;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sequences, LowRank,
    testing::Combine(
        testing::Values(Sequence{"first tokens", [](Token &, int) {}},
                        Sequence{"one key", [](Token &token,
                                               int) { set(token, "k", 0.5); }},
                        Sequence{"one key and value",
                                 [](Token &token, int) {
                                   set(token, "k", 0.5);
                                   set(token, "v", -2);
                                 }},
                        Sequence{"zeros",
                                 [](Token &token, int) {
                                   for (const char *name : {"q", "k", "v"})
                                     set(token, name, 0);
                                 }},
                        Sequence{"zeros after three tokens",
                                 [](Token &token, int number) {
                                   if (number > 2)
                                     for (const char *name : {"k", "v"})
                                       set(token, name, 0);
                                 }},
                        Sequence{"no beta",
                                 [](Token &token, int number) {
                                   if (number % 2)
                                     set(token, "beta", 0);
                                 }},
                        Sequence{"one-hot keys",
                                 [](Token &token, int number) {
                                   set(token, "k", 0);
                                   token["k"][number % 3] = 1;
                                   token["k"][32 + number] = 1;
                                 }}),
        testing::Values(1, 4)));

// An idle sequence decays through the smallest f32 numbers to zero, and the
// next token finds a state that works.
TEST(IdleSequences, DecayToZeroAndWakeUp) {
  for (int format : {1, 2, 3, 5, 7, 8, 9, 12}) {
    const DecodeSpec spec =
        makeSpec({fmt::format("state={}", formats()[format].state),
                  "window.compensators=2"});
    Layer layer(spec, inOrder(1));
    Oracle exact(spec, layer.layout(), 1);
    Oracle codec(spec, layer.layout(), 1, Stored::Format);
    double size = 1e30;
    for (int token = 0; token < 50; ++token) {
      Token inputs = makeToken(exact, token);
      if (token > 2 && token < 46) {
        set(inputs, "k", 0);
        set(inputs, "v", 0);
        set(inputs, "decay", -3);
      }
      EXPECT_TRUE(allFinite(layer.step(inputs))) << token;
      exact.step(inputs);
      codec.step(inputs);
      double stored = 0;
      for (double x : layer.states()) {
        ASSERT_TRUE(std::isfinite(x)) << token;
        stored = std::max(stored, std::fabs(x));
      }
      if (token > 2 && token < 46)
        EXPECT_LE(stored, 0.2 * size) << "e^-3 is 0.05";
      size = std::max(stored, 1e-44);
    }
    EXPECT_LE(relativeError(layer.states(), exact.states),
              1.1 * relativeError(codec.states, exact.states) + kF32Bound)
        << formats()[format].name;
  }
}

} // namespace
