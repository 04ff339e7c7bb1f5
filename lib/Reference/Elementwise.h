//===- Elementwise.h - scalar meanings of arith and math ops ----*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_REFERENCE_ELEMENTWISE_H
#define DECANT_LIB_REFERENCE_ELEMENTWISE_H

#include "decant/Reference/RuleProgram.h"

namespace mlir {
class Operation;
}

namespace decant {

/// What `op` does to each element, in float64 (comparisons give 0 or 1); null
/// if it is not a known element-wise op.
RuleProgram::Function elementwiseFunction(mlir::Operation *op);

} // namespace decant

#endif // DECANT_LIB_REFERENCE_ELEMENTWISE_H
