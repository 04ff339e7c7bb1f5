//===- MmaSlabs.cpp - codes of rows that differ in bits -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A fold goes over the codes many times, so they become bytes first, in the
// shared memory where they lie packed. Keys are then in the order of the slabs
// until the fold ends: panels and lines are brought into it at its start, and
// what goes to the slot goes by key.
//
//===----------------------------------------------------------------------===//

#include "MmaFold.h"

using namespace mlir;
using namespace decant;

/// Adds the codes under their bias by `columns` to `sums`, of the warp's value
/// tiles, one slab after the other.
SmallVector<Value> MmaHead::slabsProduct(const View &columns, int count,
                                         ArrayRef<Value> sums) {
  const SmallVector<Value> tiles = warp.ownValueTiles();
  return slabs->forSlabs(
      loaded->slabWidths, sums,
      [&](Value keyTile, Value slab, ValueRange carried) {
        const SmallVector<Value> parts = slabs->load(staged, slab, tiles);
        Value right = warp.rightOfFirst(columns, 2 * count,
                                        t.mul(keyTile, t.index(kTile)))[0];
        SmallVector<Value> next(carried);
        for (auto [sum, part] : llvm::zip(next, parts))
          sum = warp.codesMma(part, 0, /*transpose=*/false, right, sum);
        return next;
      });
}

/// Every lane has its part in registers before any lane overwrites it.
void MmaFold::expandCodes() {
  const SmallVector<Value> tiles = warp.ownValueTiles();
  SmallVector<SmallVector<Value>> chunks(warp.chunks);
  for (int k = 0; k < warp.keyTiles; ++k) {
    const SmallVector<Value> parts =
        h.slabs->load(h.staged, h.slabs->slab(t.index(k)), tiles);
    SmallVector<Value> &chunk = chunks[k / warp.tilesPerChunk];
    if (k % warp.tilesPerChunk == 0)
      chunk = parts;
    else
      for (auto [whole, part] : llvm::zip(chunk, parts))
        whole = warp.join(whole, part);
  }
  t.barrier();
  for (auto [c, parts] : llvm::enumerate(chunks))
    for (auto [i, part] : llvm::enumerate(parts))
      warp.storeRaw(h.staged, t.index(0),
                    warp.chunkPlace(warp.ownValueTile(i), t.index(c)), part);
  t.barrier();
}

/// The terms' keys, some rows at a time.
void MmaFold::orderKeys() {
  constexpr int kTogether = 8; // rows of a panel are a multiple
  SmallVector<Value> sources;
  warp.forElements(layout.paddedKey, [&](Value element, Value) {
    sources.push_back(h.slabs->keyAt(element));
  });
  t.loop(t.index(0), t.index(h.allRows), kTogether, {},
         [&](Value row, ValueRange) -> SmallVector<Value> {
           SmallVector<Value> moved;
           for (Value source : sources)
             for (int i = 0; i < kTogether; ++i)
               moved.push_back(
                   t.loadScalar(h.termKeys, t.add(row, t.index(i)), source));
           t.barrier();
           size_t next = 0;
           warp.forElements(layout.paddedKey, [&](Value element, Value inside) {
             const size_t first = next;
             next += kTogether;
             t.ifTrue(inside, [&] {
               for (int i = 0; i < kTogether; ++i)
                 t.storeScalar(h.termKeys, t.add(row, t.index(i)), element,
                               moved[first + i]);
             });
           });
           t.barrier();
           return {};
         });
}

void MmaFold::storeRowScale(Value rows) {
  if (!h.slabs)
    return t.storeAlong(VectorAxis::Key, rowScale, t.index(0), rows);
  const SmallVector<Value> places =
      h.slabs->positions(t.firstKey, t.schedule.keysPerLane);
  t.ifTrue(t.writes(VectorAxis::Key), [&] {
    for (auto [i, place] : llvm::enumerate(places))
      t.storeScalar(rowScale, t.index(0), place, t.element(rows, i));
  });
}

void MmaFold::storeKeyScale() {
  if (!h.slabs)
    return t.storeAlong(VectorAxis::Key, h.head.keyScale, t.index(0),
                        t.loadAlong(VectorAxis::Key, rowScale, t.index(0)));
  warp.forElements(layout.paddedKey, [&](Value element, Value inside) {
    Value key = h.slabs->keyAt(element);
    t.ifTrue(inside, [&] {
      t.storeScalar(h.head.keyScale, t.index(0), key,
                    t.loadScalar(rowScale, t.index(0), element));
    });
  });
}

/// Where a fold's element lies in the slot.
Value MmaFold::placeInSlot(VectorAxis axis, Value element) {
  return h.slabs && axis == VectorAxis::Key ? h.slabs->keyAt(element) : element;
}

/// x as if the codes of the key tile ended where those of int8 do.
Value MmaFold::reachOver(Value x, Value keyTile) {
  const SlabCodes::Reach reach = h.slabs->reach(h.slabs->slab(keyTile));
  constexpr int kLargest = 127; // int8
  return t.scale(x, arith::DivFOp::create(t.b, t.f32(kLargest), reach.largest));
}

/// To units of the slab, up to its largest code.
Value MmaFold::roundInSlab(Value x, Value keyTile) {
  // Adding 1.5 * 2^23 units makes the sum's last bit worth one unit.
  constexpr double kRoundMagic = 12582912;
  const SlabCodes::Reach reach = h.slabs->reach(h.slabs->slab(keyTile));
  const auto type = cast<VectorType>(x.getType());
  Value least = arith::NegFOp::create(t.b, reach.largest);
  x = arith::MinimumFOp::create(t.b, x, t.splat(reach.largest, type));
  x = arith::MaximumFOp::create(t.b, x, t.splat(least, type));
  Value magic = t.splat(t.mul(reach.unit, t.f32(kRoundMagic)), type);
  return arith::SubFOp::create(t.b, t.add(x, magic), magic);
}

/// The tiles of chunk `c` of one value tile, to the slot.
void MmaFold::storeInSlabs(Value valueTile, Value c, ArrayRef<Value> tiles) {
  for (auto [n, tile] : llvm::enumerate(tiles)) {
    Value bytes = PackCodesOp::create(
        t.b, VectorType::get({8}, t.b.getI8Type()), tile, Value());
    h.slabs->store(h.codes, h.slabs->slab(keyTile(c, n)), valueTile, bytes);
  }
}
