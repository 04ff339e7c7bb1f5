//===- MmaScales.cpp - the scales of a fold, each fitted by itself --------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaFold.h"
#include "PlanTables.h"
#include "ScaleFit.h"

using namespace mlir;
using namespace decant;

static Value combine(LaneTile &t, ReduceKind kind, Value x, Value y) {
  return kind == ReduceKind::Max
             ? arith::MaxNumFOp::create(t.b, x, y).getResult()
             : t.add(x, y);
}

void MmaFold::fitScale(const ScaleSpec &scale, bool last) {
  const ReduceKind kind =
      scale.fit == ScaleFit::SqrtMeanAbs ? ReduceKind::Add : ReduceKind::Max;
  const VectorAxis axis =
      scale.axis == Axis::Key ? VectorAxis::Key : VectorAxis::Value;
  const bool keys = axis == VectorAxis::Key;
  const View &line = inverseOf(axis);
  if (keys)
    keyStatistics(kind, line);
  else
    valueStatistics(kind, line, last);
  t.barrier();
  largestFitted = {};
  warp.forElements(dimOf(axis), [&](Value element, Value inside) {
    Value statistic = t.loadScalar(line, t.index(0), element);
    Value weight;
    if (keys && scale.fit == ScaleFit::SqrtMeanAbs)
      weight = rowWeight(t, placeInSlot(axis, element), -0.5);
    Value fitted = scaleFrom(t, last ? layout.scales.size() - 1 : 0, statistic,
                             keys ? layout.valueDim : layout.keyDim, weight);
    Value reciprocal = inverseScale(t, fitted);
    largestFitted =
        largestFitted
            ? arith::MaxNumFOp::create(t.b, largestFitted, fitted).getResult()
            : fitted;
    t.ifTrue(inside, [&] {
      // The old row scale is in the diagonal.
      t.storeScalar(keys ? rowScale : h.head.valueScale, t.index(0), element,
                    fitted);
      t.storeScalar(line, t.index(0), element, reciprocal);
    });
  });
  hasInverse[int(axis)] = true;
  t.barrier();
  if (scale.fit == ScaleFit::LeastSquares)
    refitValueScale(last ? layout.scales.size() - 1 : 0);
  if (keys)
    storeKeyScale();
}

/// One key tile at a time: the sums and scales of a chunk of them would take
/// registers.
void MmaFold::keyStatistics(ReduceKind kind, const View &out) {
  const int rounds = llvm::divideCeil(warp.keyTiles, warp.warps);
  const VectorType two = t.vectorOf(int64_t(2));
  t.loop(t.index(0), t.index(rounds), 1, {},
         [&](Value round, ValueRange) -> SmallVector<Value> {
           Value key = t.add(t.mul(round, t.index(warp.warps)), t.valueLane);
           if (warp.keyTiles % warp.warps != 0) // others repeat the last
             key = arith::MinUIOp::create(t.b, key, t.index(warp.keyTiles - 1));
           const KeySide keys = keySide(key);
           SmallVector<Value> sums = overValueTiles(
               [&](Value tile) {
                 return warp.loadTile(h.readableCodes(), tile, key);
               },
               {t.zeros(two), t.zeros(two)},
               [&](Value packed, Value tile, ValueRange carried) {
                 const ValueSide values = valueSide(tile);
                 Value codes = warp.unpack(packed, /*biased=*/false);
                 SmallVector<Value> next(carried);
                 for (int half = 0; half < 2; ++half) {
                   Value x = math::AbsFOp::create(
                       t.b, residual(codes, half, values, keys));
                   next[half] = combine(t, kind, next[half],
                                        combine(t, kind, warp.slice(x, 0, 2),
                                                warp.slice(x, 2, 2)));
                 }
                 return next;
               },
               /*ahead=*/32);
           // Lanes that differ in g hold the same keys.
           for (auto [half, sum] : llvm::enumerate(sums)) {
             Value total = warp.reduceLanes(kind, sum, 4, 32);
             Value at = t.add(t.add(t.mul(key, t.index(kTile)), warp.pair),
                              t.index(8 * half));
             t.ifTrue(warp.equal(warp.group, 0),
                      [&] { warp.storeRaw(out, t.index(0), at, total); });
           }
           return {};
         });
}

/// |x| of values g and g + 8, over two keys.
static Value overPairs(LaneTile &t, ReduceKind kind, Value x) {
  x = math::AbsFOp::create(t.b, x);
  auto pick = [&](int64_t first, int64_t second) {
    return vector::ShuffleOp::create(t.b, x, x,
                                     ArrayRef<int64_t>{first, second});
  };
  return combine(t, kind, pick(0, 2), pick(1, 3));
}

/// Under the last scale, rows of few bits must reach as far as others.
void MmaFold::valueStatistics(ReduceKind kind, const View &out, bool last) {
  const VectorType two = t.vectorOf(int64_t(2));
  SmallVector<Value> sums = overOwnTiles(
      SmallVector<Value>(warp.valueTilesPerWarp, t.zeros(two)),
      [&](ArrayRef<Value> chunks, Value c, ValueRange carried) {
        const SmallVector<ValueSide> sides = ownValueSides();
        SmallVector<Value> next(carried);
        for (int n = 0; n < warp.tilesPerChunk; ++n) {
          const KeySide keys = keySide(keyTile(c, n));
          for (auto [i, values] : llvm::enumerate(sides)) {
            Value codes = warp.tileOf(chunks[i], n, /*biased=*/false);
            for (int half = 0; half < 2; ++half) {
              Value own =
                  overPairs(t, kind, residual(codes, half, values, keys));
              if (h.slabs && last)
                own = reachOver(own, keyTile(c, n));
              next[i] = combine(t, kind, next[i], own);
            }
          }
        }
        return next;
      });
  for (auto [i, sum] : llvm::enumerate(sums)) {
    Value total = warp.reduceLanes(kind, sum, 1, 4);
    Value tile = warp.ownValueTile(i);
    t.ifTrue(warp.equal(warp.pair, 0), [&] {
      Value at = t.add(t.mul(tile, t.index(kTile)), warp.group);
      t.storeScalar(out, t.index(0), at, t.element(total, 0));
      t.storeScalar(out, t.index(0), t.add(at, t.index(8)),
                    t.element(total, 1));
    });
  }
}

/// What the plan has rows of two keys weigh, null where all weigh alike.
Value MmaFold::weightsOfPair(Value first) {
  SmallVector<Value> weights;
  for (int i = 0; i < 2; ++i) {
    Value key = placeInSlot(VectorAxis::Key, t.add(first, t.index(i)));
    weights.push_back(rowWeight(t, key, 1));
  }
  return weights[0] ? vector::FromElementsOp::create(
                          t.b, t.vectorOf(int64_t(2)), weights)
                          .getResult()
                    : Value();
}

/// A scale over what the codes that it gave ask for (ScaleFit.h): q are the
/// codes, y what is rounded to them, r the scales of the keys and their
/// weights.
void MmaFold::refitValueScale(size_t index) {
  const double largest = maxCode(layout.codes.type);
  const VectorType two = t.vectorOf(int64_t(2));
  const int tiles = warp.valueTilesPerWarp;
  auto ofValues = [&](Value x) { // over two keys
    auto pick = [&](int64_t first, int64_t second) {
      return vector::ShuffleOp::create(t.b, x, x,
                                       ArrayRef<int64_t>{first, second});
    };
    return t.add(pick(0, 2), pick(1, 3));
  };
  SmallVector<Value> sums = overOwnTiles(
      SmallVector<Value>(2 * tiles, t.zeros(two)),
      [&](ArrayRef<Value> chunks, Value c, ValueRange carried) {
        const SmallVector<ValueSide> sides = ownValueSides();
        SmallVector<Value> next(carried);
        for (int n = 0; n < warp.tilesPerChunk; ++n) {
          const KeySide keys = keySide(keyTile(c, n));
          Value first = t.mul(keyTile(c, n), t.index(kTile));
          for (int half = 0; half < 2; ++half) {
            Value at = t.add(t.add(first, t.index(8 * half)), warp.pair);
            Value r = weightsOfPair(at);
            if (hasInverse[int(VectorAxis::Key)])
              r = t.scale(warp.raw(rowScale, t.index(0), at, 2), r);
            if (r)
              r = twice(r);
            for (auto [i, values] : llvm::enumerate(sides)) {
              Value codes = warp.tileOf(chunks[i], n, /*biased=*/false);
              Value y = residual(codes, half, values, keys);
              Value q = h.slabs ? roundInSlab(y, keyTile(c, n))
                                : roundToCode(t, y, -largest, largest);
              Value rq = t.scale(q, r), ry = t.scale(y, r);
              next[2 * i] = t.add(next[2 * i], ofValues(t.mul(rq, ry)));
              next[2 * i + 1] = t.add(next[2 * i + 1], ofValues(t.mul(rq, rq)));
            }
          }
        }
        return next;
      });
  for (int i = 0; i < tiles; ++i) {
    Value product = warp.reduceLanes(ReduceKind::Add, sums[2 * i], 1, 4);
    Value square = warp.reduceLanes(ReduceKind::Add, sums[2 * i + 1], 1, 4);
    Value first = t.mul(warp.ownValueTile(i), t.index(kTile));
    t.ifTrue(warp.equal(warp.pair, 0), [&] {
      for (int half = 0; half < 2; ++half) {
        Value at = t.add(t.add(first, warp.group), t.index(8 * half));
        Value old = t.loadScalar(h.head.valueScale, t.index(0), at);
        Value fitted = refitted(t, index, old, t.element(product, half),
                                t.element(square, half));
        t.storeScalar(h.head.valueScale, t.index(0), at, fitted);
        t.storeScalar(valueInverse, t.index(0), at, inverseScale(t, fitted));
      }
    });
  }
  t.barrier();
}
