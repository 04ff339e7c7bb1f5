//===- CompensatorsTest.cpp - types, counts and fits of compensators ------===//
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

/// Stored type and rounds of the fit.
class Compensators
    : public testing::TestWithParam<std::tuple<const char *, int>> {
protected:
  /// int4 codes leave much to compensators.
  DecodeSpec spec(int count, int window) const {
    const auto &[type, rounds] = GetParam();
    return makeSpec({fmt::format("state={}", smooth("int4")),
                     fmt::format("window.length={}", window),
                     fmt::format("window.compensators={}", count),
                     fmt::format("window.compensator_type={}", type),
                     fmt::format("window.compensator_rounds={}", rounds),
                     "window.records=f16", "heads.key_dim=64",
                     "heads.value_dim=48"});
  }
};

// As in Formats: kernel and codec round the same numbers, f32 arithmetic falls
// on the other side of a middle a few times in ten thousand.
TEST_P(Compensators, PackEncodesAsTheCodecDoes) {
  for (int count : {1, 6, 16}) {
    Layer layer(spec(count, 4), inOrder(1), Kernels::All);
    std::vector<double> states;
    for (int state = 0; state < 2; ++state)
      for (int k = 0; k < 64; ++k)
        for (int v = 0; v < 48; ++v)
          states.push_back(float(std::sin(1.7 * k * v + state + k) +
                                 9 * std::sin(0.7 * k) * std::cos(1.3 * v)));
    layer.pack(states);
    const std::vector<double> codec = throughCodec(layer.layout(), states);
    const double error = relativeError(codec, states);
    EXPECT_GT(error, 1e-6);
    EXPECT_LE(relativeError(layer.states(), codec), 0.2 * error) << count;
    EXPECT_LE(relativeError(layer.states(), states), 1.02 * error) << count;
  }
}

// Scales and codes of zeros are zeros, and the largest state stays finite.
TEST_P(Compensators, PackSurvivesDegenerateStates) {
  Layer layer(spec(6, 4), inOrder(1), Kernels::All);
  for (double size : {0.0, 1e-40, 1e-30, 1e30}) {
    std::vector<double> states(2 * 64 * 48);
    for (size_t i = 0; i < states.size(); i += 5)
      states[i] = float(size * std::sin(double(i)));
    layer.pack(states);
    for (double x : layer.states()) {
      ASSERT_TRUE(std::isfinite(x)) << size;
      ASSERT_LE(std::fabs(x), 1.1 * size) << size;
    }
  }
}

// Two folds of 12 tokens: the fit of the second sees what the first one left.
// The bound is that of Formats for codes behind a fit.
TEST_P(Compensators, StepsCostWhatTheFormatCosts) {
  const FormatErrors errors = runFormat(spec(6, 12), 2, 24);
  EXPECT_TRUE(errors.finite);
  EXPECT_LE(errors.ratio(), 1.02) << errors.kernel << " " << errors.codec;
  EXPECT_GE(errors.ratio(), 1 / 1.02) << errors.kernel << " " << errors.codec;
}

INSTANTIATE_TEST_SUITE_P(All, Compensators,
                         testing::Combine(testing::Values("f16", "bf16", "int8",
                                                          "e4m3"),
                                          testing::Values(1, 3)),
                         [](const auto &info) {
                           return fmt::format("{}_rounds{}",
                                              std::get<0>(info.param),
                                              std::get<1>(info.param));
                         });

// The longest window with the most compensators: 64 records and 32 terms lie
// side by side in a fold.
TEST(LongWindows, HoldWithSixteenCompensators) {
  for (const char *rule : {"gated_delta", "kda"})
    for (int window : {32, 64}) {
      const DecodeSpec spec = makeSpec(
          {fmt::format("rule={}", rule),
           fmt::format("state={}", smooth("int4")),
           fmt::format("window.length={}", window), "window.compensators=16",
           "window.compensator_type=int8", "window.records=f16",
           "heads.key_dim=64", "heads.value_dim=48"});
      const FormatErrors errors = runFormat(spec, 1, 2 * window);
      EXPECT_TRUE(errors.finite);
      // Vectors of decays are kept in f16, which the codec does not do.
      const double bound = std::string(rule) == "kda" ? 1.05 : 1.02;
      EXPECT_LE(errors.ratio(), bound) << rule << " " << window;
      EXPECT_GE(errors.ratio(), 1 / bound) << rule << " " << window;
    }
}

} // namespace
