//===- Codegen.h - stage llvm to machine code ----------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: an op of stage `llvm` (a builtin.module or gpu.module). Out: text or
// bytes of an LLVM target. What PTX and host objects share.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TARGET_CODEGEN_H
#define DECANT_TARGET_CODEGEN_H

#include "decant/Core/Status.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/TargetParser/Triple.h"

namespace llvm {
class Module;
} // namespace llvm
namespace mlir {
class Operation;
} // namespace mlir

namespace decant {

/// What LLVM calls a target machine.
struct Machine {
  llvm::Triple triple;
  std::string cpu;
  std::string features; // "+ptx80", "+avx2,+fma"
};

/// Translates `op` to LLVM IR, lets `finish` add to it, optimises, and emits
/// `form`. The machine's LLVM target must have been initialised.
Expected<std::string>
generateCode(mlir::Operation *op, const Machine &machine,
             llvm::CodeGenFileType form,
             llvm::function_ref<Status(llvm::Module &)> finish);

} // namespace decant

#endif // DECANT_TARGET_CODEGEN_H
