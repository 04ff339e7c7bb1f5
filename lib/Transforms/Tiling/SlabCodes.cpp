//===- SlabCodes.cpp - tiles whose codes differ in bits -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SlabCodes.h"
#include "decant/Core/CodeStore.h"

#include <set>

using namespace mlir;
using namespace decant;

namespace {

constexpr int kByte = 8, kLanes = 32;
constexpr int kPerEntry = 8;  // bytes of a table's entry
constexpr int kBitsFrom = 32; // in the entry of a slab; its start is below
constexpr int kWidthBits = 4; // of a slab's, in the head's word of widths
static_assert(kMaxDim / kSlabRows * kWidthBits <= 64);
constexpr int64_t kLowNibbles = 0x0f0f0f0f, kHighNibbles = 0xf0f0f0f0;

} // namespace

SlabCodes::SlabCodes(LaneTile &tile)
    : t(tile), slabs(tile.layout.keyDim / kSlabRows) {
  const SlotLayout &layout = tile.layout;
  const int keys = layout.keyDim;
  const std::set<int> all(layout.rowBits.begin(), layout.rowBits.end());
  present.append(all.rbegin(), all.rend());
  for (int head = 0; head < layout.valueHeads; ++head) {
    const SlotLayout own = layout.ofHead(head);
    headBytes.push_back(layout.codeBytes(head));
    widths.push_back(0);
    const size_t firstSlab = slabTable.size(), firstEntry = keyTable.size();
    slabTable.resize(firstSlab + slabs);
    keyTable.resize(firstEntry + keys / kPerEntry);
    positionTable.resize(firstEntry + keys / kPerEntry);
    auto put = [&](SmallVector<int64_t> &table, int at, uint64_t byte) {
      int64_t &entry = table[firstEntry + at / kPerEntry];
      entry = int64_t(uint64_t(entry) | byte << (at % kPerEntry * kByte));
    };
    for (int key = 0; key < keys; ++key) {
      const SlabPlace place = slabPlace(own, key);
      const int slab = place.position / kSlabRows;
      slabTable[firstSlab + slab] =
          int64_t(place.bits) << kBitsFrom | place.offset;
      if (place.position % kSlabRows == 0)
        widths.back() |= int64_t(uint64_t(place.bits) << (slab * kWidthBits));
      put(keyTable, place.position, key);
      put(positionTable, key, place.position);
    }
  }
}

//===--- tables -----------------------------------------------------------===//

Value SlabCodes::bytes() const {
  return TableOp::create(t.b, t.b.getIndexType(), headBytes, t.head);
}

Value SlabCodes::slab(Value keyTile) const {
  return TableOp::create(t.b, t.b.getIndexType(), slabTable,
                         t.add(t.mul(t.head, t.index(slabs)), keyTile));
}

Value SlabCodes::loadWidths() const {
  return TableOp::create(t.b, t.b.getIndexType(), widths, t.head);
}

SmallVector<Value> SlabCodes::forSlabs(Value ofHead, ArrayRef<Value> initial,
                                       SlabsBody body) const {
  SmallVector<Value> carried(initial);
  carried.push_back(t.index(0)); // the slab's start
  SmallVector<Value> results = t.loop(
      t.index(0), t.index(slabs), 1, carried,
      [&](Value keyTile, ValueRange arguments) {
        Value start = arguments.back();
        Value bits = arith::AndIOp::create(
            t.b,
            arith::ShRUIOp::create(t.b, ofHead,
                                   t.mul(keyTile, t.index(kWidthBits))),
            t.index((1 << kWidthBits) - 1));
        Value slab = arith::OrIOp::create(
            t.b, arith::ShLIOp::create(t.b, bits, t.index(kBitsFrom)), start);
        SmallVector<Value> next = body(keyTile, slab, arguments.drop_back());
        next.push_back(t.add(start, t.mul(bits, t.index(bytesPerBit()))));
        return next;
      });
  results.pop_back();
  return results;
}

Value SlabCodes::byteOf(ArrayRef<int64_t> table, Value number) const {
  const int64_t entries = t.layout.keyDim / kPerEntry;
  Value entry = TableOp::create(
      t.b, t.b.getIndexType(), table,
      t.add(t.mul(t.head, t.index(entries)),
            arith::DivUIOp::create(t.b, number, t.index(kPerEntry))));
  Value shift = t.mul(arith::RemUIOp::create(t.b, number, t.index(kPerEntry)),
                      t.index(kByte));
  return arith::AndIOp::create(t.b, arith::ShRUIOp::create(t.b, entry, shift),
                               t.index(0xff));
}

SmallVector<Value> SlabCodes::positions(Value first, int count) const {
  SmallVector<Value> result;
  for (int i = 0; i < count; ++i)
    result.push_back(byteOf(positionTable, t.add(first, t.index(i))));
  return result;
}

Value SlabCodes::keyAt(Value position) const {
  return byteOf(keyTable, position);
}

Value SlabCodes::word(int64_t value) const {
  return arith::ConstantIntOp::create(t.b, value, 32);
}

Value SlabCodes::bitsOf(Value slab) const {
  Value bits = arith::ShRUIOp::create(t.b, slab, t.index(kBitsFrom));
  return arith::IndexCastOp::create(t.b, t.b.getI32Type(), bits);
}

Value SlabCodes::startOf(Value slab) const {
  return arith::AndIOp::create(t.b, slab,
                               t.index((int64_t(1) << kBitsFrom) - 1));
}

SlabCodes::Reach SlabCodes::reach(Value slab) const {
  Value free = arith::SubIOp::create(t.b, word(kMaxRowBits), bitsOf(slab));
  Value unit = arith::UIToFPOp::create(
      t.b, t.b.getF32Type(), arith::ShLIOp::create(t.b, word(1), free));
  return {unit,
          arith::SubFOp::create(t.b, t.f32(1 << (kMaxRowBits - 1)), unit)};
}

//===--- planes -----------------------------------------------------------===//

int64_t SlabCodes::bytesPerBit() const {
  return int64_t(kSlabRows) * t.layout.paddedValue / kByte;
}

Value SlabCodes::isAny(Value bits, int64_t mask) const {
  return arith::CmpIOp::create(t.b, arith::CmpIPredicate::ne,
                               arith::AndIOp::create(t.b, bits, word(mask)),
                               word(0));
}

/// rowPlanes() of Core for 2 to 8 bits: 8 are 4 and 4, else a bit of the number
/// is a plane.
std::array<SlabCodes::Plane, 4> SlabCodes::planesOf(Value slab) const {
  const int64_t ofBit = bytesPerBit();
  Value bits = bitsOf(slab), start = startOf(slab);
  Value has8 = isAny(bits, 8), has4 = isAny(bits, 4 | 8);
  Value has2 = isAny(bits, 2), has1 = isAny(bits, 1);
  Value after4 =
      t.add(start,
            arith::SelectOp::create(t.b, has4, t.index(4 * ofBit), t.index(0)));
  Value after2 =
      t.add(after4,
            arith::SelectOp::create(t.b, has2, t.index(2 * ofBit), t.index(0)));
  return {Plane{4, has4, start}, Plane{4, has8, after4}, Plane{2, has2, after4},
          Plane{1, has1, after2}};
}

/// The lane's byte of a plane's part of a tile.
Value SlabCodes::placeOf(const Plane &plane, Value valueTile) const {
  Value lane = t.add(t.mul(valueTile, t.index(kLanes)), t.keyLane);
  return t.add(plane.start, t.mul(lane, t.index(plane.bits)));
}

/// The lane's fields of a plane that is there, as words.
SmallVector<Value> SlabCodes::loadPlane(const View &codes, int bits,
                                        Value start,
                                        ArrayRef<Value> tiles) const {
  const Type i32 = t.b.getI32Type();
  const Type whole = t.b.getIntegerType(bits * kByte);
  SmallVector<Value> words;
  for (Value tile : tiles) {
    auto part = VectorType::get({bits}, t.b.getI8Type());
    Value place = placeOf({bits, Value(), start}, tile);
    Value loaded = vector::LoadOp::create(t.b, part, codes.memref,
                                          ValueRange{t.index(0), place}, false,
                                          llvm::MaybeAlign(bits));
    Value fields = vector::ExtractOp::create(
        t.b,
        vector::BitCastOp::create(t.b, VectorType::get({1}, whole), loaded), 0);
    words.push_back(whole == i32 ? fields
                                 : arith::ExtUIOp::create(t.b, i32, fields));
  }
  return words;
}

void SlabCodes::storePlane(const View &codes, const Plane &plane,
                           Value valueTile, Value fields) const {
  t.ifTrue(plane.has, [&] {
    const Type whole = t.b.getIntegerType(plane.bits * kByte);
    Value narrow = whole == fields.getType()
                       ? fields
                       : arith::TruncIOp::create(t.b, whole, fields);
    Value part = vector::BitCastOp::create(
        t.b, VectorType::get({plane.bits}, t.b.getI8Type()),
        vector::FromElementsOp::create(t.b, VectorType::get({1}, whole),
                                       narrow));
    vector::StoreOp::create(t.b, part, codes.memref,
                            ValueRange{t.index(0), placeOf(plane, valueTile)},
                            false, llvm::MaybeAlign(plane.bits));
  });
}

//===--- fields -----------------------------------------------------------===//

/// (x & mask) moved to the left, or to the right.
Value SlabCodes::masked(Value x, int64_t mask, int left) const {
  x = arith::AndIOp::create(t.b, x, word(int32_t(mask)));
  if (left > 0)
    return arith::ShLIOp::create(t.b, x, word(left));
  return left < 0 ? arith::ShRUIOp::create(t.b, x, word(-left)) : x;
}

SmallVector<Value> SlabCodes::load(const View &codes, Value slab,
                                   ArrayRef<Value> valueTiles) const {
  return loadOneOf(present, codes, bitsOf(slab), startOf(slab), valueTiles);
}

/// By the width that the slab has.
SmallVector<Value> SlabCodes::loadOneOf(ArrayRef<int> some, const View &codes,
                                        Value bits, Value start,
                                        ArrayRef<Value> tiles) const {
  if (some.size() == 1)
    return loadOf(some[0], codes, start, tiles);
  const Type tile = VectorType::get({8}, t.b.getI8Type());
  auto branch =
      scf::IfOp::create(t.b, SmallVector<Type>(tiles.size(), tile),
                        arith::CmpIOp::create(t.b, arith::CmpIPredicate::eq,
                                              bits, word(some.front())),
                        /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(&branch.getThenRegion().front());
  scf::YieldOp::create(t.b, loadOf(some.front(), codes, start, tiles));
  t.b.setInsertionPointToStart(&branch.getElseRegion().front());
  scf::YieldOp::create(t.b,
                       loadOneOf(some.drop_front(), codes, bits, start, tiles));
  return SmallVector<Value>(branch.getResults());
}

SmallVector<Value> SlabCodes::loadOf(int width, const View &codes, Value start,
                                     ArrayRef<Value> valueTiles) const {
  SmallVector<std::pair<int, SmallVector<Value>>, 3> planes;
  for (const CodePlane &plane : rowPlanes(width, bytesPerBit() * kByte))
    planes.push_back({plane.bits, loadPlane(codes, plane.bits,
                                            t.add(start, t.index(plane.offset)),
                                            valueTiles)});
  auto either = [&](Value x, Value y) -> Value {
    return x && y ? arith::OrIOp::create(t.b, x, y).getResult() : x ? x : y;
  };
  SmallVector<Value> tiles;
  for (size_t i = 0; i < valueTiles.size(); ++i) {
    // Nibbles 0 to 7: fields of 2 bits from 0 2 4 6 1 3 5 7, bits from 0 4 1 5
    // 2 6 3 7. A single bit comes below the pair's two where there is a pair.
    Value top, rest;
    bool hasPair = false;
    for (const auto &[bits, words] : planes) {
      Value x = words[i];
      if (bits == 2) {
        x = either(masked(x, 0x3333, 2), masked(x, 0xcccc, 16));
        hasPair = true;
      } else if (bits == 1) {
        const int place = hasPair ? 1 : 3;
        x = either(
            either(masked(x, 0x11, place), masked(x, 0x22, 7 + place)),
            either(masked(x, 0x44, 14 + place), masked(x, 0x88, 21 + place)));
      }
      (top && width >= 4 ? rest : top) =
          either(top && width >= 4 ? rest : top, x);
    }
    // Codes 0 to 3 are the even nibbles, 4 to 7 the odd ones.
    Value first = masked(top, kLowNibbles, 4);
    Value second = masked(top, kHighNibbles, 0);
    if (rest) {
      first = either(first, masked(rest, kLowNibbles, 0));
      second = either(second, masked(rest, kHighNibbles, -4));
    }
    Value words = vector::FromElementsOp::create(
        t.b, VectorType::get({2}, t.b.getI32Type()), ValueRange{first, second});
    tiles.push_back(vector::BitCastOp::create(
        t.b, VectorType::get({8}, t.b.getI8Type()), words));
  }
  return tiles;
}

void SlabCodes::store(const View &codes, Value slab, Value valueTile,
                      Value bytes) const {
  const std::array<Plane, 4> planes = planesOf(slab);
  Value words = vector::BitCastOp::create(
      t.b, VectorType::get({2}, t.b.getI32Type()), bytes);
  Value first = vector::ExtractOp::create(t.b, words, 0);
  Value second = vector::ExtractOp::create(t.b, words, 1);
  auto either = [&](Value x, Value y) -> Value {
    return arith::OrIOp::create(t.b, x, y);
  };
  Value top =
      either(masked(first, kHighNibbles, -4), masked(second, kHighNibbles, 0));
  Value rest =
      either(masked(first, kLowNibbles, 0), masked(second, kLowNibbles, 4));
  storePlane(codes, planes[0], valueTile, top);
  storePlane(codes, planes[1], valueTile, rest);
  Value left = arith::SelectOp::create(t.b, planes[0].has, rest, top);
  Value two = either(masked(left, 0xcccc, -2), masked(left, 0xcccc0000, -16));
  storePlane(codes, planes[2], valueTile, two);
  Value place = arith::SelectOp::create(t.b, planes[2].has, word(1), word(3));
  Value bit = arith::ShRUIOp::create(t.b, left, place);
  Value one =
      either(either(masked(bit, 0x11, 0), masked(bit, 0x1100, -7)),
             either(masked(bit, 0x110000, -14), masked(bit, 0x11000000, -21)));
  storePlane(codes, planes[3], valueTile, one);
}
