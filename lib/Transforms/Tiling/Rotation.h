//===- Rotation.h - Hadamard matrices over lanes ----------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a rotated format stores is H_k S H_v: symmetric orthonormal Hadamard
// matrices, each its own inverse, of rotationOf() elements. So
//   S^T x = H_v (stored^T (H_k x)),    k u^T  becomes  (H_k k) (H_v u)^T
// and vectors are rotated, which costs V log V, where the state would cost K
// times as much. A vector's product with H is a butterfly: stages within a
// lane's part are shuffles of a register vector, others go through shared
// memory. Its sums have one order however lanes share them.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_ROTATION_H
#define DECANT_TRANSFORMS_TILING_ROTATION_H

#include "LaneTile.h"

namespace decant {

/// H x along `axis`, or x where the layout does not rotate it. All lanes call
/// it.
mlir::Value rotate(LaneTile &tile, VectorAxis axis, mlir::Value x);

/// x H_v, where every key lane has a row of its own; `memory` is [keyLanes,
/// paddedValue]. All lanes call it.
mlir::Value rotateRow(LaneTile &tile, mlir::Value x, const View &memory);

/// Row `key` of H_k times the rows that `row` makes, `step` of them at a time.
mlir::Value rotateKeys(
    LaneTile &tile, mlir::Value key, int step,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value first)> rows);

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_ROTATION_H
