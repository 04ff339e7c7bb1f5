//===- NumericTest.cpp - element types, bit by bit ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The expected values come from the formats' definitions, computed with ldexp
// over every pattern; nothing here shares the tricks of Numeric.cpp.
//
//===----------------------------------------------------------------------===//
#include "decant/Core/Numeric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

using namespace decant;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Format {
  const char *name;
  int fractionBits, bias;
  double (*decode)(uint16_t);
  uint16_t (*encode)(double);
};
const Format kFormats[] = {
    {"f16", 10, 15, halfToDouble, doubleToHalf},
    {"bf16", 7, 127, bfloatToDouble, doubleToBfloat},
};

/// The number of finite patterns of one sign.
int finitePatterns(const Format &format) {
  return (2 * format.bias + 1) << format.fractionBits;
}

double definition(const Format &format, int pattern) {
  const int fraction = pattern % (1 << format.fractionBits);
  const int exponent = pattern >> format.fractionBits;
  if (exponent == 0)
    return std::ldexp(fraction, 1 - format.bias - format.fractionBits);
  return std::ldexp(fraction + (1 << format.fractionBits),
                    exponent - format.bias - format.fractionBits);
}

TEST(Numeric, DecodesEveryPattern) {
  for (const Format &format : kFormats) {
    const int finite = finitePatterns(format);
    for (int pattern = 0; pattern < finite; ++pattern) {
      const double value = definition(format, pattern);
      ASSERT_EQ(format.decode(pattern), value) << format.name << " " << pattern;
      ASSERT_EQ(format.decode(0x8000 | pattern), -value);
      ASSERT_EQ(std::signbit(format.decode(0x8000 | pattern)), true);
    }
    EXPECT_EQ(format.decode(finite), kInfinity);
    EXPECT_EQ(format.decode(0x8000 | finite), -kInfinity);
    for (int pattern = finite + 1; pattern < 0x8000; ++pattern)
      ASSERT_TRUE(std::isnan(format.decode(pattern)));
  }
}

TEST(Numeric, EncodesEveryValueToItsPattern) {
  for (const Format &format : kFormats)
    for (int pattern = 0; pattern <= finitePatterns(format); ++pattern) {
      ASSERT_EQ(format.encode(format.decode(pattern)), pattern);
      ASSERT_EQ(format.encode(-format.decode(pattern)), 0x8000 | pattern);
    }
}

TEST(Numeric, RoundsToNearestTiesToEven) {
  for (const Format &format : kFormats)
    for (int low = 0; low < finitePatterns(format); ++low) {
      // Where the next value would be without an infinity: half a step above
      // the largest finite value is the border.
      const double middle =
          (definition(format, low) + definition(format, low + 1)) / 2;
      const int even = low % 2 == 0 ? low : low + 1;
      ASSERT_EQ(format.encode(middle), even) << format.name << " " << low;
      ASSERT_EQ(format.encode(std::nextafter(middle, 0.0)), low);
      ASSERT_EQ(format.encode(std::nextafter(middle, kInfinity)), low + 1);
      ASSERT_EQ(format.encode(-middle), 0x8000 | even);
    }
}

TEST(Numeric, RoundsOnceNotViaFloat) {
  // 1 + 2^-11 is the middle between two f16; float would swallow the 2^-40
  // that puts this value above it.
  EXPECT_EQ(
      roundTo(ElementType::F16, 1 + std::ldexp(1, -11) + std::ldexp(1, -40)),
      1 + std::ldexp(1, -10));
  EXPECT_EQ(
      roundTo(ElementType::BF16, 1 + std::ldexp(1, -8) + std::ldexp(1, -40)),
      1 + std::ldexp(1, -7));
}

TEST(Numeric, SpecialValues) {
  for (const Format &format : kFormats) {
    EXPECT_TRUE(std::isnan(format.decode(format.encode(std::nan("")))));
    EXPECT_EQ(format.decode(format.encode(1e300)), kInfinity);
    EXPECT_EQ(format.decode(format.encode(-1e300)), -kInfinity);
    EXPECT_EQ(format.encode(std::numeric_limits<double>::denorm_min()), 0);
    EXPECT_EQ(format.encode(-0.0), 0x8000);
  }
  EXPECT_EQ(maxFinite(ElementType::F16), 65504);
  EXPECT_EQ(doubleToHalf(65519.999), 0x7bff);
  EXPECT_EQ(doubleToHalf(65520), 0x7c00);
  EXPECT_EQ(maxFinite(ElementType::BF16), std::ldexp(255, 120));
}

TEST(Numeric, Int8RoundsToEvenAndIsSymmetric) {
  EXPECT_EQ(roundTo(ElementType::I8, 0.5), 0);
  EXPECT_EQ(roundTo(ElementType::I8, 1.5), 2);
  EXPECT_EQ(roundTo(ElementType::I8, -2.5), -2);
  EXPECT_EQ(roundTo(ElementType::I8, 126.5), 126);
  EXPECT_EQ(roundTo(ElementType::I8, 1e9), 127);
  EXPECT_EQ(roundTo(ElementType::I8, -kInfinity), -127);
  EXPECT_EQ(roundTo(ElementType::I8, std::nan("")), 0);
}

const ElementType kSmallFloats[] = {ElementType::E4M3, ElementType::E5M2,
                                    ElementType::E3M2, ElementType::E2M3,
                                    ElementType::E2M1};

/// The finite patterns of one sign, in order.
std::vector<double> valuesOf(ElementType type) {
  const SmallFloat format = smallFloat(type);
  std::vector<double> values;
  for (int pattern = 0;; ++pattern) {
    values.push_back(definition(
        {"", format.fractionBits, format.bias, nullptr, nullptr}, pattern));
    if (values.back() == format.largest)
      return values;
  }
}

TEST(Numeric, SmallFloatsDecodeAndEncodeEveryPattern) {
  for (ElementType type : kSmallFloats) {
    const std::vector<double> values = valuesOf(type);
    const int sign = 1 << (elementBits(type) - 1);
    for (size_t pattern = 0; pattern < values.size(); ++pattern) {
      const double value = values[pattern];
      ASSERT_EQ(smallToDouble(type, pattern), value) << toString(type);
      ASSERT_EQ(smallToDouble(type, sign | pattern), -value);
      ASSERT_EQ(doubleToSmall(type, value), pattern) << toString(type);
      ASSERT_EQ(doubleToSmall(type, -value), sign | pattern);
    }
    // All patterns of e3m2, e2m3 and e2m1 are finite; e4m3 has one that is not,
    // e5m2 four.
    const size_t others = type == ElementType::E4M3   ? 1
                          : type == ElementType::E5M2 ? 4
                                                      : 0;
    EXPECT_EQ(values.size() + others, size_t(sign)) << toString(type);
  }
}

TEST(Numeric, SmallFloatsRoundTiesToEvenAndSaturate) {
  for (ElementType type : kSmallFloats) {
    const std::vector<double> values = valuesOf(type);
    for (size_t low = 0; low + 1 < values.size(); ++low) {
      const double middle = (values[low] + values[low + 1]) / 2;
      ASSERT_EQ(doubleToSmall(type, middle), low + low % 2) << toString(type);
      ASSERT_EQ(doubleToSmall(type, std::nextafter(middle, 0.0)), low);
      ASSERT_EQ(doubleToSmall(type, std::nextafter(middle, kInfinity)),
                low + 1);
    }
    EXPECT_EQ(roundTo(type, 1e9), values.back());
    EXPECT_EQ(roundTo(type, -kInfinity), -values.back());
    EXPECT_EQ(roundTo(type, std::nan("")), values.back());
    EXPECT_EQ(maxFinite(type), values.back());
  }
}

/// From the tables of the OCP microscaling specification.
TEST(Numeric, SmallFloatsByHand) {
  EXPECT_EQ(valuesOf(ElementType::E2M1),
            (std::vector<double>{0, 0.5, 1, 1.5, 2, 3, 4, 6}));
  EXPECT_EQ(smallToDouble(ElementType::E4M3, 0x01), std::ldexp(1, -9));
  EXPECT_EQ(smallToDouble(ElementType::E4M3, 0xfe), -448);
  EXPECT_EQ(smallToDouble(ElementType::E5M2, 0x7b), 57344);
  EXPECT_EQ(smallToDouble(ElementType::E5M2, 0x01), std::ldexp(1, -16));
  EXPECT_EQ(smallToDouble(ElementType::E3M2, 0x1f), 28);
  EXPECT_EQ(smallToDouble(ElementType::E3M2, 0x01), 0.0625);
  EXPECT_EQ(smallToDouble(ElementType::E2M3, 0x1f), 7.5);
  EXPECT_EQ(smallToDouble(ElementType::E2M3, 0x01), 0.125);
}

/// Each level of a Lloyd-Max codebook is the mean of a normal distribution over
/// what rounds to it: (density at its lower end - at its upper end) / mass.
TEST(Numeric, CodebooksAreTheirOwnCentroids) {
  auto density = [](double x) {
    return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1));
  };
  auto above = [](double x) { return std::erfc(x / std::sqrt(2.0)) / 2; };
  for (ElementType type : {ElementType::L4, ElementType::L3}) {
    const std::vector<double> levels = codebookLevels(type);
    ASSERT_EQ(levels.size(), size_t(1) << (elementBits(type) - 1));
    for (size_t i = 0; i < levels.size(); ++i) {
      const bool last = i + 1 == levels.size();
      const double low = i == 0 ? 0 : (levels[i - 1] + levels[i]) / 2;
      const double high = last ? 0 : (levels[i] + levels[i + 1]) / 2;
      const double mass = above(low) - (last ? 0 : above(high));
      EXPECT_NEAR(levels[i], (density(low) - (last ? 0 : density(high))) / mass,
                  1e-8);
      EXPECT_EQ(levelToDouble(type, doubleToLevel(type, levels[i])), levels[i]);
      EXPECT_EQ(roundTo(type, -levels[i]), -levels[i]);
    }
    EXPECT_EQ(roundTo(type, 100), levels.back());
    EXPECT_EQ(roundTo(type, 0), levels.front());
  }
}

/// Over many draws an element between two codes becomes the upper one as often
/// as it is near to it: within 4 standard deviations of 10^4 draws.
TEST(Numeric, StochasticRoundingIsRightOnAverage) {
  const int draws = 10000;
  for (auto [type, x, low, high] :
       {std::tuple(ElementType::I8, 3.3, 3.0, 4.0),
        std::tuple(ElementType::I4, -2.9, -3.0, -2.0),
        std::tuple(ElementType::E4M3, 17.0, 16.0, 18.0),
        std::tuple(ElementType::E2M1, -2.2, -3.0, -2.0),
        std::tuple(ElementType::E3M2, 0.02, 0.0, 0.0625)}) {
    int upper = 0;
    for (int i = 0; i < draws; ++i) {
      const double code =
          roundStochastic(type, x, roundingNoise({0, 7}, i / 100, i % 100));
      ASSERT_TRUE(code == low || code == high) << code;
      upper += code == high;
    }
    const double p = (x - low) / (high - low);
    EXPECT_NEAR(upper, draws * p, 4 * std::sqrt(draws * p * (1 - p)))
        << toString(type);
  }
  EXPECT_EQ(roundStochastic(ElementType::I8, 127, 0.999), 127);
  EXPECT_EQ(roundStochastic(ElementType::I8, -300, 0), -127);
  EXPECT_EQ(roundStochastic(ElementType::E2M1, 9, 0.999), 6);
  // Every part of the source makes another stream.
  const NoiseSource source = {5, 1, 2};
  for (const NoiseSource &other :
       {NoiseSource{6, 1, 2}, NoiseSource{5, 2, 2}, NoiseSource{5, 1, 3}}) {
    int equal = 0;
    for (int i = 0; i < draws; ++i)
      equal += roundingNoise(source, i / 100, i % 100) ==
               roundingNoise(other, i / 100, i % 100);
    EXPECT_LE(equal, 1); // of 10^4 pairs of 2^24 values
  }
}

TEST(Numeric, PowersOfTwoRoundDown) {
  EXPECT_EQ(doubleToPower(1), 127);
  EXPECT_EQ(roundTo(ElementType::E8M0, 7.99), 4);
  EXPECT_EQ(roundTo(ElementType::E8M0, 0.75), 0.5);
  EXPECT_EQ(roundTo(ElementType::E8M0, std::ldexp(1.5, -126)),
            std::ldexp(1, -126));
  EXPECT_EQ(roundTo(ElementType::E8M0, std::ldexp(1.5, -127)), 0);
  EXPECT_EQ(roundTo(ElementType::E8M0, 0), 0);
  EXPECT_EQ(roundTo(ElementType::E8M0, 1e300), std::ldexp(1, 127));
  EXPECT_EQ(powerToDouble(0), 0);
}

TEST(Numeric, FloatElements) {
  EXPECT_EQ(roundTo(ElementType::F32, 0.1), double(0.1f));
  EXPECT_EQ(roundTo(ElementType::F32, 1e-45), double(1e-45f));
  EXPECT_EQ(maxFinite(ElementType::F32),
            double(std::numeric_limits<float>::max()));
}

} // namespace
