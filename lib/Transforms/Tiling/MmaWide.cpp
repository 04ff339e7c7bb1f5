//===- MmaWide.cpp - vectors times codes of f32 ---------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor cores would round codes of f32, so lanes multiply theirs themselves: a
// lane's four codes of half a tile are two values by two keys, and the two keys
// of all vectors are one load from shared memory, for all its value tiles. Four
// lanes have the keys of a value; the thread that owns the value adds up what
// they leave in shared memory, which takes fewer instructions than sums among
// lanes. Registers hold some codes ahead: one is loaded where another is used
// up.
//
//===----------------------------------------------------------------------===//

#include "MmaHead.h"

using namespace mlir;
using namespace decant;

namespace {

constexpr int kKeys = 2;         // of a lane, in half a tile
constexpr int kHalfTile = 8;     // keys
constexpr int kLanesOfValue = 4; // which have its keys
constexpr int kLeastAhead = 4;   // chunks

Value pick(LaneTile &t, Value chunk, int64_t first, int64_t second) {
  return vector::ShuffleOp::create(t.b, chunk, chunk,
                                   ArrayRef<int64_t>{first, second});
}

} // namespace

int MmaHead::codesAhead() const {
  constexpr int kRegistersOfSm = 65536, kMost = 192, kStep = 8, kOfChunk = 4;
  constexpr int kUsualKeys = 128;
  // What a step takes beside codes.
  int others = decaysKeys() ? 96 : 64;
  if (layout.paddedKey > kUsualKeys) // key vectors, and operands of a fold
    others += 48;
  if (allRows > kTile) // scores
    others += 16;
  const int blocks = t.schedule.blocksPerSm;
  if (blocks == 0)
    return kMaxChunksInFlight;
  const int registers =
      std::min(kMost, kRegistersOfSm / (blocks * t.schedule.threads())) /
      kStep * kStep;
  return std::max(kLeastAhead, (registers - others) / kOfChunk);
}

Value MmaHead::loadWideChunk(int i) {
  const int tiles = warp.valueTilesPerWarp;
  return warp.loadChunk(readableCodes(), warp.ownValueTile(i % tiles),
                        t.index(i / tiles));
}

View MmaHead::takeWideColumns(int count) {
  return arena.take(ElementType::F32, layout.paddedKey / kKeys, kKeys * count);
}

View MmaHead::takeParts(int count) {
  return arena.take(ElementType::F32, count,
                    kLanesOfValue * layout.paddedValue);
}

/// Each warp stores one of the vectors; those beyond repeat the last.
void MmaHead::spreadWide(ArrayRef<Value> vectors, const View &columns) {
  const int count = vectors.size();
  for (int first = 0; first < count; first += warp.warps) {
    const int end = std::min(count, first + warp.warps);
    Value n = t.add(t.valueLane, t.index(first));
    if (end - first < warp.warps)
      n = arith::MinUIOp::create(t.b, n, t.index(end - 1));
    Value vector = vectors[first];
    for (int other = first + 1; other < end; ++other)
      vector = arith::SelectOp::create(t.b, warp.equal(n, other),
                                       vectors[other], vector);
    if (decaysKeys())
      vector = t.scale(vector, loaded->window.keyDecay);
    Value column = t.mul(n, t.index(kKeys));
    t.ifTrue(t.inside(VectorAxis::Key), [&] {
      Value row = arith::DivUIOp::create(t.b, t.firstKey, t.index(kKeys));
      if (t.schedule.keysPerLane == 1) {
        column = t.add(column,
                       arith::RemUIOp::create(t.b, t.firstKey, t.index(kKeys)));
        return warp.storeRaw(columns, row, column, vector);
      }
      for (int key = 0; key < t.schedule.keysPerLane; key += kKeys)
        warp.storeRaw(columns, t.add(row, t.index(key / kKeys)), column,
                      warp.slice(vector, key, kKeys));
    });
  }
}

/// Codes that are not on their way wait for others to be used up. Those need no
/// records, so that the block need not have waited for these, either.
MmaHead::WideRead MmaHead::startWide(const View &columns, int count,
                                     bool first) {
  WideRead read;
  const Value zero = t.zeros(t.vectorOf(int64_t(2)));
  read.sums.assign(warp.valueTilesPerWarp, SmallVector<Value>(count, zero));
  read.columns = columns;
  if (staged.memref)
    return read;
  for (size_t i = 0; i < loaded->codes.size(); ++i)
    read.codes.push_back(first ? loaded->codes[i] : loadWideChunk(i));
  const int waiting = wideChunks() - int(read.codes.size());
  if (waiting > 0) {
    t.barrier(); // the columns are there
    multiplyWide(read, waiting);
    t.warpBarrier(); // or the assembler waits for records between the loads
  }
  return read;
}

/// The chunks up to `end`.
void MmaHead::multiplyWide(WideRead &read, int end) {
  const int tiles = warp.valueTilesPerWarp;
  const int64_t count = read.sums[0].size();
  Value ownKeys = arith::DivUIOp::create(t.b, warp.pair, t.index(kKeys)), x;
  const int first = read.next;
  for (; read.next < end; ++read.next) {
    const int i = read.next;
    if (i == first || i % tiles == 0)
      x = warp.raw(read.columns,
                   t.add(ownKeys, t.index(i / tiles * kHalfTile / kKeys)),
                   t.index(0), kKeys * count);
    Value chunk = staged.memref ? loadWideChunk(i) : read.codes[i];
    // (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
    Value even = pick(t, chunk, 0, 2), odd = pick(t, chunk, 1, 3);
    for (auto [c, sum] : llvm::enumerate(read.sums[i % tiles])) {
      auto type = cast<VectorType>(sum.getType());
      sum = t.fma(even, t.splat(t.element(x, kKeys * c), type), sum);
      sum = t.fma(odd, t.splat(t.element(x, kKeys * c + 1), type), sum);
    }
    if (!staged.memref && int(read.codes.size()) < wideChunks())
      read.codes.push_back(loadWideChunk(read.codes.size()));
  }
}

void MmaHead::finishWide(WideRead &read, const View &parts) {
  if (arrival)
    BulkWaitOp::create(t.b, arrival);
  multiplyWide(read, wideChunks());
  for (auto [i, tile] : llvm::enumerate(read.sums)) {
    Value first = t.mul(warp.ownValueTile(i), t.index(kTile * kLanesOfValue));
    for (auto [c, sum] : llvm::enumerate(tile))
      for (int half = 0; half < 2; ++half) // lane 4 g + t has part t of value g
        t.storeScalar(parts, t.index(c),
                      t.add(t.add(first, t.keyLane),
                            t.index(int64_t(half) * kHalfTile * kLanesOfValue)),
                      t.element(sum, half));
  }
}

/// Of the thread's values.
Value MmaHead::sumOfParts(const View &parts, int column) {
  const VectorType type = t.valueType();
  Value within = t.inside(VectorAxis::Value), first = t.firstValue;
  if (within) // others have no values
    first = arith::SelectOp::create(t.b, within, first, t.index(0));
  const int64_t values = type.getNumElements();
  Value own =
      warp.raw(parts, t.index(column), t.mul(first, t.index(kLanesOfValue)),
               values * kLanesOfValue);
  SmallVector<Value> sums;
  for (int64_t i = 0; i < values; ++i)
    sums.push_back(t.reduce(ReduceKind::Add,
                            warp.slice(own, i * kLanesOfValue, kLanesOfValue)));
  return vector::FromElementsOp::create(t.b, type, sums);
}
