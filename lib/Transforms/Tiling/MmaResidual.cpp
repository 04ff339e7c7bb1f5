//===- MmaResidual.cpp - what a fold encodes, tile by tile ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of the residual is three products on one accumulator: the codes with
// a diagonal matrix of row scales, as high part and rest; then, times the
// column scale, the terms. The bias of codes is taken off element by element:
// the pipe of shared memory, which would bring a product's start, is what a
// fold waits for.
//
//===----------------------------------------------------------------------===//

#include "MmaFold.h"

using namespace mlir;
using namespace decant;

/// The largest row scale becomes 2^14 to 2^15, so that scales 2^28 below it are
/// still normal numbers of f16.
static constexpr double kDiagonalRange = 1 << 14;

Value MmaFold::twice(Value pair) {
  return vector::ShuffleOp::create(t.b, pair, pair,
                                   ArrayRef<int64_t>{0, 1, 0, 1});
}

/// Both parts of a key's scale, each twice: a lane that holds elements 2t and
/// 2t + 1 of a column of eight keys takes the half on the diagonal.
void MmaFold::spreadRowScale() {
  diagonal = h.arena.take(warp.halfType(), layout.paddedKey, 4);
  if (rank == 0) // a fit has barriers
    t.barrier();
  const PowerOfTwo keys = power(VectorAxis::Key);
  Value toRange = t.mul(keys.inverse, t.f32(kDiagonalRange));
  const VectorType four =
      VectorType::get({4}, toType(t.b.getContext(), warp.halfType()));
  warp.forElements(layout.paddedKey, [&](Value key, Value inside) {
    Value scale = t.mul(t.loadScalar(rowScale, t.index(0), key), toRange);
    auto [high, rest] = warp.split(scale, warp.halfType());
    Value parts = vector::FromElementsOp::create(
        t.b, four, ValueRange{high, high, rest, rest});
    t.ifTrue(inside, [&] { warp.storeRaw(diagonal, key, t.index(0), parts); });
  });
  Value fromRange = t.mul(keys.factor, t.f32(1 / kDiagonalRange));
  warp.forElements(layout.paddedValue, [&](Value value, Value inside) {
    Value scale = t.loadScalar(columnScale, t.index(0), value);
    t.ifTrue(inside, [&] {
      t.storeScalar(columnScale, t.index(0), value, t.mul(scale, fromRange));
    });
  });
  auto word = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(t.b, value, /*width=*/32);
  };
  Value other = arith::SelectOp::create(
      t.b,
      arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, warp.group,
                            t.add(warp.pair, t.index(1))),
      word(0xffff0000), word(0));
  onDiagonal = arith::SelectOp::create(
      t.b,
      arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, warp.group,
                            warp.pair),
      word(0x0000ffff), other);
}

/// Right operands over eight keys: diagonal matrices of both parts of their
/// scales.
std::array<Value, 2> MmaFold::scaleDiagonals(Value firstKey) {
  Value parts =
      warp.raw(diagonal, t.add(firstKey, warp.group), t.index(0), /*width=*/4);
  const VectorType words = VectorType::get({2}, t.b.getI32Type());
  Value masked = arith::AndIOp::create(
      t.b, vector::BitCastOp::create(t.b, words, parts),
      vector::BroadcastOp::create(t.b, words, onDiagonal));
  masked = vector::BitCastOp::create(t.b, parts.getType(), masked);
  return {warp.slice(masked, 0, 2), warp.slice(masked, 2, 2)};
}

/// Loaded anew for each chunk: registers that held it through a pass would be
/// missing for blocks in flight.
MmaFold::ValueSide MmaFold::valueSide(Value tile) {
  ValueSide side;
  Value first = t.mul(tile, t.index(kTile));
  for (int row = 0; row < h.allRows; row += kTile)
    side.terms.push_back(warp.leftTransposed(
        h.termValues, std::min(kTile, h.allRows - row), t.index(row), first));
  auto line = [&](const View &view) -> Value {
    Value at = t.add(first, warp.group);
    Value low = t.loadScalar(view, t.index(0), at);
    Value high = t.loadScalar(view, t.index(0), t.add(at, t.index(8)));
    return vector::FromElementsOp::create(t.b, t.vectorOf(int64_t(4)),
                                          ValueRange{low, low, high, high});
  };
  side.scale = line(columnScale);
  if (hasInverse[int(VectorAxis::Value)])
    side.inverse = line(valueInverse);
  return side;
}

MmaFold::KeySide MmaFold::keySide(Value tile) {
  KeySide side;
  Value first = t.mul(tile, t.index(kTile));
  for (int row = 0; row < h.allRows; row += kTile) {
    auto halves = warp.rightTransposed(
        h.termKeys, std::min(kTile, h.allRows - row), t.index(row), first);
    for (int half = 0; half < 2; ++half)
      side.terms[half].push_back(halves[half]);
  }
  for (int half = 0; half < 2; ++half) {
    side.scale[half] = scaleDiagonals(t.add(first, t.index(8 * half)));
    Value at = t.add(t.add(first, t.index(8 * half)), warp.pair);
    if (hasInverse[int(VectorAxis::Key)])
      side.inverse[half] = twice(warp.raw(keyInverse, t.index(0), at, 2));
  }
  return side;
}

/// Half a tile of the residual, over the scales fitted so far: values g, g + 8
/// by two neighbouring keys.
Value MmaFold::residual(Value codes, int half, const ValueSide &values,
                        const KeySide &keys) {
  Value sum = warp.zeroSum();
  for (Value scale : keys.scale[half])
    sum = warp.mma(warp.slice(codes, 4 * half, 4), scale, sum);
  sum = t.mul(sum, values.scale);
  for (auto [left, right] : llvm::zip(values.terms, keys.terms[half]))
    sum = warp.mma(left, right, sum);
  return t.scale(t.scale(sum, keys.inverse[half]), values.inverse);
}

SmallVector<MmaFold::ValueSide> MmaFold::ownValueSides() {
  SmallVector<ValueSide> sides;
  for (int i = 0; i < warp.valueTilesPerWarp; ++i)
    sides.push_back(valueSide(warp.ownValueTile(i)));
  return sides;
}
