//===- HeldState.cpp - a state that stays in registers --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeldState.h"

#include <numeric>

using namespace mlir;
using namespace decant;

HeldState::HeldState(LaneTile &tile, const StoredHead &head)
    : tile(tile), head(head) {
  for (int i = 0; i < tile.schedule.keysPerLane; ++i)
    rows.push_back(
        head.codes.load(tile, tile.add(tile.firstKey, tile.index(i))));
}

SmallVector<Value> HeldState::read(ArrayRef<Value> vectors) {
  const int count = rows.size();
  // The parts in which every target forms a sum over keys: rows one after the
  // other within a part, a tree over the parts. A lane may have several.
  int part = count;
  if (llvm::isPowerOf2_32(tile.layout.paddedKey))
    part =
        std::gcd(count, tile.layout.paddedKey / defaultKeyLanes(tile.layout));
  SmallVector<Value> results;
  for (Value vector : vectors) {
    SmallVector<Value> sums;
    for (int first = 0; first < count; first += part) {
      Value sum = tile.zeros(tile.valueType());
      for (int i = first; i < first + part; ++i) {
        Value weight = tile.splat(tile.element(vector, i), tile.valueType());
        sum = tile.fma(weight, rows[i], sum);
      }
      sums.push_back(sum);
    }
    for (; sums.size() > 1; sums.resize(sums.size() / 2))
      for (size_t i = 0; i < sums.size() / 2; ++i)
        sums[i] = tile.add(sums[2 * i], sums[2 * i + 1]);
    results.push_back(
        tile.laneReduce(ReduceKind::Add, sums[0], VectorAxis::Key));
  }
  return results;
}

void HeldState::fold(const TokenUpdate &update) {
  auto at = [&](Value keys, int i) {
    return isa<VectorType>(keys.getType()) ? tile.element(keys, i) : keys;
  };
  // On its way while the state is updated.
  Value tokens = head.tokenCount(tile);
  for (auto [i, row] : llvm::enumerate(rows)) {
    row = tile.scale(row, update.valueDecay);
    if (update.keyDecay)
      row = tile.scale(row, at(update.keyDecay, i));
    for (auto [key, value] : llvm::zip(update.keys, update.values))
      row = tile.fma(tile.splat(at(key, i), tile.valueType()), value, row);
    head.codes.store(tile, tile.add(tile.firstKey, tile.index(i)), row);
    // A later read sees what memory holds.
    row = tile.widen(tile.narrow(row, tile.layout.codes.type));
  }
  head.setFill(tile, tile.index(0));
  head.addToken(tile, tokens);
}
