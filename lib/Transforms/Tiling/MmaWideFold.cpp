//===- MmaWideFold.cpp - a window is added to codes of f32 ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Without scales and compensators a fold is one pass: a lane's codes of half a
// tile, under the total decay, and the records' product make what is stored.
// Records are as stored in tensor cores, which multiply them exactly; what a
// decay makes of them (their values, where there is one decay for all keys,
// else their keys) goes in as high part and rest, so that nothing is rounded to
// their type once more.
//
//===----------------------------------------------------------------------===//

#include "MmaFold.h"

using namespace mlir;
using namespace decant;

namespace {

constexpr int kHalfTile = 8; // keys
/// Operands of values in registers: of 16 values by 16 terms, 8 registers with
/// what those are rounded off. Where there are more than usual, less codes are
/// on their way, and so under decays that are vectors.
constexpr int kMostOperands = 4, kUsualOperands = 2;
constexpr int kChunksOfOperand = 2, kChunksOfDecays = 4;

} // namespace

void MmaFold::startWide(Value keyDecay) {
  t.barrier(); // a read may still use the workspace
  h.arena.reset(h.workspace);
  const Value fill = h.loaded->window.fill;
  h.weighTerms(keyDecay, fill);
  if (h.decaysKeys()) {
    h.keyRests = h.arena.take(h.termType, h.allRows, h.termKeys.width);
    constexpr int kTogether = 8;
    warp.forParts(h.allRows, layout.paddedKey, kTogether,
                  [&](Value row, Value column, Value inside) {
                    t.ifTrue(inside, [&] {
                      t.store(h.keyRests, row, column,
                              t.zeros(t.vectorOf(int64_t(kTogether))));
                    });
                  });
  }
  h.finishTerms(keyDecay, fill);
  CopyWaitOp::create(t.b);
  t.barrier();
}

/// Of the tile's values, for each tile of terms: under their weights, as high
/// part and rest, where those are not 1.
MmaFold::WideSide MmaFold::wideValues(Value tile, int firstRow, int endRow) {
  WideSide side;
  for (int row = firstRow; row < endRow; row += kTile) {
    const int terms = std::min(kTile, endRow - row);
    Value values = warp.leftTransposed(h.termValues, terms, t.index(row),
                                       t.mul(tile, t.index(kTile)));
    if (layout.record.keyDecay != DecayShape::Scalar) {
      side.high.push_back(values);
      continue;
    }
    Value weights;
    for (int first = row; first < row + terms; first += kHalfTile) {
      Value at = t.add(warp.pair, t.index(first));
      Value four = twice(warp.raw(h.weights, t.index(0), at, 2));
      weights = weights ? warp.join(weights, four) : four;
    }
    auto [high, rest] =
        warp.split(t.mul(t.widen(values, h.termType), weights), h.termType);
    side.high.push_back(high);
    side.rest.push_back(rest);
  }
  return side;
}

/// Both halves of a tile of keys.
std::array<MmaFold::WideSide, 2> MmaFold::wideKeys(int tile, int firstRow,
                                                   int endRow) {
  std::array<WideSide, 2> sides;
  auto load = [&](const View &panel, SmallVector<Value> WideSide::*part) {
    for (int row = firstRow; row < endRow; row += kTile) {
      auto halves =
          warp.rightTransposed(panel, std::min(kTile, endRow - row),
                               t.index(row), t.index(int64_t(tile) * kTile));
      for (int half = 0; half < 2; ++half)
        (sides[half].*part).push_back(halves[half]);
    }
  };
  load(h.termKeys, &WideSide::high);
  if (h.keyRests.memref)
    load(h.keyRests, &WideSide::rest);
  return sides;
}

/// codes + sum_t values[t] keys[t] over the rows; the first ones put the codes
/// under their decay. `codes` are the first that were loaded. Lanes add the
/// codes: tensor cores cut sums off, which over many folds would be a decay.
void MmaFold::addRecords(Value keyDecay, int firstRow, int endRow,
                         SmallVector<Value> codes) {
  const int valueTiles = warp.valueTilesPerWarp;
  const DecayShape decay =
      firstRow == 0 ? layout.record.keyDecay : DecayShape::None;
  SmallVector<WideSide> values;
  for (int i = 0; i < valueTiles; ++i)
    values.push_back(wideValues(warp.ownValueTile(i), firstRow, endRow));
  auto decayOf = [&](int chunk) -> Value {
    if (decay == DecayShape::Scalar)
      return t.splat(keyDecay, t.vectorOf(int64_t(4)));
    Value at = t.add(warp.pair, t.index(chunk * kHalfTile));
    return twice(warp.raw(h.totalDecay, t.index(0), at, 2));
  };
  std::array<WideSide, 2> keys;
  for (int i = 0; i < h.wideChunks(); ++i) {
    const int chunk = i / valueTiles;
    if (i % (2 * valueTiles) == 0) {
      if (i > 0)
        t.warpBarrier(); // or the assembler begins with all keys' products
      keys = wideKeys(chunk / 2, firstRow, endRow);
    }
    Value sum = products(values[i % valueTiles], keys[chunk % 2]);
    if (decay == DecayShape::None)
      sum = t.add(sum, codes[i]);
    else
      sum = t.fma(codes[i], decayOf(chunk), sum);
    warp.storeRaw(
        h.codes, t.index(0),
        warp.chunkPlace(warp.ownValueTile(i % valueTiles), t.index(chunk)),
        sum);
    if (int(codes.size()) < h.wideChunks())
      codes.push_back(h.loadWideChunk(codes.size()));
  }
}

Value MmaFold::products(const WideSide &values, const WideSide &keys) {
  Value sum = warp.zeroSum();
  for (size_t n = 0; n < values.high.size(); ++n) {
    if (!keys.rest.empty())
      sum = warp.mma(values.high[n], keys.rest[n], sum);
    if (!values.rest.empty())
      sum = warp.mma(values.rest[n], keys.high[n], sum);
    sum = warp.mma(values.high[n], keys.high[n], sum);
  }
  return sum;
}

void MmaFold::runWide(const TokenUpdate &update) {
  const int tiles =
      std::max(1, kMostOperands / warp.valueTilesPerWarp); // of rows, at once
  const int operands = warp.valueTilesPerWarp *
                       std::min<int>(tiles, llvm::divideCeil(h.allRows, kTile));
  int ahead = h.codesAhead() - kChunksOfOperand * (operands - kUsualOperands);
  if (h.decaysKeys())
    ahead -= kChunksOfDecays;
  ahead = std::clamp(ahead, 1, h.wideChunks());
  auto loadFirst = [&] {
    SmallVector<Value> codes;
    for (int i = 0; i < ahead; ++i)
      codes.push_back(h.loadWideChunk(i));
    return codes;
  };
  // Ahead of the records, but for decays that are vectors: each key takes its
  // way through those in registers.
  SmallVector<Value> codes;
  if (!h.decaysKeys())
    codes = loadFirst();
  Value keyDecay = t.scale(h.loaded->window.keyDecay, update.keyDecay);
  startWide(keyDecay);
  for (int row = 0; row < h.allRows; row += tiles * kTile) {
    if (row > 0 || codes.empty())
      codes = loadFirst();
    addRecords(keyDecay, row, std::min(h.allRows, row + tiles * kTile), codes);
  }
  h.head.setFill(t, t.index(0));
}
