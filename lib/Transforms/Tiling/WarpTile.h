//===- WarpTile.h - tensor-core tiles of one head ---------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What strategy mma adds to a LaneTile: fragments of 16 x 16 code tiles, panels
// of short vectors in shared memory, and sums over the block.
//
// A panel holds one vector per row, f16 or bf16; its rows are 16 bytes longer
// than the vectors, so that the eight rows of a fragment lie in different
// banks. A number goes into two rows, high part and rest, which together have
// about the precision of f32.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_WARPTILE_H
#define DECANT_TRANSFORMS_TILING_WARPTILE_H

#include "StoredHead.h"

namespace decant {

/// A multiple of 16: rows and columns of a tile.
constexpr int kTile = 16;
/// Columns of one tensor-core product, as high and low parts.
constexpr int kMaxColumns = 4;
/// The most that a lane loads at once.
constexpr int kLoadBytes = 16;

/// Memory that a block shares, used by one part of a kernel after another.
mlir::Value allocateShared(LaneTile &tile);

/// Hands it out; from the start again after reset().
class Arena {
public:
  Arena(LaneTile &tile, mlir::Value memory) : tile(tile), memory(memory) {}
  /// Makes the memory as large as was needed at most.
  ~Arena();
  View take(ElementType type, int64_t count, int64_t width);
  int64_t mark() const { return next; }
  void reset(int64_t mark) { next = mark; }

private:
  LaneTile &tile;
  mlir::Value memory;
  int64_t next = 0, most = 0;
};

class WarpTile {
public:
  explicit WarpTile(LaneTile &tile);
  /// The lane's number, and what hangs on it, is computed anew from here on:
  /// what was computed before need not stay in registers. Gives the number
  /// before, which useLane() takes back at the end of the op's region.
  mlir::Value forgetLane();
  void useLane(mlir::Value number);

  LaneTile &t;
  mlir::ImplicitLocOpBuilder &b;
  const SlotLayout &layout;
  int warps, threads;
  int keyTiles, valueTiles, valueTilesPerWarp;
  mlir::Value thread;      // of the block
  mlir::Value group, pair; // lane / 4, 2 (lane mod 4)

  //===--- panels ---------------------------------------------------------===//
  /// `width` elements as they are stored.
  mlir::Value raw(const View &view, mlir::Value row, mlir::Value column,
                  int64_t width);
  void storeRaw(const View &view, mlir::Value row, mlir::Value column,
                mlir::Value vector);
  /// Rows row .. row + 15, columns column .. column + 15 as a left operand; of
  /// a panel that has `rows` rows. Rows beyond them are its last one: a tile
  /// may end behind the panel (0: none does).
  mlir::Value left(const View &panel, int rows, mlir::Value row,
                   mlir::Value column);
  /// Rows row .. row + terms - 1 as the columns of a left operand over 16 or 8
  /// terms: of 16 of the panel's columns.
  mlir::Value leftTransposed(const View &panel, int terms, mlir::Value row,
                             mlir::Value column);
  /// The same rows as the terms of two right operands: of columns column ..
  /// column + 7 and of the eight that follow.
  std::array<mlir::Value, 2> rightTransposed(const View &panel, int terms,
                                             mlir::Value row,
                                             mlir::Value column);
  /// The first `rows` rows as the columns of right operands, one per 16 terms
  /// from `column` on.
  llvm::SmallVector<mlir::Value>
  rightOfFirst(const View &panel, int rows, mlir::Value column, int tiles = 1);
  mlir::Value mma(mlir::Value left, mlir::Value right, mlir::Value sum);
  mlir::Value zeroSum();
  /// A vector of its type.
  mlir::Value zeros(mlir::Value vector);
  /// A product's columns are high part and rest of `count` columns each:
  /// target[first + c, element ..] = their sums, over 16 elements.
  void storeColumns(const View &target, int first, int count,
                    mlir::Value element, mlir::Value product);
  /// Over the lanes at distances from, 2 from, ... below until.
  mlir::Value reduceLanes(ReduceKind kind, mlir::Value value, int64_t from,
                          int64_t until);
  /// Parts [offset, offset + width) of a vector.
  mlir::Value slice(mlir::Value vector, int64_t offset, int64_t width);
  mlir::Value join(mlir::Value first, mlir::Value second);

  /// 2^e and 2^-e with 2^e <= largest < 2^(e+1), so that x 2^-e has the full
  /// precision of f16 whatever the scale of a state is.
  struct PowerOfTwo {
    mlir::Value factor, inverse;
  };
  PowerOfTwo powerOfTwo(mlir::Value largest);
  /// x as f16 or bf16, where it is known to lie in their range.
  mlir::Value halves(mlir::Value x, ElementType type);
  /// High part and rest of `x` in the panel's type. Numbers that may lie beyond
  /// its range have to saturate: inf - inf would poison the state.
  std::pair<mlir::Value, mlir::Value> split(mlir::Value x, ElementType type,
                                            bool saturates = false);

  //===--- codes in fragment order ----------------------------------------===//
  /// Tiles along the key axis that one load brings, and such loads per row.
  int tilesPerChunk, chunks;
  /// The i-th value tile of the warp.
  mlir::Value ownValueTile(int i);
  llvm::SmallVector<mlir::Value> ownValueTiles();
  /// Codes of 6 or 3 bits: chunks and tiles are words, and those of one chunk
  /// lie in two places.
  bool hasPlanes() const;
  /// Codes of f32, which no product of tensor cores takes whole: a chunk is
  /// half a tile, four codes as the sums of a product have them.
  bool isWide() const { return layout.codes.type == ElementType::F32; }
  /// Elements of a lane's part of a tile and of a chunk, and the chunk's first.
  int64_t tileWidth() const;
  int64_t chunkWidth() const;
  mlir::Value chunkPlace(mlir::Value valueTile, mlir::Value chunk);
  /// What this lane holds of tiles (value tile, key tiles of chunk).
  mlir::Value loadChunk(const View &codes, mlir::Value valueTile,
                        mlir::Value chunk);
  /// Of one tile.
  mlir::Value loadTile(const View &codes, mlir::Value valueTile,
                       mlir::Value keyTile);
  /// Tiles of f32, or of f16 that are multiplied by `scale` on the way.
  void storeChunk(const View &codes, mlir::Value valueTile, mlir::Value chunk,
                  llvm::ArrayRef<mlir::Value> tiles, mlir::Value scale = {});
  /// Eight codes of the chunk's n-th tile as f16 or bf16. Biased integers save
  /// instructions: code codeUnit() + codeBias(), whose bits are those stored.
  mlir::Value tileOf(mlir::Value chunk, int n, bool biased);
  mlir::Value unpack(mlir::Value tile, bool biased);
  double codeUnit() const;
  double codeBias() const;
  /// sum + the chunk's n-th tile, or its transpose, biased, times `right`; and
  /// what takes the bias off such a product.
  mlir::Value codesMma(mlir::Value chunk, int n, bool transpose,
                       mlir::Value right, mlir::Value sum);
  mlir::Value biasMma(mlir::Value right, mlir::Value sum);
  /// The transposed tile.
  mlir::Value transposed(mlir::Value tile);
  ElementType halfType() const;
  View codeBytes(mlir::Value pool, mlir::Value head);

  //===--- the block ------------------------------------------------------===//
  /// Runs `body` for the elements thread, thread + threads, ... below `count`;
  /// it gets an element that is below and whether this one is (null: yes).
  using ElementBody =
      llvm::function_ref<void(mlir::Value element, mlir::Value inside)>;
  void forElements(int64_t count, ElementBody body);
  /// The same for runs of `together` elements of rows of `width`.
  using PartBody = llvm::function_ref<void(mlir::Value row, mlir::Value column,
                                           mlir::Value inside)>;
  void forParts(int64_t rows, int64_t width, int64_t together, PartBody body);
  /// Sum or maximum of `value`, a vector, over all threads; `partial` holds one
  /// row per warp.
  mlir::Value blockReduce(ReduceKind kind, mlir::Value value,
                          const View &partial);
  mlir::Value less(mlir::Value x, mlir::Value y);
  mlir::Value equal(mlir::Value x, int64_t y);

private:
  mlir::Value firstTileOf(mlir::Value valueTile, mlir::Value chunk);
  llvm::SmallVector<mlir::Value> loadWords(const View &codes, mlir::Value at,
                                           int64_t bytes);
  mlir::Value loadPlanes(const View &codes, mlir::Value firstTile,
                         int64_t tiles);
  mlir::Value unpackPlanes(mlir::Value words, int64_t tiles, int n,
                           bool biased);
  void storePlanes(const View &codes, mlir::Value firstTile,
                   llvm::ArrayRef<mlir::Value> tiles, mlir::Value scale);
  mlir::Value loadOperand(const View &panel, mlir::Value row,
                          mlir::Value column, int64_t width, bool right,
                          bool transposed, int rows);
};

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_WARPTILE_H
