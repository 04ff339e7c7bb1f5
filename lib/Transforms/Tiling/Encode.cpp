//===- Encode.cpp - rows become codes and scales --------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// encodeRows: residual = rows - compensators; scales in the spec's order, each
// fitted to the residual over the earlier ones; codes of the residual over all.
// Everything old that is still needed (scales, compensators, records) was
// copied before the first barrier, and a lane overwrites a code only after
// reading it, so the head is encoded in place.
//
//===----------------------------------------------------------------------===//

#include "Compensators.h"
#include "GroupScales.h"
#include "ScaleFit.h"
#include "WindowTile.h"

using namespace mlir;
using namespace decant;

namespace {

class Encoder {
public:
  Encoder(LaneTile &tile, const StoredHead &head, StateRows &rows)
      : tile(tile), head(head), rows(rows), layout(tile.layout) {}

  void run() {
    if (layout.compensators > 0)
      fitCompensators(tile, rows);
    for (size_t i = 0; i < layout.scales.size(); ++i)
      fitScale(i);
    storeCodes();
    tile.barrier();
    storeScales();
    storeCompensators();
  }

private:
  Value magnitude(Value x) { return math::AbsFOp::create(tile.b, x); }

  void fitScale(size_t index) {
    const ScaleSpec &scale = layout.scales[index];
    if (isGrouped(scale)) {
      groups = fitGroups(tile, rows, [&](Value values, Value row, int n) {
        return overLines(values, row, n);
      });
      return;
    }
    const ReduceKind kind =
        scale.fit == ScaleFit::AbsMax ? ReduceKind::Max : ReduceKind::Add;
    if (scale.axis == Axis::Key)
      return fitKeyScale(index, kind);
    Value columns = columnStatistic(kind);
    if (scale.axis == Axis::Value) {
      valueScale = scaleFrom(tile, index, columns, layout.keyDim);
      valueInverse = inverseScale(tile, valueScale);
      return;
    }
    headScale = scaleFrom(
        tile, index,
        tile.reduceAcross(kind, tile.reduce(kind, columns), VectorAxis::Value),
        int64_t(layout.keyDim) * layout.valueDim);
    headInverse = inverseScale(tile, headScale);
  }

  /// The lane's columns of row `row` + n over the scales that have been fitted,
  /// but for those of groups.
  Value overLines(Value values, Value row, int n) {
    values = tile.scale(tile.scale(values, valueInverse), headInverse);
    return tile.scale(values, keyInverseAt(row, n));
  }

  void fitKeyScale(size_t index, ReduceKind kind) {
    keyScale = tile.scratch(1, layout.paddedKey);
    keyInverse = tile.scratch(1, layout.paddedKey);
    const int perRound = rows.rowsPerRound();
    rows.forRounds(
        Terms::All, {},
        [&](Value row, ArrayRef<Value> state,
            ValueRange) -> SmallVector<Value> {
          SmallVector<Value> partial;
          for (Value values : state)
            partial.push_back(tile.reduce(
                kind, tile.scale(tile.scale(magnitude(values), valueInverse),
                                 headInverse)));
          Value statistic = vector::FromElementsOp::create(
              tile.b, tile.vectorOf(int64_t(perRound)), partial);
          statistic = tile.laneReduce(kind, statistic, VectorAxis::Value);
          Value fitted = scaleFrom(tile, index, statistic, layout.valueDim);
          Value reciprocal = inverseScale(tile, fitted);
          Value owner = arith::CmpIOp::create(tile.b, arith::CmpIPredicate::eq,
                                              tile.valueLane, tile.index(0));
          tile.ifTrue(owner, [&] {
            tile.store(*keyScale, tile.index(0), row, fitted);
            tile.store(*keyInverse, tile.index(0), row, reciprocal);
          });
          return {};
        });
    tile.barrier();
  }

  /// The sum or the maximum of every column of the lane.
  Value columnStatistic(ReduceKind kind) {
    auto include = [&](Value row, ArrayRef<Value> state, ValueRange carried) {
      Value sum = carried[0];
      for (auto [n, values] : llvm::enumerate(state)) {
        Value x = tile.scale(tile.scale(magnitude(values), headInverse),
                             keyInverseAt(row, n));
        if (kind == ReduceKind::Add)
          sum = tile.add(sum, x);
        else
          sum = arith::MaxNumFOp::create(tile.b, sum, x);
      }
      return SmallVector<Value>{sum};
    };
    if (kind == ReduceKind::Add)
      return rows.sumRounds(Terms::All, 1, include)[0];
    return tile.laneReduce(
        kind,
        rows.forRounds(Terms::All, {tile.zeros(tile.valueType())}, include)[0],
        VectorAxis::Key);
  }

  Value keyInverseAt(Value row, int n) {
    if (!keyInverse)
      return {};
    return tile.loadScalar(*keyInverse, tile.index(0),
                           tile.add(row, tile.index(n)));
  }

  void storeCodes() {
    rows.forRounds(Terms::All, {},
                   [&](Value row, ArrayRef<Value> state,
                       ValueRange) -> SmallVector<Value> {
                     for (auto [n, values] : llvm::enumerate(state)) {
                       Value at = tile.add(row, tile.index(n));
                       head.codes.store(tile, at,
                                        codesOf(overLines(values, row, n), at));
                     }
                     return {};
                   });
  }

  /// What the codes of row `at` are.
  Value codesOf(Value values, Value at) {
    if (groups && groups->offset)
      values = arith::SubFOp::create(tile.b, values,
                                     ofGroups(tile, *groups->offset, at));
    if (groups)
      values = tile.mul(values, ofGroups(tile, groups->inverse, at));
    if (!isInteger(layout.codes.type))
      return values;
    const double largest = maxCode(layout.codes.type);
    const double lowest = layout.groupOffset.empty() ? -largest : -largest - 1;
    return roundToCode(tile, values, lowest, largest);
  }

  void storeScales() {
    if (groups)
      storeGroups(tile, head, *groups);
    if (headScale)
      tile.onFirstLane([&] {
        tile.storeScalar(head.headScale, tile.index(0), tile.index(0),
                         headScale);
      });
    if (keyScale)
      tile.storeAlong(
          VectorAxis::Key, head.keyScale, tile.index(0),
          tile.loadAlong(VectorAxis::Key, *keyScale, tile.index(0)));
    if (valueScale)
      tile.storeAlong(VectorAxis::Value, head.valueScale, tile.index(0),
                      valueScale);
  }

  void storeCompensators() {
    if (layout.compensators == 0)
      return;
    tile.loop(tile.index(0), tile.index(layout.compensators), 1, {},
              [&](Value term, ValueRange) -> SmallVector<Value> {
                Value key = arith::NegFOp::create(
                    tile.b,
                    tile.loadAlong(VectorAxis::Key, rows.termKeys, term));
                tile.storeAlong(VectorAxis::Key, head.compKeys, term, key);
                tile.storeAlong(
                    VectorAxis::Value, head.compValues, term,
                    tile.loadAlong(VectorAxis::Value, rows.termValues, term));
                return {};
              });
  }

  LaneTile &tile;
  const StoredHead &head;
  StateRows &rows;
  const SlotLayout &layout;
  std::optional<View> keyScale, keyInverse;
  Value valueScale, valueInverse, headScale, headInverse;
  std::optional<GroupFit> groups;
};

} // namespace

void decant::encodeRows(LaneTile &tile, const StoredHead &head,
                        StateRows &rows) {
  Encoder(tile, head, rows).run();
  head.setFill(tile, tile.index(0));
}

void decant::tileFold(LaneTile &tile, const StoredHead &head,
                      const TokenUpdate &update) {
  StateRows rows(tile, head, update);
  encodeRows(tile, head, rows);
  if (tile.layout.window == 1)
    head.addToken(tile);
}

void decant::tilePack(LaneTile &tile, const StoredHead &head,
                      const DenseState &dense) {
  StateRows rows(tile, dense);
  encodeRows(tile, head, rows);
  head.clearTokens(tile);
}

void decant::tileUnpack(LaneTile &tile, const StoredHead &head,
                        const DenseState &dense) {
  StateRows rows(tile, head, {});
  View staging = tile.scratch(tile.schedule.keyLanes, tile.layout.paddedValue);
  rows.forRounds(
      Terms::Old, {},
      [&](Value row, ArrayRef<Value> state, ValueRange) -> SmallVector<Value> {
        for (auto [n, values] : llvm::enumerate(state)) {
          Value key = tile.add(row, tile.index(n));
          tile.store(staging, tile.keyLane, tile.firstValue, values);
          Value start = tile.add(dense.offset, tile.mul(key, dense.keyStride));
          Value inside =
              arith::CmpIOp::create(tile.b, arith::CmpIPredicate::ult, key,
                                    tile.index(tile.layout.keyDim));
          Value columns = tile.add(tile.firstValue,
                                   tile.index(tile.schedule.valuesPerLane));
          Value end = arith::MinUIOp::create(tile.b, columns,
                                             tile.index(tile.layout.valueDim));
          tile.ifTrue(inside, [&] {
            tile.loop(tile.firstValue, end, 1, {},
                      [&](Value column, ValueRange) -> SmallVector<Value> {
                        Value element =
                            tile.loadScalar(staging, tile.keyLane, column);
                        Value at = tile.add(
                            start, tile.mul(column, dense.valueStride));
                        auto type = cast<MemRefType>(dense.memref.getType());
                        memref::StoreOp::create(
                            tile.b,
                            tile.narrow(element,
                                        toElementType(type.getElementType())),
                            dense.memref, ValueRange{at});
                        return {};
                      });
          });
        }
        return {};
      });
}
