//===- Elementwise.cpp - scalar meanings of arith and math ops ------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Elementwise.h"

#include "Decant/Decant.h"
#include "decant/Core/Numeric.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace decant;

namespace {

using Function = RuleProgram::Function;

double nan() { return std::numeric_limits<double>::quiet_NaN(); }
bool unordered(double a, double b) { return std::isnan(a) || std::isnan(b); }

struct Named {
  llvm::StringLiteral name;
  Function function;
};

const Named kFunctions[] = {
    {"arith.addf", [](double a, double b, double) { return a + b; }},
    {"arith.subf", [](double a, double b, double) { return a - b; }},
    {"arith.mulf", [](double a, double b, double) { return a * b; }},
    {"arith.divf", [](double a, double b, double) { return a / b; }},
    {"arith.remf", [](double a, double b, double) { return std::fmod(a, b); }},
    {"arith.negf", [](double a, double, double) { return -a; }},
    // maximumf and minimumf hand a NaN on, maxnumf and minnumf drop it.
    {"arith.maximumf",
     [](double a, double b, double) {
       return unordered(a, b) ? nan() : std::max(a, b);
     }},
    {"arith.minimumf",
     [](double a, double b, double) {
       return unordered(a, b) ? nan() : std::min(a, b);
     }},
    {"arith.maxnumf",
     [](double a, double b, double) { return std::fmax(a, b); }},
    {"arith.minnumf",
     [](double a, double b, double) { return std::fmin(a, b); }},
    {"arith.extf", [](double a, double, double) { return a; }},
    {"arith.select",
     [](double condition, double a, double b) { return condition ? a : b; }},
    {"decant.broadcast", [](double a, double, double) { return a; }},
    {"decant.scale", [](double a, double b, double) { return a * b; }},
    {"math.absf", [](double a, double, double) { return std::fabs(a); }},
    {"math.atan", [](double a, double, double) { return std::atan(a); }},
    {"math.ceil", [](double a, double, double) { return std::ceil(a); }},
    {"math.copysign",
     [](double a, double b, double) { return std::copysign(a, b); }},
    {"math.cos", [](double a, double, double) { return std::cos(a); }},
    {"math.erf", [](double a, double, double) { return std::erf(a); }},
    {"math.exp", [](double a, double, double) { return std::exp(a); }},
    {"math.exp2", [](double a, double, double) { return std::exp2(a); }},
    {"math.expm1", [](double a, double, double) { return std::expm1(a); }},
    {"math.floor", [](double a, double, double) { return std::floor(a); }},
    {"math.fma", [](double a, double b, double c) { return a * b + c; }},
    {"math.log", [](double a, double, double) { return std::log(a); }},
    {"math.log1p", [](double a, double, double) { return std::log1p(a); }},
    {"math.log2", [](double a, double, double) { return std::log2(a); }},
    {"math.powf", [](double a, double b, double) { return std::pow(a, b); }},
    {"math.rsqrt", [](double a, double, double) { return 1 / std::sqrt(a); }},
    {"math.sin", [](double a, double, double) { return std::sin(a); }},
    {"math.sqrt", [](double a, double, double) { return std::sqrt(a); }},
    {"math.tan", [](double a, double, double) { return std::tan(a); }},
    {"math.tanh", [](double a, double, double) { return std::tanh(a); }},
};

template <ElementType type> double round(double a, double, double) {
  return roundTo(type, a);
}

Function roundingTo(mlir::Type type) {
  const mlir::Type element = mlir::getElementTypeOrSelf(type);
  if (element.isF32())
    return round<ElementType::F32>;
  if (element.isF16())
    return round<ElementType::F16>;
  if (element.isBF16())
    return round<ElementType::BF16>;
  return nullptr;
}

/// The unordered predicates also hold if an operand is NaN.
Function comparison(mlir::arith::CmpFPredicate predicate) {
  using P = mlir::arith::CmpFPredicate;
  switch (predicate) {
  case P::AlwaysFalse:
    return [](double, double, double) { return 0.0; };
  case P::OEQ:
    return [](double a, double b, double) -> double { return a == b; };
  case P::OGT:
    return [](double a, double b, double) -> double { return a > b; };
  case P::OGE:
    return [](double a, double b, double) -> double { return a >= b; };
  case P::OLT:
    return [](double a, double b, double) -> double { return a < b; };
  case P::OLE:
    return [](double a, double b, double) -> double { return a <= b; };
  case P::ONE:
    return [](double a, double b, double) -> double {
      return a != b && !unordered(a, b);
    };
  case P::ORD:
    return
        [](double a, double b, double) -> double { return !unordered(a, b); };
  case P::UEQ:
    return [](double a, double b, double) -> double {
      return a == b || unordered(a, b);
    };
  case P::UGT:
    return [](double a, double b, double) -> double { return !(a <= b); };
  case P::UGE:
    return [](double a, double b, double) -> double { return !(a < b); };
  case P::ULT:
    return [](double a, double b, double) -> double { return !(a >= b); };
  case P::ULE:
    return [](double a, double b, double) -> double { return !(a > b); };
  case P::UNE:
    return [](double a, double b, double) -> double { return a != b; };
  case P::UNO:
    return [](double a, double b, double) -> double { return unordered(a, b); };
  case P::AlwaysTrue:
    return [](double, double, double) { return 1.0; };
  }
  return nullptr;
}

} // namespace

RuleProgram::Function decant::elementwiseFunction(mlir::Operation *op) {
  if (auto compare = llvm::dyn_cast<mlir::arith::CmpFOp>(op))
    return comparison(compare.getPredicate());
  if (llvm::isa<mlir::arith::TruncFOp>(op))
    return roundingTo(op->getResult(0).getType());
  const llvm::StringRef name = op->getName().getStringRef();
  const auto found =
      std::find_if(std::begin(kFunctions), std::end(kFunctions),
                   [&](const Named &entry) { return entry.name == name; });
  return found == std::end(kFunctions) ? nullptr : found->function;
}
