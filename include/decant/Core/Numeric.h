//===- Numeric.h - element types, bit by bit --------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a double or the stored bits of one element. Out: the other. Every
// rounding goes straight from double to the type, to nearest, ties to even, so
// that nothing here rounds twice.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CORE_NUMERIC_H
#define DECANT_CORE_NUMERIC_H

#include "decant/Core/DecodeSpec.h"

#include <cstdint>
#include <vector>

namespace decant {

double halfToDouble(uint16_t bits);
double bfloatToDouble(uint16_t bits);
/// Values beyond the largest finite one by half a step or more become
/// infinite; NaN becomes a quiet NaN.
uint16_t doubleToHalf(double value);
uint16_t doubleToBfloat(double value);

/// A float of at most 8 bits: a sign, an exponent, a fraction. A pattern
/// without its sign counts upward with the magnitude; exponents of 0 are
/// subnormal.
struct SmallFloat {
  int exponentBits, fractionBits, bias;
  double largest; // patterns above it, if any, are infinities and NaNs
};
SmallFloat smallFloat(ElementType type);
/// Saturates; a NaN, for which only two of the formats have a pattern, becomes
/// the largest value.
uint8_t doubleToSmall(ElementType type, double value);
double smallToDouble(ElementType type, uint8_t bits);
/// E8M0, for scales: 2^(bits - 127), rounded down to a power of two, and 0 for
/// what is less than the smallest normal f32, so that all-zero bytes are zeros.
uint8_t doubleToPower(double value);
double powerToDouble(uint8_t bits);

/// The levels of a codebook for a normal distribution that are not negative, in
/// rising order; a code is an index to them, and above it a sign. Their root
/// mean square error at variance 1 is the best that so many levels have.
std::vector<double> codebookLevels(ElementType type);
uint8_t doubleToLevel(ElementType type, double value);
double levelToDouble(ElementType type, uint8_t code);
/// The nearest of a plan's levels; between two the lower one.
uint8_t nearestLevel(const std::vector<float> &levels, double value);

/// The integer code nearest to `value`, in -maxCode .. maxCode, or down to
/// -maxCode - 1 where the format has an offset; 0 for a NaN.
enum class CodeRange { Symmetric, All };
int toCode(ElementType type, double value,
           CodeRange range = CodeRange::Symmetric);

/// `value` between two neighbours of `type`, an integer or a small float: the
/// upper one if the distance to the lower one, in steps, is above 1 - `noise`.
/// Saturates.
double roundStochastic(ElementType type, double value, double noise,
                       CodeRange range = CodeRange::Symmetric);
/// Whose noise it is: the sequence's seed, its tokens so far and the head.
struct NoiseSource {
  uint32_t seed = 0;
  uint64_t tokens = 0;
  int head = 0;
};
/// A hash, uniform over the multiples of 2^-24 in [0, 1).
double roundingNoise(const NoiseSource &source, int key, int value);

/// The value that `value` has after it was stored as `type`; for integers that
/// is toCode().
double roundTo(ElementType type, double value);
/// The largest finite value of `type`.
double maxFinite(ElementType type);

/// One element at `bytes`, which need not be aligned, of a type that fills
/// whole bytes.
double loadElement(ElementType type, const uint8_t *bytes);
/// Rounds as roundTo() does; a NaN is stored as 0 in an I8.
void storeElement(ElementType type, double value, uint8_t *bytes);

} // namespace decant

#endif // DECANT_CORE_NUMERIC_H
