//===- CalibrationTest.cpp - which key rows matter ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/Calibration.h"

#include "TestSpecs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

using namespace decant;
using namespace decant::test;

namespace {

/// The least sum of costs over every way to give out `budget` bits.
double bestSum(const std::vector<CostByBits> &costs, int64_t budget) {
  const double never = std::numeric_limits<double>::infinity();
  std::vector<double> best(budget + 1, 0);
  for (const CostByBits &row : costs) {
    std::vector<double> next(budget + 1, never);
    for (int64_t spent = 0; spent <= budget; ++spent)
      for (int bits = kMinRowBits; bits <= kMaxRowBits; ++bits)
        if (spent + bits <= budget)
          next[spent + bits] = std::min(next[spent + bits],
                                        best[spent] + row[bits - kMinRowBits]);
    best = next;
    // A sum for "up to" so many bits.
    for (int64_t spent = 1; spent <= budget; ++spent)
      best[spent] = std::min(best[spent], best[spent - 1]);
  }
  return best[budget];
}

double sumOf(const std::vector<CostByBits> &costs,
             const std::vector<uint8_t> &widths) {
  double sum = 0;
  for (size_t row = 0; row < costs.size(); ++row)
    sum += costs[row][widths[row] - kMinRowBits];
  return sum;
}

/// Rows whose errors fall by about four with every bit.
std::vector<CostByBits> roundingCosts(int rows, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<CostByBits> costs(rows);
  for (CostByBits &row : costs) {
    double cost = std::exp(3 * normal(random));
    for (double &at : row)
      at = cost, cost *= 0.25 * (1 + 0.2 * std::sin(cost));
  }
  return costs;
}

TEST(BitAllocation, IsTheBestOfAll) {
  for (unsigned seed : {1u, 2u, 3u})
    for (int64_t budget : {20, 37, 50, 79, 80, 90}) {
      const std::vector<CostByBits> costs = roundingCosts(10, seed);
      const std::vector<uint8_t> widths = allocateBits(costs, budget);
      EXPECT_LE(std::accumulate(widths.begin(), widths.end(), 0), budget);
      EXPECT_NEAR(sumOf(costs, widths), bestSum(costs, budget),
                  1e-12 * sumOf(costs, std::vector<uint8_t>(10, 2)))
          << seed << " " << budget;
    }
}

TEST(BitAllocation, RowsWithoutCostsGetTheLeast) {
  std::vector<CostByBits> costs = roundingCosts(6, 4);
  costs[2].fill(0);
  const std::vector<uint8_t> widths = allocateBits(costs, 30);
  EXPECT_EQ(widths[2], kMinRowBits);
  EXPECT_EQ(std::accumulate(widths.begin(), widths.end(), 0), 30);
}

/// S <- diag(d) S + k v^T, o = S^T q: errors in row i live as its decay says.
RuleProgram decayingRule(int keyDim, int valueDim) {
  using Kind = RuleInput;
  RuleProgram program(keyDim, valueDim);
  auto input = [&](const char *name, RuleInput::Kind kind) {
    RuleInput in;
    in.name = name;
    in.kind = kind;
    return program.addInput(in);
  };
  const auto q = input("q", Kind::KeyVector), k = input("k", Kind::KeyVector);
  const auto v = input("v", Kind::ValueVector);
  const auto d = input("decay", Kind::KeyVector);
  const auto decayed = program.addKeyDecay(RuleProgram::firstState(), d);
  const auto written = program.addWrite(decayed, k, v);
  program.finish(written, program.addRead(written, q));
  return program;
}

TraceTensor tensor(std::vector<int64_t> shape,
                   const std::function<float(int64_t)> &element) {
  TraceTensor result;
  result.shape = shape;
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  result.bytes.resize(count * sizeof(float));
  for (int64_t i = 0; i < count; ++i) {
    const float value = element(i);
    std::memcpy(&result.bytes[i * sizeof(float)], &value, sizeof(value));
  }
  return result;
}

// Row i decays by d_i per token and is read with q_i, so an error of one unit
// lives sum d_i^(2 t) and is seen as q_i^2 of that over the output's square;
// followed over H tokens after the one that made it. The bound is that of a
// difference at 1e-4 of the state, in float64.
TEST(Calibration, LifetimeAndImpactAreTheGeometricSums) {
  constexpr int kKeys = 16, kValues = 16, kTokens = 40, kHorizon = 20;
  auto decay = [](int row) { return 1 - std::ldexp(1, -1 - row % 6); };
  Trace trace;
  auto put = [&](const char *name, int width, auto element) {
    trace.tensors[name] = tensor({kTokens, 1, width}, [&](int64_t i) {
      return float(element(int(i / width), int(i % width)));
    });
  };
  put("q", kKeys, [](int, int row) { return 1 + row; });
  put("k", kKeys, [](int token, int row) { return std::sin(token + row); });
  put("v", kValues, [](int token, int) { return token % 2 ? 1 : -1; });
  put("g", kKeys, [&](int, int row) { return decay(row); });
  const RuleProgram program = decayingRule(kKeys, kValues);
  DecodeSpec spec =
      makeSpec(kKeys, kValues, ElementType::I8, leapQuantScales());
  spec.heads.key = spec.heads.value = 1;
  TraceView view;
  view.tokens = kTokens;
  for (RuleInput input : program.inputs()) {
    if (input.name == "decay")
      input.name = "g"; // as traces call it
    view.inputs.push_back(
        {input, &trace.tensors.at(input.name), 1,
         input.kind == RuleInput::KeyVector ? kKeys : kValues});
  }

  CalibrationOptions options;
  options.horizon = kHorizon;
  const auto rows = calibrate(program, {view}, spec, options);
  ASSERT_TRUE(rows.ok()) << rows.status().message();
  // All values are alike, so one column of the state is enough to know the
  // outputs.
  std::vector<double> column(kKeys), squares(kTokens);
  double mean = 0;
  for (int token = 0; token < kTokens; ++token) {
    double output = 0;
    for (int row = 0; row < kKeys; ++row) {
      column[row] = column[row] * float(decay(row)) +
                    float(std::sin(token + row)) * (token % 2 ? 1 : -1);
      output += column[row] * (1 + row);
    }
    squares[token] = output * output;
    mean += squares[token] / kTokens;
  }
  for (int row = 0; row < kKeys; ++row) {
    const double d2 = decay(row) * decay(row);
    // Followed over tokens 1 .. 20 after the first restart, 1 .. 19 after the
    // second.
    double sum = 0;
    for (int t = 1; t <= kHorizon; ++t)
      sum += std::pow(d2, t) * (t < kHorizon ? 1 : 0.5);
    EXPECT_NEAR(rows->lifetime[row], sum, 1e-6 * sum) << row;
    double impact = 0;
    for (int token = 1; token < kTokens; ++token) {
      const int age = token <= kHorizon ? token : token - kHorizon;
      impact += std::pow(d2, age) * (1 + row) * (1 + row) /
                (squares[token] + 1e-3 * mean) / 2;
    }
    EXPECT_NEAR(rows->impact[row], impact, 1e-6 * impact) << row;
  }
  // Each bit more halves the steps.
  for (int row = 0; row < kKeys; ++row)
    for (size_t width = 1; width < rows->distortion[row].size(); ++width)
      EXPECT_LE(rows->distortion[row][width],
                rows->distortion[row][width - 1] * 1.5)
          << row << " " << width;
}

} // namespace
