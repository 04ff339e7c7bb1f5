//===- StateRows.h - the state's rows, rebuilt when they are needed -*- C++
//-*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A boundary needs the state several times (to fit compensators, to find
// scales, to encode), and it fits neither in registers nor, for all dims, in
// shared memory. So its rows are rebuilt each time, from the stored codes and a
// list of rank-1 terms that lies in shared memory. (Rows that a lane holds in
// registers, at window 1, are rebuilt once.)
//
//   S[k, v] = row k of codes [v] rowScale[k] columnScale[v] + sum_t keys[t, k]
//   values[t, v]
//
//   terms | 0 .. newTerms  | oldTerms ..
//         | new            | compensators and records under their decays,
//         | compensators,  | then the token's own terms
//         | negative       |
//
// Where the format rotates the state, all of this is in the rotated basis: the
// terms of records and of the token are rotated on their way into the list.
//
// Rows that include the new compensators are the residual, so the same code
// serves before and after the fit.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_STATEROWS_H
#define DECANT_TRANSFORMS_TILING_STATEROWS_H

#include "StoredHead.h"

namespace decant {

/// S' = keyDecay o S o valueDecay + sum keys_n values_n^T; null decays are 1.
struct TokenUpdate {
  mlir::Value keyDecay, valueDecay;
  llvm::SmallVector<mlir::Value> keys, values;
};

/// A dense tensor: element (k, v) at offset + k keyStride + v valueStride.
struct DenseState {
  mlir::Value memref, offset, keyStride, valueStride;
};

/// Which terms a row is rebuilt with.
enum class Terms { Old, All };

class StateRows {
public:
  /// Of the stored state after `update`.
  StateRows(LaneTile &tile, const StoredHead &head, const TokenUpdate &update);
  /// The same of the lane's rows as StoredHead::loadRow() gives them, of which
  /// nothing is loaded again.
  StateRows(LaneTile &tile, const StoredHead &head, const TokenUpdate &update,
            llvm::ArrayRef<mlir::Value> loaded);
  /// Of a dense state.
  StateRows(LaneTile &tile, const DenseState &dense);

  /// How many rows are rebuilt together, sharing the loads of terms.
  int rowsPerRound() const { return perRound; }
  /// Rows `row` .. row + rowsPerRound(), the lane's columns of them.
  llvm::SmallVector<mlir::Value> rebuild(mlir::Value row, Terms terms);
  /// Runs `body` for the lane's rows, rowsPerRound() at a time.
  using RoundBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value row, llvm::ArrayRef<mlir::Value> rows,
      mlir::ValueRange carried)>;
  llvm::SmallVector<mlir::Value>
  forRounds(Terms terms, llvm::ArrayRef<mlir::Value> initial, RoundBody body);
  /// The same for the lane's rows in parts of `count`, a multiple of
  /// rowsPerRound(), each from `initial` on; `done` has a part's number and
  /// what it carried.
  using PartBody = llvm::function_ref<void(
      mlir::Value part, llvm::ArrayRef<mlir::Value> carried)>;
  void forParts(int count, Terms terms, llvm::ArrayRef<mlir::Value> initial,
                RoundBody body, PartBody done);

  /// Sums over all key rows: `body` adds a round's rows to `count` sums.
  llvm::SmallVector<mlir::Value> sumRounds(Terms terms, int count,
                                           RoundBody body);

  /// All rows of the lane, where it holds them.
  llvm::ArrayRef<mlir::Value> held() const { return heldRows; }

  /// Terms 0 .. newTerms(): the new compensators, padded with zero terms to a
  /// multiple of termsPerRound().
  int newTerms() const { return padded; }
  int termsPerRound() const { return chunk; }
  View termKeys, termValues;
  /// One factor per new compensator, of its key; where the layout has them.
  std::optional<View> termScale;

private:
  int rowsOfSum() const;
  void chooseRounds();
  llvm::SmallVector<mlir::Value> forRows(mlir::Value begin, int count,
                                         Terms terms,
                                         llvm::ArrayRef<mlir::Value> initial,
                                         RoundBody body);
  llvm::SmallVector<mlir::Value> forHeld(int first, int count,
                                         llvm::ArrayRef<mlir::Value> initial,
                                         RoundBody body);
  mlir::Value denseRow(mlir::Value key);
  llvm::SmallVector<mlir::Value> denseRows(mlir::Value row);

  LaneTile &tile;
  int perRound = 1;
  int padded = 0, chunk = 1;
  mlir::Value end; // of the old terms
  llvm::SmallVector<mlir::Value> heldRows;
  // The stored source; none for a dense one.
  std::optional<StoredHead> stored;
  View rowScale;
  mlir::Value columnScale;
  std::optional<DenseState> dense;
  View staging; // a lane's part of one dense row
};

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_STATEROWS_H
