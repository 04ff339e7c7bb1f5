//===- SlabCodes.h - tiles whose codes differ in bits -----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Slabs of 16 key rows of equal bits, as SlotLayout.h draws them, become tiles
// of int8 codes: a lane moves its bits to the top of bytes. All that comes
// after sees int8, with keys in the order of the slabs, which differs from head
// to head and is looked up where keys meet codes.
//
// Blocks work on one head, so the bits of a slab are the same for all lanes of
// a block: every width that some slab has is a branch of its own.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_SLABCODES_H
#define DECANT_TRANSFORMS_TILING_SLABCODES_H

#include "LaneTile.h"

namespace decant {

class SlabCodes {
public:
  explicit SlabCodes(LaneTile &tile);

  /// Bytes of the head's codes.
  mlir::Value bytes() const;
  /// What the table says of the slab that is key tile `keyTile`.
  mlir::Value slab(mlir::Value keyTile) const;
  /// The lane's parts of tiles (value tile, slab), each vector<8xi8> as in a
  /// tile of int8.
  llvm::SmallVector<mlir::Value>
  load(const View &codes, mlir::Value slab,
       llvm::ArrayRef<mlir::Value> valueTiles) const;
  /// Runs `body` for all slabs of the head from the first on, with what `slab`
  /// would give. What it takes to know them is loaded where loadWidths()
  /// stands.
  using SlabsBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value keyTile, mlir::Value slab, mlir::ValueRange carried)>;
  mlir::Value loadWidths() const;
  llvm::SmallVector<mlir::Value> forSlabs(mlir::Value widths,
                                          llvm::ArrayRef<mlir::Value> initial,
                                          SlabsBody body) const;
  /// Stores such a part, whose codes are multiples of the slab's unit.
  void store(const View &codes, mlir::Value slab, mlir::Value valueTile,
             mlir::Value bytes) const;
  /// f32: what a slab's last bit counts, in codes of int8, and its largest
  /// code.
  struct Reach {
    mlir::Value unit, largest;
  };
  Reach reach(mlir::Value slab) const;

  /// Where the codes of key rows first .. first + count - 1 lie, and which row
  /// lies at a position.
  llvm::SmallVector<mlir::Value> positions(mlir::Value first, int count) const;
  mlir::Value keyAt(mlir::Value position) const;

  /// A plane that the slab may have: where it begins.
  struct Plane {
    int bits;
    mlir::Value has, start;
  };
  /// Of 4 bits, the highest; then of 4, 2 and 1.
  std::array<Plane, 4> planesOf(mlir::Value slab) const;

private:
  mlir::Value word(int64_t value) const;
  mlir::Value bitsOf(mlir::Value slab) const; // i32
  mlir::Value startOf(mlir::Value slab) const;
  mlir::Value isAny(mlir::Value bits, int64_t mask) const;
  mlir::Value placeOf(const Plane &plane, mlir::Value valueTile) const;
  int64_t bytesPerBit() const; // of a slab
  llvm::SmallVector<mlir::Value>
  loadPlane(const View &codes, int bits, mlir::Value start,
            llvm::ArrayRef<mlir::Value> tiles) const;
  llvm::SmallVector<mlir::Value>
  loadOf(int width, const View &codes, mlir::Value start,
         llvm::ArrayRef<mlir::Value> valueTiles) const;
  llvm::SmallVector<mlir::Value>
  loadOneOf(llvm::ArrayRef<int> some, const View &codes, mlir::Value bits,
            mlir::Value start, llvm::ArrayRef<mlir::Value> tiles) const;
  void storePlane(const View &codes, const Plane &plane, mlir::Value valueTile,
                  mlir::Value fields) const;
  mlir::Value masked(mlir::Value x, int64_t mask, int left) const;
  mlir::Value byteOf(llvm::ArrayRef<int64_t> table, mlir::Value number) const;

  LaneTile &t;
  int slabs; // of a head
  /// Bits that slabs of some head have, the most first.
  llvm::SmallVector<int> present;
  /// Of all heads: bits of slabs, a nibble each.
  llvm::SmallVector<int64_t> widths;
  /// Of all heads: bytes of codes; bits and start of slabs; keys by position
  /// and positions by key, eight to an entry.
  llvm::SmallVector<int64_t> headBytes, slabTable, keyTable, positionTable;
};

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_SLABCODES_H
