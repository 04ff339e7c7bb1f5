//===- CudaExpressions.cpp - element-wise ops as C++ expressions ----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The counterpart of lib/Reference/Elementwise.cpp, which knows the same ops.
//
//===----------------------------------------------------------------------===//

#include "CudaExpressions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

using namespace decant;

namespace {

struct Named {
  llvm::StringLiteral name;
  const char *expression;
};

const Named kExpressions[] = {
    {"arith.addf", "{0} + {1}"},
    {"arith.subf", "{0} - {1}"},
    {"arith.mulf", "{0} * {1}"},
    {"arith.divf", "{0} / {1}"},
    {"arith.remf", "fmod({0}, {1})"},
    {"arith.negf", "-{0}"},
    {"arith.maximumf", "maximum({0}, {1})"},
    {"arith.minimumf", "minimum({0}, {1})"},
    {"arith.maxnumf", "fmax({0}, {1})"},
    {"arith.minnumf", "fmin({0}, {1})"},
    {"arith.extf", "{0}"},
    {"arith.select", "{0} ? {1} : {2}"},
    {"decant.broadcast", "{0}"},
    {"decant.scale", "{0} * {1}"},
    {"math.absf", "fabs({0})"},
    {"math.atan", "atan({0})"},
    {"math.ceil", "ceil({0})"},
    {"math.copysign", "copysign({0}, {1})"},
    {"math.cos", "cos({0})"},
    {"math.erf", "erf({0})"},
    {"math.exp", "exp({0})"},
    {"math.exp2", "exp2({0})"},
    {"math.expm1", "expm1({0})"},
    {"math.floor", "floor({0})"},
    {"math.fma", "{0} * {1} + {2}"},
    {"math.log", "log({0})"},
    {"math.log1p", "log1p({0})"},
    {"math.log2", "log2({0})"},
    {"math.powf", "pow({0}, {1})"},
    {"math.rsqrt", "1 / sqrt({0})"},
    {"math.sin", "sin({0})"},
    {"math.sqrt", "sqrt({0})"},
    {"math.tan", "tan({0})"},
    {"math.tanh", "tanh({0})"},
};

/// The unordered predicates also hold if an operand is NaN.
const char *comparison(mlir::arith::CmpFPredicate predicate) {
  using P = mlir::arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
    return "false";
  case P::OEQ:
    return "{0} == {1}";
  case P::OGT:
    return "{0} > {1}";
  case P::OGE:
    return "{0} >= {1}";
  case P::OLT:
    return "{0} < {1}";
  case P::OLE:
    return "{0} <= {1}";
  case P::ONE:
    return "{0} < {1} || {0} > {1}";
  case P::ORD:
    return "{0} == {0} && {1} == {1}";
  case P::UEQ:
    return "!({0} < {1} || {0} > {1})";
  case P::UGT:
    return "!({0} <= {1})";
  case P::UGE:
    return "!({0} < {1})";
  case P::ULT:
    return "!({0} >= {1})";
  case P::ULE:
    return "!({0} > {1})";
  case P::UNE:
    return "{0} != {1}";
  case P::UNO:
    return "!({0} == {0} && {1} == {1})";
  case P::AlwaysTrue:
    return "true";
  }
  return nullptr;
}

/// Null for a type that no constant or input has.
const char *rounding(mlir::Type type) {
  const mlir::Type element = mlir::getElementTypeOrSelf(type);
  if (element.isF32())
    return "real(float({0}))";
  if (element.isF16())
    return "rounded({0}, 5)";
  if (element.isBF16())
    return "rounded({0}, 8)";
  return nullptr;
}

const char *expressionOf(mlir::Operation *op) {
  if (auto compare = llvm::dyn_cast<mlir::arith::CmpFOp>(op))
    return comparison(compare.getPredicate());
  if (llvm::isa<mlir::arith::TruncFOp>(op))
    return rounding(op->getResult(0).getType());
  const llvm::StringRef name = op->getName().getStringRef();
  const auto found =
      std::find_if(std::begin(kExpressions), std::end(kExpressions),
                   [&](const Named &entry) { return entry.name == name; });
  return found == std::end(kExpressions) ? nullptr : found->expression;
}

} // namespace

std::string decant::cudaHelperText(CudaHelper helper) {
  switch (helper) {
  case CudaHelper::FromBits:
    return R"(// A number in 16 bits, 8 of them (bf16) or 5 (f16) of exponent.
__device__ real fromBits(unsigned short bits, int exponentBits) {
  const int fractionBits = 15 - exponentBits;
  const int largest = (1 << exponentBits) - 1, bias = largest / 2;
  const int exponent = (bits >> fractionBits) & largest;
  const int fraction = bits & ((1 << fractionBits) - 1);
  const real infinite = ldexp(real(1), 2000);
  real size = ldexp(real(fraction + (1 << fractionBits)),
                    exponent - bias - fractionBits);
  if (exponent == 0)
    size = ldexp(real(fraction), 1 - bias - fractionBits);
  if (exponent == largest)
    size = fraction == 0 ? infinite : infinite - infinite;
  return (bits >> 15) == 0 ? size : -size;
}
)";
  case CudaHelper::Rounded:
    return R"(// x to the nearest number in 16 bits, 8 of them (bf16) or 5 (f16) of exponent.
__device__ real rounded(real x, int exponentBits) {
  const int fractionBits = 15 - exponentBits;
  const int bias = (1 << (exponentBits - 1)) - 1;
  if (x == 0 || x - x != 0) // 0, infinite or NaN
    return x;
  int exponent;
  frexp(x, &exponent);
  exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
  const int unit = exponent - fractionBits;
  const real near = ldexp(rint(ldexp(x, -unit)), unit);
  const real end = ldexp(real(1), bias + 1), infinite = ldexp(real(1), 2000);
  return fabs(near) < end ? near : copysign(infinite, x);
}
)";
  case CudaHelper::Maximum:
    return R"(// The larger one, or NaN if either is.
__device__ real maximum(real a, real b) {
  return a != a || b != b ? a + b : fmax(a, b);
}
)";
  case CudaHelper::Minimum:
    return R"(// The smaller one, or NaN if either is.
__device__ real minimum(real a, real b) {
  return a != a || b != b ? a + b : fmin(a, b);
}
)";
  }
  return "";
}

std::optional<std::string>
decant::cudaExpression(mlir::Operation *op,
                       const std::vector<std::string> &operands,
                       std::set<CudaHelper> &helpers) {
  const char *expression = expressionOf(op);
  if (!expression || operands.empty() || operands.size() > 3)
    return std::nullopt;
  for (auto [call, helper] : {std::pair("rounded(", CudaHelper::Rounded),
                              std::pair("maximum(", CudaHelper::Maximum),
                              std::pair("minimum(", CudaHelper::Minimum)})
    if (std::strncmp(expression, call, std::strlen(call)) == 0)
      helpers.insert(helper);
  std::vector<std::string> three = operands;
  three.resize(3);
  return fmt::format(fmt::runtime(expression), three[0], three[1], three[2]);
}

std::string decant::cudaLoad(ElementType type, const std::string &element,
                             std::set<CudaHelper> &helpers) {
  if (type == ElementType::F32)
    return element;
  helpers.insert(CudaHelper::FromBits);
  return fmt::format("fromBits({}, {})", element,
                     type == ElementType::F16 ? 5 : 8);
}

std::string decant::cudaLiteral(float value) {
  if (!std::isfinite(value)) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return fmt::format("__int_as_float({:#x})", bits);
  }
  std::string text = fmt::format("{:.9g}", value);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text + "f";
}
