//===- Compensators.h - fit the new compensators ----------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_COMPENSATORS_H
#define DECANT_TRANSFORMS_TILING_COMPENSATORS_H

#include "StateRows.h"

namespace decant {

/// Fits the layout's compensators to the state and leaves them in the rows' new
/// terms, rounded as they will be stored, keys negated.
void fitCompensators(LaneTile &tile, StateRows &rows);

/// A column whose squared norm, without what it shares with those before, is
/// below this fraction of the mean is dead.
constexpr double kPivotFloor = 1e-6;

/// What x will be once it is stored as `type`.
mlir::Value asStored(LaneTile &tile, ElementType type, mlir::Value x);

/// The lane's part of a column of the start Q0.
mlir::Value startColumn(LaneTile &tile, mlir::Value column);

/// Makes rows 0 .. count of `columns` orthonormal along `axis`, dead ones zero,
/// in place. All lanes call it.
void orthonormalise(LaneTile &tile, VectorAxis axis, const View &columns,
                    int count);

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_COMPENSATORS_H
