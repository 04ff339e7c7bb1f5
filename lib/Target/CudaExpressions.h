//===- CudaExpressions.h - element-wise ops as C++ expressions --*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TARGET_CUDAEXPRESSIONS_H
#define DECANT_TARGET_CUDAEXPRESSIONS_H

#include "decant/Core/DecodeSpec.h"

#include <optional>
#include <set>

namespace mlir {
class Operation;
} // namespace mlir

namespace decant {

/// The functions of an emitted text beside its kernel.
enum class CudaHelper { FromBits, Rounded, Maximum, Minimum };
std::string cudaHelperText(CudaHelper helper);

/// What `op` does to its operands, which are names or elements of vectors;
/// nothing if it is not a known element-wise op. Adds the helpers that it
/// calls.
std::optional<std::string>
cudaExpression(mlir::Operation *op, const std::vector<std::string> &operands,
               std::set<CudaHelper> &helpers);

/// `element`, of an array of this type, as a real.
std::string cudaLoad(ElementType type, const std::string &element,
                     std::set<CudaHelper> &helpers);

/// A constant as the f32 number that it is.
std::string cudaLiteral(float value);

} // namespace decant

#endif // DECANT_TARGET_CUDAEXPRESSIONS_H
