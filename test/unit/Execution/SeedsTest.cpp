//===- SeedsTest.cpp - whose noise stochastic rounding is -----------------===//
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
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

DecodeSpec stochastic(int window) {
  return makeSpec(
      {R"(state={"codes": "int8", "round": "stochastic", "scale": [)" +
           scale("value", "absmax", "f32") + "]}",
       fmt::format("window.length={}", window), "window.records=f16",
       "heads.key=1", "heads.value=2", "heads.key_dim=64",
       "heads.value_dim=64"});
}

void seed(Layer &layer, const std::vector<uint32_t> &seeds) {
  std::vector<int32_t> slots(seeds.size());
  for (size_t i = 0; i < slots.size(); ++i)
    slots[i] = int32_t(i);
  ASSERT_TRUE(layer.program()
                  .zero({layer.slotPool(), slots.data(), int64_t(slots.size()),
                         nullptr, seeds.data()})
                  .ok());
}

// The same sequence three times: equal seeds give equal bits in any slot,
// another seed other ones, which lie as near to the truth.
TEST(Seeds, AreWhatSequencesDifferIn) {
  for (int window : {1, 4}) {
    Layer layer(stochastic(window), inOrder(3));
    seed(layer, {9, 0x90000001, 9});
    const Oracle oracle(stochastic(window), layer.layout(), 3);
    const size_t each = 2 * 64;
    int different = 0;
    for (int token = 0; token < 9; ++token) {
      const std::vector<double> out =
          layer.step(makeToken(oracle, token, {5, 5, 5}));
      for (size_t i = 0; i < each; ++i) {
        ASSERT_EQ(out[i], out[2 * each + i]) << token;
        different += out[i] != out[each + i];
      }
    }
    EXPECT_GT(different, 100) << window;
    const std::vector<double> states = layer.states();
    const auto third = std::ptrdiff_t(states.size() / 3);
    const double apart =
        relativeError({states.begin(), states.begin() + third},
                      {states.begin() + third, states.begin() + 2 * third});
    EXPECT_GT(apart, 1e-4);
    EXPECT_LT(apart, 0.1); // a code in 127 of the column, some times
  }
}

// Kernels draw what the codec draws, also from seeds that have their highest
// bit; heads that hold the same round differently.
TEST(Seeds, KernelsDrawAsTheCodecDoes) {
  Layer layer(stochastic(4), inOrder(2), Kernels::All);
  seed(layer, {0, 0xfedcba98});
  std::vector<double> one, states;
  for (int i = 0; i < 64 * 64; ++i)
    one.push_back(float(3 * std::sin(0.7 * i) + std::cos(0.013 * i)));
  for (int head = 0; head < 4; ++head)
    states.insert(states.end(), one.begin(), one.end());
  layer.pack(states);
  const std::vector<double> stored = layer.states();
  const size_t row = 2 * one.size();
  const std::vector<double> dense(states.begin(), states.begin() + row);
  for (int number = 0; number < 2; ++number) {
    const std::vector<double> own(stored.begin() + number * row,
                                  stored.begin() + (number + 1) * row);
    const std::vector<double> codec =
        throughCodec(layer.layout(), dense, 0, number ? 0xfedcba98 : 0);
    EXPECT_LE(relativeError(own, codec), 0.2 * relativeError(codec, dense));
    const std::vector<double> first(own.begin(), own.begin() + one.size());
    const std::vector<double> second(own.begin() + one.size(), own.end());
    EXPECT_GT(relativeError(first, second), 0.5 * relativeError(codec, dense));
  }
}

// In f32, 127 and a draw above 1 - 2^-18 sum to 128, which is no code: a byte
// of it is -128. Of a million draws, four are above.
TEST(Seeds, LargestCodesStayWhatTheyAre) {
  constexpr int kRows = 128;
  Layer layer(stochastic(4), inOrder(kRows), Kernels::All);
  std::vector<uint32_t> seeds(kRows);
  for (int i = 0; i < kRows; ++i)
    seeds[i] = uint32_t(i);
  seed(layer, seeds);
  const std::vector<double> ones(size_t(kRows) * 2 * 64 * 64, 1.0);
  layer.pack(ones);
  for (double element : layer.states())
    ASSERT_NEAR(element, 1, 1e-6);
}

} // namespace
