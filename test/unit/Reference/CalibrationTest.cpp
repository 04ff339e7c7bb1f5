//===- CalibrationTest.cpp - which key rows matter ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/TableFit.h"

#include "TestSpecs.h"
#include "decant/Core/CodeStore.h"

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

// Of each head those that cost most at 8 bits; the rest is given out as ever.
TEST(BitAllocation, PivotsAreTheDearestRowsOfEachHead) {
  constexpr int kRows = 12, kPivots = 2;
  const std::vector<CostByBits> costs = roundingCosts(2 * kRows, 5);
  const std::vector<uint8_t> widths =
      allocateRows(costs, kRows, kPivots, 2 * kRows * 5, false);
  EXPECT_EQ(std::accumulate(widths.begin(), widths.end(), 0), 2 * kRows * 5);
  std::vector<CostByBits> others;
  std::vector<uint8_t> given;
  for (int head = 0; head < 2; ++head) {
    double least = std::numeric_limits<double>::infinity(), most = 0;
    int pivots = 0;
    for (int row = head * kRows; row < (head + 1) * kRows; ++row)
      if (widths[row] == kPivotBits) {
        ++pivots;
        least = std::min(least, costs[row].back());
      } else {
        most = std::max(most, costs[row].back());
        others.push_back(costs[row]);
        given.push_back(widths[row]);
      }
    EXPECT_EQ(pivots, kPivots);
    EXPECT_GE(least, most);
  }
  EXPECT_EQ(given, allocateBits(others, 2 * kRows * 5 - 4 * kPivotBits));
  for (uint8_t width : allocateRows(costs, kRows, kPivots, 0, true))
    EXPECT_TRUE(width == kMaxRowBits || width == kPivotBits);
}

// Two heads of four slabs, whose rows lie between one another: each slab gets
// what the best split of a sixteenth of the bits gives one of its rows.
TEST(BitAllocation, FillsSlabs) {
  const int headRows = 4 * kSlabRows;
  for (int64_t budget : {8 * 2, 37, 55}) {
    const std::vector<CostByBits> slabs = roundingCosts(8, 5);
    std::vector<CostByBits> costs;
    for (int row = 0; row < 2 * headRows; ++row)
      costs.push_back(slabs[row / headRows * 4 + row * 3 % 4]);
    const std::vector<uint8_t> each = allocateBits(slabs, budget);
    const std::vector<uint8_t> widths =
        allocateSlabBits(costs, budget * kSlabRows + 7, headRows);
    for (int row = 0; row < 2 * headRows; ++row)
      EXPECT_EQ(widths[row], each[row / headRows * 4 + row * 3 % 4]) << row;
  }
  // Heads of other lengths have no slabs.
  const std::vector<CostByBits> costs = roundingCosts(20, 6);
  EXPECT_EQ(allocateSlabBits(costs, 77, 20), allocateBits(costs, 77));
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

/// Of a trace that has a tensor for each input of the rule.
TraceView viewOf(const RuleProgram &program, const Trace &trace, int keys,
                 int values, int64_t tokens) {
  TraceView view;
  view.tokens = tokens;
  for (RuleInput input : program.inputs()) {
    if (input.name == "decay")
      input.name = "g"; // as traces call it
    view.inputs.push_back({input, &trace.tensors.at(input.name), 1,
                           input.kind == RuleInput::KeyVector ? keys : values});
  }
  return view;
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
  const TraceView view = viewOf(program, trace, kKeys, kValues, kTokens);

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

/// A head of the decaying rule, its trace and what a loop says of its states.
class TableFits : public testing::Test {
protected:
  static constexpr int kKeys = 16, kValues = 32, kTokens = 30;

  TableFits() : program(decayingRule(kKeys, kValues)) {
    put("q", kKeys, [](int, int row) { return 1 + row; });
    put("k", kKeys, [](int token, int row) {
      return std::sin(token * 1.3 + row) * (1 + row);
    });
    put("v", kValues,
        [](int token, int i) { return std::cos(token * i + 1.0); });
    put("g", kKeys, [](int, int row) { return 0.5 + row / 40.0; });
    view = viewOf(program, trace, kKeys, kValues, kTokens);
  }

  template <typename Element>
  void put(const char *name, int width, Element element) {
    trace.tensors[name] = tensor({kTokens, 1, width}, [&](int64_t i) {
      return float(element(int(i / width), int(i % width)));
    });
  }
  double input(const char *name, int width, int token, int i) const {
    float value;
    std::memcpy(&value, &trace.tensors.at(name).bytes[(token * width + i) * 4],
                sizeof(value));
    return value;
  }
  /// S after each token.
  template <typename Visit> void forStates(Visit visit) const {
    std::vector<double> state(kKeys * kValues);
    for (int token = 0; token < kTokens; ++token) {
      for (int k = 0; k < kKeys; ++k)
        for (int v = 0; v < kValues; ++v)
          state[k * kValues + v] =
              state[k * kValues + v] * input("g", kKeys, token, k) +
              input("k", kKeys, token, k) * input("v", kValues, token, v);
      visit(state);
    }
  }

  RuleProgram program;
  Trace trace;
  TraceView view;
};

// The largest element that a block ever had is the largest code.
TEST_F(TableFits, StaticScalesReachAsFarAsStates) {
  DecodeSpec spec =
      makeSpec(kKeys, kValues, ElementType::I8,
               {{Axis::Key, ScaleFit::Static, ElementType::F32, 16}});
  std::vector<double> largest(kKeys * 2);
  forStates([&](const std::vector<double> &state) {
    for (int i = 0; i < kKeys * kValues; ++i)
      largest[i / 16] = std::max(largest[i / 16], std::fabs(state[i]));
  });
  const auto scales = fitStaticScales(program, {view}, spec);
  ASSERT_TRUE(scales.ok()) << scales.status().message();
  ASSERT_EQ(scales->size(), largest.size());
  for (size_t i = 0; i < largest.size(); ++i)
    EXPECT_FLOAT_EQ((*scales)[i], float(largest[i] / 127)) << i;
}

// K-means never does worse than the even levels from which it starts; each
// level is the mean of what is nearest to it, within a bin of 2^-13.
TEST_F(TableFits, LevelsAreMeans) {
  DecodeSpec spec =
      makeSpec(kKeys, kValues, ElementType::T3,
               {{Axis::Value, ScaleFit::MinMax, ElementType::F32}});
  RowStatistics rows;
  for (int row = 0; row < kKeys; ++row)
    rows.impact.push_back(1 + row % 3);
  CalibrationOptions options;
  options.snapshots = kTokens; // all of them
  const auto levels = fitLevels(program, {view}, spec, rows, options);
  ASSERT_TRUE(levels.ok()) << levels.status().message();
  ASSERT_EQ(levels->size(), 8u);
  std::vector<double> sum(8), weight(8);
  double error = 0, evenError = 0;
  forStates([&](const std::vector<double> &state) {
    for (int v = 0; v < kValues; ++v) {
      double low = state[v], high = state[v];
      for (int k = 0; k < kKeys; ++k) {
        low = std::min(low, state[k * kValues + v]);
        high = std::max(high, state[k * kValues + v]);
      }
      const double half = (high - low) / 2;
      for (int k = 0; k < kKeys; ++k) {
        const double x = (state[k * kValues + v] - (high + low) / 2) / half;
        const double w = half * half * rows.impact[k];
        size_t best = 0;
        for (size_t i = 1; i < 8; ++i)
          if (std::fabs(x - (*levels)[i]) < std::fabs(x - (*levels)[best]))
            best = i;
        sum[best] += w * x;
        weight[best] += w;
        error += w * std::pow(x - (*levels)[best], 2);
        const double even =
            -1 + (2 * std::clamp(std::floor((x + 1) * 4), 0.0, 7.0) + 1) / 8;
        evenError += w * std::pow(x - even, 2);
      }
    }
  });
  EXPECT_LT(error, 0.95 * evenError);
  for (size_t i = 0; i < 8; ++i) {
    ASSERT_GT(weight[i], 0) << i;
    // 50 rounds have come close to where they end.
    EXPECT_NEAR(sum[i] / weight[i], (*levels)[i], 0.01) << i;
  }
}

// The geometric mean of a head's weights is 1; they are the 1/8-th powers of
// what reads see of an error.
TEST(TableFit, WeightsAreEighthRoots) {
  HeadShape heads;
  heads.value = 2;
  heads.keyDim = 3;
  RowStatistics rows;
  rows.impact = {256, 2, 1, 5, 5, 5};
  rows.lifetime = {1, 2, 1, 1, 1, 1};
  const std::vector<float> weights = fitWeights(rows, heads);
  EXPECT_FLOAT_EQ(weights[0] * weights[1] * weights[2], 1);
  EXPECT_FLOAT_EQ(weights[0] / weights[1], 2);
  EXPECT_FLOAT_EQ(weights[1], weights[2]);
  EXPECT_EQ(weights[3], 1);
}

} // namespace
