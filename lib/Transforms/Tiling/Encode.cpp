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
#include "PlanTables.h"
#include "ScaleFit.h"
#include "StochasticRounding.h"
#include "WindowTile.h"

using namespace mlir;
using namespace decant;

namespace {

class Encoder {
public:
  Encoder(LaneTile &tile, const StoredHead &head, StateRows &rows)
      : tile(tile), head(head), rows(rows), layout(tile.layout) {}

  void run() {
    if (layout.rounding == Rounding::Stochastic)
      noise = noiseSource(tile, head.seed(tile), head.storedTokens(tile));
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
  static ReduceKind kindOf(ScaleFit fit) {
    return fit == ScaleFit::AbsMax || fit == ScaleFit::LeastSquares
               ? ReduceKind::Max
               : ReduceKind::Add;
  }
  /// What a statistic adds up or compares.
  Value magnitude(ScaleFit fit, Value x) {
    return fit == ScaleFit::RootMeanSquare || fit == ScaleFit::KeptNorm
               ? tile.mul(x, x)
               : Value(math::AbsFOp::create(tile.b, x));
  }

  void fitScale(size_t index) {
    const ScaleSpec &scale = layout.scales[index];
    if (scale.fit == ScaleFit::Static) {
      groups = GroupFit{head.groupScale, inverseGroups(), {}};
      return;
    }
    if (isGrouped(scale)) {
      groups = fitGroups(tile, rows, [&](Value values, Value row, int n) {
        return overLines(values, row, n);
      });
      return;
    }
    if (scale.axis == Axis::Key) {
      fitKeyScale(index);
      if (scale.fit == ScaleFit::LeastSquares ||
          scale.fit == ScaleFit::KeptNorm)
        refitKeyScale(index);
      return;
    }
    const ReduceKind kind = kindOf(scale.fit);
    Value columns =
        columnStatistic(scale.fit, index + 1 == layout.scales.size());
    if (scale.axis == Axis::Value) {
      valueScale = scaleFrom(tile, index, columns, layout.keyDim);
      valueInverse = inverseScale(tile, valueScale);
      if (scale.fit == ScaleFit::LeastSquares ||
          scale.fit == ScaleFit::KeptNorm)
        refitValueScale(index);
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

  void fitKeyScale(size_t index) {
    const ScaleFit fit = layout.scales[index].fit;
    const ReduceKind kind = kindOf(fit);
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
                kind,
                magnitude(fit, tile.scale(tile.scale(values, valueInverse),
                                          headInverse))));
          Value statistic = vector::FromElementsOp::create(
              tile.b, tile.vectorOf(int64_t(perRound)), partial);
          statistic = tile.laneReduce(kind, statistic, VectorAxis::Value);
          Value fitted = withPivots(
              row, scaleFrom(tile, index, statistic, layout.valueDim,
                             fit == ScaleFit::SqrtMeanAbs ? ofRound(row, -0.5)
                                                          : Value()));
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

  /// What the rows of a round weigh, to a power; null where all weigh alike.
  Value ofRound(Value row, double power) {
    SmallVector<Value> weights;
    for (int n = 0; n < rows.rowsPerRound(); ++n)
      weights.push_back(rowWeight(tile, tile.add(row, tile.index(n)), power));
    if (!weights[0])
      return {};
    return vector::FromElementsOp::create(
        tile.b, tile.vectorOf(int64_t(weights.size())), weights);
  }

  /// Scales of a round's rows: those of pivots are 1.
  Value withPivots(Value row, Value fitted) {
    if (!layout.hasPivots())
      return fitted;
    SmallVector<Value> scales;
    for (int n = 0; n < rows.rowsPerRound(); ++n)
      scales.push_back(arith::SelectOp::create(
          tile.b, head.codes.isPivot(tile, tile.add(row, tile.index(n))),
          tile.f32(1), tile.element(fitted, n)));
    return vector::FromElementsOp::create(tile.b, fitted.getType(), scales);
  }

  /// 0 for a pivot and 1 for other rows; null where there are no pivots.
  Value isFitted(Value row) {
    if (!layout.hasPivots())
      return {};
    return arith::SelectOp::create(tile.b, head.codes.isPivot(tile, row),
                                   tile.f32(0), tile.f32(1));
  }

  /// 1 / s of static scales.
  View inverseGroups() {
    View inverse = tile.scratch(layout.groupRows(), layout.groupColumns());
    tile.loop(tile.keyLane, tile.index(layout.groupRows()),
              tile.schedule.keyLanes, {},
              [&](Value row, ValueRange) -> SmallVector<Value> {
                tile.loop(tile.valueLane, tile.index(layout.groupColumns()),
                          tile.schedule.valueLanes, {},
                          [&](Value column, ValueRange) -> SmallVector<Value> {
                            Value scale =
                                tile.loadScalar(head.groupScale, row, column);
                            tile.storeScalar(inverse, row, column,
                                             inverseScale(tile, scale));
                            return {};
                          });
                return {};
              });
    tile.barrier();
    return inverse;
  }

  /// The sum or the maximum of every column of the lane. Rows of few bits must
  /// reach as far as others under the last scale.
  Value columnStatistic(ScaleFit fit, bool last) {
    const ReduceKind kind = kindOf(fit);
    auto include = [&](Value row, ArrayRef<Value> state, ValueRange carried) {
      Value sum = carried[0];
      for (auto [n, values] : llvm::enumerate(state)) {
        Value x = magnitude(fit, tile.scale(tile.scale(values, headInverse),
                                            keyInverseAt(row, n)));
        Value at = tile.add(row, tile.index(n));
        x = tile.scale(x, last && !layout.rowBits.empty()
                              ? head.codes.shortfall(tile, at)
                              : isFitted(at));
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

  bool keepsNorm(size_t index) const {
    return layout.scales[index].fit == ScaleFit::KeptNorm;
  }
  /// What a refit multiplies elements y with: their codes or, for norms, y.
  Value partner(size_t index, Value rq, Value ry) {
    return keepsNorm(index) ? ry : rq;
  }
  Value refit(size_t index, Value scale, Value product, Value square) {
    return keepsNorm(index) ? keptNorm(tile, index, scale, product, square)
                            : refitted(tile, index, scale, product, square);
  }

  /// A scale over what the codes that it gave ask for (ScaleFit.h); r are the
  /// other scales and what the row weighs, y what is rounded, q its codes.
  /// Where a scale is to keep a norm, codes stay those of the one before.
  void refitValueScale(size_t index) {
    SmallVector<Value> sums = rows.sumRounds(
        Terms::All, 2,
        [&](Value row, ArrayRef<Value> state, ValueRange carried) {
          SmallVector<Value> next(carried);
          for (auto [n, values] : llvm::enumerate(state)) {
            Value at = tile.add(row, tile.index(n));
            Value y = overLines(values, row, n);
            Value r = tile.scale(keyScaleAt(row, n), headScale);
            r = tile.scale(tile.scale(r, rowWeight(tile, at, 1)), isFitted(at));
            Value rq = tile.scale(rounded(y, at), r), ry = tile.scale(y, r);
            next[0] = tile.fma(partner(index, rq, ry), ry, next[0]);
            next[1] = tile.fma(rq, rq, next[1]);
          }
          return next;
        });
    valueScale = refit(index, valueScale, sums[0], sums[1]);
    if (!keepsNorm(index))
      valueInverse = inverseScale(tile, valueScale);
  }

  void refitKeyScale(size_t index) {
    const int perRound = rows.rowsPerRound();
    rows.forRounds(
        Terms::All, {},
        [&](Value row, ArrayRef<Value> state,
            ValueRange) -> SmallVector<Value> {
          SmallVector<Value> partial(2 * perRound);
          Value r = tile.scale(valueScale, headScale);
          for (auto [n, values] : llvm::enumerate(state)) {
            Value y = overLines(values, row, n);
            Value rq = tile.scale(rounded(y, tile.add(row, tile.index(n))), r);
            Value ry = tile.scale(y, r);
            partial[n] = tile.reduce(ReduceKind::Add,
                                     tile.mul(partner(index, rq, ry), ry));
            partial[perRound + n] =
                tile.reduce(ReduceKind::Add, tile.mul(rq, rq));
          }
          Value sums = vector::FromElementsOp::create(
              tile.b, tile.vectorOf(int64_t(partial.size())), partial);
          sums = tile.laneReduce(ReduceKind::Add, sums, VectorAxis::Value);
          auto half = [&](int64_t first) -> Value {
            return vector::ExtractStridedSliceOp::create(
                tile.b, sums, ArrayRef<int64_t>{first},
                ArrayRef<int64_t>{perRound}, ArrayRef<int64_t>{1});
          };
          Value owner = arith::CmpIOp::create(tile.b, arith::CmpIPredicate::eq,
                                              tile.valueLane, tile.index(0));
          tile.ifTrue(owner, [&] {
            Value old = tile.load(*keyScale, tile.index(0), row, perRound);
            Value fitted = refit(index, old, half(0), half(perRound));
            tile.store(*keyScale, tile.index(0), row, fitted);
            if (!keepsNorm(index))
              tile.store(*keyInverse, tile.index(0), row,
                         inverseScale(tile, fitted));
          });
          return {};
        });
    tile.barrier();
  }

  Value keyScaleAt(Value row, int n) {
    if (!keyScale)
      return {};
    return tile.loadScalar(*keyScale, tile.index(0),
                           tile.add(row, tile.index(n)));
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
                                        codesOf(overLines(values, row, n), at),
                                        values);
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
    if (!layout.rowBits.empty())
      return head.codes.roundInRow(tile, at, values);
    const ElementType type = layout.codes.type;
    if (layout.rounding == Rounding::Stochastic)
      return roundStochastic(tile, values, type,
                             isInteger(type) ? lowestCode() : 0,
                             roundingNoise(tile, noise, at));
    return isInteger(type)
               ? roundToByte(tile, values, lowestCode(), maxCode(type))
               : values;
  }

  double lowestCode() const {
    const int largest = maxCode(layout.codes.type);
    return layout.usesAllCodes() ? -largest - 1 : -largest;
  }

  /// What a code of x stands for, in row `at`.
  Value rounded(Value x, Value at) {
    const ElementType type = layout.codes.type;
    if (!layout.rowBits.empty())
      return head.codes.roundInRow(tile, at, x);
    if (!isInteger(type))
      return tile.widen(tile.narrow(x, type), type);
    return roundToCode(tile, x, lowestCode(), maxCode(type));
  }

  void storeScales() {
    if (groups && !layout.hasStaticScales())
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
                if (rows.termScale)
                  key = storeScale(key, term);
                tile.storeAlong(VectorAxis::Key, head.compKeys, term, key);
                tile.storeAlong(
                    VectorAxis::Value, head.compValues, term,
                    tile.loadAlong(VectorAxis::Value, rows.termValues, term));
                return {};
              });
  }

  /// Stores a compensator's scale and returns the codes of its key, which the
  /// terms hold multiplied by the scale.
  Value storeScale(Value key, Value term) {
    Value scale = tile.loadScalar(*rows.termScale, tile.index(0), term);
    tile.onFirstLane(
        [&] { tile.storeScalar(head.compScale, tile.index(0), term, scale); });
    key = tile.scale(key, inverseScale(tile, scale));
    return asStored(tile, layout.compKeys.type, key);
  }

  LaneTile &tile;
  const StoredHead &head;
  StateRows &rows;
  const SlotLayout &layout;
  std::optional<View> keyScale, keyInverse;
  Value valueScale, valueInverse, headScale, headInverse;
  Value noise; // for stochastic rounding, i32
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
