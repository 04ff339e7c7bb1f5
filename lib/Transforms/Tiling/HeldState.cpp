//===- HeldState.cpp - a state that stays in registers --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeldState.h"

using namespace mlir;
using namespace decant;

HeldState::HeldState(LaneTile &tile, const StoredHead &head)
    : tile(tile), head(head), rows(head.codes.loadTile(tile)),
      tokens(head.tokenCount(tile)) {}

SmallVector<Value> HeldState::read(ArrayRef<Value> vectors) {
  const int count = rows.size(), part = tile.rowsPerPart(count);
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
    results.push_back(
        tile.laneReduce(ReduceKind::Add, tile.tree(sums), VectorAxis::Key));
  }
  return results;
}

void HeldState::fold(const TokenUpdate &update) {
  auto at = [&](Value keys, int i) {
    return isa<VectorType>(keys.getType()) ? tile.element(keys, i) : keys;
  };
  for (auto [i, row] : llvm::enumerate(rows)) {
    row = tile.scale(row, update.valueDecay);
    if (update.keyDecay)
      row = tile.scale(row, at(update.keyDecay, i));
    for (auto [key, value] : llvm::zip(update.keys, update.values))
      row = tile.fma(tile.splat(at(key, i), tile.valueType()), value, row);
  }
  head.codes.storeTile(tile, rows);
  for (Value &row : rows) // a later read sees what memory holds
    row = tile.widen(tile.narrow(row, tile.layout.codes.type));
  head.setFill(tile, tile.index(0));
  head.addToken(tile, tokens);
  tokens = arith::AddIOp::create(tile.b, tokens,
                                 arith::ConstantIntOp::create(tile.b, 1, 64));
}
