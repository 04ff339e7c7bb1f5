//===- KernelTable.h - what an image says of its kernels --------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_COMPILER_KERNELTABLE_H
#define DECANT_COMPILER_KERNELTABLE_H

#include "decant/Core/KernelImage.h"
#include "mlir/IR/BuiltinOps.h"

namespace decant {

/// What a token adds to the window; `module` is of stage windowed.
RecordShape recordShapeOf(mlir::ModuleOp module);

/// Whether the rule reads along the value axis; `module` is of stage rule.
bool readsKeys(mlir::ModuleOp module);

/// Fills layout, schedule and entries with their arguments; `module` is of
/// stage scheduled, where names and types of arguments are final.
void describeKernels(mlir::ModuleOp module, const DecodeSpec &spec,
                     KernelImage &image);

/// Fills threads and shared memory of the entries; `module` is of stage mapped.
void describeLaunch(mlir::ModuleOp module, KernelImage &image);

} // namespace decant

#endif // DECANT_COMPILER_KERNELTABLE_H
