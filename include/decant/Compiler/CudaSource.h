//===- CudaSource.h - a spec's rule as CUDA C++ -----------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a spec. Out: the text of one kernel that does to a dense, unquantized
// state what the rule says that a token does, op by op (`--emit cuda`). It is
// made of stage `rule` and shares nothing with what makes the real kernels from
// there on, so that it can tell whether they are right.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_COMPILER_CUDASOURCE_H
#define DECANT_COMPILER_CUDASOURCE_H

#include "decant/Core/KernelImage.h"

namespace decant {

struct CudaSource {
  /// CUDA C++ without includes. Numbers are of type `real`, which is float
  /// unless DECANT_REAL is defined as double.
  std::string text;
  /// The kernel. A block of any number of threads decodes one value head of one
  /// row; blocksPerRow and threads are what it is meant for. Its arguments, all
  /// of them pointers, rows dense:
  ///   state    real [slots, value heads, key dim, value dim]
  ///   carried  real [slots, value heads, vectors, key dim], where the rule
  ///            carries vectors beside its state
  ///   slots    int [rows]: whose slot a row has, or padding
  ///   the inputs, under the names and in the types of the step's arguments
  ///   out      real [rows, value heads, value dim], not rounded
  ///   work     real [rows, value heads, workSize], of no meaning
  KernelEntry entry;
  int64_t workSize = 0;
  int carried = 0; // vectors
};

Expected<CudaSource> emitCuda(const DecodeSpec &spec);

} // namespace decant

#endif // DECANT_COMPILER_CUDASOURCE_H
