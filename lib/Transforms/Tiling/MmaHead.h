//===- MmaHead.h - one head on tensor cores ---------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The window ops of strategy mma. A warp holds the codes of its values as
// fragments, so that one tensor-core product reads them with up to four
// vectors at once; the window's records and the compensators are copied to
// panels in shared memory and are one more small product:
//
//   panel row | 0 .. records   | then         | then (folds only)
//   term      | records        | compensators | new compensators
//
// Rows without a term are zero. A total decay that is a vector, and the decay
// since a record, are multiplied into the panel's keys; scalar ones, and the
// scales of compensators of bytes, weigh the scores.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_MMAHEAD_H
#define DECANT_TRANSFORMS_TILING_MMAHEAD_H

#include "SlabCodes.h"
#include "StateRows.h"
#include "WarpTile.h"

namespace decant {

/// What the kernel does with the head; decides which shared memory it needs.
struct MmaUse {
  int vectors = 0; // that one window_read reads with, at most
  bool folds = false;
};

/// The least power of two that is no smaller than any code of `type`.
double powerAbove(ElementType type);

class MmaHead {
public:
  MmaHead(LaneTile &tile, const StoredHead &head, mlir::Value shared,
          MmaUse use);

  /// Starts the loads and copies of what a read or a fold needs.
  void load();
  /// The same for several tokens: first what all of them read, then for each
  /// the head as the drafts before it leave it.
  void loadState();
  void loadToken(const StoredHead &after);
  /// Before a function that lays out shared memory anew; behind a barrier.
  void endArrival();
  bool isLoaded() const { return loaded.has_value(); }
  /// Where codes are read from.
  const View &readableCodes() const { return staged.memref ? staged : codes; }
  llvm::SmallVector<mlir::Value> read(llvm::ArrayRef<mlir::Value> vectors);
  /// The state after `update` becomes the checkpoint.
  void fold(const TokenUpdate &update);
  /// The window as load() found it.
  const WindowStart &window() const { return loaded->window; }

private:
  friend class MmaFold;

  /// Chunks of codes that a lane keeps in flight: 16 of 16 bytes are 64
  /// registers.
  static constexpr int kMaxChunksInFlight = 16;

  /// Values in registers.
  struct Loaded {
    llvm::SmallVector<mlir::Value> codes; // chunks; empty when there are many
    mlir::Value keyScale, valueScale;     // null: none
    /// Compensators of bytes on their way to the panels, and the scale of the
    /// one that has the thread's number.
    llvm::SmallVector<mlir::Value> compensators;
    mlir::Value compScale;
    mlir::Value slabWidths;                // where the codes are in slabs
    llvm::SmallVector<mlir::Value> decays; // of records; empty: not yet
    WindowStart window;
  };
  void loadScales(Loaded &now);
  void loadAhead(Loaded &now);
  void loadCodes(Loaded &now);
  void stageCodes();
  void stageCodesInBulk();
  void startArrival();
  void holdBack();
  void copyCompensators(Loaded &now);
  /// Those of bytes arrive.
  void spreadCompensators(Loaded &now);
  mlir::Value halvesOf(mlir::Value bytes, ElementType type);
  using CompensatorPart =
      llvm::function_ref<void(VectorAxis axis, mlir::Value row,
                              mlir::Value column, mlir::Value inside)>;
  void forCompensatorParts(CompensatorPart body);
  int64_t bytesPerPart(VectorAxis axis) const;
  void copyRecords(mlir::Value validRecords);
  void copyRows(const View &panel, int firstRow, const View &source, int rows,
                mlir::Value valid);
  void zeroRows(int first, int end);
  /// Applies decays that are vectors to the keys, once those are there.
  void finishTerms(mlir::Value keyDecay, mlir::Value fill);
  void decayKeys(mlir::Value fill);
  void decayShare(mlir::Value key, int share, int shares, mlir::Value fill);
  /// weights[t] of the terms under scalar decays, 1 without.
  void weighTerms(mlir::Value keyDecay, mlir::Value fill);
  llvm::SmallVector<mlir::Value> loadDecays();
  llvm::SmallVector<mlir::Value> decaysSince(mlir::Value fill);
  /// What a product with the terms' values takes: weights[t] (terms[t] .
  /// columns[c]) over `factor`, a power of two of each column.
  struct Scores {
    int firstRow = 0, endRow = 0;            // of the terms
    llvm::SmallVector<mlir::Value> operands; // of 16 terms each
    mlir::Value factor; // of the lane's column, or vector<2>: of its columns
  };
  /// Columns as high part and rest, weighed, for a read; or as they are, for
  /// terms that are under their weights already.
  enum class Columns { Parts, Plain };
  /// `meanwhile` builds work between what the warps do alone and the barrier
  /// that brings it together.
  Scores scoreTerms(const View &terms, int dimTiles, const View &columns,
                    int count, Columns kind,
                    llvm::function_ref<void()> meanwhile);
  bool sharesScores(int dimTiles) const;
  int64_t unusedTermBytes() const;
  llvm::SmallVector<mlir::Value> termProducts(const View &terms, int dimTiles,
                                              const View &columns, int count,
                                              Columns kind, const Scores &rows);
  llvm::SmallVector<mlir::Value>
  sumOverWarps(llvm::ArrayRef<mlir::Value> products, int columns, bool parts,
               llvm::function_ref<void()> meanwhile);
  /// sum_t scores[t, c] terms[t, element] of 16 elements.
  mlir::Value sumTerms(const Scores &scores, const View &terms,
                       mlir::Value firstElement);
  llvm::SmallVector<mlir::Value> readGroup(llvm::ArrayRef<mlir::Value> vectors,
                                           bool first);
  //===--- operands of a read (MmaColumns.cpp) ----------------------------===//
  void spreadColumns(llvm::ArrayRef<mlir::Value> vectors, const View &folded,
                     const View &plain, const View &both, const View &factors);
  void spreadRound(llvm::ArrayRef<mlir::Value> vectors, int first, int end,
                   const View &panel, int panelFirst, const View &factors);
  void storeColumn(const View &panel, mlir::Value row, mlir::Value part,
                   bool isFolded);
  llvm::SmallVector<mlir::Value> codesProduct(const View &columns, int count);
  llvm::SmallVector<mlir::Value> slabsProduct(const View &columns, int count,
                                              llvm::ArrayRef<mlir::Value> sums);
  //===--- codes of f32 (MmaWide.cpp) -------------------------------------===//
  /// Chunks that a lane has on their way: as many as the registers of the
  /// schedule's blocks hold beside the rest of a step.
  int codesAhead() const;
  /// The i-th chunk of the warp's codes, the value tiles of a row of keys one
  /// after the other.
  mlir::Value loadWideChunk(int i);
  /// Rows of two keys of `count` vectors.
  View takeWideColumns(int count);
  /// Of the values, under each of `count` vectors.
  View takeParts(int count);
  void spreadWide(llvm::ArrayRef<mlir::Value> vectors, const View &columns);
  /// The columns' products with the warp's codes so far.
  struct WideRead {
    View columns;
    /// Of values g and g + 8, [value tile][column].
    llvm::SmallVector<llvm::SmallVector<mlir::Value>> sums;
    llvm::SmallVector<mlir::Value> codes; // that are on their way, or were
    int next = 0;                         // chunk
  };
  int wideChunks() const { return warp.valueTilesPerWarp * warp.chunks; }
  WideRead startWide(const View &columns, int count, bool first);
  void multiplyWide(WideRead &read, int end);
  /// Leaves four parts of each value: of the lanes that have its keys.
  void finishWide(WideRead &read, const View &parts);
  mlir::Value sumOfParts(const View &parts, int column);

  bool decaysKeys() const {
    return layout.record.keyDecay == DecayShape::Vector;
  }
  /// Compensators of bytes are under a scale, which their weight has; what the
  /// panel holds of their keys is below 1, which its type has exactly.
  bool scalesTerms() const { return !layout.compScale.empty(); }
  /// Chunk `c` of the codes of the warp's values.
  llvm::SmallVector<mlir::Value> loadChunks(mlir::Value c);
  bool hasTerms() const { return layout.window > 1 || layout.compensators > 0; }

  LaneTile &t;
  WarpTile warp;
  const StoredHead &head;
  const SlotLayout &layout;
  MmaUse use;
  const ElementType termType; // of panels and of what they are read with
  int records;                // rows of records in a panel
  int readRows, allRows;      // rows up to the compensators, and all
  int firstRead, readEnd;     // rows that a read takes, zeros at their end
  View codes;
  int64_t unusedTerms = 0; // their place in the arena
  /// Where key rows differ in bits. Codes are then in shared memory, packed
  /// until a fold makes bytes of them.
  const SlabCodes *slabs = nullptr; // null: they do not
  int64_t stagedPlace = 0;
  View staged;         // the codes in shared memory; empty: they are not
  mlir::Value arrival; // of bulk copies; null: there are none
  View termKeys, termValues, decayPanel, totalDecay, weights;
  /// What keys under their decays lose in the panel; empty: nobody asks.
  View keyRests;
  Arena arena;
  int64_t decayPlace = 0; // of decayPanel, which nothing needs in the end
  int64_t workspace = 0;
  std::optional<Loaded> loaded;
};

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_MMAHEAD_H
