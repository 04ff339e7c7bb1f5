//===- StochasticRounding.cpp - one of two codes, by chance ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StochasticRounding.h"

#include "decant/Core/Numeric.h"

using namespace mlir;
using namespace decant;

namespace {

/// Of f32.
constexpr int kFraction = 23, kBias = 127;

VectorType integers(Value like) {
  auto type = cast<VectorType>(like.getType());
  return type.clone(IntegerType::get(like.getContext(), 32));
}

Value constantI32(LaneTile &tile, VectorType type, uint32_t value) {
  return arith::ConstantOp::create(
      tile.b, DenseElementsAttr::get(type, int32_t(value)));
}

/// The integer below x or x itself, for 0 <= |x| < 2^22.
Value floorOf(LaneTile &tile, Value x, VectorType type) {
  constexpr double kRoundMagic = 12582912; // ScaleFit.cpp
  Value magic = tile.splat(tile.f32(kRoundMagic), type);
  Value nearest = arith::SubFOp::create(tile.b, tile.add(x, magic), magic);
  Value isAbove =
      arith::CmpFOp::create(tile.b, arith::CmpFPredicate::OGT, nearest, x);
  Value below =
      arith::SubFOp::create(tile.b, nearest, tile.splat(tile.f32(1), type));
  return arith::SelectOp::create(tile.b, isAbove, below, nearest);
}

} // namespace

Value decant::mixBits(LaneTile &tile, Value x) {
  ImplicitLocOpBuilder &b = tile.b;
  const auto type = cast<VectorType>(x.getType());
  auto multiply = [&](uint32_t factor) {
    x = arith::MulIOp::create(b, x, constantI32(tile, type, factor));
  };
  auto mix = [&](uint32_t shift) {
    x = arith::XOrIOp::create(
        b, x, arith::ShRUIOp::create(b, x, constantI32(tile, type, shift)));
  };
  multiply(0x9E3779B9u);
  mix(16);
  multiply(0x85EBCA6Bu);
  mix(13);
  multiply(0xC2B2AE35u);
  mix(16);
  return x;
}

Value decant::noiseSource(LaneTile &tile, Value seed, Value tokens) {
  ImplicitLocOpBuilder &b = tile.b;
  const VectorType one = VectorType::get({1}, b.getI32Type());
  auto asVector = [&](Value scalar) -> Value {
    return vector::BroadcastOp::create(b, one, scalar);
  };
  Value head = arith::IndexCastOp::create(b, b.getI32Type(), tile.head);
  Value stream =
      mixBits(tile, arith::AddIOp::create(b, mixBits(tile, asVector(seed)),
                                          asVector(head)));
  Value count = asVector(arith::TruncIOp::create(b, b.getI32Type(), tokens));
  count = arith::MulIOp::create(b, count, constantI32(tile, one, 0x9E3779B9u));
  return tile.element(arith::XOrIOp::create(b, count, stream), 0);
}

Value decant::roundingNoise(LaneTile &tile, Value source, Value row) {
  ImplicitLocOpBuilder &b = tile.b;
  const VectorType reals = tile.valueType();
  const int64_t width = reals.getDimSize(0);
  const VectorType type = VectorType::get(reals.getShape(), b.getI32Type());
  auto spread = [&](Value scalar) -> Value {
    return vector::BroadcastOp::create(b, type, scalar);
  };
  auto toI32 = [&](Value index) -> Value {
    return arith::IndexCastOp::create(b, b.getI32Type(), index);
  };
  SmallVector<int32_t> steps(width);
  for (int64_t i = 0; i < width; ++i)
    steps[i] = int32_t(i);
  constexpr int kKeyShift = 16;
  Value first = tile.add(tile.mul(row, tile.index(int64_t(1) << kKeyShift)),
                         tile.firstValue);
  Value x = arith::AddIOp::create(
      b, spread(toI32(first)),
      arith::ConstantOp::create(b,
                                DenseElementsAttr::get(type, ArrayRef(steps))));
  x = mixBits(tile, arith::XOrIOp::create(b, x, spread(source)));
  x = arith::ShRUIOp::create(b, x, constantI32(tile, type, 8));
  return tile.scale(arith::SIToFPOp::create(b, reals, x), tile.f32(0x1p-24));
}

Value decant::roundStochastic(LaneTile &tile, Value x, ElementType type,
                              double lowest, Value noise) {
  ImplicitLocOpBuilder &b = tile.b;
  const auto reals = cast<VectorType>(x.getType());
  auto real = [&](double value) { return tile.splat(tile.f32(value), reals); };
  if (isInteger(type)) {
    x = arith::MinimumFOp::create(b, x, real(maxCode(type)));
    x = arith::MaximumFOp::create(b, x, real(lowest));
    // In f32, the largest code and a draw next to 1 sum to the number above.
    return arith::MinimumFOp::create(
        b, floorOf(tile, tile.add(x, noise), reals), real(maxCode(type)));
  }
  const SmallFloat format = smallFloat(type);
  const VectorType words = integers(x);
  auto word = [&](int64_t value) {
    return constantI32(tile, words, uint32_t(value));
  };
  auto power = [&](Value exponent) -> Value {
    return arith::BitcastOp::create(
        b, reals, arith::ShLIOp::create(b, exponent, word(kFraction)));
  };
  Value magnitude = arith::MinNumFOp::create(b, math::AbsFOp::create(b, x),
                                             real(format.largest));
  Value exponent = arith::MaxUIOp::create(
      b,
      arith::ShRUIOp::create(b, arith::BitcastOp::create(b, words, magnitude),
                             word(kFraction)),
      word(kBias + 1 - format.bias));
  // 2^(exponent - fraction bits) is the step of the binade.
  Value step =
      power(arith::SubIOp::create(b, exponent, word(format.fractionBits)));
  Value steps = tile.mul(
      magnitude, power(arith::SubIOp::create(
                     b, word(2 * kBias + format.fractionBits), exponent)));
  Value rounded = arith::MinNumFOp::create(
      b, tile.mul(floorOf(tile, tile.add(steps, noise), reals), step),
      real(format.largest));
  auto bitsOf = [&](Value y) -> Value {
    return arith::BitcastOp::create(b, words, y);
  };
  Value sign = arith::AndIOp::create(b, bitsOf(x), word(int64_t(1) << 31));
  return arith::BitcastOp::create(
      b, reals, arith::OrIOp::create(b, bitsOf(rounded), sign));
}
