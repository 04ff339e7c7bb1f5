//===- SlabRows.cpp - single rows of slabs --------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For simt lanes, which transfers and hosts have: codes are gathered one by one
// from where SlotLayout.h draws them. A byte holds codes of up to four rows of
// a slab, which may be other lanes' rows: they take turns to write.
//
//===----------------------------------------------------------------------===//

#include "CodeRows.h"

using namespace mlir;
using namespace decant;

namespace {

constexpr int kByte = 8, kTile = 16, kHalfTile = 8, kLanes = 32;

Value splatByte(LaneTile &t, int64_t value, Value like) {
  return arith::ConstantOp::create(
      t.b, SplatElementsAttr::get(cast<ShapedType>(like.getType()),
                                  t.b.getI8IntegerAttr(int8_t(value))));
}

} // namespace

struct CodeRows::SlabRow {
  std::array<SlabCodes::Plane, 4> planes;
  std::array<Value, 4> shifts; // of a plane's field in a code's byte, i8
  Value row;                   // in its slab
};

CodeRows::SlabRow CodeRows::slabRow(LaneTile &t, Value row) const {
  Value position = slabs->positions(row, 1)[0];
  Value slab =
      slabs->slab(arith::DivUIOp::create(t.b, position, t.index(kTile)));
  SlabRow result;
  result.planes = slabs->planesOf(slab);
  result.row = arith::RemUIOp::create(t.b, position, t.index(kTile));
  auto i8 = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(t.b, value, kByte);
  };
  auto less = [&](Value from, Value has, int64_t bits) -> Value {
    return arith::SubIOp::create(
        t.b, from, arith::SelectOp::create(t.b, has, i8(bits), i8(0)));
  };
  // From the top of the byte on.
  Value after4 = less(i8(kByte), result.planes[0].has, 4);
  Value after2 = less(after4, result.planes[2].has, 2);
  result.shifts = {i8(4), i8(0), arith::SubIOp::create(t.b, after4, i8(2)),
                   arith::SubIOp::create(t.b, after2, i8(1))};
  return result;
}

/// The byte of each of the lane's codes in a plane, and the field's first bit.
SmallVector<std::pair<Value, Value>>
CodeRows::slabPlaces(LaneTile &t, const SlabRow &row,
                     const SlabCodes::Plane &plane) const {
  auto times = [&](Value x, int64_t y) { return t.mul(x, t.index(y)); };
  auto over = [&](Value x, int64_t y) -> Value {
    return arith::DivUIOp::create(t.b, x, t.index(y));
  };
  auto mod = [&](Value x, int64_t y) -> Value {
    return arith::RemUIOp::create(t.b, x, t.index(y));
  };
  // slabField() is a sum of what a code's three bits count for.
  const int ofKey = slabField(plane.bits, 1),
            ofValue = slabField(plane.bits, 2),
            ofUpper = slabField(plane.bits, 4);
  Value keyField = t.add(times(mod(row.row, 2), ofKey),
                         times(over(row.row, kHalfTile), ofUpper));
  Value keyLane = over(mod(row.row, kHalfTile), 2);
  SmallVector<std::pair<Value, Value>> places;
  for (int i = 0; i < t.schedule.valuesPerLane; ++i) {
    Value value = t.add(t.firstValue, t.index(i));
    Value lane = t.add(times(over(value, kTile), kLanes),
                       t.add(times(mod(value, kHalfTile), 4), keyLane));
    Value bit = t.add(keyField, times(mod(over(value, kHalfTile), 2), ofValue));
    Value byte =
        t.add(t.add(plane.start, times(lane, plane.bits)), over(bit, kByte));
    places.push_back({byte, arith::IndexCastOp::create(t.b, t.b.getI8Type(),
                                                       mod(bit, kByte))});
  }
  return places;
}

Value CodeRows::loadFromSlab(LaneTile &t, Value row) const {
  const SlabRow place = slabRow(t, row);
  const auto type =
      VectorType::get({t.schedule.valuesPerLane}, t.b.getI8Type());
  Value codes;
  for (auto [plane, shift] : llvm::zip(place.planes, place.shifts)) {
    auto branch = scf::IfOp::create(t.b, TypeRange{type}, plane.has,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(&branch.getElseRegion().front());
    Value none =
        arith::ConstantOp::create(t.b, cast<TypedAttr>(t.b.getZeroAttr(type)));
    scf::YieldOp::create(t.b, none);
    t.b.setInsertionPointToStart(&branch.getThenRegion().front());
    SmallVector<Value> fields;
    for (const auto &[byte, bit] : slabPlaces(t, place, plane))
      fields.push_back(arith::ShRUIOp::create(
          t.b,
          memref::LoadOp::create(t.b, planes[0].view.memref,
                                 ValueRange{t.index(0), byte}),
          bit));
    Value all = vector::FromElementsOp::create(t.b, type, fields);
    all = arith::AndIOp::create(t.b, all,
                                splatByte(t, (1 << plane.bits) - 1, all));
    all = arith::ShLIOp::create(t.b, all,
                                vector::BroadcastOp::create(t.b, type, shift));
    scf::YieldOp::create(t.b, all);
    t.b.setInsertionPointAfter(branch);
    codes =
        codes
            ? arith::OrIOp::create(t.b, codes, branch.getResult(0)).getResult()
            : branch.getResult(0);
  }
  return t.widen(arith::XOrIOp::create(t.b, codes, splatByte(t, 0x80, codes)));
}

void CodeRows::storeToSlab(LaneTile &t, Value row, Value codes) const {
  const SlabRow place = slabRow(t, row);
  Value stored = t.narrow(codes, ElementType::I8);
  stored = arith::XOrIOp::create(t.b, stored, splatByte(t, 0x80, stored));
  auto store = [&] {
    for (auto [plane, shift] : llvm::zip(place.planes, place.shifts)) {
      const int64_t mask = (1 << plane.bits) - 1;
      const SlabCodes::Plane &own = plane;
      Value down = vector::BroadcastOp::create(t.b, stored.getType(), shift);
      t.ifTrue(own.has, [&] {
        Value fields = arith::ShRUIOp::create(t.b, stored, down);
        int64_t n = 0;
        for (const auto &[byte, firstBit] : slabPlaces(t, place, own)) {
          Value bit = firstBit;
          auto moved = [&](Value x) -> Value {
            return arith::ShLIOp::create(t.b, x, bit);
          };
          Value ones = arith::ConstantIntOp::create(t.b, mask, kByte);
          Value field =
              arith::AndIOp::create(t.b, t.element(fields, n++), ones);
          Value others = arith::XOrIOp::create(
              t.b, moved(ones), arith::ConstantIntOp::create(t.b, -1, kByte));
          const Value at[] = {t.index(0), byte};
          others = arith::AndIOp::create(
              t.b, memref::LoadOp::create(t.b, planes[0].view.memref, at),
              others);
          memref::StoreOp::create(
              t.b, arith::OrIOp::create(t.b, others, moved(field)),
              planes[0].view.memref, at);
        }
      });
    }
  };
  if (t.schedule.keyLanes == 1)
    return store();
  // Rows that share bytes differ in one of two bits of their place.
  Value turn =
      t.add(arith::RemUIOp::create(t.b, place.row, t.index(2)),
            t.mul(arith::DivUIOp::create(t.b, place.row, t.index(kHalfTile)),
                  t.index(2)));
  for (int64_t n = 0; n < 4; ++n) {
    Value mine =
        arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq, turn, t.index(n));
    t.ifTrue(mine, store);
    t.barrier();
  }
}
