//===- KeyRead.cpp - S x without rebuilding S -----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The read of WindowRead.cpp with the axes exchanged:
// S x = Pk o (Ck o (codes (Cv o Pv o x)) + sum_r a_r (b_r . (Pv o x)))
//       + sum_j (wk_j o k_j) ((wv_j o u_j) . x)
// A lane sums its columns of every one of its rows; the value lanes' parts are
// added at the end, all rows at once.
//
//===----------------------------------------------------------------------===//

#include "Rotation.h"
#include "WindowTile.h"

using namespace mlir;
using namespace decant;

namespace {

/// codes x for the lane's rows.
Value codesProduct(LaneTile &tile, const StoredHead &head, Value x) {
  auto row = [&](Value number) {
    return tile.reduce(ReduceKind::Add,
                       tile.mul(head.loadRow(tile, number), x));
  };
  const int rows = tile.schedule.keysPerLane;
  Value sums;
  if (tile.schedule.rows == RowLoop::Unrolled) {
    SmallVector<Value> elements;
    for (int i = 0; i < rows; ++i)
      elements.push_back(row(tile.add(tile.firstKey, tile.index(i))));
    sums = vector::FromElementsOp::create(tile.b, tile.keyType(), elements);
  } else {
    // A rolled loop indexes its results, so they have to be in memory; a lane
    // reads only what it wrote.
    View partial =
        tile.scratch(tile.schedule.valueLanes, tile.layout.paddedKey);
    Value last = tile.add(tile.firstKey, tile.index(rows));
    tile.loop(tile.firstKey, last, 1, {},
              [&](Value number, ValueRange) -> SmallVector<Value> {
                tile.storeScalar(partial, tile.valueLane, number, row(number));
                return {};
              });
    sums = tile.load(partial, tile.valueLane, tile.firstKey, rows);
  }
  return tile.laneReduce(ReduceKind::Add, sums, VectorAxis::Value);
}

/// result += key_t (value_t . x) for every term t, in order; one reduction over
/// the value lanes serves all terms.
Value addTerms(LaneTile &tile, ArrayRef<Term> terms, Value x, Value result) {
  SmallVector<Value> partial;
  for (const Term &term : terms)
    partial.push_back(tile.reduce(ReduceKind::Add, tile.mul(term.value, x)));
  Value scores = vector::FromElementsOp::create(
      tile.b, tile.vectorOf(int64_t(partial.size())), partial);
  scores = tile.laneReduce(ReduceKind::Add, scores, VectorAxis::Value);
  for (auto [t, term] : llvm::enumerate(terms)) {
    Value weight = tile.splat(tile.element(scores, t), tile.keyType());
    Value sum = tile.fma(weight, term.key, result);
    result = term.valid
                 ? arith::SelectOp::create(tile.b, term.valid, sum, result)
                       .getResult()
                 : sum;
  }
  return result;
}

} // namespace

Value decant::tileWindowReadKey(LaneTile &tile, const StoredHead &head,
                                Value x) {
  const SlotLayout &layout = tile.layout;
  const WindowStart window = head.start(tile);
  Value decayed =
      rotate(tile, VectorAxis::Value, tile.scale(x, window.valueDecay));
  Value result = codesProduct(tile, head.withColumns(tile),
                              tile.scale(decayed, head.columnScale(tile)));
  if (!layout.keyScale.empty())
    result = tile.scale(
        result, tile.loadAlong(VectorAxis::Key, head.keyScale, tile.index(0)));
  auto add = [&](Value with) {
    return [&tile, with](ArrayRef<Term> terms, ValueRange carried) {
      return SmallVector<Value>{addTerms(tile, terms, with, carried[0])};
    };
  };
  if (layout.compensators > 0)
    result = head.forCompensators(tile, result, add(decayed))[0];
  result = rotate(tile, VectorAxis::Key, tile.scale(result, window.keyDecay));
  if (layout.window == 1)
    return result;
  return head.forRecords(tile, window.fill, result, add(x))[0];
}
