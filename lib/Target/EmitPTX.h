//===- EmitPTX.h - stage llvm to PTX -------------------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a module of stage `llvm` with one gpu.module. Out: PTX text of the
// target's architecture and PTX version, which the driver loads.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TARGET_EMITPTX_H
#define DECANT_TARGET_EMITPTX_H

#include "decant/Core/TargetInfo.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace decant {

Expected<std::string> emitPtx(mlir::ModuleOp module, const TargetInfo &target);

} // namespace decant

#endif // DECANT_TARGET_EMITPTX_H
