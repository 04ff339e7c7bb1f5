//===- ExpandMath.cpp - arithmetic for math functions ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExpandMath.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"

#include <array>
#include <cmath>
#include <limits>

using namespace mlir;

namespace {

constexpr double kLn2 = 0.693147180559945309417232121458;
constexpr double kLog2E = 1.44269504088896340735992468100;
constexpr double kLog10E = 0.434294481903251827651128918917;

/// Writes f32 arithmetic of one shape.
class FloatWriter {
public:
  FloatWriter(OpBuilder &builder, Value like)
      : builder(builder), loc(like.getLoc()), floats(like.getType()),
        ints(withElement(builder.getI32Type())) {}

  OpBuilder &opBuilder() { return builder; }
  Value number(double value) {
    return constant(floats, builder.getF32FloatAttr(static_cast<float>(value)));
  }
  Value word(int32_t value) {
    return constant(ints, builder.getI32IntegerAttr(value));
  }
  Value add(Value a, Value b) { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) { return make<arith::MulFOp>(a, b); }
  Value div(Value a, Value b) { return make<arith::DivFOp>(a, b); }
  Value neg(Value a) { return make<arith::NegFOp>(a); }
  Value fma(Value a, Value b, Value c) { return make<math::FmaOp>(a, b, c); }
  Value addWords(Value a, Value b) { return make<arith::AddIOp>(a, b); }
  Value subWords(Value a, Value b) { return make<arith::SubIOp>(a, b); }
  Value shiftLeft(Value a, int bits) {
    return make<arith::ShLIOp>(a, word(bits));
  }
  Value shiftRight(Value a, int bits) {
    return make<arith::ShRSIOp>(a, word(bits));
  }
  Value bits(Value a) {
    return arith::BitcastOp::create(builder, loc, ints, a);
  }
  Value fromBits(Value a) {
    return arith::BitcastOp::create(builder, loc, floats, a);
  }
  Value toFloat(Value a) {
    return arith::SIToFPOp::create(builder, loc, floats, a);
  }
  /// `a predicate b ? yes : no`.
  Value choose(arith::CmpFPredicate predicate, Value a, Value b, Value yes,
               Value no) {
    Value test = arith::CmpFOp::create(builder, loc, predicate, a, b);
    return arith::SelectOp::create(builder, loc, test, yes, no);
  }

private:
  template <typename Op, typename... Args> Value make(Args... args) {
    return Op::create(builder, loc, args...);
  }
  Type withElement(Type element) const {
    if (auto shaped = dyn_cast<ShapedType>(floats))
      return shaped.clone(element);
    return element;
  }
  Value constant(Type type, TypedAttr element) {
    TypedAttr value = element;
    if (auto shaped = dyn_cast<ShapedType>(type))
      value = DenseElementsAttr::get(shaped, ArrayRef<Attribute>(element));
    return arith::ConstantOp::create(builder, loc, type, value);
  }

  OpBuilder &builder;
  Location loc;
  Type floats, ints;
};

/// ln 2 as the sum of two floats: a multiple of it is subtracted without the
/// error that one float would leave.
struct SplitLn2 {
  float high = static_cast<float>(kLn2);
  float low = static_cast<float>(kLn2 - static_cast<float>(kLn2));
};

/// How exp and exp2 cut their argument.
enum class Base { E, Two };

/// base^x = 2^n e^r with n whole and |r| <= ln 2 / 2. e^r is its Taylor
/// polynomial of degree 7, whose remainder there is below 2^-27 of the value.
Value writeExp(FloatWriter &w, Value x, Base base) {
  const double log2Base = base == Base::E ? kLog2E : 1;
  // Results are 0 and infinity beyond these. Written so that a NaN passes.
  const double lowest = base == Base::E ? -104 : -150.5;
  const double highest = base == Base::E ? 89 : 128.5;
  Value low = w.number(lowest), high = w.number(highest);
  Value inside = w.choose(arith::CmpFPredicate::OLT, x, low, low, x);
  inside = w.choose(arith::CmpFPredicate::OGT, inside, high, high, inside);

  // Adding 1.5 2^23 rounds to a whole number and leaves it in the low bits; a
  // conversion to int would be undefined for NaN.
  Value magic = w.number(12582912.0);
  Value shifted = w.fma(inside, w.number(log2Base), magic);
  Value whole = w.sub(shifted, magic);
  Value n = w.subWords(w.bits(shifted), w.word(0x4B400000));
  Value r;
  if (base == Base::E) {
    const SplitLn2 ln2;
    r = w.fma(whole, w.number(-ln2.high), inside);
    r = w.fma(whole, w.number(-ln2.low), r);
  } else {
    r = w.mul(w.sub(inside, whole), w.number(kLn2));
  }
  constexpr std::array<double, 7> inverseFactorials = {
      1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1, 1};
  Value power = w.number(1.0 / 5040);
  for (double coefficient : inverseFactorials)
    power = w.fma(power, r, w.number(coefficient));

  // 2^n in two halves, each a normal number, so that results below the normal
  // range are rounded once and those above it become infinite.
  Value half = w.shiftRight(n, 1);
  auto powerOfTwo = [&](Value exponent) {
    return w.fromBits(w.shiftLeft(w.addWords(exponent, w.word(127)), 23));
  };
  power = w.mul(power, powerOfTwo(half));
  return w.mul(power, powerOfTwo(w.subWords(n, half)));
}

/// x = 2^e (1 + f) with 1 + f in [sqrt 1/2, sqrt 2]. With s = f / (2 + f),
/// log(1 + f) = 2 atanh s = 2 s + s R(s^2) = f - s (f - R), where the last form
/// keeps the division's rounding out of the leading term. R is cut after s^8
/// (s <= 0.172: the remainder is below 2^-28 of the value).
Value writeLog(FloatWriter &w, Value x) {
  const float infinity = std::numeric_limits<float>::infinity();
  Value smallest = w.number(std::ldexp(1.0, -126));
  Value scaled = w.choose(arith::CmpFPredicate::OLT, x, smallest,
                          w.mul(x, w.number(std::ldexp(1.0, 23))), x);
  Value bias = w.choose(arith::CmpFPredicate::OLT, x, smallest, w.number(-23),
                        w.number(0));
  Value bits = w.bits(scaled);
  constexpr int32_t kSqrtHalfBits = 0x3F3504F3;
  Value e = w.shiftRight(w.subWords(bits, w.word(kSqrtHalfBits)), 23);
  Value mantissa = w.fromBits(w.subWords(bits, w.shiftLeft(e, 23)));
  Value exponent = w.add(w.toFloat(e), bias);

  Value f = w.sub(mantissa, w.number(1));
  Value s = w.div(f, w.add(f, w.number(2)));
  Value z = w.mul(s, s);
  Value rest = w.number(2.0 / 9);
  for (double coefficient : {2.0 / 7, 2.0 / 5, 2.0 / 3})
    rest = w.fma(rest, z, w.number(coefficient));
  rest = w.mul(rest, z);
  Value result = w.fma(w.neg(s), w.sub(f, rest), f);
  const SplitLn2 ln2;
  result = w.fma(exponent, w.number(ln2.low), result);
  result = w.fma(exponent, w.number(ln2.high), result);

  result = w.choose(arith::CmpFPredicate::OEQ, x, w.number(0),
                    w.number(-infinity), result);
  result = w.choose(arith::CmpFPredicate::ULT, x, w.number(0),
                    w.number(std::numeric_limits<float>::quiet_NaN()), result);
  return w.choose(arith::CmpFPredicate::OEQ, x, w.number(infinity), x, result);
}

/// Replaces `Op` on f32 by what `write` makes of its operand.
template <typename Op> struct Expand : OpRewritePattern<Op> {
  using Function = Value (*)(FloatWriter &, Value);
  Expand(MLIRContext *context, Function write)
      : OpRewritePattern<Op>(context), write(write) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "not f32");
    FloatWriter writer(rewriter, op.getOperand());
    rewriter.replaceOp(op, write(writer, op.getOperand()));
    return success();
  }

private:
  Function write;
};

template <typename Op>
void addExpansion(RewritePatternSet &patterns,
                  typename Expand<Op>::Function write) {
  patterns.add(std::make_unique<Expand<Op>>(patterns.getContext(), write));
}

} // namespace

void decant::populateExpandMathPatterns(RewritePatternSet &patterns) {
  addExpansion<math::ExpOp>(patterns, [](FloatWriter &w, Value x) {
    return writeExp(w, x, Base::E);
  });
  addExpansion<math::Exp2Op>(patterns, [](FloatWriter &w, Value x) {
    return writeExp(w, x, Base::Two);
  });
  addExpansion<math::LogOp>(patterns, writeLog);
  addExpansion<math::Log2Op>(patterns, [](FloatWriter &w, Value x) {
    return w.mul(writeLog(w, x), w.number(kLog2E));
  });
  addExpansion<math::Log10Op>(patterns, [](FloatWriter &w, Value x) {
    return w.mul(writeLog(w, x), w.number(kLog10E));
  });
  // The reciprocal of a rounded root: two roundings, where the GPU's own
  // instruction is an approximation that no CPU repeats.
  addExpansion<math::RsqrtOp>(patterns, [](FloatWriter &w, Value x) {
    Value root = math::SqrtOp::create(w.opBuilder(), x.getLoc(), x);
    return w.div(w.number(1), root);
  });

  // Upstream builds log1p and expm1 from log and exp, which are ours by now;
  // its own exp, log and log2 are less accurate than gates want.
  auto widened = [](StringRef) { return true; };
  auto approximated = [](StringRef name) {
    return name != math::ExpOp::getOperationName() &&
           name != math::LogOp::getOperationName() &&
           name != math::Log2Op::getOperationName() &&
           name != math::RsqrtOp::getOperationName();
  };
  populateMathF32ExpansionPatterns(patterns, widened);
  populateMathPolynomialApproximationPatterns(patterns, approximated);
  math::populateExpansionPatterns(patterns,
                                  {"sinh", "cosh", "tan", "asinh", "acosh",
                                   "atanh", "powf", "fpowi", "ipowi"});
}
