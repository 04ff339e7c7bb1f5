//===- MmaEncode.cpp - the scales and codes of a fold
//----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of the residual is three products on one accumulator: the codes with
// a diagonal matrix of row scales, as high part and rest; then, times the
// column scale, the terms. The bias of codes is taken off element by element:
// the pipe of shared memory, which would bring a product's start, is what a
// fold waits for.
//
//===----------------------------------------------------------------------===//

#include "MmaFold.h"
#include "ScaleFit.h"

using namespace mlir;
using namespace decant;

namespace {

/// The largest row scale becomes 2^14 to 2^15, so that scales 2^28 below it are
/// still normal numbers of f16.
constexpr double kDiagonalRange = 1 << 14;

Value twice(LaneTile &t, Value pair) {
  return vector::ShuffleOp::create(t.b, pair, pair,
                                   ArrayRef<int64_t>{0, 1, 0, 1});
}

Value combine(LaneTile &t, ReduceKind kind, Value x, Value y) {
  return kind == ReduceKind::Max
             ? arith::MaxNumFOp::create(t.b, x, y).getResult()
             : t.add(x, y);
}

} // namespace

//===--- the residual, tile by tile ---------------------------------------===//

/// Both parts of a key's scale, each twice: a lane that holds elements 2t and
/// 2t + 1 of a column of eight keys takes the half on the diagonal.
void MmaFold::spreadRowScale() {
  diagonal = h.arena.take(warp.halfType(), layout.paddedKey, 4);
  if (rank == 0) // a fit has barriers
    t.barrier();
  const PowerOfTwo keys = power(VectorAxis::Key);
  Value toRange = t.mul(keys.inverse, t.f32(kDiagonalRange));
  const VectorType four =
      VectorType::get({4}, toType(t.b.getContext(), warp.halfType()));
  warp.forElements(layout.paddedKey, [&](Value key, Value inside) {
    Value scale = t.mul(t.loadScalar(rowScale, t.index(0), key), toRange);
    auto [high, rest] = warp.split(scale, warp.halfType());
    Value parts = vector::FromElementsOp::create(
        t.b, four, ValueRange{high, high, rest, rest});
    t.ifTrue(inside, [&] { warp.storeRaw(diagonal, key, t.index(0), parts); });
  });
  Value fromRange = t.mul(keys.factor, t.f32(1 / kDiagonalRange));
  warp.forElements(layout.paddedValue, [&](Value value, Value inside) {
    Value scale = t.loadScalar(columnScale, t.index(0), value);
    t.ifTrue(inside, [&] {
      t.storeScalar(columnScale, t.index(0), value, t.mul(scale, fromRange));
    });
  });
  auto word = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(t.b, value, /*width=*/32);
  };
  Value other = arith::SelectOp::create(
      t.b,
      arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, warp.group,
                            t.add(warp.pair, t.index(1))),
      word(0xffff0000), word(0));
  onDiagonal = arith::SelectOp::create(
      t.b,
      arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, warp.group,
                            warp.pair),
      word(0x0000ffff), other);
}

/// Right operands over eight keys: diagonal matrices of both parts of their
/// scales.
std::array<Value, 2> MmaFold::scaleDiagonals(Value firstKey) {
  Value parts =
      warp.raw(diagonal, t.add(firstKey, warp.group), t.index(0), /*width=*/4);
  const VectorType words = VectorType::get({2}, t.b.getI32Type());
  Value masked = arith::AndIOp::create(
      t.b, vector::BitCastOp::create(t.b, words, parts),
      vector::BroadcastOp::create(t.b, words, onDiagonal));
  masked = vector::BitCastOp::create(t.b, parts.getType(), masked);
  return {warp.slice(masked, 0, 2), warp.slice(masked, 2, 2)};
}

/// Loaded anew for each chunk: registers that held it through a pass would be
/// missing for blocks in flight.
MmaFold::ValueSide MmaFold::valueSide(Value tile) {
  ValueSide side;
  Value first = t.mul(tile, t.index(kTile));
  for (int row = 0; row < h.allRows; row += kTile)
    side.terms.push_back(warp.leftTransposed(
        h.termValues, std::min(kTile, h.allRows - row), t.index(row), first));
  auto line = [&](const View &view) -> Value {
    Value at = t.add(first, warp.group);
    Value low = t.loadScalar(view, t.index(0), at);
    Value high = t.loadScalar(view, t.index(0), t.add(at, t.index(8)));
    return vector::FromElementsOp::create(t.b, t.vectorOf(int64_t(4)),
                                          ValueRange{low, low, high, high});
  };
  side.scale = line(columnScale);
  if (hasInverse[int(VectorAxis::Value)])
    side.inverse = line(valueInverse);
  return side;
}

MmaFold::KeySide MmaFold::keySide(Value tile) {
  KeySide side;
  Value first = t.mul(tile, t.index(kTile));
  for (int row = 0; row < h.allRows; row += kTile) {
    auto halves = warp.rightTransposed(
        h.termKeys, std::min(kTile, h.allRows - row), t.index(row), first);
    for (int half = 0; half < 2; ++half)
      side.terms[half].push_back(halves[half]);
  }
  for (int half = 0; half < 2; ++half) {
    side.scale[half] = scaleDiagonals(t.add(first, t.index(8 * half)));
    Value at = t.add(t.add(first, t.index(8 * half)), warp.pair);
    if (hasInverse[int(VectorAxis::Key)])
      side.inverse[half] = twice(t, warp.raw(keyInverse, t.index(0), at, 2));
  }
  return side;
}

/// Half a tile of the residual, over the scales fitted so far: values g, g + 8
/// by two neighbouring keys.
Value MmaFold::residual(Value codes, int half, const ValueSide &values,
                        const KeySide &keys) {
  Value sum = warp.zeroSum();
  for (Value scale : keys.scale[half])
    sum = warp.mma(warp.slice(codes, 4 * half, 4), scale, sum);
  sum = t.mul(sum, values.scale);
  for (auto [left, right] : llvm::zip(values.terms, keys.terms[half]))
    sum = warp.mma(left, right, sum);
  return t.scale(t.scale(sum, keys.inverse[half]), values.inverse);
}

SmallVector<MmaFold::ValueSide> MmaFold::ownValueSides() {
  SmallVector<ValueSide> sides;
  for (int i = 0; i < warp.valueTilesPerWarp; ++i)
    sides.push_back(valueSide(warp.ownValueTile(i)));
  return sides;
}

//===--- scales -----------------------------------------------------------===//

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
    Value fitted = scaleFrom(t, last ? layout.scales.size() - 1 : 0, statistic,
                             keys ? layout.valueDim : layout.keyDim);
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

/// A scale over what the codes that it gave ask for (ScaleFit.h): q are the
/// codes, y what is rounded to them, r the scales of the keys.
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
            Value r;
            if (hasInverse[int(VectorAxis::Key)]) {
              Value at = t.add(t.add(first, t.index(8 * half)), warp.pair);
              r = twice(t, warp.raw(rowScale, t.index(0), at, 2));
            }
            for (auto [i, values] : llvm::enumerate(sides)) {
              Value codes = warp.tileOf(chunks[i], n, /*biased=*/false);
              Value y = residual(codes, half, values, keys);
              Value q = roundToCode(t, y, -largest, largest);
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

//===--- codes ------------------------------------------------------------===//

/// Each lane overwrites codes that it alone reads in this pass.
void MmaFold::encode() {
  // A scale of few bits may have become smaller than what it was fitted to, and
  // a refitted one is.
  const bool clamps = isInteger(layout.codes.type) &&
                      llvm::any_of(layout.scales, [](const ScaleSpec &scale) {
                        return scale.type != ElementType::F32 ||
                               scale.fit == ScaleFit::LeastSquares;
                      });
  const double largest = clamps ? maxCode(layout.codes.type) : 0;
  overOwnTiles(
      {},
      [&](ArrayRef<Value> chunks, Value c, ValueRange) -> SmallVector<Value> {
        const SmallVector<ValueSide> sides = ownValueSides();
        SmallVector<SmallVector<Value>> tiles(sides.size());
        for (int n = 0; n < warp.tilesPerChunk; ++n) {
          const KeySide keys = keySide(keyTile(c, n));
          for (auto [i, values] : llvm::enumerate(sides)) {
            Value codes = warp.tileOf(chunks[i], n, /*biased=*/false);
            Value x = warp.join(residual(codes, 0, values, keys),
                                residual(codes, 1, values, keys));
            if (h.slabs)
              x = roundInSlab(x, keyTile(c, n));
            else if (clamps)
              x = roundToCode(t, x, -largest, largest);
            tiles[i].push_back(x);
          }
        }
        for (auto [i, tile] : llvm::enumerate(tiles))
          if (h.slabs)
            storeInSlabs(warp.ownValueTile(i), c, tile);
          else
            warp.storeChunk(h.codes, warp.ownValueTile(i), c, tile);
        return {};
      });
}

/// What f16 holds between the passes must not depend on the size of the state:
/// over a key scale that follows the state's size, residuals do not.
bool MmaFold::encodesWithLastScale() const {
  constexpr int kMostKeyTiles = 8; // of 4 registers each
  const auto &scales = layout.scales;
  return !h.slabs && isInteger(layout.codes.type) &&
         warp.keyTiles <= kMostKeyTiles && scales.size() == 2 &&
         scales[0].axis == Axis::Key && scales[1].axis == Axis::Value &&
         scales[1].fit == ScaleFit::AbsMax &&
         scales[1].type == ElementType::F32;
}

/// The last scale, along the values, and the codes: a warp keeps the residuals
/// of 16 values until their largest is known.
void MmaFold::fitAndEncode() {
  // Residuals over the key scales are kept over a power of two, which goes into
  // the inverse key scales and brings their bound to the end of f16's range:
  // lines of values whose residuals are 2^16 times smaller than others' have
  // all of its precision. The bound is 1 over largest residuals; a sum of V
  // residuals is V s^2 under sqrt_mean_abs, so that none is beyond V s.
  constexpr float kRange = 1 << 15;
  PowerOfTwo unit = {t.f32(1 / kRange), t.f32(kRange)};
  if (layout.scales[0].fit == ScaleFit::SqrtMeanAbs) {
    const View partial = h.arena.take(ElementType::F32, warp.warps, 1);
    Value largest =
        warp.blockReduce(ReduceKind::Magnitude,
                         vector::FromElementsOp::create(
                             t.b, t.vectorOf(int64_t(1)), largestFitted),
                         partial);
    const double above = 2.0 * double(llvm::PowerOf2Ceil(layout.valueDim));
    unit = warp.powerOfTwo(t.element(largest, 0));
    unit.factor = t.mul(unit.factor, t.f32(above / kRange));
    unit.inverse = t.mul(unit.inverse, t.f32(kRange / above));
  }
  warp.forElements(layout.paddedKey, [&](Value key, Value inside) {
    Value inverse = t.loadScalar(keyInverse, t.index(0), key);
    t.ifTrue(inside, [&] {
      t.storeScalar(keyInverse, t.index(0), key, t.mul(inverse, unit.inverse));
    });
  });
  // Kept in memory: registers would hold it through the loop.
  const View factor = line(1);
  t.ifTrue(warp.equal(warp.thread, 0),
           [&] { t.storeScalar(factor, t.index(0), t.index(0), unit.factor); });
  t.barrier();
  const Waiting waiting = takeWaiting();
  t.loop(t.index(0), t.index(warp.valueTilesPerWarp), 1, {},
         [&](Value i, ValueRange) -> SmallVector<Value> {
           Value tile =
               t.add(t.mul(t.valueLane, t.index(warp.valueTilesPerWarp)), i);
           encodeValueTile(tile, factor, waiting);
           return {};
         });
}

/// Half of the tiles, by then as f16, wait where a lane's codes have been, as
/// far as there is room, and in memory of their own.
MmaFold::Waiting MmaFold::takeWaiting() {
  Waiting waiting;
  Arena &arena = h.arena;
  const bool fits = codePlanes(layout)[0].bits * warp.tilesPerChunk == 16;
  int apart = std::max(warp.keyTiles / 2, 1);
  if (h.staged.memref && fits && warp.tilesPerChunk > 1) {
    const int64_t mark = arena.mark();
    arena.reset(h.stagedPlace);
    waiting.inPlace = arena.take(ElementType::F16, h.codes.width / 16, 8);
    arena.reset(mark);
    apart = warp.chunks * (warp.tilesPerChunk / 2 - 1);
  }
  if (apart > 0)
    waiting.apart = arena.take(ElementType::F16, apart * warp.threads, 8);
  return waiting;
}

/// Where the n-th tile of a chunk waits; none: in registers.
std::optional<std::pair<View, Value>>
MmaFold::placeOf(const Waiting &waiting, Value valueTile, int chunk, int n) {
  int slot = chunk * warp.tilesPerChunk + n;
  if (waiting.inPlace.memref) {
    const int half = warp.tilesPerChunk / 2;
    if (n >= half)
      return std::nullopt;
    if (n == 0)
      return std::pair(waiting.inPlace,
                       Value(arith::DivUIOp::create(
                           t.b, warp.chunkPlace(valueTile, t.index(chunk)),
                           t.index(warp.chunkWidth()))));
    slot = chunk * (half - 1) + n - 1;
  } else if (slot >= warp.keyTiles / 2) {
    return std::nullopt;
  }
  return std::pair(waiting.apart,
                   t.add(warp.thread, t.index(int64_t(slot) * warp.threads)));
}

void MmaFold::encodeValueTile(Value tile, const View &unit,
                              const Waiting &waiting) {
  auto load = [&](int c) {
    return warp.loadChunk(h.readableCodes(), tile, t.index(c));
  };
  Value chunk = load(0);
  const ValueSide values = valueSide(tile);
  SmallVector<Value> kept; // [key tile] of 8 halves
  Value largest;           // of (g, g, g + 8, g + 8)
  for (int c = 0; c < warp.chunks; ++c) {
    Value next = c + 1 < warp.chunks ? load(c + 1) : Value();
    for (int n = 0; n < warp.tilesPerChunk; ++n) {
      const KeySide keys = keySide(keyTile(t.index(c), n));
      Value codes = warp.tileOf(chunk, n, /*biased=*/false);
      Value halves[2];
      for (int half = 0; half < 2; ++half) {
        Value x =
            warp.halves(residual(codes, half, values, keys), ElementType::F16);
        Value sizes = math::AbsFOp::create(t.b, x);
        largest =
            largest ? arith::MaxNumFOp::create(t.b, largest, sizes) : sizes;
        halves[half] = x;
      }
      Value both = warp.join(halves[0], halves[1]);
      if (auto place = placeOf(waiting, tile, c, n)) {
        warp.storeRaw(place->first, place->second, t.index(0), both);
        both = {};
      }
      kept.push_back(both);
    }
    chunk = next;
  }
  largest = t.widen(largest);
  Value rows = vector::FromElementsOp::create(
      t.b, t.vectorOf(int64_t(2)),
      ValueRange{arith::MaxNumFOp::create(t.b, t.element(largest, 0),
                                          t.element(largest, 1)),
                 arith::MaxNumFOp::create(t.b, t.element(largest, 2),
                                          t.element(largest, 3))});
  rows = warp.reduceLanes(ReduceKind::Max, rows, 1, 4);
  Value inverse[2];
  Value unitFactor = t.loadScalar(unit, t.index(0), t.index(0));
  for (int half = 0; half < 2; ++half) {
    Value statistic = t.mul(t.element(rows, half), unitFactor);
    Value fitted =
        scaleFrom(t, layout.scales.size() - 1, statistic, layout.keyDim);
    Value factor = t.mul(inverseScale(t, fitted), unitFactor);
    // Smaller lines have fewer codes.
    constexpr double kLargest = 65504;
    Value beyond = arith::CmpFOp::create(t.b, arith::CmpFPredicate::OGT, factor,
                                         t.f32(kLargest));
    fitted = arith::SelectOp::create(
        t.b, beyond, t.mul(unitFactor, t.f32(1 / kLargest)), fitted);
    factor = arith::SelectOp::create(t.b, beyond, t.f32(kLargest), factor);
    inverse[half] = warp.halves(factor, ElementType::F16);
    t.ifTrue(warp.equal(warp.pair, 0), [&] {
      Value value = t.add(t.add(t.mul(tile, t.index(kTile)), warp.group),
                          t.index(8 * half));
      t.storeScalar(h.head.valueScale, t.index(0), value, fitted);
    });
  }
  Value factors = vector::FromElementsOp::create(
      t.b, VectorType::get({8}, t.b.getF16Type()),
      ValueRange{inverse[0], inverse[0], inverse[1], inverse[1], inverse[0],
                 inverse[0], inverse[1], inverse[1]});
  for (int c = 0; c < warp.chunks; ++c) {
    SmallVector<Value> tiles;
    for (int n = 0; n < warp.tilesPerChunk; ++n) {
      const size_t keyTile = c * warp.tilesPerChunk + n;
      if (!kept[keyTile]) {
        const auto place = *placeOf(waiting, tile, c, n);
        kept[keyTile] = warp.raw(place.first, place.second, t.index(0), 8);
      }
      tiles.push_back(kept[keyTile]);
    }
    warp.storeChunk(h.codes, tile, t.index(c), tiles, factors);
  }
}
