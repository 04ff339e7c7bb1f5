//===- SmallFloats.h - codes that are no integers, in registers -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bit patterns of Numeric.h's small floats and codebooks to f32 and back, by
// integer and exact f32 operations alone: the same bits on every target,
// whether or not it has instructions for them and whatever it does with
// subnormal f32.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_SMALLFLOATS_H
#define DECANT_TRANSFORMS_TILING_SMALLFLOATS_H

#include "LaneTile.h"

namespace decant {

/// i8 patterns of `type`, a small float, e8m0 or a codebook, as f32.
mlir::Value decodeSmall(LaneTile &tile, mlir::Value patterns, ElementType type);

/// f32 as i8 patterns: to nearest, ties to even, saturating; e8m0 rounds down,
/// from positive values; a codebook's lower level where two are as near.
mlir::Value encodeSmall(LaneTile &tile, mlir::Value x, ElementType type);

/// How elements of `type` lie in memory: those without a type of LLVM's as i8.
mlir::Type memoryType(mlir::MLIRContext *context, ElementType type);

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_SMALLFLOATS_H
