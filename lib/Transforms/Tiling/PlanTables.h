//===- PlanTables.h - a layer's own numbers, in kernels ---------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a plan brings (Core/DecodeSpec.h) is a constant of the compiled kernel:
// arrays in memory that all blocks share.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_PLANTABLES_H
#define DECANT_TRANSFORMS_TILING_PLANTABLES_H

#include "LaneTile.h"

namespace decant {

/// What key row `row` of the block's head weighs in fits, to the power of
/// `power`; null where all weigh alike.
mlir::Value rowWeight(LaneTile &tile, mlir::Value row, double power);

/// The static scales of the block's head, a table of groups (GroupScales.h).
/// All lanes call it.
View staticGroups(LaneTile &tile);

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_PLANTABLES_H
