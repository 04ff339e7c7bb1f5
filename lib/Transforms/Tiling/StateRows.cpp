//===- StateRows.cpp - the state's rows, rebuilt when they are needed -----===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StateRows.h"

#include "Rotation.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace decant;

namespace {

/// Registers of a lane for the values of rebuilt rows and for the four key
/// vectors that are alive beside them.
constexpr int kRowRegisters = 96;
constexpr int kLiveKeyVectors = 4;
constexpr int kMaxRowsPerRound = 4;
/// Levels are chosen from trees that take registers of their own.
constexpr int kMaxCodebookRows = 2;
/// Columns of a fit that share one pass over the rows.
constexpr int kMaxTermsPerRound = 4;

} // namespace

/// What rounds divide: the lane's rows and, where one lane forms the sums of
/// several (LaneTile::sumOverKeys), the rows of each of those.
int StateRows::rowsOfSum() const {
  return std::gcd(tile.rowsPerPart(tile.schedule.keysPerLane),
                  tile.layout.paddedKey / defaultKeyLanes(tile.layout));
}

void StateRows::chooseRounds() {
  const Schedule &schedule = tile.schedule;
  const int part = rowsOfSum();
  const int most =
      isCodebook(tile.layout.codes.type) ? kMaxCodebookRows : kMaxRowsPerRound;
  for (int rows = most; rows > 1; rows /= 2)
    if (part % rows == 0 && rows * schedule.valuesPerLane +
                                    kLiveKeyVectors * schedule.keysPerLane <=
                                kRowRegisters) {
      perRound = rows;
      break;
    }
  const int terms = tile.layout.compensators;
  chunk = std::clamp(terms, 1, kMaxTermsPerRound);
  padded = (terms + chunk - 1) / chunk * chunk;
}

StateRows::StateRows(LaneTile &tile, const StoredHead &head,
                     const TokenUpdate &update)
    : tile(tile), stored(head.withColumns(tile)) {
  chooseRounds();
  const SlotLayout &layout = tile.layout;
  const int compensators = layout.compensators;
  const int records = layout.window > 1 ? layout.window * layout.record.writes
                                        : int(update.keys.size());
  const int capacity = std::max(1, padded + compensators + records);
  termKeys = tile.scratch(capacity, layout.paddedKey);
  termValues = tile.scratch(capacity, layout.paddedValue);
  rowScale = tile.scratch(1, layout.paddedKey);

  const WindowStart window = head.start(tile);
  Value keyDecay = tile.scale(window.keyDecay, update.keyDecay);
  Value valueDecay = tile.scale(window.valueDecay, update.valueDecay);

  auto setTerm = [&](Value term, Value key, Value value) {
    tile.storeAlong(VectorAxis::Key, termKeys, term, key);
    tile.storeAlong(VectorAxis::Value, termValues, term, value);
  };
  if (compensators > 0)
    head.forCompensators(
        tile, {}, [&](ArrayRef<Term> terms, ValueRange) -> SmallVector<Value> {
          for (const Term &term : terms)
            setTerm(tile.add(term.number, tile.index(padded)),
                    tile.scale(term.key, keyDecay),
                    tile.scale(term.value, valueDecay));
          return {};
        });
  const int first = padded + compensators;
  if (layout.window > 1) {
    head.forRecords(
        tile, window.fill, {},
        [&](ArrayRef<Term> terms, ValueRange) -> SmallVector<Value> {
          for (const Term &term : terms) {
            Value key = rotate(tile, VectorAxis::Key, term.key);
            Value value = rotate(tile, VectorAxis::Value, term.value);
            auto set = [&] {
              setTerm(tile.add(term.number, tile.index(first)), key, value);
            };
            if (term.valid)
              tile.ifTrue(term.valid, set);
            else
              set();
          }
          return {};
        });
    end = tile.add(tile.mul(window.fill, tile.index(layout.record.writes)),
                   tile.index(first));
  } else {
    for (auto [n, key, value] : llvm::enumerate(update.keys, update.values))
      setTerm(tile.index(first + n), rotate(tile, VectorAxis::Key, key),
              rotate(tile, VectorAxis::Value, value));
    end = tile.index(first + records);
  }

  Value rows = keyDecay;
  if (!layout.keyScale.empty())
    rows = tile.scale(
        rows, tile.loadAlong(VectorAxis::Key, head.keyScale, tile.index(0)));
  if (!rows)
    rows = tile.f32(1);
  if (!isa<VectorType>(rows.getType()))
    rows = tile.splat(rows, tile.keyType());
  tile.storeAlong(VectorAxis::Key, rowScale, tile.index(0), rows);
  columnScale = tile.scale(valueDecay, head.columnScale(tile));
  tile.barrier();
}

StateRows::StateRows(LaneTile &tile, const StoredHead &head,
                     const TokenUpdate &update, ArrayRef<Value> loaded)
    : tile(tile), heldRows(loaded) {
  const SlotLayout &layout = tile.layout;
  perRound = rowsOfSum();
  if (layout.groups() && layout.groups()->axis == Axis::Value)
    perRound = std::gcd(perRound, layout.groupKeys());
  auto at = [&](Value keys, int i) {
    return keys && isa<VectorType>(keys.getType()) ? tile.element(keys, i)
                                                   : keys;
  };
  Value rowScale = update.keyDecay;
  if (!layout.keyScale.empty())
    rowScale =
        tile.scale(rowScale, tile.loadAlong(VectorAxis::Key, head.keyScale,
                                            tile.index(0)));
  columnScale = tile.scale(update.valueDecay, head.columnScale(tile));
  SmallVector<Value> keys, values;
  for (auto [key, value] : llvm::zip(update.keys, update.values)) {
    keys.push_back(rotate(tile, VectorAxis::Key, key));
    values.push_back(rotate(tile, VectorAxis::Value, value));
  }
  for (auto [i, row] : llvm::enumerate(heldRows)) {
    row = tile.scale(tile.scale(row, columnScale), at(rowScale, i));
    for (auto [key, value] : llvm::zip(keys, values))
      row = tile.fma(tile.splat(at(key, i), tile.valueType()), value, row);
  }
}

StateRows::StateRows(LaneTile &tile, const DenseState &dense)
    : tile(tile), dense(dense) {
  chooseRounds();
  const SlotLayout &layout = tile.layout;
  termKeys = tile.scratch(std::max(1, padded), layout.paddedKey);
  termValues = tile.scratch(std::max(1, padded), layout.paddedValue);
  staging = tile.scratch(tile.schedule.keyLanes, layout.paddedValue);
  end = tile.index(padded);
}

/// Element-wise, since the strides are the caller's; rows and columns beyond
/// the state's dims are zero.
Value StateRows::denseRow(Value key) {
  LaneTile &t = tile;
  Value last = t.index(t.layout.keyDim - 1);
  Value safe = arith::MinUIOp::create(t.b, key, last);
  Value start = t.add(dense->offset, t.mul(safe, dense->keyStride));
  Value columns = t.add(t.firstValue, t.index(t.schedule.valuesPerLane));
  t.loop(
      t.firstValue, columns, 1, {},
      [&](Value column, ValueRange) -> SmallVector<Value> {
        Value inside = arith::AndIOp::create(
            t.b,
            arith::CmpIOp::create(t.b, arith::CmpIPredicate::ult, column,
                                  t.index(t.layout.valueDim)),
            arith::CmpIOp::create(t.b, arith::CmpIPredicate::ule, key, last));
        Value bounded =
            arith::MinUIOp::create(t.b, column, t.index(t.layout.valueDim - 1));
        Value at = t.add(start, t.mul(bounded, dense->valueStride));
        Value element =
            t.widen(memref::LoadOp::create(t.b, dense->memref, ValueRange{at}));
        t.storeScalar(staging, t.keyLane, column,
                      arith::SelectOp::create(t.b, inside, element, t.f32(0)));
        return {};
      });
  return t.load(staging, t.keyLane, t.firstValue, t.schedule.valuesPerLane);
}

SmallVector<Value> StateRows::denseRows(Value row) {
  SmallVector<Value> rows;
  for (int n = 0; n < perRound; ++n) {
    Value key = tile.add(row, tile.index(n));
    Value values = tile.layout.rotatesKeys()
                       ? rotateKeys(tile, key, 1,
                                    [&](Value other) -> SmallVector<Value> {
                                      return {denseRow(other)};
                                    })
                       : denseRow(key);
    rows.push_back(rotateRow(tile, values, staging));
  }
  return rows;
}

SmallVector<Value> StateRows::rebuild(Value row, Terms terms) {
  LaneTile &t = tile;
  const VectorType type = t.valueType();
  SmallVector<Value> rows;
  if (dense) {
    rows = denseRows(row);
    if (terms == Terms::Old || padded == 0)
      return rows;
  } else {
    for (int n = 0; n < perRound; ++n) {
      Value at = t.add(row, t.index(n));
      Value values = stored->loadRow(t, at);
      Value scale = t.loadScalar(rowScale, t.index(0), at);
      rows.push_back(t.scale(t.scale(values, columnScale), scale));
    }
  }
  Value begin = t.index(terms == Terms::All ? 0 : padded);
  return t.loop(begin, end, 1, rows, [&](Value term, ValueRange carried) {
    Value value = t.loadAlong(VectorAxis::Value, termValues, term);
    Value keys = t.load(termKeys, term, row, perRound);
    SmallVector<Value> sums;
    for (int n = 0; n < perRound; ++n)
      sums.push_back(
          t.fma(t.splat(t.element(keys, n), type), value, carried[n]));
    return sums;
  });
}

SmallVector<Value> StateRows::forRounds(Terms terms, ArrayRef<Value> initial,
                                        RoundBody body) {
  if (!heldRows.empty())
    return forHeld(0, heldRows.size(), initial, body);
  return forRows(tile.firstKey, tile.schedule.keysPerLane, terms, initial,
                 body);
}

SmallVector<Value> StateRows::forRows(Value begin, int count, Terms terms,
                                      ArrayRef<Value> initial, RoundBody body) {
  Value last = tile.add(begin, tile.index(count));
  return tile.loop(begin, last, perRound, initial,
                   [&](Value row, ValueRange carried) {
                     return body(row, rebuild(row, terms), carried);
                   });
}

SmallVector<Value> StateRows::forHeld(int first, int count,
                                      ArrayRef<Value> initial, RoundBody body) {
  SmallVector<Value> carried(initial);
  for (int i = first; i < first + count; i += perRound)
    carried = body(tile.add(tile.firstKey, tile.index(i)),
                   held().slice(i, perRound), carried);
  return carried;
}

void StateRows::forParts(int count, Terms terms, ArrayRef<Value> initial,
                         RoundBody body, PartBody done) {
  const int parts = tile.schedule.keysPerLane / count;
  if (!heldRows.empty()) {
    for (int part = 0; part < parts; ++part)
      done(tile.index(part), forHeld(part * count, count, initial, body));
    return;
  }
  tile.loop(tile.index(0), tile.index(parts), 1, {},
            [&](Value part, ValueRange) -> SmallVector<Value> {
              Value begin =
                  tile.add(tile.firstKey, tile.mul(part, tile.index(count)));
              done(part, forRows(begin, count, terms, initial, body));
              return {};
            });
}

SmallVector<Value> StateRows::sumRounds(Terms terms, int count,
                                        RoundBody body) {
  return tile.sumOverKeys(
      count, [&, next = 0](Value begin, Value end, ValueRange zero) mutable {
        const SmallVector<Value> initial(zero);
        if (!heldRows.empty()) {
          const int rows = tile.rowsPerPart(heldRows.size());
          next += rows;
          return forHeld(next - rows, rows, initial, body);
        }
        return tile.loop(begin, end, perRound, initial,
                         [&](Value row, ValueRange carried) {
                           return body(row, rebuild(row, terms), carried);
                         });
      });
}
