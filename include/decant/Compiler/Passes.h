//===- Passes.h - pass declarations and the pipeline ------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_COMPILER_PASSES_H
#define DECANT_COMPILER_PASSES_H

#include "Decant/Decant.h"
#include "decant/Compiler/Compiler.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"

namespace decant {

#define GEN_PASS_DECL
#include "decant/Compiler/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "decant/Compiler/Passes.h.inc"

/// Adds the passes that make the stages after `from` up to `last`, in order.
void buildPipeline(mlir::OpPassManager &manager, const CompileOptions &options,
                   Stage from, Stage last);

} // namespace decant

#endif // DECANT_COMPILER_PASSES_H
