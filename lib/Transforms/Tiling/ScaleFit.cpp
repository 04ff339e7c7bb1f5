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

} // namespace

Value decant::scaleFrom(LaneTile &tile, const ScaleSpec &scale, Value statistic,
                        int64_t elements, bool last) {
  if (scale.fit == ScaleFit::SqrtMeanAbs) {
    Value mean = tile.mul(statistic, like(tile, statistic, 1.0 / elements));
    statistic =
        arith::MaximumFOp::create(tile.b, math::SqrtOp::create(tile.b, mean),
                                  like(tile, statistic, kScaleFloor));
  } else if (last) {
    statistic =
        tile.mul(statistic,
                 like(tile, statistic, 1.0 / maxCode(tile.layout.codes.type)));
  }
  return tile.widen(tile.narrow(statistic, scale.type));
}

Value decant::inverseScale(LaneTile &tile, Value scale) {
  Value positive =
      arith::CmpFOp::create(tile.b, arith::CmpFPredicate::OGT, scale,
                            like(tile, scale, kSmallestNormal));
  Value inverse = arith::DivFOp::create(tile.b, like(tile, scale, 1), scale);
  return arith::SelectOp::create(tile.b, positive, inverse,
                                 like(tile, scale, 0));
}

Value decant::roundToCode(LaneTile &tile, Value x, double largest) {
  x = arith::MinimumFOp::create(tile.b, x, like(tile, x, largest));
  x = arith::MaximumFOp::create(tile.b, x, like(tile, x, -largest));
  Value magic = like(tile, x, kRoundMagic);
  return arith::SubFOp::create(tile.b, tile.add(x, magic), magic);
}
