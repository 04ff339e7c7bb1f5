//===- ScaleFit.cpp - scales and codes from what is to be stored ----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaleFit.h"

#include "decant/Core/Numeric.h"

#include <cmath>
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

/// What the largest |E| over absmax scale `index` becomes. The last one maps it
/// to the largest code, a power of two to the power of two in that code or up
/// to twice as much (the microscaling rule). An earlier one only evens out its
/// axis, unless e4m3 scales come next, whose range it then fills.
double largestOver(const SlotLayout &layout, size_t index) {
  const double code = maxFinite(layout.codes.type);
  if (index + 1 < layout.scales.size())
    return layout.scales[index + 1].type == ElementType::E4M3
               ? code * maxFinite(ElementType::E4M3)
               : 1;
  return layout.scales[index].type == ElementType::E8M0
             ? std::ldexp(1.0, std::ilogb(code))
             : code;
}

Value stored(LaneTile &tile, const ScaleSpec &scale, Value fitted) {
  return tile.widen(tile.narrow(fitted, scale.type), scale.type);
}

} // namespace

Value decant::scaleFrom(LaneTile &tile, size_t index, Value statistic,
                        int64_t elements) {
  const ScaleSpec &scale = tile.layout.scales[index];
  if (scale.fit == ScaleFit::SqrtMeanAbs) {
    Value mean = tile.mul(statistic, like(tile, statistic, 1.0 / elements));
    statistic =
        arith::MaximumFOp::create(tile.b, math::SqrtOp::create(tile.b, mean),
                                  like(tile, statistic, kScaleFloor));
  } else if (scale.fit == ScaleFit::RootMeanSquare) {
    Value mean = tile.mul(statistic, like(tile, statistic, 1.0 / elements));
    // Squares of huge elements are infinite, and codes times infinity too.
    statistic = math::SqrtOp::create(
        tile.b,
        arith::MinNumFOp::create(
            tile.b, mean, like(tile, mean, std::numeric_limits<float>::max())));
  } else if (const double largest = largestOver(tile.layout, index);
             largest != 1) {
    statistic = tile.mul(statistic, like(tile, statistic, 1.0 / largest));
  }
  return stored(tile, scale, statistic);
}

Value decant::refitted(LaneTile &tile, size_t index, Value scale, Value product,
                       Value square) {
  Value factor = arith::DivFOp::create(tile.b, product, square);
  auto compare = [&](arith::CmpFPredicate predicate, double bound) {
    return arith::CmpFOp::create(tile.b, predicate, factor,
                                 like(tile, factor, bound));
  };
  Value isSound =
      arith::AndIOp::create(tile.b, compare(arith::CmpFPredicate::OGT, 0.25),
                            compare(arith::CmpFPredicate::OLT, 2));
  factor =
      arith::SelectOp::create(tile.b, isSound, factor, like(tile, factor, 1));
  return stored(tile, tile.layout.scales[index], tile.mul(scale, factor));
}

std::pair<Value, Value> decant::rangeFrom(LaneTile &tile,
                                          const ScaleSpec &scale, Value high,
                                          Value negativeLow) {
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

Value decant::roundToCode(LaneTile &tile, Value x, double lowest,
                          double largest) {
  x = arith::MinimumFOp::create(tile.b, x, like(tile, x, largest));
  x = arith::MaximumFOp::create(tile.b, x, like(tile, x, lowest));
  Value magic = like(tile, x, kRoundMagic);
  return arith::SubFOp::create(tile.b, tile.add(x, magic), magic);
}
