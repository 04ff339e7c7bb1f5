//===- Append.cpp - a token becomes records -------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WindowTile.h"

using namespace mlir;
using namespace decant;

void decant::tileAppend(LaneTile &tile, const StoredHead &head,
                        const WindowStart &window, const TokenUpdate &update) {
  const RecordShape &shape = tile.layout.record;
  // Other lanes may still be reading the total decay and the cursor; under mma
  // all had them before the read's first barrier.
  // A draft has places of its own.
  if (tile.schedule.strategy != Strategy::Mma && !head.drafts)
    tile.barrier();
  Value place = head.drafts ? tile.add(head.drafts, tile.index(1)) : Value();
  Value room =
      arith::CmpIOp::create(tile.b, arith::CmpIPredicate::ult, window.fill,
                            tile.index(tile.layout.window));
  tile.ifTrue(room, [&] {
    Value first = tile.mul(window.fill, tile.index(shape.writes));
    for (auto [n, key, value] : llvm::enumerate(update.keys, update.values)) {
      Value record = tile.add(first, tile.index(n));
      tile.storeAlong(VectorAxis::Key, head.recordKeys, record, key);
      tile.storeAlong(VectorAxis::Value, head.recordValues, record, value);
    }
    auto storeDecays = [&](DecayShape decay, VectorAxis axis, Value factor,
                           Value total, const View &record,
                           const View &product) {
      if (decay == DecayShape::None)
        return;
      tile.storeDecay(decay, axis, record, window.fill, factor);
      tile.storeDecay(decay, axis, product, place ? place : tile.index(0),
                      tile.mul(total, factor));
    };
    storeDecays(shape.keyDecay, VectorAxis::Key, update.keyDecay,
                window.keyDecay, head.recordKeyDecay, head.totalKeyDecay);
    storeDecays(shape.valueDecay, VectorAxis::Value, update.valueDecay,
                window.valueDecay, head.recordValueDecay, head.totalValueDecay);
    if (place)
      return head.setDrafts(tile, place);
    head.setFill(tile, tile.add(window.fill, tile.index(1)));
    head.addToken(tile, window.tokens);
  });
}
