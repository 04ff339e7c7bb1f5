//===- LaneLoops.h - the lanes of a block in lock step ----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of many lanes becomes a host function that runs a block's lanes one
// after the other, piece by piece: the ops between two collective ops (barrier,
// lane_reduce, mma, transpose, and loops and branches around those) are the
// body of a loop over lanes; the collective ops are emitted between the loops.
// This lets every tile program of a GPU be tested without one. It is not meant
// to be fast.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CONVERSION_LANELOOPS_H
#define DECANT_CONVERSION_LANELOOPS_H

#include "LaneUniformity.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace decant {

/// Emits the function of `kernel`, whose lanes are more than one.
mlir::LogicalResult mapLanes(KernelOp kernel, LaneCounts lanes,
                             mlir::ImplicitLocOpBuilder &builder);

} // namespace decant

#endif // DECANT_CONVERSION_LANELOOPS_H
