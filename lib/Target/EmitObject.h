//===- EmitObject.h - stage llvm to a host object ------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a module of stage `llvm` for the host, whose public functions end in
// (i64 first, i64 last). Out: a relocatable ELF object, or its assembly, with
//   void <function>_packed(void **args, int64_t first, int64_t last)
// for each of them: args[i] points to the value of the i-th argument, as in
// cuLaunchKernel, so that a caller needs no signature.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TARGET_EMITOBJECT_H
#define DECANT_TARGET_EMITOBJECT_H

#include "decant/Core/TargetInfo.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace decant {

enum class ObjectForm { Object, Assembly };

constexpr char kPackedSuffix[] = "_packed";

/// In every object, a C string: hostCpuName() of the processor that "native"
/// meant, or empty for code that any processor of the target runs.
constexpr char kHostCpuSymbol[] = "decant_host_cpu";

/// The arch "native" is the processor that runs this code.
Expected<std::string> emitHostObject(mlir::ModuleOp module,
                                     const TargetInfo &target, ObjectForm form);

/// LLVM's name of this processor with a hash of its features: objects for
/// "native" run where this is the same.
std::string hostCpuName();

/// Makes LLVM know this machine: needed before code is emitted for it or linked
/// on it. Cheap after the first call, safe from any thread.
void initializeHost();

} // namespace decant

#endif // DECANT_TARGET_EMITOBJECT_H
