//===- KernelPointers.h - memrefs of a GPU kernel as pointers ---*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DECANT_CONVERSION_KERNELPOINTERS_H
#define DECANT_CONVERSION_KERNELPOINTERS_H

#include "mlir/Pass/Pass.h"

namespace decant {

/// In a gpu.module: every memref becomes a pointer and a known number of bytes,
/// and every access llvm.load or llvm.store.
std::unique_ptr<mlir::Pass> createKernelPointers();

} // namespace decant

#endif // DECANT_CONVERSION_KERNELPOINTERS_H
