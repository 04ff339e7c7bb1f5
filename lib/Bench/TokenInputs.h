//===- TokenInputs.h - random inputs of one layer -------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random inputs with the statistics of a trained layer's gates (retention from
// 0.01 to 0.9999), in the element types and forms that a step takes. The same
// numbers whatever device runs it, and whatever other rows there are.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_BENCH_TOKENINPUTS_H
#define DECANT_LIB_BENCH_TOKENINPUTS_H

#include "decant/Core/DecodeSpec.h"
#include "decant/Core/KernelImage.h"

namespace decant::bench {

/// A tensor that a step reads, as bytes.
struct InputTensor {
  std::string name;
  ElementType type = ElementType::F32;
  int64_t width = 0;  // elements of a row, or of the whole layer
  bool perRow = true; // false: A_log, dt_bias, ..., which all rows share
  std::vector<uint8_t> bytes;

  int64_t rowBytes() const { return width * elementBytes(type); }
};

/// One token of `rows` rows.
struct TokenInputs {
  int64_t rows = 0;
  std::vector<InputTensor> tensors;
};

/// `arguments` are those of the step, `token` seeds the numbers. The work is
/// done by so many threads.
TokenInputs makeToken(const DecodeSpec &spec,
                      const std::vector<KernelArg> &arguments, int64_t rows,
                      int token, unsigned threads = 1);
/// Only these rows of it, in this order.
TokenInputs makeRows(const DecodeSpec &spec,
                     const std::vector<KernelArg> &arguments,
                     const std::vector<int64_t> &rows, int token,
                     unsigned threads = 1);

} // namespace decant::bench

#endif // DECANT_LIB_BENCH_TOKENINPUTS_H
