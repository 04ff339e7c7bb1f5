//===- WindowRead.cpp - S^T x without rebuilding S ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// S^T x = Pv o (Cv o (codes^T (Ck o Pk o x)) + sum_r b_r (a_r . (Pk o x)))
//         + sum_j (wv_j o u_j) ((wk_j o k_j) . x)
// with the scales Ck, Cv of the codes (of groups: inside `codes`) and the total
// decays Pk, Pv: everything on the key axis is folded into x once, everything
// on the value axis is applied to the sum, and one pass over the codes serves
// all vectors (research: LeapQuant eq. 9 and 10).
//
//===----------------------------------------------------------------------===//

#include "Rotation.h"
#include "WindowTile.h"

using namespace mlir;
using namespace decant;

namespace {

/// codes^T x_c for every c, over all keys.
SmallVector<Value> codesProduct(LaneTile &tile, const StoredHead &head,
                                ArrayRef<Value> vectors, ArrayRef<Value> held) {
  const VectorType type = tile.valueType();
  auto addRow = [&](Value values, SmallVector<Value> &sums,
                    llvm::function_ref<Value(size_t)> weight) {
    for (size_t c = 0; c < sums.size(); ++c)
      sums[c] = tile.fma(tile.splat(weight(c), type), values, sums[c]);
  };
  if (tile.schedule.rows == RowLoop::Unrolled)
    return tile.sumOverKeys(
        vectors.size(),
        [&, next = 0](Value begin, Value, ValueRange zero) mutable {
          SmallVector<Value> sums(zero);
          const int rows = tile.rowsPerPart(tile.schedule.keysPerLane);
          for (int i = 0; i < rows; ++i, ++next) {
            Value values =
                held.empty()
                    ? head.loadRow(tile, tile.add(begin, tile.index(i)))
                    : held[next];
            addRow(values, sums,
                   [&](size_t c) { return tile.element(vectors[c], next); });
          }
          return sums;
        });
  // A rolled loop indexes its weights, so they have to be in memory.
  View weights = tile.scratch(vectors.size(), tile.layout.paddedKey);
  for (auto [c, vector] : llvm::enumerate(vectors))
    tile.storeAlong(VectorAxis::Key, weights, tile.index(c), vector);
  tile.barrier();
  return tile.sumOverKeys(vectors.size(), [&](Value begin, Value end,
                                              ValueRange zero) {
    return tile.loop(begin, end, 1, SmallVector<Value>(zero),
                     [&](Value row, ValueRange carried) {
                       SmallVector<Value> sums(carried);
                       addRow(head.loadRow(tile, row), sums, [&](size_t c) {
                         return tile.loadScalar(weights, tile.index(c), row);
                       });
                       return sums;
                     });
  });
}

/// results_c += value_t (key_t . x_c) for every term t, in order; one reduction
/// over the key lanes serves all terms and vectors.
void addTerms(LaneTile &tile, ArrayRef<Term> terms, ArrayRef<Value> vectors,
              SmallVector<Value> &results) {
  SmallVector<Value> partial;
  for (const Term &term : terms)
    for (Value vector : vectors)
      partial.push_back(
          tile.reduce(ReduceKind::Add, tile.mul(term.key, vector)));
  Value scores = vector::FromElementsOp::create(
      tile.b, tile.vectorOf(int64_t(partial.size())), partial);
  scores = tile.laneReduce(ReduceKind::Add, scores, VectorAxis::Key);
  for (auto [t, term] : llvm::enumerate(terms))
    for (size_t c = 0; c < vectors.size(); ++c) {
      Value weight = tile.element(scores, t * vectors.size() + c);
      Value sum = tile.fma(tile.splat(weight, tile.valueType()), term.value,
                           results[c]);
      results[c] = term.valid ? arith::SelectOp::create(tile.b, term.valid, sum,
                                                        results[c])
                                    .getResult()
                              : sum;
    }
}

} // namespace

SmallVector<Value> decant::tileWindowRead(LaneTile &tile,
                                          const StoredHead &head,
                                          ArrayRef<Value> vectors,
                                          ArrayRef<Value> held) {
  const SlotLayout &layout = tile.layout;
  const WindowStart window = head.start(tile);

  SmallVector<Value> decayed, folded;
  Value keyScale;
  if (!layout.keyScale.empty())
    keyScale = tile.loadAlong(VectorAxis::Key, head.keyScale, tile.index(0));
  const Value valueScale = head.columnScale(tile);
  for (Value vector : vectors) {
    decayed.push_back(
        rotate(tile, VectorAxis::Key, tile.scale(vector, window.keyDecay)));
    folded.push_back(tile.scale(decayed.back(), keyScale));
  }
  SmallVector<Value> results =
      codesProduct(tile, head.withColumns(tile), folded, held);
  for (Value &result : results)
    result = tile.scale(result, valueScale);

  if (layout.compensators > 0)
    results = head.forCompensators(
        tile, results, [&](ArrayRef<Term> terms, ValueRange carried) {
          SmallVector<Value> sums(carried);
          addTerms(tile, terms, decayed, sums);
          return sums;
        });
  for (Value &result : results)
    result =
        rotate(tile, VectorAxis::Value, tile.scale(result, window.valueDecay));
  if (layout.window == 1)
    return results;
  return head.forRecords(tile, window.fill, results,
                         [&](ArrayRef<Term> terms, ValueRange carried) {
                           SmallVector<Value> sums(carried);
                           addTerms(tile, terms, vectors, sums);
                           return sums;
                         });
}
