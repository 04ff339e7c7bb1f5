//===- Numeric.cpp - element types, bit by bit ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two 16-bit formats differ by two numbers, so one pair of functions
// converts both.
//
//===----------------------------------------------------------------------===//
#include "decant/Core/Numeric.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

using namespace decant;

namespace {

constexpr int kDoubleFractionBits = 52;
constexpr int kDoubleBias = 1023;

/// An IEEE-like 16-bit format: sign, exponent, fraction.
struct Format16 {
  int fractionBits;
  int bias;

  int smallestExponent() const { return 1 - bias; }
  uint16_t infinity() const {
    return static_cast<uint16_t>((2 * bias + 1) << fractionBits);
  }
};
constexpr Format16 kHalf = {10, 15};
constexpr Format16 kBfloat = {7, 127};

uint64_t bitsOf(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

double fromBits(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

double powerOfTwo(int exponent) {
  return fromBits(static_cast<uint64_t>(exponent + kDoubleBias)
                  << kDoubleFractionBits);
}

double toDouble(Format16 format, uint16_t bits) {
  const uint64_t fraction = bits & ((1u << format.fractionBits) - 1);
  const int exponent = (bits & 0x7fff) >> format.fractionBits;
  const double sign = (bits & 0x8000) ? -1.0 : 1.0;
  if (exponent == 2 * format.bias + 1)
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0)
    return sign * static_cast<double>(fraction) *
           powerOfTwo(format.smallestExponent() - format.fractionBits);
  return sign *
         fromBits(static_cast<uint64_t>(exponent - format.bias + kDoubleBias)
                      << kDoubleFractionBits |
                  fraction << (kDoubleFractionBits - format.fractionBits));
}

uint16_t toBits(Format16 format, double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value))
    return format.infinity() | 1u << (format.fractionBits - 1);
  const double magnitude = std::fabs(value);

  // The stored patterns of one sign count upward with the magnitude, across
  // subnormals, powers of two and infinity; so a carry out of the fraction is
  // already the right answer.
  uint64_t pattern;
  if (magnitude < powerOfTwo(format.smallestExponent())) {
    pattern = static_cast<uint64_t>(
        std::nearbyint(magnitude * powerOfTwo(format.fractionBits -
                                              format.smallestExponent())));
  } else {
    const int dropped = kDoubleFractionBits - format.fractionBits;
    const uint64_t bits = bitsOf(magnitude);
    const uint64_t odd = (bits >> dropped) & 1;
    const uint64_t rounded =
        (bits + ((uint64_t(1) << (dropped - 1)) - 1) + odd) >> dropped;
    pattern = rounded - (static_cast<uint64_t>(kDoubleBias - format.bias)
                         << format.fractionBits);
  }
  return sign |
         static_cast<uint16_t>(std::min<uint64_t>(pattern, format.infinity()));
}

template <typename T> double load(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return static_cast<double>(value);
}

template <typename T> void store(T value, uint8_t *bytes) {
  std::memcpy(bytes, &value, sizeof(value));
}

} // namespace

double decant::halfToDouble(uint16_t bits) { return toDouble(kHalf, bits); }
double decant::bfloatToDouble(uint16_t bits) { return toDouble(kBfloat, bits); }
uint16_t decant::doubleToHalf(double value) { return toBits(kHalf, value); }
uint16_t decant::doubleToBfloat(double value) { return toBits(kBfloat, value); }

SmallFloat decant::smallFloat(ElementType type) {
  switch (type) {
  case ElementType::E4M3:
    return {4, 3, 7, 448};
  case ElementType::E5M2:
    return {5, 2, 15, 57344};
  case ElementType::E3M2:
    return {3, 2, 3, 28};
  case ElementType::E2M3:
    return {2, 3, 1, 7.5};
  case ElementType::E2M1:
    return {2, 1, 1, 6};
  default:
    assert(false && "no small float");
    return {};
  }
}

/// |value| within the format's range, and the exponent of its binade; below the
/// smallest normal number, that of the first.
struct Placed {
  double magnitude;
  int smallest, exponent;
};
static Placed place(const SmallFloat &format, double value) {
  const double magnitude = std::isnan(value)
                               ? format.largest
                               : std::min(std::fabs(value), format.largest);
  const int smallest = 1 - format.bias;
  return {magnitude, smallest,
          magnitude < powerOfTwo(smallest) ? smallest : std::ilogb(magnitude)};
}

uint8_t decant::doubleToSmall(ElementType type, double value) {
  const SmallFloat format = smallFloat(type);
  const auto [magnitude, smallest, exponent] = place(format, value);
  const double steps =
      std::nearbyint(magnitude * powerOfTwo(format.fractionBits - exponent));
  const int pattern =
      int(steps) + ((exponent - smallest) << format.fractionBits);
  const int sign = std::signbit(value) && !std::isnan(value);
  return uint8_t(pattern | sign << (format.exponentBits + format.fractionBits));
}

double decant::smallToDouble(ElementType type, uint8_t bits) {
  const SmallFloat format = smallFloat(type);
  const int magnitudeBits = format.exponentBits + format.fractionBits;
  const int pattern = bits & ((1 << magnitudeBits) - 1);
  const int fraction = pattern & ((1 << format.fractionBits) - 1);
  const int exponent = pattern >> format.fractionBits;
  const double value =
      exponent == 0
          ? fraction * powerOfTwo(1 - format.bias - format.fractionBits)
          : (fraction + (1 << format.fractionBits)) *
                powerOfTwo(exponent - format.bias - format.fractionBits);
  return bits >> magnitudeBits & 1 ? -value : value;
}

uint8_t decant::doubleToPower(double value) {
  if (!(value >= powerOfTwo(-126))) // or NaN
    return 0;
  return uint8_t(std::isinf(value) ? 254
                                   : std::min(std::ilogb(value), 127) + 127);
}

double decant::powerToDouble(uint8_t bits) {
  return bits == 0 ? 0 : powerOfTwo(int(bits) - 127);
}

/// Lloyd-Max for a normal distribution: each level is the mean of what is
/// nearest to it, which a fixed-point iteration from even levels finds.
std::vector<double> decant::codebookLevels(ElementType type) {
  assert(isCodebook(type) && !isTable(type));
  if (type == ElementType::L3)
    return {0.245094179, 0.756005281, 1.343909279, 2.151945705};
  return {0.128395030, 0.388048299, 0.656759119, 0.942340456,
          1.256231197, 1.618046386, 2.069017227, 2.732589571};
}

/// Between two levels: the lower one.
uint8_t decant::doubleToLevel(ElementType type, double value) {
  const std::vector<double> levels = codebookLevels(type);
  size_t index = 0;
  while (index + 1 < levels.size() &&
         std::fabs(value) > (levels[index] + levels[index + 1]) / 2)
    ++index;
  return uint8_t(value < 0 ? index + levels.size() : index);
}

double decant::levelToDouble(ElementType type, uint8_t code) {
  const std::vector<double> levels = codebookLevels(type);
  const size_t index = code % levels.size();
  return code >= levels.size() ? -levels[index] : levels[index];
}

uint8_t decant::nearestLevel(const std::vector<float> &levels, double value) {
  size_t index = 0;
  while (index + 1 < levels.size() &&
         value > (double(levels[index]) + double(levels[index + 1])) / 2)
    ++index;
  return uint8_t(index);
}

/// nearbyint rounds ties to even in the default rounding mode, which nothing
/// in Decant changes.
int decant::toCode(ElementType type, double value, CodeRange range) {
  if (std::isnan(value))
    return 0;
  const double limit = maxCode(type);
  const double lowest = range == CodeRange::All ? -limit - 1 : -limit;
  return static_cast<int>(std::clamp(std::nearbyint(value), lowest, limit));
}

double decant::roundStochastic(ElementType type, double value, double noise,
                               CodeRange range) {
  if (isInteger(type)) {
    const double code = std::isnan(value) ? 0 : value;
    const double limit = maxCode(type);
    const double lowest = range == CodeRange::All ? -limit - 1 : -limit;
    return std::floor(std::clamp(code, lowest, limit) + noise);
  }
  const SmallFloat format = smallFloat(type);
  const auto [magnitude, smallest, exponent] = place(format, value);
  const double step = powerOfTwo(exponent - format.fractionBits);
  return std::copysign(std::floor(magnitude / step + noise) * step, value);
}

/// Every bit of x in about half of the bits of the result; 0 stays 0.
static uint32_t mixBits(uint32_t x) {
  x *= 0x9E3779B9u;
  x ^= x >> 16;
  x *= 0x85EBCA6Bu;
  x ^= x >> 13;
  x *= 0xC2B2AE35u;
  x ^= x >> 16;
  return x;
}

double decant::roundingNoise(const NoiseSource &source, int key, int value) {
  const uint32_t stream = mixBits(mixBits(source.seed) + uint32_t(source.head));
  uint32_t x = uint32_t(key) << 16 | uint32_t(value);
  x ^= uint32_t(source.tokens) * 0x9E3779B9u ^ stream;
  return double(mixBits(x) >> 8) * 0x1p-24;
}

double decant::roundTo(ElementType type, double value) {
  if (isInteger(type))
    return toCode(type, value);
  if (isSmallFloat(type))
    return smallToDouble(type, doubleToSmall(type, value));
  if (isCodebook(type))
    return levelToDouble(type, doubleToLevel(type, value));
  uint8_t bytes[sizeof(float)];
  storeElement(type, value, bytes);
  return loadElement(type, bytes);
}

double decant::maxFinite(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return std::numeric_limits<float>::max();
  case ElementType::F16:
    return toDouble(kHalf, kHalf.infinity() - 1);
  case ElementType::BF16:
    return toDouble(kBfloat, kBfloat.infinity() - 1);
  case ElementType::I8:
  case ElementType::I6:
  case ElementType::I4:
  case ElementType::I3:
  case ElementType::I2:
    return maxCode(type);
  case ElementType::E4M3:
  case ElementType::E5M2:
  case ElementType::E3M2:
  case ElementType::E2M3:
  case ElementType::E2M1:
    return smallFloat(type).largest;
  case ElementType::E8M0:
    return powerToDouble(254);
  case ElementType::L4:
  case ElementType::L3:
    return codebookLevels(type).back();
  case ElementType::T4:
  case ElementType::T3:
    return 1; // beyond which no level lies
  }
  return 0;
}

double decant::loadElement(ElementType type, const uint8_t *bytes) {
  uint16_t half;
  switch (type) {
  case ElementType::F32:
    return load<float>(bytes);
  case ElementType::I8:
    return load<int8_t>(bytes);
  case ElementType::F16:
    std::memcpy(&half, bytes, sizeof(half));
    return halfToDouble(half);
  case ElementType::BF16:
    std::memcpy(&half, bytes, sizeof(half));
    return bfloatToDouble(half);
  case ElementType::E4M3:
  case ElementType::E5M2:
    return smallToDouble(type, *bytes);
  case ElementType::E8M0:
    return powerToDouble(*bytes);
  default:
    assert(false && "elements that share bytes are read by loadCode");
    return 0;
  }
}

void decant::storeElement(ElementType type, double value, uint8_t *bytes) {
  switch (type) {
  case ElementType::F32:
    return store(static_cast<float>(value), bytes);
  case ElementType::I8:
    return store(static_cast<int8_t>(toCode(type, value)), bytes);
  case ElementType::F16:
    return store(doubleToHalf(value), bytes);
  case ElementType::BF16:
    return store(doubleToBfloat(value), bytes);
  case ElementType::E4M3:
  case ElementType::E5M2:
    return store(doubleToSmall(type, value), bytes);
  case ElementType::E8M0:
    return store(doubleToPower(value), bytes);
  default:
    assert(false && "elements that share bytes are written by storeCode");
  }
}
