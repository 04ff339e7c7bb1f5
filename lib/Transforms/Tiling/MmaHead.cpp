//===- MmaHead.cpp - what a head on tensor cores loads --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaHead.h"
#include "decant/Core/Numeric.h"

#include <cmath>

using namespace mlir;
using namespace decant;

namespace {

/// Records of a panel, up to a multiple; the rest of the rows are zero.
constexpr int kRecordsPerRound = 4;
constexpr int kHalvesPerCopy = 8, kBytesPerCopy = 16; // 16 bytes
constexpr int kFewestBytes = 4;

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
    slabs = head.codes.slabCodes();

  const int pad = 8;
  termKeys = arena.take(termType, allRows, layout.paddedKey + pad);
  unusedTerms = int64_t(roundUp(readRows, 8)) * termKeys.width * 2;
  termValues = arena.take(termType, allRows, layout.paddedValue + pad);
  if (decaysKeys())
    totalDecay = arena.take(ElementType::F32, 1, layout.paddedKey);
  weights = arena.take(ElementType::F32, 1, roundUp(allRows, kTile));
  stagedPlace = arena.mark();
  // A fold of f32 takes each code once.
  if (t.schedule.fetch != CodeFetch::Registers &&
      !(warp.isWide() && use.vectors == 0))
    staged = arena.take(codes.type, 1, codes.width);
  decayPlace = arena.mark();
  if (decaysKeys() && layout.window > 1)
    decayPanel =
        arena.take(layout.recordKeyDecay.type, layout.window, layout.paddedKey);
  workspace = arena.mark();
}

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
  loadAhead(now);
  copyCompensators(now);
  holdBack();
  zeroRows(readRows, readEnd);
  // What depends on the fill waits for it.
  now.window = head.start(t, raw);
  copyRecords(t.mul(now.window.fill, t.index(layout.record.writes)));
  holdBack();
  spreadCompensators(now);
  loaded = std::move(now);
}

/// Left alone, the assembler puts copies behind what a token's vectors go
/// through first, hundreds of cycles later. On an H200 steps of few bytes gain
/// 2 to 3 % (int4); where bytes or decays of every key are what takes the time,
/// it is right (int8 with such decays loses 1 %).
void MmaHead::holdBack() {
  const bool fewBytes = slabs || elementBits(codes.type) < 8;
  if (use.vectors > 0 && fewBytes && !decaysKeys())
    t.warpBarrier();
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
  loadAhead(*loaded);
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
  if (use.vectors == 0)
    return;
  if (warp.isWide()) {
    for (int i = 0; i < std::min(chunks, codesAhead()); ++i)
      now.codes.push_back(loadWideChunk(i));
    return;
  }
  if (chunks > kMaxChunksInFlight)
    return;
  for (int c = 0; c < warp.chunks; ++c)
    for (int i = 0; i < warp.valueTilesPerWarp; ++i) {
      Value tile = warp.ownValueTile(i);
      now.codes.push_back(warp.loadChunk(codes, tile, t.index(c)));
    }
}

void MmaHead::loadScales(Loaded &now) {
  if (slabs)
    now.slabWidths = slabs->loadWidths();
  if (!layout.keyScale.empty())
    now.keyScale = t.loadAlong(VectorAxis::Key, head.keyScale, t.index(0));
  if (!layout.valueScale.empty())
    now.valueScale =
        t.loadAlong(VectorAxis::Value, head.valueScale, t.index(0));
}

/// What else a read of f32 waits for with its records.
void MmaHead::loadAhead(Loaded &now) {
  if (warp.isWide() && use.vectors > 0 &&
      layout.record.keyDecay == DecayShape::Scalar)
    now.decays = loadDecays();
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
  // Behind an exchange of rows the assembler would put it off: int4 loses 4 %.
  if (t.schedule.exchange > 0)
    t.warpBarrier();
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
      now.compensators.push_back(
          warp.raw(from, row, column, bytesPerPart(axis)));
    });
    Value number =
        arith::MinUIOp::create(t.b, warp.thread, t.index(compensators - 1));
    now.compScale = t.loadScalar(head.compScale, t.index(0), number);
    return;
  }
  copyRows(termKeys, records, head.compKeys, compensators, {});
  copyRows(termValues, records, head.compValues, compensators, {});
}

/// Few bytes to each of many threads: those of one warp alone would be loaded
/// where they are used, behind a branch, and all warps wait for them.
int64_t MmaHead::bytesPerPart(VectorAxis axis) const {
  const View &rows = axis == VectorAxis::Key ? head.compKeys : head.compValues;
  int64_t bytes = kBytesPerCopy;
  while (bytes > kFewestBytes &&
         layout.compensators * rows.width / bytes < warp.threads)
    bytes /= 2;
  return bytes;
}

void MmaHead::forCompensatorParts(CompensatorPart body) {
  for (VectorAxis axis : {VectorAxis::Key, VectorAxis::Value}) {
    const int64_t width =
        axis == VectorAxis::Key ? layout.paddedKey : layout.paddedValue;
    warp.forParts(layout.compensators, width, bytesPerPart(axis),
                  [&](Value row, Value column, Value inside) {
                    body(axis, row, column, inside);
                  });
  }
}

/// Bytes of compensators, which termType has exactly; integers as tensor cores
/// have their codes widened, where there are enough.
Value MmaHead::halvesOf(Value bytes, ElementType type) {
  constexpr int64_t kTogether = 8;
  const auto all = cast<VectorType>(bytes.getType());
  if (type != ElementType::I8 || termType != ElementType::F16 ||
      all.getNumElements() % kTogether != 0)
    return warp.halves(t.widen(bytes, type), termType);
  Value sign = arith::ConstantOp::create(
      t.b, DenseElementsAttr::get(all, APInt(8, 0x80)));
  Value biased = arith::XOrIOp::create(t.b, bytes, sign), halves;
  for (int64_t i = 0; i < all.getNumElements(); i += kTogether) {
    Value part = UnpackCodesOp::create(
        t.b, VectorType::get({kTogether}, t.b.getF16Type()),
        warp.slice(biased, i, kTogether), /*biased=*/false);
    halves = halves ? warp.join(halves, part) : part;
  }
  return halves;
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
    Value x = halvesOf(now.compensators[part++], type);
    if (keys) {
      auto halves = cast<VectorType>(x.getType());
      Value power = arith::ConstantOp::create(
          t.b, t.b.getFloatAttr(halves.getElementType(), 1 / powerAbove(type)));
      x = t.mul(x, vector::BroadcastOp::create(t.b, halves, power));
    }
    t.ifTrue(inside, [&] {
      warp.storeRaw(keys ? termKeys : termValues, t.add(row, t.index(records)),
                    column, x);
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
