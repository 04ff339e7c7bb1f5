//===- Register.h - the dialects of Decant's IR --------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Out: a registry with every dialect that may stand in Decant's IR at any stage
// and the translations from stage `llvm` to LLVM IR.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TARGET_REGISTER_H
#define DECANT_TARGET_REGISTER_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace decant {

void registerDialects(mlir::DialectRegistry &registry);

} // namespace decant

#endif // DECANT_TARGET_REGISTER_H
