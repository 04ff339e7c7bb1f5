//===- EmitCuda.h - stage rule to CUDA C++ ----------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TARGET_EMITCUDA_H
#define DECANT_TARGET_EMITCUDA_H

#include "decant/Compiler/CudaSource.h"

namespace decant {

class DecodeOp;

/// `layer` names the layer in the text's first line. Ops of decant's rule
/// dialect and element-wise ops of arith and math are known; any other is an
/// error that names it.
Expected<CudaSource> printCuda(DecodeOp decode, const std::string &layer);

} // namespace decant

#endif // DECANT_TARGET_EMITCUDA_H
