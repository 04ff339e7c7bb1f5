//===- RowExchange.h - folds first --------------------------------*- C++ -*-=//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which rows do the last blocks of a launch take? A block whose window is full
// folds it, which takes three times as long as the step: where that is one of
// the last, all others are done and memory idles. So the first rows and the
// last ones go in pairs, and where the last would fold and the first would not,
// their blocks exchange them:
//
//   row  | 0 ... reach - 1 | ...             | rows - reach ... rows - 1
//        | early           | take their own  | late
//
// Every block of an early row says in a byte of the late slot's header, one for
// each head, whether it takes the late row; the late row's block waits for that
// byte, and gives it back as 0. Early blocks start first and wait for nobody.
// What is computed for a row does not depend on the block that takes it.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_ROWEXCHANGE_H
#define DECANT_TRANSFORMS_TILING_ROWEXCHANGE_H

#include "LaneTile.h"

namespace decant {

/// Of a step: the pool and its slots' numbers, with their strides (index).
struct PooledRows {
  mlir::Value pool, poolStride, slots, slotsStride;
};

/// The row that a block takes, whose number stands for `row`.
mlir::Value exchangeRow(LaneTile &tile, const PooledRows &pooled,
                        mlir::Value row);

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_ROWEXCHANGE_H
