//===- LowerToLLVM.h - stage mapped to stage llvm ------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: stage `mapped`: a gpu.module of kernels, or func.funcs for the host, of
// upstream dialects alone. Out: stage `llvm`: the same functions as llvm and
// nvvm ops. Memrefs of static shape become bare pointers, so that an argument
// is one 8-byte value; index is 64 bits, so that no slot offset is cut.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CONVERSION_LOWERTOLLVM_H
#define DECANT_CONVERSION_LOWERTOLLVM_H

#include "decant/Core/TargetInfo.h"

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace decant {

/// Adds the passes from `mapped` to `llvm` to a pass manager of builtin.module.
void buildLowerToLLVM(mlir::OpPassManager &passes, const TargetInfo &target);

/// Makes the pipelines `decant-lower-to-nvvm` and `decant-lower-to-host` known
/// to textual pipelines, for decant-opt and tests.
void registerLowerToLLVM();

} // namespace decant

#endif // DECANT_CONVERSION_LOWERTOLLVM_H
