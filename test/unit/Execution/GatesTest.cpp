//===- GatesTest.cpp - decay, beta, norm and scale conventions ===//
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

using Overrides = std::vector<std::string>;

/// Three tokens (one commit and a token in the window) of typical inputs.
void expectRule(const DecodeSpec &spec) {
  Layer layer(spec, inOrder(3));
  Oracle oracle(spec, layer.layout(), 3);
  const Errors errors = runBoth(layer, oracle, 3);
  EXPECT_TRUE(errors.finite);
  EXPECT_LE(errors.output, kF32Bound);
  EXPECT_LE(errors.state, kF32Bound);
}

class Gates : public testing::TestWithParam<
                  std::tuple<const char *, const char *, const char *>> {
protected:
  DecodeSpec spec() const {
    const auto [rule, decay, type] = GetParam();
    Overrides overrides = {fmt::format("rule={}", rule),
                           fmt::format("inputs.decay={}", decay),
                           fmt::format("inputs.gate_type={}", type),
                           "heads.value=3", "window.length=2"};
    if (decay == std::string("lower_bound"))
      overrides.push_back("inputs.lower_bound=-5");
    return makeSpec(overrides);
  }
};

TEST_P(Gates, FollowTheRule) { expectRule(spec()); }

// A row per gate value and a head per A_log: rates from 4e-44 to beyond f32,
// biases that do and do not cancel, arguments on both sides of every branch.
TEST_P(Gates, StayFiniteAtTheExtremes) {
  const DecodeSpec layerSpec = spec();
  const DecayForm form = layerSpec.inputs.decay;
  std::vector<double> values = {-1e4, -1000, -100, -90,  -20, -1,  0,  0.5,
                                1,    19.9,  20,   20.1, 88,  100, 1e4};
  if (form == DecayForm::Log)
    values = {-1e30, -1e4, -100, -88, -1, -1e-6, -1e-30, 0};
  if (form == DecayForm::Linear)
    values = {0, 1e-38, 1e-6, 0.5, 1};
  const int64_t rows = int64_t(values.size());
  Layer layer(layerSpec, inOrder(rows));
  Oracle oracle(layerSpec, layer.layout(), rows);
  std::vector<double> outputs, expected;
  for (int token = 0; token < 3; ++token) {
    Token inputs = makeToken(oracle, token);
    std::vector<double> &decay = inputs["decay"];
    const size_t width = decay.size() / rows;
    for (size_t i = 0; i < decay.size(); ++i)
      decay[i] = roundTo(layerSpec.inputs.gateType, values[i / width]);
    if (form == DecayForm::Softplus || form == DecayForm::LowerBound) {
      inputs["A_log"] = {-100, 0, 100};
      // Multiples of 1/4, so that a + dt_bias is the same in f32.
      std::vector<double> &bias = inputs["dt_bias"];
      for (size_t i = 0; i < bias.size(); ++i)
        bias[i] = 0.25 * (double(i % 5) - 2);
    }
    for (double x : layer.step(inputs))
      outputs.push_back(x);
    for (double x : oracle.step(inputs))
      expected.push_back(x);
  }
  EXPECT_TRUE(allFinite(outputs));
  EXPECT_TRUE(allFinite(layer.states()));
  // exp(x) has the relative error |x| 2^-24 of its argument; it matters up to
  // x = -2 or so, where its product with that error is largest.
  EXPECT_LE(relativeError(outputs, expected), 2 * kF32Bound);
  EXPECT_LE(relativeError(layer.states(), oracle.states), 2 * kF32Bound);
}

INSTANTIATE_TEST_SUITE_P(Forms, Gates,
                         testing::Combine(testing::Values("gated_delta", "kda"),
                                          testing::Values("log", "linear",
                                                          "softplus",
                                                          "lower_bound"),
                                          testing::Values("f32")));
INSTANTIATE_TEST_SUITE_P(
    NarrowTypes, Gates,
    testing::Values(std::tuple("gated_delta", "softplus", "bf16"),
                    std::tuple("kda", "softplus", "f16"),
                    std::tuple("gated_delta", "log", "f16"),
                    std::tuple("kda", "lower_bound", "bf16")));

struct Convention {
  const char *name;
  Overrides overrides;
};
void PrintTo(const Convention &convention, std::ostream *out) {
  *out << convention.name;
}
std::string nameOf(const testing::TestParamInfo<Convention> &info) {
  return info.param.name;
}

class Betas : public testing::TestWithParam<Convention> {};

TEST_P(Betas, FollowTheRule) { expectRule(makeSpec(GetParam().overrides)); }

TEST_P(Betas, StayFiniteAtTheExtremes) {
  const DecodeSpec spec = makeSpec(GetParam().overrides);
  const bool logits = spec.inputs.beta == BetaForm::Sigmoid;
  const std::vector<double> values =
      logits ? std::vector<double>{-1e4, -100, -88, 0, 88, 100, 1e4}
             : std::vector<double>{0, 1e-6, 0.5, 1};
  const int64_t rows = int64_t(values.size());
  Layer layer(spec, inOrder(rows));
  Oracle oracle(spec, layer.layout(), rows);
  for (int token = 0; token < 3; ++token) {
    Token inputs = makeToken(oracle, token);
    std::vector<double> &beta = inputs["beta"];
    for (size_t i = 0; i < beta.size(); ++i)
      beta[i] = roundTo(spec.inputs.gateType, values[i * rows / beta.size()]);
    const std::vector<double> outputs = layer.step(inputs);
    EXPECT_TRUE(allFinite(outputs));
    EXPECT_LE(relativeError(outputs, oracle.step(inputs)), kF32Bound);
  }
  EXPECT_LE(relativeError(layer.states(), oracle.states), kF32Bound);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, Betas,
    testing::Values(Convention{"value", {"inputs.beta=value"}},
                    Convention{"sigmoid", {"inputs.beta=sigmoid"}},
                    Convention{"value_twice", {"inputs.beta_scale=2"}},
                    Convention{"sigmoid_twice_bf16",
                               {"inputs.beta=sigmoid", "inputs.beta_scale=2",
                                "inputs.gate_type=bf16"}},
                    Convention{"value_rounded", {"inputs.beta_round=bf16"}},
                    Convention{"sigmoid_rounded_twice",
                               {"inputs.beta=sigmoid", "inputs.beta_round=bf16",
                                "inputs.beta_scale=2"}},
                    Convention{"sigmoid_rounded_f16",
                               {"inputs.beta=sigmoid", "inputs.beta_round=f16",
                                "inputs.gate_type=f16"}}),
    nameOf);

class Norms : public testing::TestWithParam<Convention> {};

TEST_P(Norms, FollowTheRule) { expectRule(makeSpec(GetParam().overrides)); }

// Keys and queries of zero, and of a length at which eps counts.
TEST_P(Norms, TakeShortVectors) {
  const DecodeSpec spec = makeSpec(GetParam().overrides);
  Layer layer(spec, inOrder(4));
  Oracle oracle(spec, layer.layout(), 4);
  for (int token = 0; token < 3; ++token) {
    Token inputs = makeToken(oracle, token);
    const size_t width = inputs["k"].size() / 4;
    for (size_t i = 0; i < width; ++i) {
      inputs["k"][i] = 0;
      inputs["q"][width + i] = 0;
      inputs["k"][2 * width + i] *= 0.125 * 0.125 * 0.125 * 0.125;
      inputs["q"][3 * width + i] *= 0.125 * 0.125 * 0.125 * 0.125;
    }
    const std::vector<double> outputs = layer.step(inputs);
    EXPECT_TRUE(allFinite(outputs));
    EXPECT_LE(relativeError(outputs, oracle.step(inputs)), kF32Bound);
    // Nothing was written along a zero key, and a zero query reads nothing.
    for (size_t i = 0; i < outputs.size() / 2; ++i)
      EXPECT_EQ(outputs[i], 0) << i;
  }
  EXPECT_TRUE(allFinite(layer.states()));
  EXPECT_LE(relativeError(layer.states(), oracle.states), kF32Bound);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, Norms,
    testing::Values(
        Convention{"none", {"inputs.qk_norm=none", "inputs.scale=one"}},
        Convention{"none_scaled", {"inputs.qk_norm=none", "inputs.scale=0.37"}},
        Convention{"inside", {"inputs.qk_norm=l2_eps_inside"}},
        Convention{"inside_large_eps",
                   {"inputs.qk_norm=l2_eps_inside", "inputs.norm_eps=0.25",
                    "inputs.scale=one"}},
        Convention{"outside_large_eps",
                   {"inputs.qk_norm=l2_eps_outside", "inputs.norm_eps=0.25",
                    "inputs.scale=12.5"}},
        Convention{"outside", {"inputs.qk_norm=l2_eps_outside"}},
        Convention{"inside_tiny_eps",
                   {"inputs.qk_norm=l2_eps_inside", "inputs.norm_eps=1e-30"}},
        Convention{"outside_tiny_eps",
                   {"inputs.qk_norm=l2_eps_outside", "inputs.norm_eps=1e-30"}}),
    nameOf);

} // namespace
