//===- HeldState.cpp - a state that stays in registers --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HeldState.h"

#include "WindowTile.h"

using namespace mlir;
using namespace decant;

HeldState::HeldState(LaneTile &tile, const StoredHead &head)
    : tile(tile), head(head) {
  load();
  tokens = head.tokenCount(tile);
}

void HeldState::load() {
  if (isPlain()) {
    rows = head.codes.loadTile(tile);
    return;
  }
  const StoredHead stored = head.withColumns(tile);
  for (int i = 0; i < tile.schedule.keysPerLane; ++i)
    rows.push_back(
        stored.loadRow(tile, tile.add(tile.firstKey, tile.index(i))));
}

SmallVector<Value> HeldState::read(ArrayRef<Value> vectors) {
  if (rows.empty()) {
    tile.barrier(); // other lanes' scales are there
    load();
  }
  return tileWindowRead(tile, head, vectors, rows);
}

void HeldState::fold(const TokenUpdate &update) {
  StateRows updated(tile, head, update, rows);
  if (isPlain()) {
    rows = llvm::to_vector(updated.held());
    head.codes.storeTile(tile, rows);
    for (Value &row : rows) // a later read sees what memory holds
      row = tile.widen(tile.narrow(row, tile.layout.codes.type));
    head.setFill(tile, tile.index(0));
  } else {
    encodeRows(tile, head, updated);
    rows.clear();
  }
  head.addToken(tile, tokens);
  tokens = arith::AddIOp::create(tile.b, tokens,
                                 arith::ConstantIntOp::create(tile.b, 1, 64));
}
