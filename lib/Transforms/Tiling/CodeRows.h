//===- CodeRows.h - the stored codes of a key row, as numbers ---*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A simt lane sees the codes as the rows and columns of its tile, whatever
// their order and their bits. Rows of whole bytes are one load; rows of less
// are one load per plane and shuffles; fragments and single rows of columns are
// gathered code by code, which is slow and lets every kernel, host and transfer
// read every slot. A whole tile of columns is one load per value.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_CODEROWS_H
#define DECANT_TRANSFORMS_TILING_CODEROWS_H

#include "SlabCodes.h"

#include "decant/Core/CodeStore.h"

#include <optional>

namespace decant {

class CodeRows {
public:
  /// `pool` is the slots' memory, `offset` the head's first byte.
  CodeRows(LaneTile &tile, mlir::Value pool, mlir::Value offset);

  /// The lane's columns of key row `row`, as f32; a pivot's times
  /// `pivotFactor`, if any.
  mlir::Value load(LaneTile &tile, mlir::Value row,
                   mlir::Value pivotFactor = {}) const;
  /// What codes of rows of their own bits are rounded to: units of their last
  /// bit, up to the largest of those.
  mlir::Value roundInRow(LaneTile &tile, mlir::Value row,
                         mlir::Value codes) const;
  /// What a row of its own bits falls short of by: the largest code of int8
  /// over its own; 0 for pivots, which have no part in fits.
  mlir::Value shortfall(LaneTile &tile, mlir::Value row) const;
  /// Whether row `row` is a pivot, i1; only where the layout has pivots.
  mlir::Value isPivot(LaneTile &tile, mlir::Value row) const;
  /// SlotLayout::groupRowOf(), and the last row of the table for pivots behind
  /// it.
  mlir::Value groupRowOf(LaneTile &tile, mlir::Value row) const;
  /// Stores them; integers have been rounded and clamped, floats saturate. A
  /// pivot has `elements` in their place. All lanes store their n-th row
  /// together.
  void store(LaneTile &tile, mlir::Value row, mlir::Value codes,
             mlir::Value elements = {}) const;

  /// All rows of the lane's tile, and back, where codes are floats or bytes: in
  /// columns a load or store for each value. Rows of a lane that lies beyond
  /// the keys are zeros, and are not stored.
  llvm::SmallVector<mlir::Value> loadTile(LaneTile &tile) const;
  void storeTile(LaneTile &tile, llvm::ArrayRef<mlir::Value> rows) const;

  /// Null where the codes are in no slabs.
  const SlabCodes *slabCodes() const { return slabs ? &*slabs : nullptr; }

private:
  struct Plane {
    CodePlane place;
    // [key, value] where rows are whole bytes, [value, key] for columns, else
    // [1, elements].
    View view;
  };
  /// `count` codes of consecutive values, in fragment order: a code's element
  /// (or byte), its first bit in it, and the elements to the next code.
  struct Run {
    mlir::Value first, shift; // no shift where a code is an element
    int64_t stride, count;
  };

  void openRows(LaneTile &tile, mlir::Value pool, mlir::Value offset);
  bool hasRowBits() const { return !rowWidths.empty(); }
  mlir::Value widthOfRow(LaneTile &tile, mlir::Value row) const; // i32
  /// The planes of a row that may have any bits: `has` says whether this one
  /// has the plane.
  struct RowPlane {
    int bits;
    mlir::Value has, byte; // the lane's first byte; some byte where it has not
    mlir::Value shift;     // of its field, in the code's byte; i8
  };
  llvm::SmallVector<RowPlane, 4> rowPlanes(LaneTile &tile,
                                           mlir::Value row) const;
  /// The place of the lane's first element in row `row`, were it a pivot.
  mlir::Value pivotPlace(LaneTile &tile, mlir::Value row) const;
  mlir::Value bitsBeforeRow(LaneTile &tile, mlir::Value row) const;
  mlir::Value loadFromRow(LaneTile &tile, mlir::Value row,
                          mlir::Value pivotFactor) const;
  void storeToRow(LaneTile &tile, mlir::Value row, mlir::Value codes,
                  mlir::Value elements) const;
  mlir::Value loadFields(LaneTile &tile, const View &view, mlir::Value byte,
                         int bits, llvm::MaybeAlign align) const;
  void storeFields(LaneTile &tile, const View &view, mlir::Value byte, int bits,
                   mlir::Value fields, llvm::MaybeAlign align) const;

  /// The same in slabs (SlabRows.cpp).
  struct SlabRow;
  SlabRow slabRow(LaneTile &tile, mlir::Value row) const;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>>
  slabPlaces(LaneTile &tile, const SlabRow &row,
             const SlabCodes::Plane &plane) const;
  mlir::Value loadFromSlab(LaneTile &tile, mlir::Value row) const;
  void storeToSlab(LaneTile &tile, mlir::Value row, mlir::Value codes) const;

  bool isPlain() const;
  mlir::Value loadAcross(LaneTile &tile, mlir::Value row) const;
  void storeAcross(LaneTile &tile, mlir::Value row, mlir::Value codes) const;
  llvm::SmallVector<Run> runs(LaneTile &tile, const Plane &plane,
                              mlir::Value row) const;
  mlir::Value gather(LaneTile &tile, const Plane &plane, mlir::Value row) const;
  void scatter(LaneTile &tile, const Plane &plane, mlir::Value row,
               mlir::Value fields) const;
  void scatterInTurn(LaneTile &tile, const Plane &plane, mlir::Value row,
                     mlir::Value fields) const;
  mlir::Value unpack(LaneTile &tile, const Plane &plane, mlir::Value row) const;
  void pack(LaneTile &tile, const Plane &plane, mlir::Value row,
            mlir::Value fields) const;

  CodeOrder order;
  ElementType type;
  llvm::SmallVector<Plane, 2> planes;
  /// Of all heads, eight rows to an entry: their bits, a byte each, and the sum
  /// of the bits of the head's rows before them.
  llvm::SmallVector<int64_t> rowWidths, bitsBefore;
  /// The codes of pivots, [1, elements], and how many of the head's rows before
  /// the entry are pivots.
  View pivots;
  llvm::SmallVector<int64_t> pivotsBefore;
  std::optional<SlabCodes> slabs;
};

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_CODEROWS_H
