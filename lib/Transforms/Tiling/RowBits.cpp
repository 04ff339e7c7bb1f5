//===- RowBits.cpp - codes of rows that differ in bits --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes of one warp have rows of different bits at the same time, so nothing
// here branches on them: every plane that a row could have is loaded, from some
// byte of the codes where the row has it not, and such fields become zeros. A
// code's bits are put at the top of a byte: that is its value among the codes
// of int8, sign included. What may be a pivot is loaded twice, as codes and as
// elements, and one of both is selected. A width that no row has costs nothing.
//
//===----------------------------------------------------------------------===//

#include "ByteWords.h"
#include "CodeRows.h"

#include <numeric>

using namespace mlir;
using namespace decant;

namespace {

constexpr int kByte = 8;
constexpr int kRowsPerEntry = 8; // bytes of a word
constexpr int64_t kOneInEveryByte = 0x0101010101010101;

Value i32(LaneTile &tile, int64_t value) {
  return arith::ConstantIntOp::create(tile.b, value, 32);
}
Value toI32(LaneTile &tile, Value index) {
  return arith::IndexCastOp::create(tile.b, tile.b.getI32Type(), index);
}
Value toIndex(LaneTile &tile, Value word) {
  return arith::IndexCastOp::create(tile.b, tile.b.getIndexType(), word);
}

/// Byte `number` of a word of eight.
Value byteOf(LaneTile &tile, Value word, Value number) {
  Value shift = tile.mul(number, tile.index(kByte));
  Value low = arith::ShRUIOp::create(tile.b, word, shift);
  return arith::AndIOp::create(tile.b, low, tile.index(0xFF));
}

/// The sum of the bytes of `word` before byte `number`, at most 255.
Value sumBefore(LaneTile &tile, Value word, Value number) {
  // Byte i of the product is the sum of bytes 0 .. i.
  Value sums = arith::ShLIOp::create(
      tile.b, tile.mul(word, tile.index(kOneInEveryByte)), tile.index(kByte));
  return byteOf(tile, sums, number);
}

bool hasWidth(const SlotLayout &layout, llvm::function_ref<bool(int)> is) {
  return llvm::any_of(layout.rowBits, is);
}

struct RowPlace {
  Value entry, inEntry;
};
RowPlace placeOf(LaneTile &tile, Value row) {
  const int64_t entries = tile.layout.keyDim / kRowsPerEntry;
  Value group = arith::DivUIOp::create(tile.b, row, tile.index(kRowsPerEntry));
  return {tile.add(tile.mul(tile.head, tile.index(entries)), group),
          arith::RemUIOp::create(tile.b, row, tile.index(kRowsPerEntry))};
}

} // namespace

void CodeRows::openRows(LaneTile &tile, Value pool, Value offset) {
  const SlotLayout &layout = tile.layout;
  Region bytes = layout.codes;
  bytes.width *= bytes.count;
  bytes.count = 1;
  planes.push_back({CodePlane{}, tile.view(pool, offset, bytes)});
  if (layout.hasPivots()) {
    bytes.type = ElementType::F16;
    pivots = tile.view(pool, offset, bytes);
  }
  for (int head = 0; head < layout.valueHeads; ++head) {
    const auto first = layout.rowBits.begin() + int64_t(head) * layout.keyDim;
    int64_t before = 0, kept = 0;
    for (int row = 0; row < layout.keyDim; row += kRowsPerEntry) {
      uint64_t widths = 0;
      bitsBefore.push_back(before);
      pivotsBefore.push_back(kept);
      for (int i = 0; i < kRowsPerEntry; ++i) {
        widths |= uint64_t(first[row + i]) << (kByte * i);
        before += first[row + i];
        kept += first[row + i] == kPivotBits;
      }
      rowWidths.push_back(int64_t(widths));
    }
  }
}

Value CodeRows::widthOfRow(LaneTile &tile, Value row) const {
  const RowPlace place = placeOf(tile, row);
  Value widths =
      TableOp::create(tile.b, tile.b.getIndexType(), rowWidths, place.entry);
  return toI32(tile, byteOf(tile, widths, place.inEntry));
}

Value CodeRows::isPivot(LaneTile &tile, Value row) const {
  return arith::CmpIOp::create(tile.b, arith::CmpIPredicate::eq,
                               widthOfRow(tile, row), i32(tile, kPivotBits));
}

Value CodeRows::bitsBeforeRow(LaneTile &tile, Value row) const {
  const RowPlace place = placeOf(tile, row);
  Value widths =
      TableOp::create(tile.b, tile.b.getIndexType(), rowWidths, place.entry);
  return tile.add(
      TableOp::create(tile.b, tile.b.getIndexType(), bitsBefore, place.entry),
      sumBefore(tile, widths, place.inEntry));
}

Value CodeRows::groupRowOf(LaneTile &tile, Value row) const {
  if (!tile.layout.hasPivots())
    return row;
  constexpr int kPivotBit = 4; // of a width
  const RowPlace place = placeOf(tile, row);
  Value widths =
      TableOp::create(tile.b, tile.b.getIndexType(), rowWidths, place.entry);
  Value flags = arith::AndIOp::create(
      tile.b, arith::ShRUIOp::create(tile.b, widths, tile.index(kPivotBit)),
      tile.index(kOneInEveryByte));
  Value before = tile.add(
      TableOp::create(tile.b, tile.b.getIndexType(), pivotsBefore, place.entry),
      sumBefore(tile, flags, place.inEntry));
  return arith::MinUIOp::create(tile.b,
                                arith::SubIOp::create(tile.b, row, before),
                                tile.index(tile.layout.groupScale.count - 1));
}

Value CodeRows::pivotPlace(LaneTile &tile, Value row) const {
  // Bits of a row are values over 8 bytes, so half as many elements.
  const int64_t ofBit = tile.layout.paddedValue / kPivotBits;
  return tile.add(tile.mul(bitsBeforeRow(tile, row), tile.index(ofBit)),
                  tile.firstValue);
}

SmallVector<CodeRows::RowPlane, 4> CodeRows::rowPlanes(LaneTile &tile,
                                                       Value row) const {
  Value width = widthOfRow(tile, row);
  const int64_t ofBit = tile.layout.paddedValue / kByte;
  Value rowByte = tile.mul(bitsBeforeRow(tile, row), tile.index(ofBit));

  auto isSet = [&](Value bits) -> Value {
    return arith::CmpIOp::create(tile.b, arith::CmpIPredicate::ne, bits,
                                 i32(tile, 0));
  };
  auto masked = [&](int64_t mask) -> Value {
    return arith::AndIOp::create(tile.b, width, i32(tile, mask));
  };
  // The planes of rowPlanes() in Core, for 2 .. 8 bits.
  Value has4 = isSet(masked(4 | 8));
  Value has8 = arith::CmpIOp::create(tile.b, arith::CmpIPredicate::eq, width,
                                     i32(tile, 8));
  Value has2 = isSet(masked(2)), has1 = isSet(masked(1));

  auto i8 = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(tile.b, value, 8);
  };
  SmallVector<RowPlane, 4> planes;
  auto add = [&](int bits, Value has, Value firstBit, Value shift) {
    // `firstBit` bits of every code lie before the plane.
    Value start =
        tile.add(rowByte, tile.mul(toIndex(tile, firstBit), tile.index(ofBit)));
    Value own = arith::DivUIOp::create(
        tile.b, tile.mul(tile.firstValue, tile.index(bits)), tile.index(kByte));
    Value byte = tile.add(
        own, arith::SelectOp::create(tile.b, has, start, tile.index(0)));
    planes.push_back({bits, has, byte, shift});
  };
  Value above2 = masked(4 | 8);
  auto anyHas = [&](int mask) {
    return hasWidth(tile.layout, [mask](int bits) { return bits & mask; });
  };
  add(4, has4, i32(tile, 0), i8(4));
  if (anyHas(8))
    add(4, has8, i32(tile, 4), i8(0));
  if (anyHas(2))
    add(2, has2, above2, arith::SelectOp::create(tile.b, has4, i8(2), i8(6)));
  Value lowest = arith::SubIOp::create(tile.b, i32(tile, kByte), width);
  if (anyHas(1))
    add(1, has1, masked(4 | 8 | 2),
        arith::TruncIOp::create(tile.b, tile.b.getI8Type(), lowest));
  return planes;
}

static llvm::MaybeAlign alignOf(LaneTile &tile, int bits) {
  const int64_t chunk = int64_t(tile.schedule.valuesPerLane) * bits / kByte;
  return llvm::MaybeAlign(std::gcd(
      std::gcd(chunk, int64_t(tile.layout.paddedValue / kByte)), kSlotAlign));
}

/// Of a row's elements; rows begin at multiples of the values' bytes per bit.
static llvm::MaybeAlign alignOfPivot(LaneTile &tile) {
  return alignOf(tile, kPivotBits);
}

Value CodeRows::loadFromRow(LaneTile &tile, Value row,
                            Value pivotFactor) const {
  std::optional<ByteWords> all;
  for (const RowPlane &plane : rowPlanes(tile, row)) {
    ByteWords part(tile, loadFields(tile, planes[0].view, plane.byte,
                                    plane.bits, alignOf(tile, plane.bits)));
    part.shift<arith::ShLIOp>(plane.shift);
    part.keepIf(plane.has);
    if (all)
      all->add(part);
    else
      all.emplace(part);
  }
  Value codes = tile.widen(all->fields());
  if (!tile.layout.hasPivots())
    return codes;
  // Some place within the codes where the row is none.
  Value is = isPivot(tile, row);
  Value place =
      arith::SelectOp::create(tile.b, is, pivotPlace(tile, row), tile.index(0));
  Value elements = tile.widen(vector::LoadOp::create(
      tile.b, tile.valueType().clone(tile.b.getF16Type()), pivots.memref,
      ValueRange{tile.index(0), place}, false, alignOfPivot(tile)));
  return arith::SelectOp::create(tile.b, is, tile.scale(elements, pivotFactor),
                                 codes);
}

void CodeRows::storeToRow(LaneTile &tile, Value row, Value codes,
                          Value elements) const {
  if (tile.layout.hasPivots())
    tile.ifTrue(isPivot(tile, row), [&] {
      vector::StoreOp::create(tile.b, tile.narrow(elements, ElementType::F16),
                              pivots.memref,
                              ValueRange{tile.index(0), pivotPlace(tile, row)},
                              false, alignOfPivot(tile));
    });
  Value stored = tile.narrow(codes, ElementType::I8);
  for (const RowPlane &plane : rowPlanes(tile, row)) {
    ByteWords words(tile, stored);
    words.shift<arith::ShRUIOp>(plane.shift);
    words.keep((1 << plane.bits) - 1);
    tile.ifTrue(plane.has, [&] {
      storeFields(tile, planes[0].view, plane.byte, plane.bits, words.fields(),
                  alignOf(tile, plane.bits));
    });
  }
}

/// 2^exponent, of an exponent that f32 has.
static Value powerOfTwo(LaneTile &tile, Value exponent) {
  constexpr int kBias = 127, kFraction = 23;
  Value biased = arith::AddIOp::create(tile.b, exponent, i32(tile, kBias));
  Value bits = arith::ShLIOp::create(tile.b, biased, i32(tile, kFraction));
  return arith::BitcastOp::create(tile.b, tile.b.getF32Type(), bits);
}

Value CodeRows::roundInRow(LaneTile &tile, Value row, Value codes) const {
  // Adding 1.5 * 2^23 units makes the sum's last bit worth one unit.
  constexpr double kRoundMagic = 12582912;
  Value free = arith::SubIOp::create(tile.b, i32(tile, kMaxRowBits),
                                     widthOfRow(tile, row));
  Value unit = powerOfTwo(tile, free);
  auto spread = [&](Value scalar) {
    return tile.splat(scalar, tile.valueType());
  };
  Value largest = arith::SubFOp::create(tile.b, tile.f32(128), unit);
  Value least = arith::NegFOp::create(tile.b, largest);
  if (tile.layout.usesAllCodes())
    least = arith::SubFOp::create(tile.b, least, unit);
  codes = arith::MinimumFOp::create(tile.b, codes, spread(largest));
  codes = arith::MaximumFOp::create(tile.b, codes, spread(least));
  Value magic = spread(tile.mul(unit, tile.f32(kRoundMagic)));
  return arith::SubFOp::create(tile.b, tile.add(codes, magic), magic);
}

Value CodeRows::shortfall(LaneTile &tile, Value row) const {
  Value free = arith::SubIOp::create(tile.b, i32(tile, kMaxRowBits),
                                     widthOfRow(tile, row));
  Value largest =
      arith::SubFOp::create(tile.b, tile.f32(128), powerOfTwo(tile, free));
  Value factor = arith::DivFOp::create(tile.b, tile.f32(127), largest);
  if (!tile.layout.hasPivots())
    return factor;
  return arith::SelectOp::create(tile.b, isPivot(tile, row), tile.f32(0),
                                 factor);
}
