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
