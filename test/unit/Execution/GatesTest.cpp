//===- GatesTest.cpp - decay, beta, norm and scale conventions ------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "decant/Core/Numeric.h"
#include "decant/Reference/ReferenceRun.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

using namespace decant;
using namespace decant::test;

namespace {

using Overrides = std::vector<std::string>;

/// The spec with plain inputs: log decay, beta itself, nothing normalised.
DecodeSpec plainSpec(DecodeSpec spec) {
  InputSpec &inputs = spec.inputs;
  inputs.decay = DecayForm::Log;
  inputs.lowerBound = 0;
  inputs.beta = BetaForm::Value;
  inputs.betaScale = 1;
  inputs.betaRound = ElementType::F32;
  inputs.qkNorm = QkNorm::None;
  inputs.scale = 1;
  return spec;
}

/// log(1 + e^x).
double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// g of each element of a decay input.
void plainDecay(const DecodeSpec &spec, Token &token) {
  const InputSpec &inputs = spec.inputs;
  std::vector<double> &decay = token["decay"];
  for (size_t i = 0; i < decay.size(); ++i) {
    double &x = decay[i];
    if (inputs.decay == DecayForm::Linear)
      x = std::log(x);
    if (inputs.decay != DecayForm::Softplus &&
        inputs.decay != DecayForm::LowerBound)
      continue;
    const std::vector<double> &bias = token["dt_bias"];
    const size_t at = i % bias.size();
    // A rate is at most the largest f32, so that no infinity meets a zero.
    const double rate =
        std::min(std::exp(token["A_log"][at * spec.heads.value / bias.size()]),
                 double(std::numeric_limits<float>::max()));
    x = inputs.decay == DecayForm::Softplus
            ? -rate * softplus(x + bias[at])
            : inputs.lowerBound * sigmoid(rate * (x + bias[at]));
  }
}

/// The conventions of the spec applied to a token, in float64 and by the
/// formulas of DecodeSpec.h: an Oracle alone would not do, since it runs the
/// same imported conventions that the kernel is compiled from.
Token plainToken(const DecodeSpec &spec, Token token) {
  const InputSpec &inputs = spec.inputs;
  plainDecay(spec, token);
  for (double &x : token["beta"]) {
    if (inputs.beta == BetaForm::Sigmoid)
      x = sigmoid(x);
    x = roundTo(inputs.betaRound, x) * inputs.betaScale;
  }
  const size_t dim = spec.heads.keyDim;
  for (const char *name : {"q", "k"})
    for (size_t at = 0; at < token[name].size(); at += dim) {
      double *vector = &token[name][at];
      const double squares =
          std::inner_product(vector, vector + dim, vector, 0.0);
      double factor = 1;
      if (inputs.qkNorm == QkNorm::L2EpsInside)
        factor = 1 / std::sqrt(squares + inputs.normEps);
      if (inputs.qkNorm == QkNorm::L2EpsOutside)
        factor = 1 / (std::sqrt(squares) + inputs.normEps);
      if (name[0] == 'q')
        factor *= inputs.scale;
      for (size_t i = 0; i < dim; ++i)
        vector[i] *= factor;
    }
  return token;
}

/// Three tokens (at window 2, one commit and a token in the window). `change`
/// alters each of them.
void expectRule(const DecodeSpec &spec, int64_t rows, double bound,
                const std::function<void(Token &)> &change) {
  Layer layer(spec, inOrder(rows));
  const Oracle raw(spec, layer.layout(), rows);
  Oracle plain(plainSpec(spec), layer.layout(), rows);
  // By row: in a sum over all, those whose gates are wrong would be diluted.
  // Measured against the largest row, since a beta of 1e-40 leaves others with
  // numbers that f32 cannot hold.
  std::vector<std::vector<double>> outputs(rows), expected(rows);
  auto append = [&](std::vector<std::vector<double>> &to,
                    const std::vector<double> &from) {
    const size_t width = from.size() / rows;
    for (int64_t row = 0; row < rows; ++row)
      to[row].insert(to[row].end(), from.begin() + row * width,
                     from.begin() + (row + 1) * width);
  };
  for (int number = 0; number < 3; ++number) {
    Token token = makeToken(raw, number);
    change(token);
    append(outputs, layer.step(token));
    append(expected, plain.step(plainToken(spec, token)));
  }
  auto norm = [](const std::vector<double> &x) {
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
  };
  double largest = 0;
  for (const std::vector<double> &row : expected)
    largest = std::max(largest, norm(row));
  for (int64_t row = 0; row < rows; ++row) {
    EXPECT_TRUE(allFinite(outputs[row])) << "row " << row;
    std::vector<double> &error = outputs[row];
    for (size_t i = 0; i < error.size(); ++i)
      error[i] -= expected[row][i];
    EXPECT_LE(norm(error), bound * largest) << "row " << row;
  }
  EXPECT_TRUE(allFinite(layer.states()));
  EXPECT_LE(relativeError(layer.states(), plain.states), bound);
}
void expectRule(const DecodeSpec &spec) {
  expectRule(spec, 3, kF32Bound, [](Token &) {});
}

class Gates : public testing::TestWithParam<
                  std::tuple<const char *, const char *, const char *>> {
protected:
  DecodeSpec spec() const {
    const auto [rule, decay, type] = GetParam();
    Overrides overrides = {fmt::format("rule={}", rule),
                           fmt::format("inputs.decay={}", decay),
                           fmt::format("inputs.gate_type={}", type),
                           "heads.value=4", "window.length=2"};
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
  std::vector<double> values = {-1e4, -1000, -100, -90, -20, -1,
                                0,    0.5,   1,    5,   7,   12,
                                19.9, 20,    20.1, 88,  100, 1e4};
  if (form == DecayForm::Log)
    values = {-1e30, -1e4, -100, -88, -1, -1e-6, -1e-30, 0};
  if (form == DecayForm::Linear)
    values = {0, 1e-38, 1e-6, 0.5, 1};
  const int64_t rows = int64_t(values.size());
  // exp(x) has the relative error |x| 2^-24 of its argument; that matters up to
  // x = -2 or so, where its product with that error is largest.
  expectRule(layerSpec, rows, 2 * kF32Bound, [&](Token &token) {
    std::vector<double> &decay = token["decay"];
    const size_t width = decay.size() / rows;
    for (size_t i = 0; i < decay.size(); ++i)
      decay[i] = roundTo(layerSpec.inputs.gateType, values[i / width]);
    if (form != DecayForm::Softplus && form != DecayForm::LowerBound)
      return;
    token["A_log"] = {-100, -1, 0, 100};
    // Multiples of 1/4, so that a + dt_bias is the same in f32.
    std::vector<double> &bias = token["dt_bias"];
    for (size_t i = 0; i < bias.size(); ++i)
      bias[i] = 0.25 * (double(i % 5) - 2);
  });
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
  expectRule(spec, rows, kF32Bound, [&](Token &token) {
    std::vector<double> &beta = token["beta"];
    for (size_t i = 0; i < beta.size(); ++i)
      beta[i] = roundTo(spec.inputs.gateType, values[i * rows / beta.size()]);
  });
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
  const Oracle raw(spec, layer.layout(), 4);
  Oracle plain(plainSpec(spec), layer.layout(), 4);
  for (int token = 0; token < 3; ++token) {
    Token inputs = makeToken(raw, token);
    const size_t width = inputs["k"].size() / 4;
    for (size_t i = 0; i < width; ++i) {
      inputs["k"][i] = 0;
      inputs["q"][width + i] = 0;
      inputs["k"][2 * width + i] *= 0.125 * 0.125 * 0.125 * 0.125;
      inputs["q"][3 * width + i] *= 0.125 * 0.125 * 0.125 * 0.125;
    }
    const std::vector<double> outputs = layer.step(inputs);
    EXPECT_TRUE(allFinite(outputs));
    EXPECT_LE(relativeError(outputs, plain.step(plainToken(spec, inputs))),
              kF32Bound);
    // Nothing was written along a zero key, and a zero query reads nothing.
    for (size_t i = 0; i < outputs.size() / 2; ++i)
      EXPECT_EQ(outputs[i], 0) << i;
  }
  EXPECT_TRUE(allFinite(layer.states()));
  EXPECT_LE(relativeError(layer.states(), plain.states), kF32Bound);
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
