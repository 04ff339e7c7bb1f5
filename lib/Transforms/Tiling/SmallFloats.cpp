//===- SmallFloats.cpp - codes that are no integers, in registers ---------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmallFloats.h"

#include "decant/Core/Numeric.h"

using namespace mlir;
using namespace decant;

namespace {

/// Of f32.
constexpr int kFraction = 23, kBias = 127, kSign = 31;
constexpr int kHalfFraction = 10, kHalfBias = 15, kHalfSign = 15;

/// 32-bit integer arithmetic on a scalar or vector, and on the bits of f32.
struct Bits {
  LaneTile &tile;

  static Type shaped(Value like, Type element) {
    auto vector = dyn_cast<VectorType>(like.getType());
    return vector ? Type(vector.clone(element)) : element;
  }
  Value constant(Value like, int64_t value) const {
    Type type = shaped(like, tile.b.getI32Type());
    TypedAttr attribute = tile.b.getI32IntegerAttr(int32_t(value));
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = SplatElementsAttr::get(vector, attribute);
    return arith::ConstantOp::create(tile.b, attribute);
  }
  Value real(Value like, double value) const {
    Value scalar = tile.f32(value);
    auto vector = dyn_cast<VectorType>(like.getType());
    return vector ? tile.splat(scalar, vector.clone(scalar.getType())) : scalar;
  }
  Value of(Value x) const {
    return arith::BitcastOp::create(tile.b, shaped(x, tile.b.getI32Type()), x);
  }
  Value toFloat(Value x) const {
    return arith::BitcastOp::create(tile.b, shaped(x, tile.b.getF32Type()), x);
  }
  template <typename Op> Value apply(Value x, Value y) const {
    return Op::create(tile.b, x, y);
  }
  template <typename Op> Value apply(Value x, int64_t y) const {
    return y == 0 ? x : Value(Op::create(tile.b, x, constant(x, y)));
  }
};

/// What a code's low bits choose from: the levels of a table, or those of a
/// normal distribution that are not negative.
std::vector<double> levelsOf(LaneTile &tile, ElementType type) {
  const std::vector<float> &table = tile.layout.tables.levels;
  return isTable(type) ? std::vector<double>(table.begin(), table.end())
                       : codebookLevels(type);
}

/// The levels by a tree of selections: bit n of the index chooses among what
/// the lower bits have left.
Value decodeLevels(LaneTile &tile, Value code, ElementType type) {
  const Bits bits{tile};
  SmallVector<Value> left;
  for (double level : levelsOf(tile, type))
    left.push_back(bits.real(code, level));
  const int64_t count = left.size();
  auto isSet = [&](int64_t bit) {
    return arith::CmpIOp::create(tile.b, arith::CmpIPredicate::ne,
                                 bits.apply<arith::AndIOp>(code, bit),
                                 bits.constant(code, 0));
  };
  for (int64_t bit = 1; bit < count; bit *= 2) {
    Value odd = isSet(bit);
    for (size_t i = 0; i < left.size() / 2; ++i)
      left[i] =
          arith::SelectOp::create(tile.b, odd, left[2 * i + 1], left[2 * i]);
    left.resize(left.size() / 2);
  }
  if (isTable(type))
    return left[0];
  return arith::SelectOp::create(
      tile.b, isSet(count), arith::NegFOp::create(tile.b, left[0]), left[0]);
}

Value encodeLevels(LaneTile &tile, Value x, ElementType type) {
  const Bits bits{tile};
  const std::vector<double> levels = levelsOf(tile, type);
  Value size = isTable(type) ? x : math::AbsFOp::create(tile.b, x).getResult();
  Value code;
  auto add = [&](arith::CmpFPredicate predicate, Value y, double bound,
                 int64_t worth) {
    Value isBeyond =
        arith::CmpFOp::create(tile.b, predicate, y, bits.real(x, bound));
    Value term = arith::SelectOp::create(
        tile.b, isBeyond, bits.constant(x, worth), bits.constant(x, 0));
    code = code ? Value(arith::AddIOp::create(tile.b, code, term)) : term;
  };
  for (size_t i = 0; i + 1 < levels.size(); ++i)
    add(arith::CmpFPredicate::OGT, size, (levels[i] + levels[i + 1]) / 2, 1);
  if (!isTable(type))
    add(arith::CmpFPredicate::OLT, x, 0, int64_t(levels.size()));
  return code;
}

} // namespace

Type decant::memoryType(MLIRContext *context, ElementType type) {
  return isWideFloat(type) || isInteger(type) ? toType(context, type)
                                              : IntegerType::get(context, 8);
}

Value decant::decodeSmall(LaneTile &tile, Value patterns, ElementType type) {
  const Bits bits{tile};
  Value x = arith::ExtUIOp::create(
      tile.b, Bits::shaped(patterns, tile.b.getI32Type()), patterns);
  if (type == ElementType::E8M0)
    return bits.toFloat(bits.apply<arith::ShLIOp>(x, kFraction));
  if (isCodebook(type))
    return decodeLevels(tile, x, type);
  // In the places of f16, whose exponent reaches as far and which is widened
  // with its subnormal numbers on all targets: the value over a power of two.
  const SmallFloat format = smallFloat(type);
  const int signBit = format.exponentBits + format.fractionBits;
  Value half = bits.apply<arith::OrIOp>(
      bits.apply<arith::ShLIOp>(
          bits.apply<arith::AndIOp>(x, (1 << signBit) - 1),
          kHalfFraction - format.fractionBits),
      bits.apply<arith::ShLIOp>(bits.apply<arith::AndIOp>(x, 1 << signBit),
                                kHalfSign - signBit));
  half = arith::TruncIOp::create(tile.b, Bits::shaped(x, tile.b.getI16Type()),
                                 half);
  half = arith::BitcastOp::create(tile.b, Bits::shaped(x, tile.b.getF16Type()),
                                  half);
  Value value =
      arith::ExtFOp::create(tile.b, Bits::shaped(x, tile.b.getF32Type()), half);
  return tile.mul(value,
                  bits.real(x, std::ldexp(1.0, kHalfBias - format.bias)));
}

Value decant::encodeSmall(LaneTile &tile, Value x, ElementType type) {
  const Bits bits{tile};
  Type narrow = Bits::shaped(x, tile.b.getI8Type());
  if (type == ElementType::E8M0) {
    constexpr int kLargest = 254; // 255 is no power
    Value exponent = bits.apply<arith::ShRUIOp>(bits.of(x), kFraction);
    exponent = bits.apply<arith::MinUIOp>(exponent, kLargest);
    return arith::TruncIOp::create(tile.b, narrow, exponent);
  }
  if (isCodebook(type))
    return arith::TruncIOp::create(tile.b, narrow, encodeLevels(tile, x, type));
  const SmallFloat format = smallFloat(type);
  const int smallest = kBias + 1 - format.bias;
  Value magnitude = arith::MinNumFOp::create(
      tile.b, math::AbsFOp::create(tile.b, x), bits.real(x, format.largest));
  // The bits of the exponent, in their place.
  Value binade = bits.apply<arith::MaxUIOp>(
      bits.apply<arith::AndIOp>(bits.of(magnitude), 0x7f800000),
      int64_t(smallest) << kFraction);
  // 1.5 2^n whose last bit is the spacing of the small float: adding it rounds,
  // and the sum's last bits count the spacings.
  const int dropped = kFraction - format.fractionBits;
  Value magic = bits.apply<arith::AddIOp>(
      binade, (int64_t(dropped) << kFraction) + (1 << (kFraction - 1)));
  Value sum = tile.add(magnitude, bits.toFloat(magic));
  Value steps = bits.apply<arith::SubIOp>(bits.of(sum), magic);
  Value binades =
      bits.apply<arith::SubIOp>(bits.apply<arith::ShRUIOp>(binade, dropped),
                                int64_t(smallest) << format.fractionBits);
  const int signBit = format.exponentBits + format.fractionBits;
  Value sign = bits.apply<arith::AndIOp>(
      bits.apply<arith::ShRUIOp>(bits.of(x), kSign - signBit), 1 << signBit);
  Value pattern =
      bits.apply<arith::OrIOp>(bits.apply<arith::AddIOp>(steps, binades), sign);
  return arith::TruncIOp::create(tile.b, narrow, pattern);
}
