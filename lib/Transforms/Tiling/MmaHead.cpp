//===- MmaHead.cpp - one head on tensor cores -----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaHead.h"
#include "decant/Core/Numeric.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace decant;

namespace {

/// Chunks of codes that a lane keeps in flight: 16 of 16 bytes are 64
/// registers.
constexpr int kMaxChunksInFlight = 16;
/// Records of a panel, up to a multiple; the rest of the rows are zero.
constexpr int kRecordsPerRound = 4;
constexpr int kHalvesPerCopy = 8, kBytesPerCopy = 16; // 16 bytes
/// Tiles of elements: 128.
constexpr int kLeastShared = 8;
constexpr int kWarp = 32;
/// Each share loads all decays.
constexpr int kMostDecayShares = 2;
constexpr int kMostTokensTogether = 16;

int roundUp(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

} // namespace

double decant::powerAbove(ElementType type) {
  return std::exp2(std::ceil(std::log2(maxFinite(type))));
}

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
  readRows = records + compensators;
  // Products over terms take 8 or 16 of them; a read of window 1 comes before
  // the step's own terms are there.
  firstRead = layout.window == 1 ? records : 0;
  readEnd = firstRead + roundUp(readRows - firstRead, 8);
  allRows = readEnd;
  if (use.folds)
    allRows = std::max(allRows, roundUp(readRows + compensators, 8));
  codes = warp.codeBytes(head.pool, head.offset);
  if (!layout.rowBits.empty())
    slabs.emplace(tile);

  const int pad = 8;
  termKeys = arena.take(termType, allRows, layout.paddedKey + pad);
  unusedTerms = int64_t(roundUp(readRows, 8)) * termKeys.width * 2;
  termValues = arena.take(termType, allRows, layout.paddedValue + pad);
  if (decaysKeys())
    totalDecay = arena.take(ElementType::F32, 1, layout.paddedKey);
  weights = arena.take(ElementType::F32, 1, roundUp(allRows, kTile));
  stagedPlace = arena.mark();
  if (t.schedule.fetch != CodeFetch::Registers)
    staged = arena.take(codes.type, 1, codes.width);
  decayPlace = arena.mark();
  if (decaysKeys() && layout.window > 1)
    decayPanel =
        arena.take(layout.recordKeyDecay.type, layout.window, layout.paddedKey);
  workspace = arena.mark();
}

//===--- loads and copies -------------------------------------------------===//

void MmaHead::load() {
  Loaded now;
  const StoredHead::RawStart raw = head.loadStart(t);
  // Bulk copies do not see what the block itself has just written.
  if (use.vectors > 0 && t.schedule.fetch == CodeFetch::Bulk)
    stageCodesInBulk();
  else if (staged.memref)
    stageCodes();
  else
    loadCodes(now);
  loadScales(now);
  copyCompensators(now);
  zeroRows(readRows, readEnd);
  // What depends on the fill waits for it.
  now.window = head.start(t, raw);
  copyRecords(t.mul(now.window.fill, t.index(layout.record.writes)));
  spreadCompensators(now);
  loaded = std::move(now);
}

void MmaHead::loadState() {
  if (staged.memref)
    stageCodes();
  Loaded now;
  loadScales(now);
  if (!decaysKeys())
    copyCompensators(now);
  zeroRows(readRows, readEnd);
  spreadCompensators(now);
  loaded = std::move(now);
}

void MmaHead::loadToken(const StoredHead &after) {
  const StoredHead::RawStart raw = after.loadStart(t);
  if (!staged.memref)
    loadCodes(*loaded);
  // A token multiplies its total decay into their keys.
  if (decaysKeys())
    copyCompensators(*loaded);
  loaded->window = after.start(t, raw);
  copyRecords(t.mul(loaded->window.fill, t.index(layout.record.writes)));
  spreadCompensators(*loaded);
}

/// To registers, where they are few enough.
void MmaHead::loadCodes(Loaded &now) {
  const int chunks = warp.valueTilesPerWarp * warp.chunks;
  now.codes.clear();
  if (use.vectors == 0 || chunks > kMaxChunksInFlight)
    return;
  for (int c = 0; c < warp.chunks; ++c)
    for (int i = 0; i < warp.valueTilesPerWarp; ++i) {
      Value tile = warp.ownValueTile(i);
      now.codes.push_back(warp.loadChunk(codes, tile, t.index(c)));
    }
}

void MmaHead::loadScales(Loaded &now) {
  if (!layout.keyScale.empty())
    now.keyScale = t.loadAlong(VectorAxis::Key, head.keyScale, t.index(0));
  if (!layout.valueScale.empty())
    now.valueScale =
        t.loadAlong(VectorAxis::Value, head.valueScale, t.index(0));
}

/// A lane copies the chunks that it will use, but for planes, whose chunks may
/// be shorter than a copy.
void MmaHead::stageCodes() {
  const int64_t perCopy = kHalvesPerCopy * 2 / elementBytes(codes.type);
  if (warp.hasPlanes())
    return copyRows(staged, 0, codes, 1, {});
  if (slabs) { // of the head's own length
    Value bytes = slabs->bytes();
    return warp.forParts(
        1, codes.width, perCopy, [&](Value row, Value column, Value) {
          const Value place[] = {row, column};
          CopyAsyncOp::create(t.b, codes.memref, place, staged.memref, place,
                              warp.less(column, bytes));
        });
  }
  const int64_t perChunk = warp.chunkWidth();
  Value whole = arith::ConstantIntOp::create(t.b, 1, 1);
  for (int i = 0; i < warp.valueTilesPerWarp; ++i)
    for (int c = 0; c < warp.chunks; ++c) {
      Value tile = warp.ownValueTile(i);
      Value at = warp.chunkPlace(tile, t.index(c));
      for (int64_t part = 0; part < perChunk; part += perCopy) {
        const Value place[] = {t.index(0), t.add(at, t.index(part))};
        CopyAsyncOp::create(t.b, codes.memref, place, staged.memref, place,
                            whole);
      }
    }
}

/// By one lane. Rows of panels are too short for that.
void MmaHead::stageCodesInBulk() {
  startArrival();
  const Value zero = t.index(0);
  const Value bytes =
      slabs ? slabs->bytes() : t.index(codes.width * elementBytes(codes.type));
  t.ifTrue(warp.equal(warp.thread, 0), [&] {
    BulkExpectOp::create(t.b, bytes, arrival);
    BulkCopyOp::create(t.b, bytes, codes.memref, ValueRange{zero, zero},
                       staged.memref, ValueRange{zero, zero}, arrival);
  });
}

/// As the kernel starts, before there are loads that its fence might wait for.
void MmaHead::startArrival() {
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointAfter(t.firstValue.getDefiningOp());
  arrival = ScratchOp::create(t.b, MemRefType::get({1, 4}, t.b.getF32Type(),
                                                   MemRefLayoutAttrInterface(),
                                                   t.scratchMemory()));
  Value lane = t.add(t.keyLane, t.valueLane);
  t.ifTrue(warp.equal(lane, 0), [&] { BulkStartOp::create(t.b, arrival); });
  t.warpBarrier();
}

void MmaHead::endArrival() {
  if (!arrival)
    return;
  t.ifTrue(warp.equal(warp.thread, 0),
           [&] { BulkEndOp::create(t.b, arrival); });
  t.barrier();
}

void MmaHead::copyCompensators(Loaded &now) {
  const int compensators = layout.compensators;
  if (compensators == 0)
    return;
  if (scalesTerms()) {
    forCompensatorParts([&](VectorAxis axis, Value row, Value column, Value) {
      const View &from =
          axis == VectorAxis::Key ? head.compKeys : head.compValues;
      now.compensators.push_back(warp.raw(from, row, column, kBytesPerCopy));
    });
    Value number =
        arith::MinUIOp::create(t.b, warp.thread, t.index(compensators - 1));
    now.compScale = t.loadScalar(head.compScale, t.index(0), number);
    return;
  }
  copyRows(termKeys, records, head.compKeys, compensators, {});
  copyRows(termValues, records, head.compValues, compensators, {});
}

void MmaHead::forCompensatorParts(CompensatorPart body) {
  for (VectorAxis axis : {VectorAxis::Key, VectorAxis::Value}) {
    const int64_t width =
        axis == VectorAxis::Key ? layout.paddedKey : layout.paddedValue;
    warp.forParts(layout.compensators, width, kBytesPerCopy,
                  [&](Value row, Value column, Value inside) {
                    body(axis, row, column, inside);
                  });
  }
}

/// Neither copies nor products convert bytes, so they go through registers.
void MmaHead::spreadCompensators(Loaded &now) {
  if (now.compensators.empty())
    return;
  const ElementType type = layout.compKeys.type;
  size_t part = 0;
  forCompensatorParts([&](VectorAxis axis, Value row, Value column,
                          Value inside) {
    const bool keys = axis == VectorAxis::Key;
    Value x = t.widen(now.compensators[part++], type);
    if (keys)
      x = t.scale(x, t.f32(1 / powerAbove(type)));
    t.ifTrue(inside, [&] {
      warp.storeRaw(keys ? termKeys : termValues, t.add(row, t.index(records)),
                    column, warp.halves(x, termType));
    });
  });
  now.compensators.clear();
}

/// Rows first .. end - 1 of both panels.
void MmaHead::zeroRows(int first, int end) {
  for (const View *panel : {&termKeys, &termValues}) {
    const int64_t width =
        panel == &termKeys ? layout.paddedKey : layout.paddedValue;
    warp.forParts(end - first, width, kHalvesPerCopy,
                  [&](Value row, Value column, Value inside) {
                    t.ifTrue(inside, [&] {
                      t.store(*panel, t.add(row, t.index(first)), column,
                              t.zeros(t.vectorOf(int64_t(kHalvesPerCopy))));
                    });
                  });
  }
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
  const int64_t perCopy = kHalvesPerCopy * 2 / elementBytes(source.type);
  warp.forParts(
      rows, source.width, perCopy, [&](Value row, Value column, Value inside) {
        Value whole = valid
                          ? warp.less(row, valid)
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

/// A thread takes two keys through its share of the terms. The newest records
/// come first, and none waits for another's loads: the decays are multiplied up
/// as if the window were full, by 1 where it is not.
void MmaHead::decayKeys(Value fill) {
  constexpr int kKeys = 2;
  const int pairs = layout.paddedKey / kKeys;
  // As many shares as there are threads for them.
  const int shares = std::clamp(warp.threads / pairs, 1, kMostDecayShares);
  warp.forElements(shares * pairs, [&](Value place, Value inside) {
    Value share = arith::DivUIOp::create(t.b, place, t.index(pairs));
    Value key = t.mul(arith::RemUIOp::create(t.b, place, t.index(pairs)),
                      t.index(kKeys));
    for (int s = 0; s < shares; ++s) {
      Value mine = shares > 1 ? warp.equal(share, s) : inside;
      if (shares > 1 && inside)
        mine = arith::AndIOp::create(t.b, mine, inside);
      t.ifTrue(mine, [&] { decayShare(key, s, shares, fill); });
    }
  });
}

/// Every `shares`-th of the terms.
void MmaHead::decayShare(Value key, int share, int shares, Value fill) {
  constexpr int kKeys = 2;
  const int writes = layout.record.writes;
  auto scaleTerm = [&](Value row, Value factor) {
    Value x = t.load(termKeys, row, key, kKeys);
    warp.storeRaw(termKeys, row, key, warp.halves(t.mul(x, factor), termType));
  };
  Value total = t.load(totalDecay, t.index(0), key, kKeys);
  for (int r = share; r < layout.compensators; r += shares)
    scaleTerm(t.index(records + r), total);
  if (layout.window == 1)
    return;
  const Value one = t.splat(t.f32(1), t.vectorOf(int64_t(kKeys)));
  const int together = layout.window <= kMostTokensTogether
                           ? layout.window
                           : std::gcd(layout.window, kMostTokensTogether);
  auto scaleTokens = [&](Value first, Value since) {
    for (int i = together - 1; i >= 0; --i) {
      Value token = t.add(first, t.index(i));
      if (i % shares == share)
        for (int n = 0; n < writes; ++n)
          scaleTerm(t.add(t.mul(token, t.index(writes)), t.index(n)), since);
      Value decay = t.load(decayPanel, token, key, kKeys);
      since = t.mul(since, arith::SelectOp::create(t.b, warp.less(token, fill),
                                                   decay, one));
    }
    return since;
  };
  if (together == layout.window) {
    scaleTokens(t.index(0), one);
    return;
  }
  Value groups = arith::CeilDivUIOp::create(t.b, fill, t.index(together));
  t.loop(t.index(0), groups, 1, {one}, [&](Value i, ValueRange since) {
    Value behind = arith::SubIOp::create(t.b, groups, t.add(i, t.index(1)));
    return SmallVector<Value>{
        scaleTokens(t.mul(behind, t.index(together)), since[0])};
  });
}

/// The decays since the records of some tokens that follow one another, as many
/// as it takes for a warp to have the window: suffix products, in the lane and
/// over the lanes. Decays that do not count are loaded too, so that no load
/// waits for the fill.
SmallVector<Value> MmaHead::decaysSince(Value fill) {
  const int each = llvm::divideCeil(layout.window, kWarp);
  Value first = t.mul(t.keyLane, t.index(each));
  SmallVector<Value> since(each);
  for (int i = each - 1; i >= 0; --i) {
    Value later = t.add(first, t.index(i + 1));
    Value counts = warp.less(later, fill);
    Value place =
        arith::MinUIOp::create(t.b, later, t.index(layout.window - 1));
    Value decay = arith::SelectOp::create(
        t.b, counts, t.loadScalar(head.recordKeyDecay, place, t.index(0)),
        t.f32(1));
    since[i] = i + 1 < each ? t.mul(decay, since[i + 1]) : decay;
  }
  auto further = [&](Value product, int64_t distance) -> Value {
    Value shifted =
        LaneShiftOp::create(t.b, t.b.getF32Type(), product, distance);
    Value exists = warp.less(t.keyLane, t.index(kWarp - distance));
    return arith::SelectOp::create(t.b, exists, shifted, t.f32(1));
  };
  for (int64_t distance = 1; distance * each < layout.window; distance *= 2)
    since[0] = t.mul(since[0], further(since[0], distance));
  if (each > 1) {
    Value rest = further(since[0], 1);
    for (int i = 1; i < each; ++i)
      since[i] = t.mul(since[i], rest);
  }
  return since;
}

void MmaHead::weighTerms(Value keyDecay, Value fill) {
  const bool isScalar = layout.record.keyDecay == DecayShape::Scalar;
  const int writes = layout.record.writes;
  Value total = isScalar && keyDecay ? keyDecay : t.f32(1);
  Value ofCompensators = total;
  if (scalesTerms())
    ofCompensators = t.mul(t.mul(total, loaded->compScale),
                           t.f32(powerAbove(layout.compKeys.type)));
  // The thread that has a compensator's number has its scale.
  auto weigh = [&](int first, int end, Value weight, Value thread,
                   int threads) {
    for (int row = first; row < end; row += threads) {
      Value at = t.add(thread, t.index(row));
      t.ifTrue(warp.less(at, t.index(end)),
               [&] { t.storeScalar(weights, t.index(0), at, weight); });
    }
  };
  auto weighRest = [&](int first, Value thread, int threads) {
    if (!scalesTerms())
      return weigh(first, allRows, total, thread, threads);
    weigh(first, records, total, thread, threads);
    weigh(records, readRows, ofCompensators, thread, threads);
    weigh(readRows, allRows, total, thread, threads);
  };
  if (isScalar && layout.window > 1) {
    const SmallVector<Value> since = decaysSince(fill);
    t.ifTrue(warp.less(warp.thread, t.index(kWarp)), [&] {
      Value first = t.mul(t.keyLane, t.index(since.size()));
      for (size_t i = 0; i < since.size(); ++i) {
        Value token = t.add(first, t.index(i));
        t.ifTrue(warp.less(token, t.index(layout.window)), [&] {
          Value row = t.mul(token, t.index(writes));
          for (int n = 0; n < writes; ++n)
            t.storeScalar(weights, t.index(0), t.add(row, t.index(n)),
                          since[i]);
        });
      }
      weighRest(layout.window * writes, t.keyLane, kWarp);
    });
    return;
  }
  // Terms of the step itself are under no decay.
  if (isScalar && keyDecay) {
    weigh(0, records, t.f32(1), warp.thread, warp.threads);
    weighRest(records, warp.thread, warp.threads);
  } else {
    weighRest(0, warp.thread, warp.threads);
  }
}

//===--- the read ---------------------------------------------------------===//

/// Whether each warp takes a share of the elements that a score sums over. For
/// few elements, bringing the sums together costs more than it saves.
bool MmaHead::sharesScores(int dimTiles) const {
  return warp.warps > 1 && dimTiles >= kLeastShared &&
         dimTiles % warp.warps == 0;
}

/// The warp's share of the products of terms and columns: per eight terms, what
/// a lane has of one of them, one column (Parts: high part and rest together)
/// or two.
SmallVector<Value> MmaHead::termProducts(const View &terms, int dimTiles,
                                         const View &columns, int count,
                                         Columns kind, const Scores &rows) {
  const bool parts = kind == Columns::Parts;
  const int rowTiles = llvm::divideCeil(rows.endRow - rows.firstRow, kTile);
  const int share = sharesScores(dimTiles) ? dimTiles / warp.warps : dimTiles;
  Value first = t.index(0);
  if (share < dimTiles)
    first = t.mul(t.valueLane, t.index(share * kTile));
  SmallVector<Value> sums(rowTiles, warp.zeroSum());
  for (int k = 0; k < share; k += 2) {
    Value at = t.add(first, t.index(k * kTile));
    const SmallVector<Value> right = warp.rightOfFirst(
        columns, parts ? 2 * count : count, at, std::min(2, share - k));
    for (auto [n, operand] : llvm::enumerate(right))
      for (int i = 0; i < rowTiles; ++i) {
        Value row = t.index(rows.firstRow + i * kTile);
        Value element = t.add(at, t.index(int64_t(n) * kTile));
        sums[i] =
            warp.mma(warp.left(terms, allRows, row, element), operand, sums[i]);
      }
  }
  SmallVector<Value> products;
  for (auto [i, sum] : llvm::enumerate(sums))
    for (int half = 0; half < 2; ++half) {
      if (rows.firstRow + int(i) * kTile + 8 * half >= rows.endRow)
        break;
      Value product = warp.slice(sum, 2 * half, 2);
      if (parts)
        product = t.add(t.element(product, 0), t.element(product, 1));
      products.push_back(product);
    }
  return products;
}

/// Sums of what the warps have, in the order of the warps. `columns` of the
/// products are of use; lanes of the others get the last one's.
SmallVector<Value> MmaHead::sumOverWarps(ArrayRef<Value> products, int columns,
                                         bool parts,
                                         llvm::function_ref<void()> meanwhile) {
  const int perTerm = 8 * columns;
  // Some where a fit's terms will be.
  const int64_t count = products.size();
  const int64_t bytes = int64_t(warp.warps) * perTerm * 4;
  const int64_t lent = parts ? 0 : std::min(count, unusedTermBytes() / bytes);
  View partial[2]; // of the first `lent` products, of the rest
  if (lent > 0) {
    const int64_t mark = arena.mark();
    arena.reset(unusedTerms);
    partial[0] = arena.take(ElementType::F32, warp.warps, lent * perTerm);
    arena.reset(mark);
  }
  if (lent < count)
    partial[1] =
        arena.take(ElementType::F32, warp.warps, (count - lent) * perTerm);
  auto placeOf = [&](int64_t i) -> std::pair<const View &, int64_t> {
    return {partial[i >= lent], (i >= lent ? i - lent : i) * perTerm};
  };
  const int64_t width = parts ? 1 : 2;
  Value column =
      parts ? arith::DivUIOp::create(t.b, warp.pair, t.index(2)) : warp.pair;
  Value own =
      columns < 4 * width ? warp.less(column, t.index(columns)) : Value();
  Value at = t.add(t.mul(warp.group, t.index(columns)), column);
  t.ifTrue(own, [&] {
    for (auto [i, product] : llvm::enumerate(products)) {
      auto [view, first] = placeOf(i);
      Value place = t.add(at, t.index(first));
      if (parts)
        t.storeScalar(view, t.valueLane, place, product);
      else
        warp.storeRaw(view, t.valueLane, place, product);
    }
  });
  meanwhile();
  t.barrier();
  if (own)
    column = arith::MinUIOp::create(t.b, column, t.index(columns - width));
  at = t.add(t.mul(warp.group, t.index(columns)), column);
  SmallVector<Value> sums;
  for (int64_t i = 0; i < count; ++i) {
    auto [view, first] = placeOf(i);
    Value place = t.add(at, t.index(first)), sum;
    for (int w = 0; w < warp.warps; ++w) {
      Value part = parts ? t.loadScalar(view, t.index(w), place)
                         : warp.raw(view, t.index(w), place, width);
      sum = sum ? t.add(sum, part) : part;
    }
    sums.push_back(sum);
  }
  return sums;
}

/// Of keys that a fit stores in the end and that no product before takes.
int64_t MmaHead::unusedTermBytes() const {
  const int rows = readRows + layout.compensators - roundUp(readRows, 8);
  return use.folds && rows > 0 ? rows * termKeys.width * 2 : 0;
}

MmaHead::Scores MmaHead::scoreTerms(const View &terms, int dimTiles,
                                    const View &columns, int count,
                                    Columns kind,
                                    llvm::function_ref<void()> meanwhile) {
  Scores result;
  result.firstRow = kind == Columns::Parts ? firstRead : 0;
  result.endRow = kind == Columns::Parts ? readEnd : roundUp(readRows, 8);
  const bool parts = kind == Columns::Parts;
  SmallVector<Value> scores =
      termProducts(terms, dimTiles, columns, count, kind, result);
  if (sharesScores(dimTiles)) {
    scores = sumOverWarps(scores, parts ? count : roundUp(count, 2), parts,
                          meanwhile);
  } else {
    meanwhile();
  }
  Value largest;
  for (auto [i, score] : llvm::enumerate(scores)) {
    if (parts) {
      Value term = t.add(warp.group, t.index(result.firstRow + 8 * int(i)));
      score = t.mul(score, t.loadScalar(weights, t.index(0), term));
    }
    Value size = math::AbsFOp::create(t.b, score);
    largest = largest ? arith::MaxNumFOp::create(t.b, largest, size) : size;
  }
  largest = warp.reduceLanes(ReduceKind::Max, largest, 4, 32);
  Value inverse;
  if (parts) {
    const WarpTile::PowerOfTwo power = warp.powerOfTwo(largest);
    result.factor = power.factor;
    inverse = power.inverse;
  } else {
    SmallVector<Value> factors, inverses;
    for (int j = 0; j < 2; ++j) {
      const WarpTile::PowerOfTwo power = warp.powerOfTwo(t.element(largest, j));
      factors.push_back(power.factor);
      inverses.push_back(power.inverse);
    }
    const VectorType two = t.vectorOf(int64_t(2));
    result.factor = vector::FromElementsOp::create(t.b, two, factors);
    inverse = vector::FromElementsOp::create(t.b, two, inverses);
  }
  auto type = VectorType::get({2}, toType(t.b.getContext(), termType));
  for (auto [i, score] : llvm::enumerate(scores)) {
    Value scaled = t.mul(score, inverse);
    if (parts) {
      auto [high, rest] = warp.split(scaled, termType);
      scaled =
          vector::FromElementsOp::create(t.b, type, ValueRange{high, rest});
    } else {
      scaled = warp.halves(scaled, termType);
    }
    Value turned = TransposeOp::create(t.b, type, scaled);
    if (i % 2 == 0)
      result.operands.push_back(turned);
    else
      result.operands.back() = warp.join(result.operands.back(), turned);
  }
  return result;
}

Value MmaHead::sumTerms(const Scores &scores, const View &terms,
                        Value firstElement) {
  Value sum = warp.zeroSum();
  for (auto [i, operand] : llvm::enumerate(scores.operands)) {
    const int row = scores.firstRow + i * kTile;
    Value left =
        warp.leftTransposed(terms, std::min(kTile, scores.endRow - row),
                            t.index(row), firstElement);
    sum = warp.mma(left, operand, sum);
  }
  return sum;
}

SmallVector<Value> MmaHead::loadChunks(Value c) {
  SmallVector<Value> tiles, chunks;
  for (int i = 0; i < warp.valueTilesPerWarp; ++i)
    tiles.push_back(warp.ownValueTile(i));
  if (!slabs) {
    for (Value tile : tiles)
      chunks.push_back(warp.loadChunk(readableCodes(), tile, c));
    return chunks;
  }
  Value first = t.mul(c, t.index(warp.tilesPerChunk));
  for (int n = 0; n < warp.tilesPerChunk; ++n) {
    Value slab = slabs->slab(t.add(first, t.index(n)));
    const SmallVector<Value> parts = slabs->load(staged, slab, tiles);
    if (n == 0)
      chunks = parts;
    else
      for (auto [chunk, part] : llvm::zip(chunks, parts))
        chunk = warp.join(chunk, part);
  }
  return chunks;
}

SmallVector<Value> MmaHead::codesProduct(const View &columns, int count) {
  const int tiles = warp.valueTilesPerWarp;
  if (arrival)
    BulkWaitOp::create(t.b, arrival);
  auto addChunks = [&](ArrayRef<Value> chunks, Value c,
                       SmallVector<Value> &sums) {
    const SmallVector<Value> right = warp.rightOfFirst(
        columns, 2 * count, t.mul(c, t.index(warp.tilesPerChunk * kTile)),
        warp.tilesPerChunk);
    for (auto [chunk, sum] : llvm::zip(chunks, sums))
      for (int n = 0; n < warp.tilesPerChunk; ++n)
        sum = warp.mma(warp.tileOf(chunk, n, /*biased=*/false), right[n], sum);
  };
  auto load = [&](Value c) { return loadChunks(c); };
  SmallVector<Value> sums(tiles, warp.zeroSum());
  if (tiles * warp.chunks > kMaxChunksInFlight)
    sums = t.loop(t.index(0), t.index(warp.chunks), 1, sums,
                  [&](Value c, ValueRange carried) {
                    SmallVector<Value> next(carried);
                    addChunks(load(c), c, next);
                    return next;
                  });
  else
    for (int c = 0; c < warp.chunks; ++c) {
      if (loaded->codes.empty())
        addChunks(load(t.index(c)), t.index(c), sums);
      else
        addChunks(ArrayRef(loaded->codes).slice(c * tiles, tiles), t.index(c),
                  sums);
    }
  return sums;
}

SmallVector<Value> MmaHead::readGroup(ArrayRef<Value> vectors, bool first) {
  const int count = vectors.size();
  const Loaded &now = *loaded;
  arena.reset(workspace);
  const int64_t width = layout.paddedKey + 8;
  const View folded = arena.take(warp.halfType(), 2 * count, width);
  const View plain = arena.take(termType, 2 * count, width);
  // Where decays were, which by then are in the keys.
  const int64_t behind = arena.mark();
  arena.reset(decayPlace);
  View sums = arena.take(ElementType::F32, count, layout.paddedValue);
  View termSums = arena.take(ElementType::F32, count, layout.paddedValue);
  if (arena.mark() > workspace) {
    arena.reset(behind);
    sums = arena.take(ElementType::F32, count, layout.paddedValue);
    termSums = arena.take(ElementType::F32, count, layout.paddedValue);
  } else {
    arena.reset(behind);
  }

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
      t.laneReduce(ReduceKind::Magnitude,
                   vector::FromElementsOp::create(
                       t.b, t.vectorOf(int64_t(largest.size())), largest),
                   VectorAxis::Key);
  SmallVector<Value> factors, places;
  if (slabs)
    places = slabs->positions(t.firstKey, t.schedule.keysPerLane);
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
      auto store = [&](Value at, Value part) {
        if (!isFolded || !slabs)
          return warp.storeRaw(panel, at, t.firstKey, part);
        for (auto [i, place] : llvm::enumerate(places))
          memref::StoreOp::create(t.b, t.element(part, i), panel.memref,
                                  ValueRange{at, place});
      };
      store(row, high);
      store(t.add(row, t.index(1)), rest);
    });
  }
  if (first)
    finishTerms(now.window.keyDecay, now.window.fill);
  CopyWaitOp::create(t.b);
  t.barrier();
  Scores scores;
  SmallVector<Value> products;
  auto readCodes = [&] { products = codesProduct(folded, count); };
  if (hasTerms())
    scores = scoreTerms(termKeys, warp.keyTiles, plain, count, Columns::Parts,
                        readCodes);
  else
    readCodes();
  for (auto [i, product] : llvm::enumerate(products)) {
    Value first = warp.ownValueTile(i);
    first = t.mul(first, t.index(kTile));
    warp.storeColumns(sums, 0, count, first, product);
    if (hasTerms())
      warp.storeColumns(termSums, 0, count, first,
                        t.mul(sumTerms(scores, termValues, first),
                              t.splat(scores.factor, t.vectorOf(int64_t(4)))));
  }
  t.warpBarrier(); // a warp reads the values that it wrote

  SmallVector<Value> results;
  for (int c = 0; c < count; ++c) {
    Value dense = t.loadAlong(VectorAxis::Value, sums, t.index(c));
    dense = t.scale(t.scale(dense, factors[c]), now.valueScale);
    if (hasTerms()) {
      Value terms = t.loadAlong(VectorAxis::Value, termSums, t.index(c));
      dense = t.add(t.scale(terms, factors[count + c]), dense);
    }
    results.push_back(dense);
  }
  return results;
}

SmallVector<Value> MmaHead::read(ArrayRef<Value> vectors) {
  weighTerms(loaded->window.keyDecay, loaded->window.fill);
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
    columns.append(
        readGroup(ArrayRef(distinct).slice(first, count), first == 0));
  }
  SmallVector<Value> results;
  for (Value vector : vectors)
    results.push_back(columns[llvm::find(distinct, vector) - distinct.begin()]);
  return results;
}
