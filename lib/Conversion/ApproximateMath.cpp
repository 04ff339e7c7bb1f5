//===- ApproximateMath.cpp - a GPU's own functions ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ApproximateMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace {

constexpr float kLog2E = 1.44269504088896340735992468100f;

bool isApproximable(Operation *op) {
  return isa<math::ExpOp, math::SqrtOp, math::RsqrtOp, arith::DivFOp>(op) &&
         getElementTypeOrSelf(op->getResult(0).getType()).isF32();
}

/// The intrinsic on every element.
Value call(PatternRewriter &rewriter, Location loc, StringRef intrinsic,
           ValueRange operands) {
  auto scalar = [&](ValueRange elements) -> Value {
    return LLVM::CallIntrinsicOp::create(rewriter, loc, rewriter.getF32Type(),
                                         rewriter.getStringAttr(intrinsic),
                                         elements)
        .getResult(0);
  };
  auto type = dyn_cast<VectorType>(operands[0].getType());
  if (!type)
    return scalar(operands);
  SmallVector<Value> results;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    SmallVector<Value> elements;
    for (Value operand : operands)
      elements.push_back(vector::ExtractOp::create(rewriter, loc, operand, i));
    results.push_back(scalar(elements));
  }
  return vector::FromElementsOp::create(rewriter, loc, type, results);
}

template <typename Op> struct Approximate : OpRewritePattern<Op> {
  /// Before the expansions that every target shares.
  explicit Approximate(MLIRContext *context)
      : OpRewritePattern<Op>(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!decant::mayBeApproximated(op))
      return rewriter.notifyMatchFailure(op, "has to be exact");
    const Location loc = op.getLoc();
    if constexpr (std::is_same_v<Op, math::ExpOp>) {
      const Type type = op.getType();
      TypedAttr factor = rewriter.getF32FloatAttr(kLog2E);
      if (auto vector = dyn_cast<VectorType>(type))
        factor = DenseElementsAttr::get(vector, ArrayRef<Attribute>(factor));
      Value exponent = arith::MulFOp::create(
          rewriter, loc, op.getOperand(),
          arith::ConstantOp::create(rewriter, loc, factor));
      rewriter.replaceOp(
          op, call(rewriter, loc, "llvm.nvvm.ex2.approx.f32", exponent));
    } else if constexpr (std::is_same_v<Op, math::SqrtOp>) {
      rewriter.replaceOp(
          op, call(rewriter, loc, "llvm.nvvm.sqrt.approx.f", op.getOperand()));
    } else if constexpr (std::is_same_v<Op, math::RsqrtOp>) {
      rewriter.replaceOp(
          op, call(rewriter, loc, "llvm.nvvm.rsqrt.approx.f", op.getOperand()));
    } else {
      rewriter.replaceOp(op, call(rewriter, loc, "llvm.nvvm.div.approx.f",
                                  {op.getLhs(), op.getRhs()}));
    }
    return success();
  }
};

} // namespace

void decant::allowApproximations(Operation *root) {
  root->walk([](Operation *op) {
    if (!isApproximable(op))
      return;
    auto flags = cast<arith::ArithFastMathInterface>(op);
    op->setAttr(flags.getFastMathAttrName(),
                arith::FastMathFlagsAttr::get(
                    op->getContext(), flags.getFastMathFlagsAttr().getValue() |
                                          arith::FastMathFlags::afn));
  });
}

bool decant::mayBeApproximated(Operation *op) {
  return isApproximable(op) &&
         arith::bitEnumContainsAll(cast<arith::ArithFastMathInterface>(op)
                                       .getFastMathFlagsAttr()
                                       .getValue(),
                                   arith::FastMathFlags::afn);
}

void decant::populateApproximateMathPatterns(RewritePatternSet &patterns) {
  patterns.add<Approximate<math::ExpOp>, Approximate<math::SqrtOp>,
               Approximate<math::RsqrtOp>, Approximate<arith::DivFOp>>(
      patterns.getContext());
}
