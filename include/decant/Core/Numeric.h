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

namespace decant {

double halfToDouble(uint16_t bits);
double bfloatToDouble(uint16_t bits);
/// Values beyond the largest finite one by half a step or more become
/// infinite; NaN becomes a quiet NaN.
uint16_t doubleToHalf(double value);
uint16_t doubleToBfloat(double value);

/// The integer code nearest to `value`, in -maxCode .. maxCode; 0 for a NaN.
int toCode(ElementType type, double value);

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
