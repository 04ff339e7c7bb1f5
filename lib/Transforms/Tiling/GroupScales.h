//===- GroupScales.h - scales that do not factor out of sums ----*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group is a block of a key row or of a value column, see SlotLayout. Its
// scale, and its offset, belong to some elements of a row only, so rows are
// scaled before they are added up. Tables of them are [keys, values] of groups,
// in a head's bytes or in shared memory.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_GROUPSCALES_H
#define DECANT_TRANSFORMS_TILING_GROUPSCALES_H

#include "StateRows.h"

namespace decant {

/// A table's entry for each of the lane's columns of key row `row`; where
/// groups are of key rows, `row` is that of the table.
mlir::Value ofGroups(LaneTile &tile, const View &table, mlir::Value row);

/// Zeros where the row or a column lies beyond the state's dims.
mlir::Value withoutPadding(LaneTile &tile, mlir::Value row, mlir::Value values);

/// Tables of what was fitted; `offset` only with minmax.
struct GroupFit {
  View scale, inverse;
  std::optional<View> offset;
};

/// Fits the layout's groups to `rows`, each row after `prepare`, which divides
/// it by the other scales; those of pivots are not stored, whatever they are.
/// All lanes call it.
GroupFit fitGroups(
    LaneTile &tile, StateRows &rows,
    llvm::function_ref<mlir::Value(mlir::Value values, mlir::Value row, int n)>
        prepare);

/// Copies the tables to the head. All lanes call it.
void storeGroups(LaneTile &tile, const StoredHead &head, const GroupFit &fit);

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_GROUPSCALES_H
