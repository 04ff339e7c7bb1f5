//===- CallVectors.h - a call's vectors, as lanes have them -----*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors of a call's inputs and outputs have the real dims; lanes share the
// padded ones. What lies beyond a dim is zero in a lane, and is not touched in
// memory, where another head may follow.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_CALLVECTORS_H
#define DECANT_TRANSFORMS_TILING_CALLVECTORS_H

#include "LaneTile.h"

namespace decant {

/// The lane's part, as f32, of the vector along `axis` that starts at element
/// `offset` of `memref`.
mlir::Value loadInput(LaneTile &tile, VectorAxis axis, mlir::Value memref,
                      mlir::Value offset);

/// Stores the lane's part of such a vector, from one of the lanes that hold it.
void storeOutput(LaneTile &tile, VectorAxis axis, mlir::Value vector,
                 mlir::Value memref, mlir::Value offset);

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_CALLVECTORS_H
