//===- PublishedErrorsTest.cpp - the codec on a real model's states -------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The figures are those of a separate float64 simulation of the same traces
// and formats in NumPy, with two digits; the codec has to give the same errors.
//
//===----------------------------------------------------------------------===//
#include "PlainLoop.h"
#include "TestSpecs.h"
#include "decant/Reference/ReferenceRun.h"

#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

struct Published {
  const char *format;
  DecodeSpec spec;
  double gdnOutput, gdnState, kdaOutput, kdaState;
  double tolerance; // relative
};

/// Two digits are exact to 5 %; the simulation's start vectors for the
/// compensators were others, which moves its figures by a few percent more.
constexpr double kTwoDigits = 0.05, kOtherStart = 0.15;

std::vector<Published> published() {
  const auto leap = [](int compensators) {
    return makeSpec(128, 128, ElementType::I8, leapQuantScales(), compensators,
                    16);
  };
  const auto int8 = [](int window) {
    return makeSpec(128, 128, ElementType::I8, perValueChannel(), 0, window);
  };
  return {
      {"bf16, every step", makeSpec(128, 128, ElementType::BF16, {}), 7.8e-3,
       1.8e-2, 2.2e-3, 9.6e-3, kTwoDigits},
      {"int8 per value channel, every step", int8(1), 4.9e-2, 1.2e-1, 1.6e-2,
       5.2e-2, kTwoDigits},
      {"int8 per value channel, window 16", int8(16), 1.1e-2, 3.1e-2, 3.4e-3,
       1.5e-2, kTwoDigits},
      {"LeapQuant int8", leap(4), 5.0e-3, 1.4e-2, 1.5e-3, 7.7e-3, kOtherStart},
  };
}

void compare(const char *file, DecayShape decay, bool kda) {
  Expected<Trace> trace = readTrace(std::string(DECANT_TEST_DATA "/") + file);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  const PlainRun exact = runPlainLoop(*trace, nullptr);
  for (const Published &row : published()) {
    const SlotLayout layout =
        makeSlotLayout(row.spec, {1, decay, DecayShape::None});
    const PlainRun run = runPlainLoop(*trace, &layout);
    const double output = relativeError(run.outputs, exact.outputs);
    const double state = relativeError(run.states, exact.states);
    const double wantedOutput = kda ? row.kdaOutput : row.gdnOutput;
    const double wantedState = kda ? row.kdaState : row.gdnState;
    EXPECT_NEAR(output, wantedOutput, row.tolerance * wantedOutput)
        << row.format;
    EXPECT_NEAR(state, wantedState, row.tolerance * wantedState) << row.format;
  }
}

TEST(PublishedErrors, Gdn) {
  compare("bytelm-gdn.safetensors", DecayShape::Scalar, false);
}

TEST(PublishedErrors, Kda) {
  compare("bytelm-kda.safetensors", DecayShape::Vector, true);
}

} // namespace
