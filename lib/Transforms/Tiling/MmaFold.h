//===- MmaFold.h - a window becomes a checkpoint, on tensor cores -*- C++ -*-=//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state is never whole anywhere. Products with it (to fit compensators,
// MmaFit.cpp) go through the codes and the terms, as a read does. What needs
// its elements (scales, codes: MmaEncode.cpp) rebuilds them tile by tile:
//
//   E[v, k] = columnScale[v] (codes[v, k] rowScale[k]) + sum_t values[t, v]
//   keys[t, k]
//
// the new compensators among the terms, keys negated. A pass that sums over
// values gives each warp its key tiles, one that sums over keys its value
// tiles: the codes are read again each time, from the cache, and no pass needs
// the sums of another warp.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_MMAFOLD_H
#define DECANT_TRANSFORMS_TILING_MMAFOLD_H

#include "MmaHead.h"

namespace decant {

class MmaFold {
public:
  explicit MmaFold(MmaHead &head);
  void run(const TokenUpdate &update);

private:
  using PowerOfTwo = WarpTile::PowerOfTwo;

  View line(int dim) { return h.arena.take(ElementType::F32, 1, dim); }
  int dimOf(VectorAxis axis) const {
    return axis == VectorAxis::Key ? layout.paddedKey : layout.paddedValue;
  }
  static VectorAxis other(VectorAxis axis) {
    return axis == VectorAxis::Key ? VectorAxis::Value : VectorAxis::Key;
  }
  const View &termsOf(VectorAxis axis) const {
    return axis == VectorAxis::Key ? h.termKeys : h.termValues;
  }
  const View &scaleOf(VectorAxis axis) const {
    return axis == VectorAxis::Key ? rowScale : columnScale;
  }

  const View &inverseOf(VectorAxis axis) const {
    return axis == VectorAxis::Key ? keyInverse : valueInverse;
  }

  //===--- start (MmaFold.cpp) --------------------------------------------===//
  void start(const TokenUpdate &update);
  void storeUpdate(const TokenUpdate &update);
  /// Scalar decays and scales go into the terms' values, once for all passes.
  void weighValues();
  mlir::Value largestOf(const View &line, int dim);
  //===--- rows of different bits (MmaSlabs.cpp) --------------------------===//
  /// Where slabs have their own order of keys, a fold has it too, from start()
  /// on; what goes to the slot goes by key.
  void expandCodes();
  void orderKeys();
  void storeRowScale(mlir::Value rows);
  void storeKeyScale();
  mlir::Value placeInSlot(VectorAxis axis, mlir::Value element);
  mlir::Value reachOver(mlir::Value x, mlir::Value keyTile);
  mlir::Value roundInSlab(mlir::Value x, mlir::Value keyTile);
  void storeInSlabs(mlir::Value valueTile, mlir::Value c,
                    llvm::ArrayRef<mlir::Value> tiles);

  /// Of the largest scale along the axis.
  PowerOfTwo power(VectorAxis axis);

  //===--- tiles of codes -------------------------------------------------===//
  mlir::Value keyTile(mlir::Value chunk, int n);
  /// Chunks of key tiles are dealt out to the warps in rounds; warps without
  /// one repeat the last.
  int chunkRounds() const;
  mlir::Value ownChunk(mlir::Value round);
  using TileLoad = llvm::function_ref<mlir::Value(mlir::Value tile)>;
  using TileBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value codes, mlir::Value tile, mlir::ValueRange carried)>;
  /// `body` for all value tiles, with what is loaded for them, up to `ahead`
  /// bytes at once.
  llvm::SmallVector<mlir::Value>
  overValueTiles(TileLoad load, llvm::ArrayRef<mlir::Value> initial,
                 TileBody body, int64_t ahead);
  using ChunksBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      llvm::ArrayRef<mlir::Value> chunks, mlir::Value c,
      mlir::ValueRange carried)>;
  /// `body` for each chunk of key tiles of all own value tiles.
  llvm::SmallVector<mlir::Value>
  overOwnTiles(llvm::ArrayRef<mlir::Value> initial, ChunksBody body);
  /// Rounds whose loads go out before they are needed.
  llvm::SmallVector<mlir::Value> loadedAhead(
      int rounds, int64_t ahead, llvm::ArrayRef<mlir::Value> initial,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value)> load,
      ChunksBody body);

  //===--- compensators (MmaFit.cpp) --------------------------------------===//
  void fitTerms();
  /// to[r] = S from[r], or S^T from[r] when `axis`, which is summed over, is
  /// the key axis.
  void multiply(VectorAxis axis, const View &from, const View &to);
  void multiplyGroup(VectorAxis axis, const View &from, const View &to,
                     int first, int count);
  llvm::SmallVector<mlir::Value> overKeys(const View &columns, int count);
  llvm::SmallVector<mlir::Value> overValues(const View &columns, int count,
                                            mlir::Value c);
  llvm::SmallVector<mlir::Value> withoutBias(llvm::ArrayRef<mlir::Value> sums);
  //===--- orthonormal columns (MmaOrthonormal.cpp) -----------------------===//
  /// Cholesky is written out, for as many columns at once.
  static constexpr int kMaxCholesky = 8;
  void orthonormalise(VectorAxis axis, const View &columns, int passes);
  mlir::Value orthonormaliseGroup(VectorAxis axis, const View &columns,
                                  int count, mlir::Value first,
                                  mlir::Value floor);
  void orthonormaliseInGroups(VectorAxis axis, const View &columns);
  void project(VectorAxis axis, const View &columns, mlir::Value before,
               mlir::Value first);
  mlir::Value choleskyPass(VectorAxis axis, const View &columns,
                           const View &gram, int rank, mlir::Value first,
                           mlir::Value floor);
  using ColumnsOf =
      llvm::function_ref<std::pair<mlir::Value, mlir::Value>(mlir::Value)>;
  void formProducts(VectorAxis axis, const View &columns, const View &out,
                    int count, ColumnsOf columnsOf);
  mlir::Value product(VectorAxis axis, const View &columns, mlir::Value i,
                      mlir::Value j);
  //===--- terms (MmaFit.cpp) ---------------------------------------------===//
  void storeTerms(VectorAxis axis, const View &fitted);
  void scaleCodes(VectorAxis axis, const View &fitted);

  //===--- the residual (MmaResidual.cpp) ---------------------------------===//
  struct ValueSide {
    llvm::SmallVector<mlir::Value> terms;
    mlir::Value scale;   // vector<4>: of (g, g, g + 8, g + 8)
    mlir::Value inverse; // null: none was fitted
  };
  struct KeySide {
    llvm::SmallVector<mlir::Value> terms[2];
    std::array<mlir::Value, 2> scale[2]; // diagonals: high part and rest
    mlir::Value inverse[2];              // of (2t, 2t + 1, 2t, 2t + 1)
  };
  void spreadRowScale();
  std::array<mlir::Value, 2> scaleDiagonals(mlir::Value firstKey);
  ValueSide valueSide(mlir::Value tile);
  KeySide keySide(mlir::Value tile);
  llvm::SmallVector<ValueSide> ownValueSides();
  mlir::Value residual(mlir::Value codes, int half, const ValueSide &values,
                       const KeySide &keys);
  /// (a, b) as (a, b, a, b).
  mlir::Value twice(mlir::Value pair);
  //===--- scales (MmaScales.cpp) -----------------------------------------===//
  void fitScale(const ScaleSpec &scale, bool last);
  void keyStatistics(ReduceKind kind, const View &out);
  void valueStatistics(ReduceKind kind, const View &out, bool last);
  mlir::Value weightsOfPair(mlir::Value first);
  void refitValueScale(size_t index);
  //===--- codes (MmaEncode.cpp) ------------------------------------------===//
  void fitAndEncode();
  /// Residuals that wait for the scale of their values.
  struct Waiting {
    View inPlace; // of codes in shared memory
    View apart;
  };
  Waiting takeWaiting();
  std::optional<std::pair<View, mlir::Value>>
  placeOf(const Waiting &waiting, mlir::Value valueTile, int chunk, int n);
  /// `unit` holds the power of two that residuals are kept over.
  void encodeValueTile(mlir::Value tile, const View &unit,
                       const Waiting &waiting);
  void encode();
  /// Whether the last scale and the codes can be found in one pass, from
  /// residuals that stay in registers as f16.
  bool encodesWithLastScale() const;

  //===--- codes of f32 (MmaWideFold.cpp) ---------------------------------===//
  void runWide(const TokenUpdate &update);
  void startWide(mlir::Value keyDecay);
  /// One side of a product of terms, in tiles of 16.
  struct WideSide {
    llvm::SmallVector<mlir::Value> high, rest; // no rest: it is 0
  };
  WideSide wideValues(mlir::Value tile, int firstRow, int endRow);
  std::array<WideSide, 2> wideKeys(int tile, int firstRow, int endRow);
  void addRecords(mlir::Value keyDecay, int firstRow, int endRow,
                  llvm::SmallVector<mlir::Value> codes);
  mlir::Value products(const WideSide &values, const WideSide &keys);

  MmaHead &h;
  LaneTile &t;
  WarpTile &warp;
  const SlotLayout &layout;
  const int rank, firstNew; // row of the first new compensator
  View rowScale, columnScale, keyInverse, valueInverse;
  View diagonal;             // [key]: its scale's parts, each twice
  mlir::Value onDiagonal;    // the half of a word that is the lane's
  mlir::Value largestFitted; // of the thread's scales that were fitted last
  View largest;              // scale along each axis
  View codeScale;            // of the new compensators, where they are bytes
  bool hasInverse[2] = {false, false};
};

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_MMAFOLD_H
