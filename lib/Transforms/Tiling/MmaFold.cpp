//===- MmaFold.cpp - a window becomes a checkpoint, on tensor cores -------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaFold.h"

using namespace mlir;
using namespace decant;

namespace {

/// Codes that a lane goes through without a loop. In a loop, only the next ones
/// are on their way, each for a cache's latency. Chunks of planes are longer,
/// and a loop that carries them takes more registers than it saves.
constexpr int64_t kMostBytesUnrolled = 128, kMostOfPlanes = 192;
/// From shared memory, which is near, loops cost nothing and save registers.
constexpr int64_t kMostStagedUnrolled = 32;

} // namespace

MmaFold::MmaFold(MmaHead &head)
    : h(head), t(head.t), warp(head.warp), layout(head.layout),
      rank(layout.compensators), firstNew(head.readRows) {}

void MmaHead::fold(const TokenUpdate &update) { MmaFold(*this).run(update); }

void MmaFold::run(const TokenUpdate &update) {
  if (warp.isWide())
    return runWide(update);
  start(update);
  Value lane = t.keyLane;
  if (rank > 0) {
    fitTerms();
    lane = warp.forgetLane();
  }
  keyInverse = line(layout.paddedKey);
  valueInverse = line(layout.paddedValue);
  spreadRowScale();
  t.barrier();
  const bool together = encodesWithLastScale();
  for (const ScaleSpec &scale : layout.scales) {
    const bool last = &scale == &layout.scales.back();
    if (last && together)
      fitAndEncode();
    else
      fitScale(scale, last);
  }
  if (!together)
    encode();
  warp.useLane(lane);
  h.head.setFill(t, t.index(0));
}

//===--- start ------------------------------------------------------------===//

void MmaFold::start(const TokenUpdate &update) {
  Arena &arena = h.arena;
  t.barrier(); // a read may still use the workspace
  arena.reset(h.decayPlace);
  rowScale = line(layout.paddedKey);
  columnScale = line(layout.paddedValue);

  const WindowStart &window = h.loaded->window;
  Value keyDecay = t.scale(window.keyDecay, update.keyDecay);
  h.weighTerms(keyDecay, window.fill);
  if (layout.window == 1)
    storeUpdate(update);
  h.finishTerms(keyDecay, window.fill);
  if (h.decayPanel.memref)
    t.barrier(); // the lines lie where decays were

  Value rows = keyDecay;
  if (h.loaded->keyScale)
    rows = t.scale(rows, h.loaded->keyScale);
  if (!rows)
    rows = t.f32(1);
  if (!isa<VectorType>(rows.getType()))
    rows = t.splat(rows, t.keyType());
  storeRowScale(rows);
  Value columns = h.loaded->valueScale;
  if (!columns)
    columns = t.splat(t.f32(1), t.valueType());
  t.storeAlong(VectorAxis::Value, columnScale, t.index(0), columns);
  h.zeroRows(firstNew + rank, h.allRows);
  CopyWaitOp::create(t.b);
  t.barrier();
  if (h.slabs) {
    expandCodes();
    orderKeys();
  }
  if (layout.record.keyDecay == DecayShape::Scalar || h.scalesTerms())
    weighValues();
  const View partial = arena.take(ElementType::F32, warp.warps, 2);
  Value all = warp.blockReduce(
      ReduceKind::Magnitude,
      vector::FromElementsOp::create(
          t.b, t.vectorOf(int64_t(2)),
          ValueRange{largestOf(rowScale, layout.paddedKey),
                     largestOf(columnScale, layout.paddedValue)}),
      partial);
  // Kept in memory: registers would hold it through the fit.
  largest = arena.take(ElementType::F32, 1, 2);
  t.ifTrue(warp.equal(warp.thread, 0),
           [&] { warp.storeRaw(largest, t.index(0), t.index(0), all); });
}

MmaFold::PowerOfTwo MmaFold::power(VectorAxis axis) {
  return warp.powerOfTwo(t.loadScalar(largest, t.index(0), t.index(int(axis))));
}

/// Of the thread's elements.
Value MmaFold::largestOf(const View &line, int dim) {
  Value largest;
  warp.forElements(dim, [&](Value element, Value) {
    Value size =
        math::AbsFOp::create(t.b, t.loadScalar(line, t.index(0), element));
    largest = largest ? arith::MaxNumFOp::create(t.b, largest, size) : size;
  });
  return largest;
}

void MmaFold::weighValues() {
  constexpr int kTogether = 8;
  warp.forParts(firstNew, layout.paddedValue, kTogether,
                [&](Value row, Value column, Value inside) {
                  t.ifTrue(inside, [&] {
                    Value weight = t.loadScalar(h.weights, t.index(0), row);
                    Value values = t.load(h.termValues, row, column, kTogether);
                    values = t.scale(values, weight);
                    // Weights are 1 at most, but for scales.
                    warp.storeRaw(h.termValues, row, column,
                                  h.scalesTerms()
                                      ? t.narrow(values, h.termType)
                                      : warp.halves(values, h.termType));
                  });
                });
  t.barrier();
}

/// The step's own terms, in the rows of records: k u^T as (k1 + k2) (u1 +
/// u2)^T without its smallest part, k2 u2^T.
void MmaFold::storeUpdate(const TokenUpdate &update) {
  for (auto [n, key, value] : llvm::enumerate(update.keys, update.values)) {
    auto [keyHigh, keyRest] = warp.split(key, ElementType::F16, true);
    auto [valueHigh, valueRest] = warp.split(value, ElementType::F16, true);
    const std::pair<Value, Value> parts[] = {
        {keyHigh, valueHigh}, {keyRest, valueHigh}, {keyHigh, valueRest}};
    for (int i = 0; i < 3; ++i) {
      const auto &part = parts[i];
      Value row = t.index(3 * n + i);
      t.ifTrue(t.writes(VectorAxis::Key),
               [&] { warp.storeRaw(h.termKeys, row, t.firstKey, part.first); });
      t.ifTrue(t.writes(VectorAxis::Value), [&] {
        warp.storeRaw(h.termValues, row, t.firstValue, part.second);
      });
    }
  }
  h.zeroRows(3 * update.keys.size(), h.records);
}

//===--- tiles of codes ---------------------------------------------------===//

Value MmaFold::keyTile(Value chunk, int n) {
  return t.add(t.mul(chunk, t.index(warp.tilesPerChunk)), t.index(n));
}

int MmaFold::chunkRounds() const {
  return (warp.chunks + warp.warps - 1) / warp.warps;
}

Value MmaFold::ownChunk(Value round) {
  Value chunk = t.add(t.mul(round, t.index(warp.warps)), t.valueLane);
  if (warp.chunks % warp.warps == 0)
    return chunk;
  return arith::MinUIOp::create(t.b, chunk, t.index(warp.chunks - 1));
}

SmallVector<Value> MmaFold::overValueTiles(TileLoad load,
                                           ArrayRef<Value> initial,
                                           TileBody body, int64_t ahead) {
  return loadedAhead(
      warp.valueTiles, ahead, initial,
      [&](Value tile) { return SmallVector<Value>{load(tile)}; },
      [&](ArrayRef<Value> now, Value tile, ValueRange carried) {
        return body(now[0], tile, carried);
      });
}

SmallVector<Value> MmaFold::overOwnTiles(ArrayRef<Value> initial,
                                         ChunksBody body) {
  return loadedAhead(
      warp.chunks, /*ahead=*/64, initial,
      [&](Value c) {
        SmallVector<Value> chunks;
        for (int i = 0; i < warp.valueTilesPerWarp; ++i)
          chunks.push_back(
              warp.loadChunk(h.readableCodes(), warp.ownValueTile(i), c));
        return chunks;
      },
      body);
}

SmallVector<Value>
MmaFold::loadedAhead(int rounds, int64_t ahead, ArrayRef<Value> initial,
                     llvm::function_ref<SmallVector<Value>(Value)> load,
                     ChunksBody body) {
  SmallVector<SmallVector<Value>> all = {load(t.index(0))};
  int64_t bytes = 0;
  for (Value value : all[0]) {
    auto type = cast<VectorType>(value.getType());
    bytes += type.getNumElements() * type.getElementTypeBitWidth() / 8;
  }
  const bool staged = h.staged.memref != nullptr;
  const int64_t most = staged             ? kMostStagedUnrolled
                       : warp.hasPlanes() ? kMostOfPlanes
                                          : kMostBytesUnrolled;
  if (rounds * bytes <= most) {
    const int together = staged ? 1 : std::max<int>(1, ahead / bytes);
    SmallVector<Value> carried(initial);
    for (int i = 0; i < rounds; ++i) {
      if (i % together == 0)
        for (int j = std::max(i, 1); j < std::min(rounds, i + together); ++j)
          all.push_back(load(t.index(j)));
      carried = body(all[i], t.index(i), carried);
    }
    return carried;
  }
  const size_t own = all[0].size();
  SmallVector<Value> carried = all[0];
  carried.append(initial.begin(), initial.end());
  SmallVector<Value> results =
      t.loop(t.index(0), t.index(rounds), 1, carried,
             [&](Value i, ValueRange arguments) {
               SmallVector<Value> next = load(arith::MinUIOp::create(
                   t.b, t.add(i, t.index(1)), t.index(rounds - 1)));
               const SmallVector<Value> now(arguments.take_front(own));
               next.append(body(now, i, arguments.drop_front(own)));
               return next;
             });
  results.erase(results.begin(), results.begin() + own);
  return results;
}
