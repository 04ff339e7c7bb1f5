//===- HeldState.h - a state that stays in registers ------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where every token changes every code, a step reads the state and writes it:
// once each, if the lanes hold their parts in between. So the loads come first
// of all, and no part is seen by another lane but in sums. Codes are held as
// numbers, under no scales but those of groups; what a token makes of them
// becomes the rows that scales and new codes are fitted to (StateRows.h).
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_HELDSTATE_H
#define DECANT_TRANSFORMS_TILING_HELDSTATE_H

#include "StateRows.h"

namespace decant {

class HeldState {
public:
  /// Loads the lane's part of `head`.
  HeldState(LaneTile &tile, const StoredHead &head);

  /// S^T x for each key vector of `vectors`; tileWindowRead's bits.
  llvm::SmallVector<mlir::Value> read(llvm::ArrayRef<mlir::Value> vectors);
  /// Applies a token's update and stores the state; tileFold's bits.
  void fold(const TokenUpdate &update);
  /// On the first lane: the tokens that the state holds.
  mlir::Value tokenCount() const { return tokens; }

private:
  /// Whether the codes are the state, without scales.
  bool isPlain() const { return tile.layout.scales.empty(); }
  void load();

  LaneTile &tile;
  StoredHead head;
  /// The lane's columns of its rows, f32; none after a fold that left codes.
  llvm::SmallVector<mlir::Value> rows;
  mlir::Value tokens;
};

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_HELDSTATE_H
