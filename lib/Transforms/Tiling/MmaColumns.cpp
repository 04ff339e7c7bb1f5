//===- MmaColumns.cpp - what a state is multiplied with, as f16 -----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How do vectors become operands of tensor cores? Each is needed twice: under
// the decay and the scale of each key, for the codes, and as it is, for the
// terms. All warps hold all vectors; each prepares one of the operands at a
// time, which it picks by its number: no warp branches, and none does what
// another does, too.
//
//===----------------------------------------------------------------------===//

#include "MmaHead.h"

using namespace mlir;
using namespace decant;

/// Operand n is vector n modulo their count; the first half is folded. Rows 2 n
/// and 2 n + 1 of the panels are its high part and the rest over a power of
/// two, which goes to factors[n]. `both` is the panels, one behind the other.
void MmaHead::spreadColumns(ArrayRef<Value> vectors, const View &folded,
                            const View &plain, const View &both,
                            const View &factors) {
  const int count = vectors.size();
  auto spread = [&](int begin, int end, const View &panel) {
    for (int first = begin; first < end; first += warp.warps)
      spreadRound(vectors, first, std::min(first + warp.warps, end), panel,
                  begin, factors);
  };
  if (warp.isWide()) {
    spreadWide(vectors, folded);
    return spread(count, 2 * count, plain);
  }
  if (folded.type == plain.type && !slabs)
    return spread(0, 2 * count, both);
  spread(0, count, folded);
  spread(count, 2 * count, plain);
}

/// Warp w takes operand first + w below `end`; the panel's first row is of
/// operand `panelFirst`.
void MmaHead::spreadRound(ArrayRef<Value> vectors, int first, int end,
                          const View &panel, int panelFirst,
                          const View &factors) {
  const int count = vectors.size();
  Value n = t.add(t.valueLane, t.index(first));
  if (end - first < warp.warps) // others do what the last one does
    n = arith::MinUIOp::create(t.b, n, t.index(end - 1));
  Value operand = vectors[0];
  for (int other = std::max(first, 1); other < end; ++other)
    if (other % count != 0)
      operand = arith::SelectOp::create(t.b, warp.equal(n, other),
                                        vectors[other % count], operand);
  Value scale = first < count
                    ? t.scale(loaded->window.keyDecay, loaded->keyScale)
                    : Value();
  if (scale && end > count) {
    auto vector = dyn_cast<VectorType>(scale.getType());
    Value one = vector ? t.splat(t.f32(1), vector) : t.f32(1);
    scale =
        arith::SelectOp::create(t.b, warp.less(n, t.index(count)), scale, one);
  }
  operand = t.scale(operand, scale);
  Value largest = t.laneReduce(
      ReduceKind::Magnitude,
      vector::FromElementsOp::create(
          t.b, t.vectorOf(int64_t(1)),
          t.reduce(ReduceKind::Max, math::AbsFOp::create(t.b, operand))),
      VectorAxis::Key);
  const WarpTile::PowerOfTwo power = warp.powerOfTwo(t.element(largest, 0));
  const auto parts = warp.split(t.scale(operand, power.inverse), panel.type);

  auto store = [&] {
    Value row =
        t.mul(arith::SubIOp::create(t.b, n, t.index(panelFirst)), t.index(2));
    storeColumn(panel, row, parts.first, first < count);
    storeColumn(panel, t.add(row, t.index(1)), parts.second, first < count);
  };
  if (Value inside = t.inside(VectorAxis::Key))
    t.ifTrue(inside, store);
  else
    store();
  t.ifTrue(warp.equal(t.keyLane, 0),
           [&] { t.storeScalar(factors, t.index(0), n, power.factor); });
}

/// Where slabs order the keys, folded columns follow them.
void MmaHead::storeColumn(const View &panel, Value row, Value part,
                          bool isFolded) {
  if (!isFolded || !slabs)
    return warp.storeRaw(panel, row, t.firstKey, part);
  const SmallVector<Value> places =
      slabs->positions(t.firstKey, t.schedule.keysPerLane);
  for (auto [i, place] : llvm::enumerate(places))
    memref::StoreOp::create(t.b, t.element(part, i), panel.memref,
                            ValueRange{row, place});
}
