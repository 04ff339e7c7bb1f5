//===- ExpandMathTest.cpp - accuracy of the math expansions ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every function runs on the CPU over a grid of its range and is compared with
// the C library in double. Bounds are in units in the last place (ulp) of the
// exact result: 1 ulp is at most 1.2e-7 of the value.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <limits>

using namespace decant;
using namespace decant::test;

namespace {

/// A host function that applies `body`, MLIR on %x : vector<16xf32> that
/// defines %y, to elements first .. last - 1 in groups of 16.
std::string elementwise(const std::string &body) {
  return R"(
module {
  func.func @apply(%in: memref<1048576xf32>, %out: memref<1048576xf32>, %first: i64, %last: i64) {
    %step = arith.constant 16 : index
    %from = arith.index_cast %first : i64 to index
    %to = arith.index_cast %last : i64 to index
    scf.for %i = %from to %to step %step {
      %x = vector.load %in[%i] {alignment = 4} : memref<1048576xf32>, vector<16xf32>
      )" +
         body +
         R"(
      vector.store %y, %out[%i] {alignment = 4} : memref<1048576xf32>, vector<16xf32>
    }
    return
  }
})";
}

std::vector<float> evaluate(const std::string &body, std::vector<float> in) {
  const size_t count = in.size();
  in.resize((count + 15) / 16 * 16);
  std::vector<float> out(in.size());
  auto object = toObject(elementwise(body));
  EXPECT_TRUE(object.ok()) << object.status().message();
  if (!object)
    return {};
  auto loaded = LoadedObject::load(*object);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  if (!loaded)
    return {};
  Status status = loaded->call("apply", {in.data(), out.data()}, 0,
                               static_cast<int64_t>(in.size()));
  EXPECT_TRUE(status.ok()) << status.message();
  out.resize(count);
  return out;
}

double ulpOf(double value) {
  const int exponent = std::max(std::ilogb(value), -126);
  return std::ldexp(1.0, exponent - 23);
}

struct Range {
  double low, high;
};

/// The largest error in ulp over 200000 points of `range`.
double worstError(const std::string &body,
                  const std::function<double(double)> &exact, Range range) {
  constexpr int kPoints = 200000;
  std::vector<float> in(kPoints);
  for (int i = 0; i < kPoints; ++i)
    in[i] = static_cast<float>(range.low +
                               (range.high - range.low) * i / (kPoints - 1));
  const std::vector<float> out = evaluate(body, in);
  double worst = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    const double want = exact(in[i]);
    const double error = std::abs(out[i] - want) / ulpOf(want);
    if (!(error <= worst))
      worst =
          std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }
  return out.empty() ? std::numeric_limits<double>::infinity() : worst;
}

std::string unary(const std::string &op) {
  return "%y = math." + op + " %x : vector<16xf32>";
}

struct Case {
  const char *op;
  double (*exact)(double);
  Range range;
  double ulps;
};

class Accuracy : public testing::TestWithParam<Case> {};

TEST_P(Accuracy, OfOneFunction) {
  const Case &c = GetParam();
  const double worst = worstError(unary(c.op), c.exact, c.range);
  RecordProperty("ulps", std::to_string(worst));
  EXPECT_LE(worst, c.ulps) << c.op << " on " << c.range.low << " .. "
                           << c.range.high;
}

double rsqrt(double x) { return 1 / std::sqrt(x); }

// exp and log round once per Horner step of weight below 1/2 and once at the
// end: 1 ulp. log2 and log10 add the rounding of a product and of a constant,
// log1p and expm1 a quotient of two such results, rsqrt two roundings.
INSTANTIATE_TEST_SUITE_P(
    Functions, Accuracy,
    testing::Values(
        Case{"exp", std::exp, {-100, 0}, 1},
        Case{"exp", std::exp, {-103.9, -86}, 1},
        Case{"exp", std::exp, {0, 88.7}, 1},
        Case{"exp2", std::exp2, {-149, 127.9}, 1},
        Case{"log", std::log, {1e-38, 3}, 1},
        Case{"log", std::log, {1e-44, 1e-37}, 1},
        Case{"log", std::log, {0.7, 1.4}, 1},
        Case{"log", std::log, {3, 3e38}, 1},
        Case{"log2", std::log2, {1e-30, 4}, 3},
        Case{"log10", std::log10, {1e-30, 4}, 3},
        Case{"log1p", std::log1p, {-0.999, 1}, 4},
        Case{"log1p", std::log1p, {1, 5e8}, 4},
        Case{"expm1", std::expm1, {-20, 1}, 6},
        Case{"tanh", std::tanh, {-10, 10}, 6},
        Case{"rsqrt", rsqrt, {1e-6, 300}, 1.5},
        Case{"sqrt", [](double x) { return std::sqrt(x); }, {0, 300}, 0.5}),
    [](const testing::TestParamInfo<Case> &info) {
      return std::string(info.param.op) + std::to_string(info.index);
    });

// Both parts round within 4 ulp, and softplus passes on at most the relative
// error of its inner exp.
TEST(ExpandMath, SoftplusIsAccurateOnBothSides) {
  const std::string softplus = R"(
      %e = math.exp %x : vector<16xf32>
      %y = math.log1p %e : vector<16xf32>)";
  auto exact = [](double x) { return std::log1p(std::exp(x)); };
  EXPECT_LE(worstError(softplus, exact, {-30, 20}), 5);
}

TEST(ExpandMath, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> exp = evaluate(
      unary("exp"), {-inf, -1e30f, -104.5f, 0, -0.0f, 88.8f, inf, nan});
  EXPECT_EQ(exp[0], 0);
  EXPECT_EQ(exp[1], 0);
  EXPECT_EQ(exp[2], 0);
  EXPECT_EQ(exp[3], 1);
  EXPECT_EQ(exp[4], 1);
  EXPECT_EQ(exp[5], inf);
  EXPECT_EQ(exp[6], inf);
  EXPECT_TRUE(std::isnan(exp[7]));

  const std::vector<float> log =
      evaluate(unary("log"), {0, -0.0f, 1, -1, inf, nan, -inf});
  EXPECT_EQ(log[0], -inf);
  EXPECT_EQ(log[1], -inf);
  EXPECT_EQ(log[2], 0);
  EXPECT_TRUE(std::isnan(log[3]));
  EXPECT_EQ(log[4], inf);
  EXPECT_TRUE(std::isnan(log[5]));
  EXPECT_TRUE(std::isnan(log[6]));

  const std::vector<float> log1p =
      evaluate(unary("log1p"), {0, 1e-30f, inf, nan, -1});
  EXPECT_EQ(log1p[0], 0);
  EXPECT_EQ(log1p[1], 1e-30f);
  EXPECT_EQ(log1p[2], inf);
  EXPECT_TRUE(std::isnan(log1p[3]));
  EXPECT_EQ(log1p[4], -inf);
}

TEST(ExpandMath, RoundevenTiesToEven) {
  const std::vector<float> in = {-2.5f, -1.5f, -0.5f, 0.5f, 1.5f, 2.5f, 126.5f};
  const std::vector<float> out = evaluate(unary("roundeven"), in);
  for (size_t i = 0; i < in.size(); ++i)
    EXPECT_EQ(out[i], std::nearbyint(in[i]));
}

} // namespace
