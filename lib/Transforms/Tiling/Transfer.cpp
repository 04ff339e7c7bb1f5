//===- Transfer.cpp - dense states in and out -----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pack is a fold of a dense state. An unpack rebuilds rows as a fold does and
// writes them, rotated back, element by element: the strides are the caller's.
//
//===----------------------------------------------------------------------===//

#include "Rotation.h"
#include "WindowTile.h"

using namespace mlir;
using namespace decant;

void decant::tilePack(LaneTile &tile, const StoredHead &head,
                      const DenseState &dense) {
  // What the slot held before has no say in how a state is rounded.
  if (tile.layout.rounding == Rounding::Stochastic) {
    head.clearTokens(tile);
    tile.barrier();
  }
  StateRows rows(tile, dense);
  encodeRows(tile, head, rows);
  head.clearTokens(tile);
}

void decant::tileUnpack(LaneTile &tile, const StoredHead &head,
                        const DenseState &dense) {
  StateRows rows(tile, head, {});
  View staging = tile.scratch(tile.schedule.keyLanes, tile.layout.paddedValue);
  auto put = [&](Value key, Value values) {
    tile.store(staging, tile.keyLane, tile.firstValue,
               rotateRow(tile, values, staging));
    Value start = tile.add(dense.offset, tile.mul(key, dense.keyStride));
    Value inside = arith::CmpIOp::create(tile.b, arith::CmpIPredicate::ult, key,
                                         tile.index(tile.layout.keyDim));
    Value columns =
        tile.add(tile.firstValue, tile.index(tile.schedule.valuesPerLane));
    Value end = arith::MinUIOp::create(tile.b, columns,
                                       tile.index(tile.layout.valueDim));
    tile.ifTrue(inside, [&] {
      tile.loop(
          tile.firstValue, end, 1, {},
          [&](Value column, ValueRange) -> SmallVector<Value> {
            Value element = tile.loadScalar(staging, tile.keyLane, column);
            Value at = tile.add(start, tile.mul(column, dense.valueStride));
            auto type = cast<MemRefType>(dense.memref.getType());
            memref::StoreOp::create(
                tile.b,
                tile.narrow(element, toElementType(type.getElementType())),
                dense.memref, ValueRange{at});
            return {};
          });
    });
  };
  if (tile.layout.rotatesKeys()) {
    Value end = tile.add(tile.firstKey, tile.index(tile.schedule.keysPerLane));
    tile.loop(
        tile.firstKey, end, 1, {},
        [&](Value key, ValueRange) -> SmallVector<Value> {
          put(key, rotateKeys(tile, key, rows.rowsPerRound(), [&](Value first) {
                return rows.rebuild(first, Terms::Old);
              }));
          return {};
        });
    return;
  }
  rows.forRounds(
      Terms::Old, {},
      [&](Value row, ArrayRef<Value> state, ValueRange) -> SmallVector<Value> {
        for (auto [n, values] : llvm::enumerate(state))
          put(tile.add(row, tile.index(n)), values);
        return {};
      });
}
