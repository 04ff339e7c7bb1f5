//===- StoredHead.h - one head's bytes, seen from a lane --------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_STOREDHEAD_H
#define DECANT_TRANSFORMS_TILING_STOREDHEAD_H

#include "CodeRows.h"

namespace decant {

/// The window as it was when the kernel began: fill and total decays.
struct WindowStart {
  mlir::Value fill;                 // index
  mlir::Value keyDecay, valueDecay; // null: none
  mlir::Value tokens;               // i64
};

/// A rank-1 term of the stored state, under the decays since it was written.
struct Term {
  mlir::Value number;     // of the record or compensator, index
  mlir::Value key, value; // the lane's part
  mlir::Value valid;      // i1; null when the term is there for certain
};

/// Views of all regions of a head; those that the layout lacks are never used.
struct StoredHead {
  /// `pool` is the slots' memory, `offset` the head's first byte.
  StoredHead(LaneTile &tile, mlir::Value pool, mlir::Value offset);

  /// The same head, ready for loadRow(), which needs the column scales where
  /// the layout has pivots.
  StoredHead withColumns(LaneTile &tile) const;

  /// The same head as `count` drafts leave it.
  StoredHead after(mlir::Value count) const {
    StoredHead head = *this;
    head.drafts = count;
    return head;
  }

  mlir::Value fill(LaneTile &tile) const; // index, of accepted tokens
  void setFill(LaneTile &tile, mlir::Value fill) const;
  /// `tokens` is the count before, null when it has not been loaded.
  void addToken(LaneTile &tile, mlir::Value tokens = {}) const;
  /// The count so far, on the first lane alone; loaded early, it is not waited
  /// for at the end.
  mlir::Value tokenCount(LaneTile &tile) const;
  void clearTokens(LaneTile &tile) const;
  /// The count as memory holds it, on every lane.
  mlir::Value storedTokens(LaneTile &tile) const;
  /// The slot's seed of stochastic rounding, i32.
  mlir::Value seed(LaneTile &tile) const;
  void setDrafts(LaneTile &tile, mlir::Value count) const;
  /// The first `count` drafts become tokens of the window.
  void accept(LaneTile &tile, mlir::Value count) const;
  /// Writes version, fill and tokens to the slot's header, for hosts to read.
  /// `tokens`, where the lane has the count at window 1, saves it two waits for
  /// what it has just written. Where `folds` holds, a fold that empties the
  /// window comes next.
  void copyCursor(LaneTile &tile, mlir::Value pool, mlir::Value header,
                  mlir::Value tokens = {}, mlir::Value folds = {}) const;

  /// Loads fill and total decays. An empty window's total decay is 1 whatever
  /// the bytes say: all-zero bytes are an empty sequence.
  WindowStart start(LaneTile &tile) const {
    return start(tile, loadStart(tile));
  }
  /// The two halves of start(): the loads, and what has to wait for the fill.
  struct RawStart {
    mlir::Value fill, keyDecay, valueDecay, tokens;
  };
  RawStart loadStart(LaneTile &tile) const;
  WindowStart start(LaneTile &tile, const RawStart &raw) const;

  /// Walks the records from the newest to the oldest, several at a time, so
  /// that the loads of one round wait together. `body` gets a round's terms and
  /// what the loop carries.
  using RecordsBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      llvm::ArrayRef<Term> terms, mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value> forRecords(LaneTile &tile, mlir::Value fill,
                                            llvm::ArrayRef<mlir::Value> initial,
                                            RecordsBody body) const;
  /// The same for the compensators, which have no decay of their own.
  llvm::SmallVector<mlir::Value>
  forCompensators(LaneTile &tile, llvm::ArrayRef<mlir::Value> initial,
                  RecordsBody body) const;

  /// The lane's columns of key row `row`, under the scales of groups but no
  /// others; a pivot's so that they are its elements once column scales are
  /// applied.
  mlir::Value loadRow(LaneTile &tile, mlir::Value row) const;
  /// The scales that every element of a column has: a vector, a scalar where
  /// the head has one scale, null without any.
  mlir::Value columnScale(LaneTile &tile) const;

  mlir::Value pool, offset; // of the head's first byte
  mlir::Value drafts;       // behind the fill; null: none is looked at
  CodeRows codes;
  View headScale, groupScale, groupOffset; // static group scales: of the lanes
  View keyScale, valueScale, compKeys, compValues, compScale, carried;
  View totalKeyDecay, totalValueDecay, recordKeyDecay, recordValueDecay;
  View recordKeys, recordValues;

private:
  mlir::Value columnInverse; // of what columnScale() gives
  mlir::Value words;         // memref<1x4xi32> of the cursor
  mlir::Value tokens;        // memref<1x2xi64> of the cursor
};

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_STOREDHEAD_H
