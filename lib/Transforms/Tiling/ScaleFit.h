//===- ScaleFit.h - scales and codes from what is to be stored --*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_SCALEFIT_H
#define DECANT_TRANSFORMS_TILING_SCALEFIT_H

#include "LaneTile.h"

namespace decant {

/// The scale, as it will be stored, from the sum or the maximum of |E| over
/// `elements` elements. `last` scales bound the codes.
mlir::Value scaleFrom(LaneTile &tile, const ScaleSpec &scale,
                      mlir::Value statistic, int64_t elements, bool last);

/// 1 / s, and 0 where s is 0 or so small that 1 / s would be inf: the codes of
/// that line are 0.
mlir::Value inverseScale(LaneTile &tile, mlir::Value scale);

/// x clamped to [-largest, largest] and rounded to a whole number, ties to
/// even.
mlir::Value roundToCode(LaneTile &tile, mlir::Value x, double largest);

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_SCALEFIT_H
