//===- WindowTile.h - window ops as the work of one lane --------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_WINDOWTILE_H
#define DECANT_TRANSFORMS_TILING_WINDOWTILE_H

#include "StateRows.h"

namespace decant {

/// S^T x for each key vector of `vectors`, S being the stored state. `held` are
/// the lane's rows as StoredHead::loadRow() gives them; null: they are loaded.
llvm::SmallVector<mlir::Value>
tileWindowRead(LaneTile &tile, const StoredHead &head,
               llvm::ArrayRef<mlir::Value> vectors,
               llvm::ArrayRef<mlir::Value> held = {});

/// S x for a value vector x.
mlir::Value tileWindowReadKey(LaneTile &tile, const StoredHead &head,
                              mlir::Value vector);

/// One token's decays and terms become records.
/// `window` is the window before the token.
void tileAppend(LaneTile &tile, const StoredHead &head,
                const WindowStart &window, const TokenUpdate &update);

/// Fits compensators to `rows` and replaces the checkpoint by their encoding;
/// the window is empty afterwards.
void encodeRows(LaneTile &tile, const StoredHead &head, StateRows &rows);

/// encodeRows of the stored state after `update`.
void tileFold(LaneTile &tile, const StoredHead &head,
              const TokenUpdate &update);

/// A dense state becomes the checkpoint, or the stored state a dense one.
void tilePack(LaneTile &tile, const StoredHead &head, const DenseState &dense);
void tileUnpack(LaneTile &tile, const StoredHead &head,
                const DenseState &dense);

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_WINDOWTILE_H
