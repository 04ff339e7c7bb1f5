//===- TypesTest.cpp - types of inputs and outputs ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "decant/Core/Numeric.h"
#include "decant/Reference/ReferenceRun.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

class Types : public testing::TestWithParam<
                  std::tuple<const char *, const char *, const char *>> {
protected:
  DecodeSpec spec(const char *output) const {
    const auto [input, unused, rule] = GetParam();
    return makeSpec({fmt::format("inputs.type={}", input),
                     fmt::format("inputs.output={}", output),
                     fmt::format("rule={}", rule), "window.length=2",
                     "heads.key_dim=20", "heads.value_dim=20"});
  }
};

// The oracle gets the inputs as the narrow type holds them, so all that may
// differ is the output's own rounding.
TEST_P(Types, FollowTheRule) {
  const std::string output = std::get<1>(GetParam());
  Layer layer(spec(output.c_str()), inOrder(3)), wide(spec("f32"), inOrder(3));
  Oracle oracle(spec("f32"), layer.layout(), 3);
  std::vector<double> all, expected;
  for (int token = 0; token < 5; ++token) {
    const Token inputs = makeToken(oracle, token);
    const std::vector<double> outputs = layer.step(inputs);
    // The f32 kernel's output, rounded once to the nearest.
    std::vector<double> rounded = wide.step(inputs);
    for (double &x : rounded)
      x = roundTo(spec(output.c_str()).inputs.output, x);
    EXPECT_EQ(outputs, rounded) << "token " << token;
    for (double x : outputs)
      all.push_back(x);
    for (double x : oracle.step(inputs))
      expected.push_back(x);
  }
  const double norm = output == "f32"   ? kF32Bound
                      : output == "f16" ? kF16Norm
                                        : kBf16Norm;
  EXPECT_LE(relativeError(all, expected), norm);
  EXPECT_LE(relativeError(layer.states(), oracle.states), kF32Bound);
}

INSTANTIATE_TEST_SUITE_P(All, Types,
                         testing::Combine(testing::Values("f32", "f16", "bf16"),
                                          testing::Values("f32", "f16", "bf16"),
                                          testing::Values("gated_delta",
                                                          "kda")));

} // namespace
