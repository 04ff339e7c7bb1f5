//===- ScaledCodes.h - codes times scales -----------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dense part of a head, in float64: an element is
//   (code * group scale + group offset) * key scale * value scale * head scale
// with the scales that the layout has, each rounded to the type it is stored
// in before anything is divided by it. A pivot's elements are its codes.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_REFERENCE_SCALEDCODES_H
#define DECANT_LIB_REFERENCE_SCALEDCODES_H

#include "decant/Core/SlotLayout.h"

#include <cstdint>
#include <vector>

namespace decant {

/// The dense part of `head`, row-major [keyDim, valueDim].
std::vector<double> decodeCodes(const SlotLayout &layout, const uint8_t *head);

/// The distance between the two ends of what is rounded to each element's code,
/// under its scales: of an integer the step, of a float that of its binade, of
/// a level half the way to either neighbour. Row-major [keyDim, valueDim].
std::vector<double> codeWidths(const SlotLayout &layout, const uint8_t *head);

/// Fits the scales one after the other, each to `dense` over those before it,
/// and stores them and the codes; padding becomes zeros. `seed` is that of
/// stochastic rounding.
void encodeCodes(const SlotLayout &layout, const std::vector<double> &dense,
                 uint8_t *head, uint32_t seed);

/// One element of a region of whole bytes.
double loadFrom(const uint8_t *head, const Region &region, int64_t row,
                int64_t column);
void storeTo(uint8_t *head, const Region &region, int64_t row, int64_t column,
             double value);

/// The infinity that a plain conversion would give could never be corrected.
double saturate(ElementType type, double value);

} // namespace decant

#endif // DECANT_LIB_REFERENCE_SCALEDCODES_H
