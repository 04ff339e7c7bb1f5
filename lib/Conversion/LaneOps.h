//===- LaneOps.h - what lanes do, on the host -------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CONVERSION_LANEOPS_H
#define DECANT_CONVERSION_LANEOPS_H

#include "LaneUniformity.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace decant {

//===--- ops of one lane --------------------------------------------------===//

/// Emits pack_codes, unpack_codes, copy_async and copy_wait; false for others.
bool mapLaneOp(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b,
               mlir::IRMapping &mapping);

//===--- ops of all lanes -------------------------------------------------===//
// Each has memory that all lanes have written their operands to, and from which
// they then read the result. `lane` is the number of a lane.

/// Sums up (or takes the maxima of) memref<lanes x T> along an axis, in the
/// order of the GPU's shuffles and shared memory, in place.
void reduceLanes(LaneReduceOp reduce, LaneCounts lanes, mlir::Value values,
                 mlir::ImplicitLocOpBuilder &b);
/// The element of `values` with a lane's result.
mlir::Value reducedAt(LaneReduceOp reduce, LaneCounts lanes, mlir::Value lane,
                      mlir::ImplicitLocOpBuilder &b);

/// The lane whose value a lane_shift brings to `lane`.
mlir::Value shiftedLane(mlir::Value lane, int64_t distance,
                        mlir::ImplicitLocOpBuilder &b);

/// Matrices of all warps: a is memref<warps x 16 x 16 x f32>, b and acc are
/// memref<warps x 16 x 8 x f32>.
struct MmaMemory {
  mlir::Value a, b, acc;
};
void storeMmaOperands(const MmaMemory &memory, mlir::Value a, mlir::Value b,
                      mlir::Value acc, mlir::Value lane,
                      mlir::ImplicitLocOpBuilder &builder);
/// acc += a b, from the first term to the last.
void multiplyTiles(const MmaMemory &memory, int64_t count,
                   mlir::ImplicitLocOpBuilder &b);
mlir::Value loadMmaResult(mlir::Value acc, mlir::Value lane,
                          mlir::ImplicitLocOpBuilder &b);

/// `matrix` is memref<warps x 8 x 8 x i16>.
void storeForTranspose(mlir::Value matrix, mlir::Value value, mlir::Value lane,
                       mlir::ImplicitLocOpBuilder &b);
mlir::Value loadTransposed(mlir::Value matrix, mlir::Type type,
                           mlir::Value lane, mlir::ImplicitLocOpBuilder &b);

} // namespace decant

#endif // DECANT_CONVERSION_LANEOPS_H
