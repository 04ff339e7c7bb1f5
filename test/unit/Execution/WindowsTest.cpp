//===- WindowsTest.cpp - when the state is touched does not show ----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "decant/Core/Numeric.h"
#include "decant/Reference/ReferenceRun.h"

#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

class WindowLengths : public testing::TestWithParam<std::tuple<int, int>> {};

// With f32 codes and records nothing is lost, so neither the window nor the
// compensators may show. 70 tokens pass the end of every window; one that is
// off by a token misses a whole update.
TEST_P(WindowLengths, ChangeNothing) {
  const auto [window, compensators] = GetParam();
  const DecodeSpec spec =
      makeSpec({fmt::format("window.length={}", window),
                fmt::format("window.compensators={}", compensators),
                "heads.key_dim=24", "heads.value_dim=16"});
  Layer layer(spec, inOrder(1));
  Oracle oracle(spec, layer.layout(), 1);
  const Errors errors = runBoth(layer, oracle, 70);
  EXPECT_TRUE(errors.finite);
  EXPECT_LE(errors.output, kF32Bound);
  EXPECT_LE(errors.state, kF32Bound);
}

INSTANTIATE_TEST_SUITE_P(Grid, WindowLengths,
                         testing::Combine(testing::Values(1, 2, 3, 7, 16, 33,
                                                          64),
                                          testing::Values(0, 1, 4, 7, 16)));

struct WindowCase {
  const char *rule;
  int window;
};
void PrintTo(const WindowCase &c, std::ostream *out) {
  *out << c.rule << ", window " << c.window;
}

/// A scalar and a vector decay, in windows that end at different tokens.
class Windows : public testing::TestWithParam<WindowCase> {
protected:
  DecodeSpec spec(int window) const {
    return makeSpec({fmt::format("rule={}", GetParam().rule),
                     fmt::format("window.length={}", window),
                     "heads.key_dim=20", "heads.value_dim=28"});
  }
  DecodeSpec spec() const { return spec(GetParam().window); }
};

TEST_P(Windows, AppendsAndAFlushEqualSingleSteps) {
  const int window = GetParam().window;
  Layer windowed(spec(), inOrder(2)), single(spec(1), inOrder(2));
  Oracle oracle(spec(), windowed.layout(), 2);
  for (int token = 0; token + 1 < window; ++token) {
    const Token inputs = makeToken(oracle, token);
    windowed.step(inputs);
    single.step(inputs);
  }
  windowed.flush();
  EXPECT_LE(relativeError(windowed.states(), single.states()), kF32Bound);
}

TEST_P(Windows, AFlushMayComeAtAnyToken) {
  const int window = GetParam().window;
  Layer layer(spec(), inOrder(2));
  Oracle oracle(spec(), layer.layout(), 2);
  layer.flush(); // of an empty window
  EXPECT_EQ(layer.states(), oracle.states);
  for (int token = 0; token < 2 * window + 1; ++token) {
    const Token inputs = makeToken(oracle, token);
    EXPECT_LE(relativeError(layer.step(inputs), oracle.step(inputs)), kF32Bound)
        << "token " << token;
    if (token == 0 || token == 1 + window / 2)
      layer.flush();
    EXPECT_LE(relativeError(layer.states(), oracle.states), kF32Bound)
        << "token " << token;
  }
}

// decodeHead is float64, the kernel f32: one sum over a window's tokens.
TEST_P(Windows, UnpackReadsEveryFill) {
  Placement placement = inOrder(2);
  placement.spread = true;
  Layer layer(spec(), placement, Kernels::All);
  Oracle oracle(spec(), layer.layout(), 2);
  for (int token = 0; token <= GetParam().window; ++token) {
    const AlignedBytes before = layer.pool();
    const std::vector<double> keyMajor = layer.unpack();
    EXPECT_LE(relativeError(keyMajor, layer.states()), kF32Bound)
        << "fill " << token;
    EXPECT_EQ(layer.unpack(ElementType::F32, DenseOrder::ValueKey), keyMajor);
    std::vector<double> rounded = keyMajor;
    for (double &x : rounded)
      x = roundTo(ElementType::BF16, x);
    EXPECT_EQ(layer.unpack(ElementType::BF16), rounded);
    EXPECT_TRUE(layer.pool() == before) << "unpack only reads";
    layer.step(makeToken(oracle, token));
  }
}

// f32 codes hold a dense state as it is. Packing replaces whatever was there.
TEST_P(Windows, PackAndUnpackAreInverse) {
  Placement placement = inOrder(2);
  placement.spread = true;
  Layer layer(spec(), placement, Kernels::All);
  Oracle oracle(spec(), layer.layout(), 2);
  layer.step(makeToken(oracle, 0));
  oracle.step(makeToken(oracle, 7));
  for (ElementType type : {ElementType::F32, ElementType::BF16})
    for (DenseOrder order : {DenseOrder::KeyValue, DenseOrder::ValueKey}) {
      std::vector<double> state = oracle.states;
      for (double &x : state)
        x = roundTo(type, x);
      layer.pack(state, type, order);
      EXPECT_EQ(layer.unpack(type, order), state);
      EXPECT_EQ(layer.states(), state);
      layer.step(makeToken(oracle, 1));
    }
  EXPECT_TRUE(layer.poolGapsIntact());
}

TEST_P(Windows, APackedStateGoesOnAsIfItHadStayed) {
  Layer stayed(spec(), inOrder(2), Kernels::All);
  Layer moved(spec(), inOrder(2), Kernels::All);
  Oracle oracle(spec(), stayed.layout(), 2);
  int token = 0;
  for (; token < GetParam().window + 1; ++token) {
    const Token inputs = makeToken(oracle, token);
    stayed.step(inputs);
    oracle.step(inputs);
  }
  moved.pack(stayed.unpack());
  for (int more = 0; more < GetParam().window + 2; ++more, ++token) {
    const Token inputs = makeToken(oracle, token);
    const std::vector<double> expected = oracle.step(inputs);
    EXPECT_LE(relativeError(stayed.step(inputs), expected), kF32Bound);
    EXPECT_LE(relativeError(moved.step(inputs), expected), kF32Bound);
  }
  EXPECT_LE(relativeError(moved.states(), stayed.states()), kF32Bound);
}

TEST_P(Windows, AZeroedSlotIsAnEmptySequence) {
  Layer used(spec(), inOrder(2)), fresh(spec(), inOrder(2));
  Oracle oracle(spec(), used.layout(), 2);
  for (int token = 0; token < GetParam().window + 1; ++token)
    used.step(makeToken(oracle, 50 + token));
  const int32_t slots[] = {0, 1};
  ZeroCall zero;
  zero.pool = used.slotPool();
  zero.slots = slots;
  zero.count = 2;
  require(used.program().zero(zero));
  const std::vector<double> states = used.states();
  EXPECT_EQ(states, std::vector<double>(states.size()));
  for (int token = 0; token < GetParam().window + 1; ++token) {
    const Token inputs = makeToken(oracle, token);
    EXPECT_EQ(used.step(inputs), fresh.step(inputs));
    EXPECT_TRUE(used.pool() == fresh.pool());
  }
}

// A copy in the middle of a window, into another pool: both go on with the same
// bits.
TEST_P(Windows, ACopyGoesOnIdentically) {
  Placement elsewhere;
  elsewhere.slots = {3};
  elsewhere.spread = true;
  Layer original(spec(), inOrder(1)), fork(spec(), elsewhere);
  Oracle oracle(spec(), original.layout(), 1);
  const int window = GetParam().window;
  int token = 0;
  for (; token < window + window / 2; ++token)
    original.step(makeToken(oracle, token));
  const int32_t source = 0, target = 3;
  CopyCall copy;
  copy.from = original.slotPool();
  copy.to = fork.slotPool();
  copy.sources = &source;
  copy.targets = &target;
  copy.count = 1;
  require(original.program().copy(copy));
  for (int more = 0; more < window + 1; ++more, ++token) {
    const Token inputs = makeToken(oracle, token);
    EXPECT_EQ(original.step(inputs), fork.step(inputs));
    EXPECT_EQ(std::memcmp(original.slot(0), fork.slot(3),
                          original.program().info().slotBytes),
              0);
  }
  EXPECT_TRUE(fork.poolGapsIntact());
}

INSTANTIATE_TEST_SUITE_P(Rules, Windows,
                         testing::Values(WindowCase{"gated_delta", 1},
                                         WindowCase{"gated_delta", 2},
                                         WindowCase{"gated_delta", 7},
                                         WindowCase{"kda", 1},
                                         WindowCase{"kda", 5}));

} // namespace
