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

/// The layout's scale number `index`, as it will be stored, from the maximum of
/// |E|, or from the sum over `elements` elements; times `factor`, if any.
mlir::Value scaleFrom(LaneTile &tile, size_t index, mlir::Value statistic,
                      int64_t elements, mlir::Value factor = {});

/// `scale`, number `index` of the layout, times `product` / `square`: with the
/// codes q that it gave to what is y over all scales, and r the other scales,
/// sum r^2 q y / sum r^2 q^2. That lies between 1/2 and 3/2, as y does around
/// q; where f32 cannot form it, the scale stays.
mlir::Value refitted(LaneTile &tile, size_t index, mlir::Value scale,
                     mlir::Value product, mlir::Value square);

/// `scale` times the root of `before` / `after`: what makes codes whose norm is
/// `after` have norm `before`, squared both. Where f32 cannot form it, the
/// scale stays.
mlir::Value keptNorm(LaneTile &tile, size_t index, mlir::Value scale,
                     mlir::Value before, mlir::Value after);

/// A minmax scale and its offset, as they will be stored, from max E and
/// max -E. Code -2^(bits - 1) is the smallest element; of levels, which reach
/// from -1 to 1, 0 is the middle.
std::pair<mlir::Value, mlir::Value> rangeFrom(LaneTile &tile,
                                              const ScaleSpec &scale,
                                              mlir::Value high,
                                              mlir::Value negativeLow);

/// 1 / s, and 0 where s is 0 or so small that 1 / s would be inf: the codes of
/// that line are 0.
mlir::Value inverseScale(LaneTile &tile, mlir::Value scale);

/// x clamped to [lowest, largest] and rounded to a whole number, ties to even.
mlir::Value roundToCode(LaneTile &tile, mlir::Value x, double lowest,
                        double largest);
/// The same, as i8.
mlir::Value roundToByte(LaneTile &tile, mlir::Value x, double lowest,
                        double largest);

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_SCALEFIT_H
