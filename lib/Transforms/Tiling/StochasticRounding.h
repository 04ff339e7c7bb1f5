//===- StochasticRounding.h - one of two codes, by chance -------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numeric.h defines what is drawn and what becomes of it; here it is for the
// columns of a lane, with the same 32-bit integers on every target.
//
// cvt.rs of sm_100a and sm_103a is not used, since what it does to small floats
// is not defined well enough to do the same elsewhere. PTX ISA 9.0 says that
// operands a and b of e4m3x4, e5m2x4, e2m3x4 and e3m2x4 take the upper 16 bits
// of rbits, and e and f the lower ones. Its text does not say which weight each
// of the 16 has for either operand, what they are added to where more than 16
// bits of the mantissa are discarded (20 for e4m3, 21 for e5m2, and more below
// the smallest normal), or whether the bits under them can carry. Besides, two
// elements share their noise there, and here every element has 24 bits of its
// own. Of f16x2 and bf16x2 the text defines every bit, but states of those
// types are rounded to nearest.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_STOCHASTICROUNDING_H
#define DECANT_TRANSFORMS_TILING_STOCHASTICROUNDING_H

#include "LaneTile.h"

namespace decant {

/// Spreads what differs between integers, a vector of i32, over all their bits.
mlir::Value mixBits(LaneTile &tile, mlir::Value x);

/// What the noise of the block's head has in common, i32: the slot's `seed`,
/// i32, and its `tokens`, i64.
mlir::Value noiseSource(LaneTile &tile, mlir::Value seed, mlir::Value tokens);

/// For the lane's columns of key row `row`, uniform in [0, 1).
mlir::Value roundingNoise(LaneTile &tile, mlir::Value source, mlir::Value row);

/// The code of x as a number: of an integer type in `lowest` .. its largest, or
/// of a small float.
mlir::Value roundStochastic(LaneTile &tile, mlir::Value x, ElementType type,
                            double lowest, mlir::Value noise);

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_STOCHASTICROUNDING_H
