//===- MmaHead.cpp - one head on tensor cores -----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaHead.h"

using namespace mlir;
using namespace decant;

namespace {

/// Chunks of codes that a lane keeps in flight: 16 of 16 bytes are 64
/// registers.
constexpr int kMaxChunksInFlight = 16;
/// Records that are added together; panels have zero rows up to a multiple.
constexpr int kRecordsPerRound = 4;
constexpr int kHalvesPerCopy = 8; // 16 bytes

int roundUp(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

} // namespace

MmaHead::MmaHead(LaneTile &tile, const StoredHead &head, Value shared,
                 MmaUse use)
    : t(tile), warp(tile), head(head), layout(tile.layout), use(use),
      termType(layout.window > 1 ? layout.recordKeys.type : ElementType::F16),
      arena(tile, shared) {
  // A fold at every step has the step's own terms as high parts and rests.
  const int perToken = layout.record.writes;
  records = roundUp(layout.window > 1 ? layout.window * perToken : 3 * perToken,
                    kRecordsPerRound);
  const int compensators = layout.compensators;
  readRows = roundUp(records + compensators, kTile);
  allRows = use.folds ? roundUp(records + 2 * compensators, kTile) : readRows;
  codes = warp.codeBytes(head.pool, head.offset);

  // A fold turns the panels round, to [dim, terms].
  auto panel = [&](int dim) {
    const int pad = 8;
    const int64_t mark = arena.mark();
    if (use.folds)
      arena.take(termType, dim, allRows + pad);
    const int64_t turned = arena.mark();
    arena.reset(mark);
    View view = arena.take(termType, allRows, dim + pad);
    arena.reset(std::max(arena.mark(), turned));
    return view;
  };
  termKeys = panel(layout.paddedKey);
  termValues = panel(layout.paddedValue);
  if (layout.record.keyDecay == DecayShape::Vector) {
    totalDecay = arena.take(ElementType::F32, 1, layout.paddedKey);
    if (layout.window > 1)
      decayPanel = arena.take(layout.recordKeyDecay.type, layout.window,
                              layout.paddedKey);
  }
  weights = arena.take(ElementType::F32, 1, allRows);
  workspace = arena.mark();
}

//===--- loads and copies -------------------------------------------------===//

void MmaHead::load() {
  Loaded now;
  const StoredHead::RawStart raw = head.loadStart(t);
  const int chunks = warp.valueTilesPerWarp * warp.chunks;
  if (use.vectors > 0 && chunks <= kMaxChunksInFlight)
    for (int i = 0; i < warp.valueTilesPerWarp; ++i)
      for (int c = 0; c < warp.chunks; ++c) {
        Value tile = t.add(t.mul(t.valueLane, t.index(warp.valueTilesPerWarp)),
                           t.index(i));
        now.codes.push_back(warp.loadChunk(codes, tile, t.index(c)));
      }
  if (!layout.keyScale.empty())
    now.keyScale = t.loadAlong(VectorAxis::Key, head.keyScale, t.index(0));
  if (!layout.valueScale.empty())
    now.valueScale =
        t.loadAlong(VectorAxis::Value, head.valueScale, t.index(0));
  copyCompensators();
  // What depends on the fill waits for it.
  now.window = head.start(t, raw);
  copyRecords(t.mul(now.window.fill, t.index(layout.record.writes)));
  loaded = std::move(now);
}

void MmaHead::copyCompensators() {
  const int compensators = layout.compensators;
  if (compensators == 0)
    return;
  copyRows(termKeys, records, head.compKeys, compensators, {});
  copyRows(termValues, records, head.compValues, compensators, {});
}

void MmaHead::copyRecords(Value validRecords) {
  if (layout.window == 1)
    return;
  copyRows(termKeys, 0, head.recordKeys, records, validRecords);
  copyRows(termValues, 0, head.recordValues, records, validRecords);
  if (decayPanel.memref) {
    Value tokens = arith::DivUIOp::create(t.b, validRecords,
                                          t.index(layout.record.writes));
    copyRows(decayPanel, 0, head.recordKeyDecay, layout.window, tokens);
  }
}

void MmaHead::copyRows(const View &panel, int firstRow, const View &source,
                       int rows, Value valid) {
  const int64_t width = source.width;
  const int64_t perCopy = kHalvesPerCopy * 2 / elementBytes(source.type);
  const int64_t perRow = width / perCopy;
  warp.forElements(rows * perRow, [&](Value copy, Value inside) {
    Value row = arith::DivUIOp::create(t.b, copy, t.index(perRow));
    Value column = t.mul(arith::RemUIOp::create(t.b, copy, t.index(perRow)),
                         t.index(perCopy));
    Value whole = valid ? warp.less(row, valid)
                        : arith::ConstantIntOp::create(t.b, 1, 1).getResult();
    t.ifTrue(inside, [&] {
      CopyAsyncOp::create(
          t.b, source.memref, ValueRange{row, column}, panel.memref,
          ValueRange{t.add(row, t.index(firstRow)), column}, whole);
    });
  });
}

//===--- decays of the terms ----------------------------------------------===//

void MmaHead::finishTerms(Value keyDecay, Value fill) {
  // A read of window 1 is under no decay.
  const bool isVector = layout.record.keyDecay == DecayShape::Vector;
  if (!isVector || !keyDecay)
    return;
  t.storeAlong(VectorAxis::Key, totalDecay, t.index(0), keyDecay);
  CopyWaitOp::create(t.b);
  t.barrier();
  decayKeys(fill);
}

/// A thread takes one key through all terms, from the newest record back.
void MmaHead::decayKeys(Value fill) {
  const int writes = layout.record.writes;
  auto scaleTerm = [&](Value row, Value key, Value factor) {
    Value x = t.loadScalar(termKeys, row, key);
    t.storeScalar(termKeys, row, key, t.mul(x, factor));
  };
  warp.forElements(layout.paddedKey, [&](Value key, Value inside) {
    t.ifTrue(inside, [&] {
      Value total = t.loadScalar(totalDecay, t.index(0), key);
      for (int r = 0; r < layout.compensators; ++r)
        scaleTerm(t.index(records + r), key, total);
      if (layout.window == 1)
        return;
      t.loop(t.index(0), fill, 1, {t.f32(1)},
             [&](Value age, ValueRange carried) {
               Value newest = arith::SubIOp::create(t.b, fill, t.index(1));
               Value token = arith::SubIOp::create(t.b, newest, age);
               Value first = t.mul(token, t.index(writes));
               for (int n = 0; n < writes; ++n)
                 scaleTerm(t.add(first, t.index(n)), key, carried[0]);
               Value decay = t.loadScalar(decayPanel, token, key);
               return SmallVector<Value>{t.mul(carried[0], decay)};
             });
    });
  });
}

/// The decay since a lane's record: suffix products over the lanes of a warp,
/// or over the window where it is longer than a warp.
Value MmaHead::decaySince(Value token, Value fill) {
  auto counted = [&](Value later) -> Value {
    Value counts = warp.less(later, fill);
    Value safe = arith::SelectOp::create(t.b, counts, later, t.index(0));
    return arith::SelectOp::create(
        t.b, counts, t.loadScalar(head.recordKeyDecay, safe, t.index(0)),
        t.f32(1));
  };
  return t.loop(t.add(token, t.index(1)), fill, 1, {t.f32(1)},
                [&](Value later, ValueRange carried) {
                  return SmallVector<Value>{t.mul(carried[0], counted(later))};
                })[0];
}

/// For windows that a warp covers: lane l loads what follows token l.
Value MmaHead::decaySinceLane(Value fill) {
  Value next = t.add(t.keyLane, t.index(1));
  Value counts = warp.less(next, fill);
  Value safe = arith::SelectOp::create(t.b, counts, next, t.index(0));
  Value product = arith::SelectOp::create(
      t.b, counts, t.loadScalar(head.recordKeyDecay, safe, t.index(0)),
      t.f32(1));
  for (int64_t distance = 1; distance < layout.window; distance *= 2) {
    Value further =
        LaneShiftOp::create(t.b, t.b.getF32Type(), product, distance);
    Value exists = warp.less(t.keyLane, t.index(32 - distance));
    product =
        t.mul(product, arith::SelectOp::create(t.b, exists, further, t.f32(1)));
  }
  return product;
}

void MmaHead::weighTerms(Value keyDecay, Value fill) {
  const bool isScalar = layout.record.keyDecay == DecayShape::Scalar;
  const int writes = layout.record.writes;
  Value total = isScalar && keyDecay ? keyDecay : t.f32(1);
  Value zero = t.index(0);
  if (isScalar && layout.window > 1 && layout.window <= 32) {
    Value since = decaySinceLane(fill);
    t.ifTrue(warp.equal(t.valueLane, 0), [&] {
      t.ifTrue(warp.less(t.keyLane, t.index(layout.window)), [&] {
        Value first = t.mul(t.keyLane, t.index(writes));
        for (int n = 0; n < writes; ++n)
          t.storeScalar(weights, zero, t.add(first, t.index(n)), since);
      });
      for (int row = layout.window * writes; row < allRows; row += 32) {
        Value at = t.add(t.keyLane, t.index(row));
        t.ifTrue(warp.less(at, t.index(allRows)),
                 [&] { t.storeScalar(weights, zero, at, total); });
      }
    });
    return;
  }
  warp.forElements(allRows, [&](Value row, Value inside) {
    t.ifTrue(inside, [&] {
      Value weight = total;
      if (isScalar && keyDecay) {
        Value since = t.f32(1); // the step's own terms are under no decay
        if (layout.window > 1) {
          Value token = arith::DivUIOp::create(t.b, row, t.index(writes));
          since = decaySince(token, fill);
        }
        weight = arith::SelectOp::create(t.b, warp.less(row, t.index(records)),
                                         since, total);
      }
      t.storeScalar(weights, zero, row, weight);
    });
  });
}

//===--- the read ---------------------------------------------------------===//

void MmaHead::scoreTerms(const View &scores, const View &terms, int dimTiles,
                         const View &columns, int count, int rows) {
  const int tiles = rows / kTile;
  for (int round = 0; round * warp.warps < tiles; ++round) {
    // Warps without a tile of their own repeat the last one.
    Value tile = t.add(t.valueLane, t.index(round * warp.warps));
    if ((round + 1) * warp.warps > tiles)
      tile = arith::MinUIOp::create(t.b, tile, t.index(tiles - 1));
    Value row = t.mul(tile, t.index(kTile));
    Value sum = warp.zeroSum();
    for (int k = 0; k < dimTiles; ++k) {
      Value column = t.index(k * kTile);
      sum = warp.mma(warp.left(terms, row, column),
                     warp.rightOfFirst(columns, 2 * count, column), sum);
    }
    // A lane has high part and rest of one column, for two terms.
    Value which = arith::DivUIOp::create(t.b, warp.pair, t.index(2));
    t.ifTrue(warp.less(which, t.index(count)), [&] {
      for (int half = 0; half < 2; ++half) {
        Value term = t.add(t.add(row, warp.group), t.index(8 * half));
        Value score =
            t.add(t.element(sum, 2 * half), t.element(sum, 2 * half + 1));
        Value weight = t.loadScalar(weights, t.index(0), term);
        t.storeScalar(scores, term, which, t.mul(score, weight));
      }
    });
  }
}

SmallVector<Value> MmaHead::codesProduct(const View &columns, int count) {
  const int tiles = warp.valueTilesPerWarp;
  SmallVector<Value> sums(tiles, warp.zeroSum());
  auto addChunk = [&](Value chunk, Value firstKey, Value &sum) {
    for (int n = 0; n < warp.tilesPerChunk; ++n) {
      Value column = t.add(firstKey, t.index(n * kTile));
      sum = warp.mma(warp.tileOf(chunk, n),
                     warp.rightOfFirst(columns, 2 * count, column), sum);
    }
  };
  if (!loaded->codes.empty()) {
    for (int c = 0; c < warp.chunks; ++c)
      for (int i = 0; i < tiles; ++i)
        addChunk(loaded->codes[i * warp.chunks + c],
                 t.index(c * warp.tilesPerChunk * kTile), sums[i]);
    return sums;
  }
  return t.loop(t.index(0), t.index(warp.chunks), 1, sums,
                [&](Value c, ValueRange carried) {
                  SmallVector<Value> next(carried), chunks;
                  for (int i = 0; i < tiles; ++i) {
                    Value tile =
                        t.add(t.mul(t.valueLane, t.index(tiles)), t.index(i));
                    chunks.push_back(warp.loadChunk(codes, tile, c));
                  }
                  Value firstKey =
                      t.mul(c, t.index(warp.tilesPerChunk * kTile));
                  for (int i = 0; i < tiles; ++i)
                    addChunk(chunks[i], firstKey, next[i]);
                  return next;
                });
}

SmallVector<Value> MmaHead::sumTerms(const View &scores, int count) {
  const VectorType type = t.valueType();
  auto addTerm = [&](Value term, SmallVector<Value> &sums) {
    Value values = t.loadAlong(VectorAxis::Value, termValues, term);
    Value row = t.load(scores, term, t.index(0), scores.width);
    for (int c = 0; c < count; ++c)
      sums[c] = t.fma(t.splat(t.element(row, c), type), values, sums[c]);
  };
  SmallVector<Value> sums(count, t.zeros(type));
  for (int r = 0; r < layout.compensators; ++r)
    addTerm(t.index(records + r), sums);
  if (layout.window == 1)
    return sums;
  // Rows between the last record and the end of a round are zero.
  Value end = t.mul(loaded->window.fill, t.index(layout.record.writes));
  return t.loop(t.index(0), end, kRecordsPerRound, sums,
                [&](Value term, ValueRange carried) {
                  SmallVector<Value> next(carried);
                  for (int n = 0; n < kRecordsPerRound; ++n)
                    addTerm(t.add(term, t.index(n)), next);
                  return next;
                });
}

SmallVector<Value> MmaHead::readGroup(ArrayRef<Value> vectors) {
  const int count = vectors.size();
  const Loaded &now = *loaded;
  arena.reset(workspace);
  const int64_t width = layout.paddedKey + 8;
  const View folded = arena.take(warp.halfType(), 2 * count, width);
  const View plain = arena.take(termType, 2 * count, width);
  const View scores =
      arena.take(ElementType::F32, readRows, llvm::PowerOf2Ceil(count));
  const View sums = arena.take(ElementType::F32, count, layout.paddedValue);

  // Both operands of every product are brought to the range of f16.
  SmallVector<Value> operands, largest;
  for (Value vector : vectors)
    operands.push_back(
        t.scale(t.scale(vector, now.window.keyDecay), now.keyScale));
  operands.append(vectors.begin(), vectors.end());
  for (Value operand : operands)
    largest.push_back(
        t.reduce(ReduceKind::Max, math::AbsFOp::create(t.b, operand)));
  Value maxima =
      t.laneReduce(ReduceKind::Max,
                   vector::FromElementsOp::create(
                       t.b, t.vectorOf(int64_t(largest.size())), largest),
                   VectorAxis::Key);
  SmallVector<Value> factors;
  Value within = t.inside(VectorAxis::Key);
  for (int n = 0; n < 2 * count; ++n) {
    Value operand = operands[n];
    const bool isFolded = n < count;
    const WarpTile::PowerOfTwo power = warp.powerOfTwo(t.element(maxima, n));
    factors.push_back(power.factor);
    // All warps hold the vector; each writes a share of them.
    Value mine = warp.equal(t.valueLane, n % warp.warps);
    if (within)
      mine = arith::AndIOp::create(t.b, mine, within);
    t.ifTrue(mine, [&] {
      const View &panel = isFolded ? folded : plain;
      auto [high, rest] = warp.split(t.scale(operand, power.inverse),
                                     isFolded ? warp.halfType() : termType);
      Value row = t.index(2 * (isFolded ? n : n - count));
      warp.storeRaw(panel, row, t.firstKey, high);
      warp.storeRaw(panel, t.add(row, t.index(1)), t.firstKey, rest);
    });
  }
  CopyWaitOp::create(t.b);
  t.barrier();
  if (readRows > 0 && (layout.window > 1 || layout.compensators > 0))
    scoreTerms(scores, termKeys, warp.keyTiles, plain, count, readRows);
  SmallVector<Value> products = codesProduct(folded, count);
  Value which = arith::DivUIOp::create(t.b, warp.pair, t.index(2));
  t.ifTrue(warp.less(which, t.index(count)), [&] {
    for (auto [i, product] : llvm::enumerate(products)) {
      Value tile = t.add(t.mul(t.valueLane, t.index(warp.valueTilesPerWarp)),
                         t.index(i));
      for (int half = 0; half < 2; ++half) {
        Value value = t.add(t.add(t.mul(tile, t.index(kTile)), warp.group),
                            t.index(8 * half));
        t.storeScalar(sums, which, value,
                      t.add(t.element(product, 2 * half),
                            t.element(product, 2 * half + 1)));
      }
    }
  });
  t.barrier();

  SmallVector<Value> results = sumTerms(scores, count);
  for (int c = 0; c < count; ++c) {
    Value dense = t.loadAlong(VectorAxis::Value, sums, t.index(c));
    dense = t.scale(t.scale(dense, factors[c]), now.valueScale);
    results[c] = t.add(t.scale(results[c], factors[count + c]), dense);
  }
  return results;
}

SmallVector<Value> MmaHead::read(ArrayRef<Value> vectors) {
  weighTerms(loaded->window.keyDecay, loaded->window.fill);
  finishTerms(loaded->window.keyDecay, loaded->window.fill);
  // A vector that is read with twice is one column.
  SmallVector<Value> distinct;
  for (Value vector : vectors)
    if (!llvm::is_contained(distinct, vector))
      distinct.push_back(vector);
  SmallVector<Value> columns;
  for (size_t first = 0; first < distinct.size(); first += kMaxColumns) {
    if (first > 0)
      t.barrier(); // the group before has read its sums and scores
    const size_t count = std::min<size_t>(kMaxColumns, distinct.size() - first);
    columns.append(readGroup(ArrayRef(distinct).slice(first, count)));
  }
  SmallVector<Value> results;
  for (Value vector : vectors)
    results.push_back(columns[llvm::find(distinct, vector) - distinct.begin()]);
  return results;
}
