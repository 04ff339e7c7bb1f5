//===- Version.cpp - which compiler this is -------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file of its own, since it is compiled again whenever any source of the
// compiler changes.
//
//===----------------------------------------------------------------------===//

#include "decant/Compiler/Compiler.h"

#include "SourceHash.inc"
#include "llvm/Config/llvm-config.h"

std::string decant::compilerVersion() {
  return "decant " DECANT_VERSION " (LLVM " LLVM_VERSION_STRING
         ", build " DECANT_SOURCE_HASH ")";
}
