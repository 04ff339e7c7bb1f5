//===- MmaEncode.cpp - the codes of a fold --------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaFold.h"
#include "ScaleFit.h"

using namespace mlir;
using namespace decant;

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
  return !h.slabs && layout.tables.weights.empty() &&
         isInteger(layout.codes.type) && warp.keyTiles <= kMostKeyTiles &&
         scales.size() == 2 && scales[0].axis == Axis::Key &&
         scales[1].axis == Axis::Value && scales[1].fit == ScaleFit::AbsMax &&
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
