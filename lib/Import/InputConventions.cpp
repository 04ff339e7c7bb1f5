//===- InputConventions.cpp - how raw inputs become a rule's arguments ----===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputConventions.h"
#include "Decant/Decant.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace decant;

namespace {

/// softplus(x) is x to f32 precision above this (FLA, vLLM: 20).
constexpr double kSoftplusLinear = 20;

/// Element-wise arithmetic on f32 or on vectors, whichever the operands are.
struct Elementwise {
  OpBuilder &builder;
  Location loc;

  Value constant(Type type, double value) {
    TypedAttr attr = builder.getF32FloatAttr(value);
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      attr = DenseElementsAttr::get(tensor, APFloat(float(value)));
    return arith::ConstantOp::create(builder, loc, attr);
  }
  Value like(Value value, Value scalar) {
    if (value.getType().isF32())
      return scalar;
    return BroadcastOp::create(builder, loc, value.getType(), scalar);
  }
  template <typename Op, typename... Values> Value op(Values... operands) {
    return Op::create(builder, loc, operands...);
  }
  Value sigmoid(Value x) {
    Value one = constant(x.getType(), 1);
    Value e = op<math::ExpOp>(op<arith::NegFOp>(x));
    return op<arith::DivFOp>(one, op<arith::AddFOp>(one, e));
  }
  Value softplus(Value x) {
    Value limit = constant(x.getType(), kSoftplusLinear);
    // The argument is bounded before exp: select alone would keep the inf that
    // the other branch computes out of the result, but not out of debuggers.
    Value e = op<math::ExpOp>(op<arith::MinimumFOp>(x, limit));
    Value soft = op<math::Log1pOp>(e);
    Value above = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                                        x, limit);
    return arith::SelectOp::create(builder, loc, above, x, soft);
  }
};

} // namespace

Value decant::buildLogDecay(OpBuilder &builder, Location loc,
                            const InputSpec &inputs, Value raw, Value aLog,
                            Value dtBias) {
  Elementwise e{builder, loc};
  switch (inputs.decay) {
  case DecayForm::Log:
    return raw;
  case DecayForm::Linear:
    return e.op<math::LogOp>(raw);
  case DecayForm::Softplus:
  case DecayForm::LowerBound:
    break;
  }
  // exp(A_log) may overflow; a finite rate keeps inf * softplus(-large) = 0
  // from becoming NaN, and the decay is 0 either way.
  Value rate = e.op<arith::MinimumFOp>(
      Value(e.op<math::ExpOp>(aLog)),
      e.constant(aLog.getType(), std::numeric_limits<float>::max()));
  rate = e.like(raw, rate);
  Value x = e.op<arith::AddFOp>(raw, dtBias);
  if (inputs.decay == DecayForm::Softplus)
    return e.op<arith::NegFOp>(Value(e.op<arith::MulFOp>(rate, e.softplus(x))));
  Value bound = e.constant(raw.getType(), inputs.lowerBound);
  return e.op<arith::MulFOp>(bound, e.sigmoid(e.op<arith::MulFOp>(rate, x)));
}

Value decant::buildBeta(OpBuilder &builder, Location loc,
                        const InputSpec &inputs, Value raw) {
  Elementwise e{builder, loc};
  Value beta = inputs.beta == BetaForm::Sigmoid ? e.sigmoid(raw) : raw;
  if (inputs.betaRound != ElementType::F32) {
    Type rounded = toType(builder.getContext(), inputs.betaRound);
    if (auto tensor = dyn_cast<RankedTensorType>(beta.getType()))
      rounded = tensor.clone(rounded);
    Value narrow = arith::TruncFOp::create(builder, loc, rounded, beta);
    beta = arith::ExtFOp::create(builder, loc, beta.getType(), narrow);
  }
  if (inputs.betaScale != 1)
    beta =
        e.op<arith::MulFOp>(beta, e.constant(beta.getType(), inputs.betaScale));
  return beta;
}

Value decant::buildNormalised(OpBuilder &builder, Location loc,
                              const InputSpec &inputs, Value raw,
                              double scale) {
  Elementwise e{builder, loc};
  const Type f32 = builder.getF32Type();
  Value factor;
  if (inputs.qkNorm != QkNorm::None) {
    Value squares = DotOp::create(builder, loc, f32, raw, raw);
    Value eps = e.constant(f32, inputs.normEps);
    if (inputs.qkNorm == QkNorm::L2EpsInside) {
      factor = e.op<math::RsqrtOp>(Value(e.op<arith::AddFOp>(squares, eps)));
    } else {
      Value norm = e.op<arith::AddFOp>(Value(e.op<math::SqrtOp>(squares)), eps);
      factor = e.op<arith::DivFOp>(e.constant(f32, 1), norm);
    }
  }
  if (scale != 1) {
    Value constant = e.constant(f32, scale);
    factor = factor ? Value(e.op<arith::MulFOp>(factor, constant)) : constant;
  }
  return factor
             ? Value(ScaleOp::create(builder, loc, raw.getType(), raw, factor))
             : raw;
}
