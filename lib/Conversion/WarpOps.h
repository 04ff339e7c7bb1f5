//===- WarpOps.h - ops of a warp as NVIDIA instructions ---------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CONVERSION_WARPOPS_H
#define DECANT_CONVERSION_WARPOPS_H

#include "Decant/Decant.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace decant {

/// Emits the instructions of a tensor-core, code or copy op and maps its
/// results; false for any other op.
bool mapWarpOp(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b,
               mlir::IRMapping &mapping);

/// Parts of it: packed codes; copies and what blocks tell one another.
bool mapCodeOp(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b,
               mlir::IRMapping &mapping);
bool mapCopyOp(mlir::Operation *op, mlir::ImplicitLocOpBuilder &b,
               mlir::IRMapping &mapping);

} // namespace decant

#endif // DECANT_CONVERSION_WARPOPS_H
