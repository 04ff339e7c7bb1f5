//===- StoredHead.cpp - one head's bytes, seen from a lane ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoredHead.h"

#include "GroupScales.h"
#include "PlanTables.h"
#include "ScaleFit.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace decant;

StoredHead::StoredHead(LaneTile &tile, Value pool, Value offset)
    : pool(pool), offset(offset), codes(tile, pool, offset) {
  const SlotLayout &layout = tile.layout;
  auto open = [&](View &view, const Region &region) {
    if (!region.empty())
      view = tile.view(pool, offset, region);
  };
  open(keyScale, layout.keyScale);
  open(valueScale, layout.valueScale);
  open(headScale, layout.headScale);
  open(groupScale, layout.groupScale);
  open(groupOffset, layout.groupOffset);
  open(compKeys, layout.compKeys);
  open(compValues, layout.compValues);
  open(compScale, layout.compScale);
  open(carried, layout.carried);
  open(totalKeyDecay, layout.totalKeyDecay);
  open(totalValueDecay, layout.totalValueDecay);
  open(recordKeyDecay, layout.recordKeyDecay);
  open(recordValueDecay, layout.recordValueDecay);
  open(recordKeys, layout.recordKeys);
  open(recordValues, layout.recordValues);

  auto space = cast<MemRefType>(pool.getType()).getMemorySpace();
  Value shift = tile.add(offset, tile.index(layout.cursor.offset));
  auto cursor = [&](Type type, int64_t count) -> Value {
    return memref::ViewOp::create(
        tile.b,
        MemRefType::get({1, count}, type, MemRefLayoutAttrInterface(), space),
        pool, shift, ValueRange{});
  };
  words = cursor(tile.b.getI32Type(), 4);
  tokens = cursor(tile.b.getI64Type(), 2);
  if (layout.hasStaticScales())
    groupScale = staticGroups(tile);
}

Value StoredHead::loadRow(LaneTile &tile, Value row) const {
  Value values = codes.load(tile, row, columnInverse);
  // No level of a codebook is 0, which padding has to be.
  if (isCodebook(tile.layout.codes.type))
    values = withoutPadding(tile, row, values);
  if (!tile.layout.groups())
    return values;
  Value tableRow = tile.layout.groups()->axis == Axis::Key
                       ? codes.groupRowOf(tile, row)
                       : row;
  Value scaled = ofGroups(tile, groupScale, tableRow);
  if (tile.layout.groupOffset.empty())
    return tile.mul(values, scaled);
  // Codes of padding are 0, which stands for the offset.
  scaled = withoutPadding(
      tile, row,
      tile.fma(values, scaled, ofGroups(tile, groupOffset, tableRow)));
  return tile.layout.hasPivots()
             ? arith::SelectOp::create(tile.b, codes.isPivot(tile, row), values,
                                       scaled)
                   .getResult()
             : scaled;
}

StoredHead StoredHead::withColumns(LaneTile &tile) const {
  StoredHead head = *this;
  if (tile.layout.hasPivots())
    if (Value scale = columnScale(tile))
      head.columnInverse = inverseScale(tile, scale);
  return head;
}

Value StoredHead::columnScale(LaneTile &tile) const {
  Value columns, whole;
  if (!tile.layout.valueScale.empty())
    columns = tile.loadAlong(VectorAxis::Value, valueScale, tile.index(0));
  if (!tile.layout.headScale.empty())
    whole = tile.loadScalar(headScale, tile.index(0), tile.index(0));
  return tile.scale(columns, whole);
}

Value StoredHead::fill(LaneTile &tile) const {
  Value word = memref::LoadOp::create(tile.b, words,
                                      ValueRange{tile.index(0), tile.index(0)});
  return arith::IndexCastUIOp::create(tile.b, tile.b.getIndexType(), word);
}

void StoredHead::setFill(LaneTile &tile, Value fill) const {
  tile.onFirstLane([&] {
    Value word =
        arith::IndexCastUIOp::create(tile.b, tile.b.getI32Type(), fill);
    memref::StoreOp::create(tile.b, word, words,
                            ValueRange{tile.index(0), tile.index(0)});
  });
  if (tile.layout.tokensPerStep > 1)
    setDrafts(tile, tile.index(0));
}

void StoredHead::setDrafts(LaneTile &tile, Value count) const {
  tile.onFirstLane([&] {
    Value word =
        arith::IndexCastUIOp::create(tile.b, tile.b.getI32Type(), count);
    memref::StoreOp::create(tile.b, word, words,
                            ValueRange{tile.index(0), tile.index(1)});
  });
}

void StoredHead::accept(LaneTile &tile, Value count) const {
  const SlotLayout &layout = tile.layout;
  Value word = memref::LoadOp::create(tile.b, words,
                                      ValueRange{tile.index(0), tile.index(1)});
  Value drafts =
      arith::IndexCastUIOp::create(tile.b, tile.b.getIndexType(), word);
  count = arith::MaxSIOp::create(tile.b, count, tile.index(0));
  count = arith::MinSIOp::create(tile.b, count, drafts);
  Value next = tile.add(fill(tile), count);
  auto move = [&](VectorAxis axis, const View &view, Value from, Value to) {
    tile.storeAlong(axis, view, to, tile.loadAlong(axis, view, from));
  };
  auto moveTotal = [&](DecayShape shape, VectorAxis axis, const View &total) {
    if (shape != DecayShape::None)
      tile.storeDecay(shape, axis, total, tile.index(0),
                      tile.loadDecay(shape, axis, total, count));
  };
  // Place 0 is already what no draft leaves.
  Value some = arith::CmpIOp::create(tile.b, arith::CmpIPredicate::ugt, count,
                                     tile.index(0));
  tile.ifTrue(some, [&] {
    moveTotal(layout.record.keyDecay, VectorAxis::Key, totalKeyDecay);
    moveTotal(layout.record.valueDecay, VectorAxis::Value, totalValueDecay);
    Value place = tile.mul(count, tile.index(layout.record.carried));
    for (int i = 0; i < layout.record.carried; ++i)
      move(VectorAxis::Key, carried, tile.add(place, tile.index(i)),
           tile.index(i));
  });
  tile.barrier(); // all lanes have read the cursor
  setFill(tile, next);
  tile.onFirstLane([&] {
    const Value at[] = {tile.index(0), tile.index(1)};
    Value before = memref::LoadOp::create(tile.b, tokens, at);
    Value more =
        arith::IndexCastUIOp::create(tile.b, tile.b.getI64Type(), count);
    memref::StoreOp::create(tile.b, arith::AddIOp::create(tile.b, before, more),
                            tokens, at);
  });
}

void StoredHead::addToken(LaneTile &tile, Value count) const {
  tile.onFirstLane([&] {
    const Value at[] = {tile.index(0), tile.index(1)};
    if (!count)
      count = memref::LoadOp::create(tile.b, tokens, at);
    Value one = arith::ConstantIntOp::create(tile.b, 1, 64);
    memref::StoreOp::create(tile.b, arith::AddIOp::create(tile.b, count, one),
                            tokens, at);
  });
}

Value StoredHead::tokenCount(LaneTile &tile) const {
  auto branch = scf::IfOp::create(tile.b, tile.b.getI64Type(),
                                  tile.isFirstLane(), /*withElseRegion=*/true);
  auto yield = [&](mlir::Region &region, llvm::function_ref<Value()> value) {
    OpBuilder::InsertionGuard guard(tile.b);
    tile.b.setInsertionPointToStart(&region.front());
    scf::YieldOp::create(tile.b, value());
  };
  yield(branch.getThenRegion(), [&]() -> Value {
    return memref::LoadOp::create(tile.b, tokens,
                                  ValueRange{tile.index(0), tile.index(1)});
  });
  yield(branch.getElseRegion(),
        [&]() -> Value { return arith::ConstantIntOp::create(tile.b, 0, 64); });
  return branch.getResult(0);
}

Value StoredHead::storedTokens(LaneTile &tile) const {
  return memref::LoadOp::create(tile.b, tokens,
                                ValueRange{tile.index(0), tile.index(1)});
}

Value StoredHead::seed(LaneTile &tile) const {
  // Heads are alike in length wherever rounding is stochastic.
  Value before =
      tile.add(tile.mul(tile.head, tile.index(tile.layout.headBytes)),
               tile.index(kSlotHeaderBytes));
  Value header = arith::SubIOp::create(tile.b, offset, before);
  auto space = cast<MemRefType>(pool.getType()).getMemorySpace();
  Value view = memref::ViewOp::create(
      tile.b,
      MemRefType::get({1, kSeedWord + 1}, tile.b.getI32Type(),
                      MemRefLayoutAttrInterface(), space),
      pool, header, ValueRange{});
  return memref::LoadOp::create(
      tile.b, view, ValueRange{tile.index(0), tile.index(kSeedWord)});
}

void StoredHead::clearTokens(LaneTile &tile) const {
  tile.onFirstLane([&] {
    memref::StoreOp::create(tile.b, arith::ConstantIntOp::create(tile.b, 0, 64),
                            tokens, ValueRange{tile.index(0), tile.index(1)});
  });
}

void StoredHead::copyCursor(LaneTile &tile, Value pool, Value header,
                            Value count, Value folds) const {
  auto space = cast<MemRefType>(pool.getType()).getMemorySpace();
  auto open = [&](Type type, int64_t count) -> Value {
    return memref::ViewOp::create(
        tile.b,
        MemRefType::get({1, count}, type, MemRefLayoutAttrInterface(), space),
        pool, header, ValueRange{});
  };
  Value headerWords = open(tile.b.getI32Type(), kCodeOrderWord + 1);
  auto put = [&](Value value, int64_t word) {
    memref::StoreOp::create(tile.b, value, headerWords,
                            ValueRange{tile.index(0), tile.index(word)});
  };
  put(arith::ConstantIntOp::create(tile.b, kSlotVersion, 32), 0);
  Value zero = arith::ConstantIntOp::create(tile.b, 0, 32), fill = zero;
  if (!count)
    fill = memref::LoadOp::create(tile.b, words,
                                  ValueRange{tile.index(0), tile.index(0)});
  if (folds)
    fill = arith::SelectOp::create(tile.b, folds, zero, fill);
  put(fill, 1);
  put(arith::ConstantIntOp::create(tile.b, int(tile.layout.codeOrder), 32),
      kCodeOrderWord);
  const Value at[] = {tile.index(0), tile.index(1)};
  if (!count)
    count = memref::LoadOp::create(tile.b, tokens, at);
  memref::StoreOp::create(tile.b, count, open(tile.b.getI64Type(), 2), at);
}

StoredHead::RawStart StoredHead::loadStart(LaneTile &tile) const {
  const RecordShape &shape = tile.layout.record;
  if (tile.layout.window == 1)
    return {tile.index(0), {}, {}, {}};
  Value place = drafts ? drafts : tile.index(0);
  return {drafts ? tile.add(fill(tile), drafts) : fill(tile),
          tile.loadDecay(shape.keyDecay, VectorAxis::Key, totalKeyDecay, place),
          tile.loadDecay(shape.valueDecay, VectorAxis::Value, totalValueDecay,
                         place),
          memref::LoadOp::create(tile.b, tokens,
                                 ValueRange{tile.index(0), tile.index(1)})};
}

WindowStart StoredHead::start(LaneTile &tile, const RawStart &raw) const {
  WindowStart window;
  window.fill = raw.fill;
  window.tokens = raw.tokens;
  if (tile.layout.window == 1)
    return window;
  Value empty = arith::CmpIOp::create(tile.b, arith::CmpIPredicate::eq,
                                      window.fill, tile.index(0));
  auto total = [&](Value stored) -> Value {
    if (!stored)
      return {};
    Value one = tile.f32(1);
    if (auto type = dyn_cast<VectorType>(stored.getType()))
      one = tile.splat(one, type);
    return arith::SelectOp::create(tile.b, empty, one, stored);
  };
  window.keyDecay = total(raw.keyDecay);
  window.valueDecay = total(raw.valueDecay);
  return window;
}

namespace {

/// Terms whose loads are in flight together, where a lane's part of a key and a
/// value vector is short enough to hold that many. One lane has no latency to
/// hide behind other lanes, and its loads are a whole row.
constexpr int kTermsInFlight = 4;
constexpr int kShortTerm = 24;

int termsPerRound(const LaneTile &tile) {
  const Schedule &schedule = tile.schedule;
  const bool isShort =
      schedule.keysPerLane + schedule.valuesPerLane <= kShortTerm;
  return schedule.threads() > 1 && isShort ? kTermsInFlight : 1;
}

} // namespace

SmallVector<Value> StoredHead::forCompensators(LaneTile &tile,
                                               ArrayRef<Value> initial,
                                               RecordsBody body) const {
  const int count = tile.layout.compensators;
  const int perRound = std::gcd(termsPerRound(tile), count);
  return tile.loop(
      tile.index(0), tile.index(count), std::max(perRound, 1), initial,
      [&](Value first, ValueRange carried) {
        SmallVector<Term> terms;
        for (int i = 0; i < perRound; ++i) {
          Value term = tile.add(first, tile.index(i));
          Value scale;
          if (!tile.layout.compScale.empty())
            scale = tile.loadScalar(compScale, tile.index(0), term);
          terms.push_back(
              {term,
               tile.scale(tile.loadAlong(VectorAxis::Key, compKeys, term),
                          scale),
               tile.loadAlong(VectorAxis::Value, compValues, term),
               {}});
        }
        return body(terms, carried);
      });
}

SmallVector<Value> StoredHead::forRecords(LaneTile &tile, Value fill,
                                          ArrayRef<Value> initial,
                                          RecordsBody body) const {
  const RecordShape &shape = tile.layout.record;
  const int perRound =
      std::max(1, termsPerRound(tile) / std::max(1, shape.writes));
  // The decay since the record: nothing has decayed the newest one.
  auto one = [&](DecayShape decay, VectorAxis axis) -> Value {
    if (decay == DecayShape::None)
      return {};
    Value scalar = tile.f32(1);
    return decay == DecayShape::Scalar
               ? scalar
               : tile.splat(scalar, tile.vectorOf(axis));
  };
  SmallVector<Value> carried(initial);
  const Value keyOne = one(shape.keyDecay, VectorAxis::Key);
  const Value valueOne = one(shape.valueDecay, VectorAxis::Value);
  for (Value decay : {keyOne, valueOne})
    if (decay)
      carried.push_back(decay);

  auto round = [&](Value age, ValueRange arguments) {
    ValueRange decays = arguments.drop_front(initial.size());
    Value keyDecay = keyOne ? decays.front() : Value();
    Value valueDecay = valueOne ? decays.back() : Value();
    Value newest = arith::SubIOp::create(tile.b, fill, tile.index(1));
    SmallVector<Term> terms;
    for (int i = 0; i < perRound; ++i) {
      Value ofToken = tile.add(age, tile.index(i));
      // The last round may reach beyond the oldest token: it loads token 0
      // again and marks the terms as not valid.
      Value valid;
      if (i > 0) {
        valid = arith::CmpIOp::create(tile.b, arith::CmpIPredicate::ult,
                                      ofToken, fill);
        ofToken = arith::MinUIOp::create(tile.b, ofToken, newest);
      }
      Value token = arith::SubIOp::create(tile.b, newest, ofToken);
      Value first = tile.mul(token, tile.index(shape.writes));
      for (int n = 0; n < shape.writes; ++n) {
        Value record = tile.add(first, tile.index(n));
        terms.push_back(
            {record,
             tile.scale(tile.loadAlong(VectorAxis::Key, recordKeys, record),
                        keyDecay),
             tile.scale(tile.loadAlong(VectorAxis::Value, recordValues, record),
                        valueDecay),
             valid});
      }
      // Older records are under this token's decay, too.
      if (keyDecay)
        keyDecay =
            tile.mul(keyDecay, tile.loadDecay(shape.keyDecay, VectorAxis::Key,
                                              recordKeyDecay, token));
      if (valueDecay)
        valueDecay = tile.mul(
            valueDecay, tile.loadDecay(shape.valueDecay, VectorAxis::Value,
                                       recordValueDecay, token));
    }
    SmallVector<Value> next = body(terms, arguments.take_front(initial.size()));
    for (Value decay : {keyDecay, valueDecay})
      if (decay)
        next.push_back(decay);
    return next;
  };
  SmallVector<Value> results =
      tile.loop(tile.index(0), fill, perRound, carried, round);
  results.resize(initial.size());
  return results;
}
