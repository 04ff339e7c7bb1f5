//===- ImportSpec.h - DecodeSpec to stage `rule` ----------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_IMPORT_IMPORTSPEC_H
#define DECANT_IMPORT_IMPORTSPEC_H

#include "decant/Core/RuleInfo.h"
#include "decant/Core/TargetInfo.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace decant {

/// A module with one decant.decode: the spec's input conventions, then its
/// rule, for the spec's dims. Null after an error, which goes to the context's
/// diagnostics.
mlir::OwningOpRef<mlir::ModuleOp> importSpec(const DecodeSpec &spec,
                                             const TargetInfo &target,
                                             mlir::MLIRContext *context);

/// The inputs of the spec's rule, in its own order; nullopt after an error.
std::optional<std::vector<RuleInput>> ruleInputs(const DecodeSpec &spec,
                                                 mlir::MLIRContext *context);

} // namespace decant

#endif // DECANT_IMPORT_IMPORTSPEC_H
