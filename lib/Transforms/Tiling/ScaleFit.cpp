//===- ScaleFit.cpp - scales and codes from what is to be stored ----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaleFit.h"

#include <limits>

using namespace mlir;
using namespace decant;

namespace {

/// Below this a row of zeros would divide by zero (LeapQuant's kernels).
constexpr double kScaleFloor = 1e-12;
constexpr double kSmallestNormal = std::numeric_limits<float>::min();
/// x + 1.5 * 2^23 has a spacing of 1: adding and subtracting it rounds to the
/// nearest integer, ties to even, for |x| < 2^22.
constexpr double kRoundMagic = 12582912;

/// `value` in the shape of `x`.
Value like(LaneTile &tile, Value x, double value) {
  Value scalar = tile.f32(value);
  auto type = dyn_cast<VectorType>(x.getType());
  return type ? tile.splat(scalar, type) : scalar;
}

/// Beside pivots, whose rows it is divided out of.
constexpr double kColumnFloor = 0x1p-24;

Value stored(LaneTile &tile, const ScaleSpec &scale, Value fitted) {
  if (scale.axis == Axis::Value && tile.layout.hasPivots())
    fitted = arith::MaximumFOp::create(tile.b, fitted,
                                       like(tile, fitted, kColumnFloor));
  return tile.widen(tile.narrow(fitted, scale.type), scale.type);
}

} // namespace

Value decant::scaleFrom(LaneTile &tile, size_t index, Value statistic,
                        int64_t elements, Value factor) {
  const ScaleSpec &scale = tile.layout.scales[index];
  if (scale.fit == ScaleFit::SqrtMeanAbs) {
    Value mean = tile.mul(statistic, like(tile, statistic, 1.0 / elements));
    statistic =
        arith::MaximumFOp::create(tile.b, math::SqrtOp::create(tile.b, mean),
                                  like(tile, statistic, kScaleFloor));
  } else if (scale.fit == ScaleFit::RootMeanSquare ||
             scale.fit == ScaleFit::KeptNorm) {
    Value mean = tile.mul(statistic, like(tile, statistic, 1.0 / elements));
    // Squares of huge elements are infinite, and codes times infinity too.
    statistic = math::SqrtOp::create(
        tile.b,
        arith::MinNumFOp::create(
            tile.b, mean, like(tile, mean, std::numeric_limits<float>::max())));
  } else if (const double largest = tile.layout.largestOver(index);
             largest != 1) {
    statistic = tile.mul(statistic, like(tile, statistic, 1.0 / largest));
  }
  return stored(tile, scale, tile.scale(statistic, factor));
}

/// `scale` times `factor` where that lies within what a fit can have left to
/// do.
static Value corrected(LaneTile &tile, size_t index, Value scale,
                       Value factor) {
  auto compare = [&](arith::CmpFPredicate predicate, double bound) {
    return arith::CmpFOp::create(tile.b, predicate, factor,
                                 like(tile, factor, bound));
  };
  Value isSound =
      arith::AndIOp::create(tile.b, compare(arith::CmpFPredicate::OGT, 0.25),
                            compare(arith::CmpFPredicate::OLT, 4));
  factor =
      arith::SelectOp::create(tile.b, isSound, factor, like(tile, factor, 1));
  return stored(tile, tile.layout.scales[index], tile.mul(scale, factor));
}

Value decant::refitted(LaneTile &tile, size_t index, Value scale, Value product,
                       Value square) {
  return corrected(tile, index, scale,
                   arith::DivFOp::create(tile.b, product, square));
}

Value decant::keptNorm(LaneTile &tile, size_t index, Value scale, Value before,
                       Value after) {
  return corrected(tile, index, scale,
                   math::SqrtOp::create(
                       tile.b, arith::DivFOp::create(tile.b, before, after)));
}

std::pair<Value, Value> decant::rangeFrom(LaneTile &tile,
                                          const ScaleSpec &scale, Value high,
                                          Value negativeLow) {
  if (isTable(tile.layout.codes.type)) {
    Value half = like(tile, high, 0.5);
    return {stored(tile, scale, tile.mul(tile.add(high, negativeLow), half)),
            stored(tile, scale,
                   tile.mul(arith::SubFOp::create(tile.b, high, negativeLow),
                            half))};
  }
  const double largest = maxCode(tile.layout.codes.type);
  Value step = stored(tile, scale,
                      tile.mul(tile.add(high, negativeLow),
                               like(tile, high, 1.0 / (2 * largest + 1))));
  Value middle = arith::SubFOp::create(
      tile.b, tile.mul(step, like(tile, step, largest + 1)), negativeLow);
  return {step, stored(tile, scale, middle)};
}

Value decant::inverseScale(LaneTile &tile, Value scale) {
  Value positive =
      arith::CmpFOp::create(tile.b, arith::CmpFPredicate::OGT, scale,
                            like(tile, scale, kSmallestNormal));
  Value inverse = arith::DivFOp::create(tile.b, like(tile, scale, 1), scale);
  return arith::SelectOp::create(tile.b, positive, inverse,
                                 like(tile, scale, 0));
}

/// Clamped, and kRoundMagic added.
static Value roundedOver(LaneTile &tile, Value x, double lowest,
                         double largest) {
  x = arith::MinimumFOp::create(tile.b, x, like(tile, x, largest));
  x = arith::MaximumFOp::create(tile.b, x, like(tile, x, lowest));
  return tile.add(x, like(tile, x, kRoundMagic));
}

Value decant::roundToCode(LaneTile &tile, Value x, double lowest,
                          double largest) {
  return arith::SubFOp::create(tile.b, roundedOver(tile, x, lowest, largest),
                               like(tile, x, kRoundMagic));
}

Value decant::roundToByte(LaneTile &tile, Value x, double lowest,
                          double largest) {
  // The last bits of the sum are the number's.
  auto integers = [&](Type element) -> Type {
    auto vector = dyn_cast<VectorType>(x.getType());
    return vector ? Type(vector.clone(element)) : element;
  };
  Value bits = arith::BitcastOp::create(tile.b, integers(tile.b.getI32Type()),
                                        roundedOver(tile, x, lowest, largest));
  return arith::TruncIOp::create(tile.b, integers(tile.b.getI8Type()), bits);
}
