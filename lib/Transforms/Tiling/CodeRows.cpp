//===- CodeRows.cpp - the stored codes of a key row, as numbers -----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodeRows.h"

#include "ByteWords.h"

#include <numeric>

using namespace mlir;
using namespace decant;

namespace {

/// The tiles of fragment order, see SlotLayout.h.
constexpr int64_t kTile = 16, kHalfTile = 8;
constexpr int64_t kLanes = 32, kLaneCodes = 8;
constexpr int kByte = 8, kWordBits = 32;

/// Index arithmetic by constants.
struct IndexMath {
  LaneTile &t;
  Value times(Value x, int64_t y) const { return t.mul(x, t.index(y)); }
  Value over(Value x, int64_t y) const {
    return arith::DivUIOp::create(t.b, x, t.index(y));
  }
  Value mod(Value x, int64_t y) const {
    return arith::RemUIOp::create(t.b, x, t.index(y));
  }
  Value sum(std::initializer_list<Value> terms) const {
    Value total;
    for (Value term : terms)
      total = total ? t.add(total, term) : term;
    return total;
  }
};

/// Integer arithmetic of a scalar or vector by constants.
Value constantLike(LaneTile &tile, Value like, int64_t value) {
  Type type = like.getType();
  TypedAttr attribute =
      tile.b.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = SplatElementsAttr::get(vector, attribute);
  return arith::ConstantOp::create(tile.b, attribute);
}
template <typename Op> Value by(LaneTile &tile, Value x, int64_t value) {
  return value == 0 ? x : Op::create(tile.b, x, constantLike(tile, x, value));
}
/// Of bytes.
template <typename Op> Value shiftBytes(LaneTile &tile, Value x, int bits) {
  if (bits == 0 || !isa<VectorType>(x.getType()))
    return by<Op>(tile, x, bits);
  ByteWords words(tile, x);
  words.shift<Op>(bits);
  words.keep(std::is_same_v<Op, arith::ShLIOp> ? 0xff << bits : 0xff >> bits);
  return words.fields();
}
Value lowBits(LaneTile &tile, Value x, int bits) {
  return arith::AndIOp::create(tile.b, x,
                               constantLike(tile, x, (int64_t(1) << bits) - 1));
}

} // namespace

CodeRows::CodeRows(LaneTile &tile, Value pool, Value offset)
    : order(tile.layout.codeOrder), type(tile.layout.codes.type) {
  const Region &codes = tile.layout.codes;
  if (!tile.layout.rowBits.empty()) {
    openRows(tile, pool, offset);
    if (order == CodeOrder::Fragments)
      slabs.emplace(tile);
    return;
  }
  if (isPlain() || order == CodeOrder::Columns) {
    planes.push_back(
        {codePlanes(tile.layout)[0], tile.view(pool, offset, codes)});
    return;
  }
  const int64_t count = codes.count * codes.width;
  for (const CodePlane &place : codePlanes(tile.layout)) {
    Region region{codes.offset + place.offset, type, 1, count};
    if (place.bits < kByte) {
      region.type = ElementType::I8;
      region.width = count * place.bits / kByte;
    }
    planes.push_back({place, tile.view(pool, offset, region)});
  }
}

bool CodeRows::isPlain() const {
  return order == CodeOrder::Rows && elementBits(type) % kByte == 0 &&
         !hasRowBits();
}

Value CodeRows::load(LaneTile &tile, Value row, Value pivotFactor) const {
  if (hasRowBits())
    return slabs ? loadFromSlab(tile, row)
                 : loadFromRow(tile, row, pivotFactor);
  if (isPlain())
    return tile.load(planes[0].view, row, tile.firstValue,
                     tile.schedule.valuesPerLane);
  if (order == CodeOrder::Columns)
    return loadAcross(tile, row);
  Value stored;
  for (const Plane &plane : planes) {
    Value fields = order == CodeOrder::Rows ? unpack(tile, plane, row)
                                            : gather(tile, plane, row);
    if (plane.place.firstBit > 0)
      fields = shiftBytes<arith::ShLIOp>(tile, fields, plane.place.firstBit);
    stored = stored ? arith::OrIOp::create(tile.b, stored, fields) : fields;
  }
  if (!isInteger(type))
    return tile.widen(stored, type);
  // Two's complement of few bits, or the code plus 2^(bits - 1).
  const int64_t sign = -(int64_t(1) << (elementBits(type) - 1));
  if (order == CodeOrder::Rows)
    stored = by<arith::XOrIOp>(tile, stored, -sign);
  return tile.widen(by<arith::AddIOp>(tile, stored, sign));
}

void CodeRows::store(LaneTile &tile, Value row, Value codes,
                     Value elements) const {
  if (hasRowBits())
    return slabs ? storeToSlab(tile, row, codes)
                 : storeToRow(tile, row, codes, elements);
  if (isPlain())
    return tile.store(planes[0].view, row, tile.firstValue, codes);
  if (order == CodeOrder::Columns)
    return storeAcross(tile, row, codes);
  if (isWideFloat(type))
    return scatter(tile, planes[0], row, tile.narrow(codes, type));
  Value stored = tile.narrow(codes, isInteger(type) ? ElementType::I8 : type);
  const int bits = elementBits(type);
  if (order == CodeOrder::Fragments && isInteger(type))
    stored = by<arith::XOrIOp>(tile, stored, -(int64_t(1) << (bits - 1)));
  for (const Plane &plane : planes) {
    Value fields =
        shiftBytes<arith::ShRUIOp>(tile, stored, plane.place.firstBit);
    if (plane.place.bits < kByte)
      fields = lowBits(tile, fields, plane.place.bits);
    if (order == CodeOrder::Rows)
      pack(tile, plane, row, fields);
    else
      scatterInTurn(tile, plane, row, fields);
  }
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

Value CodeRows::loadAcross(LaneTile &tile, Value row) const {
  SmallVector<Value> values;
  for (int i = 0; i < tile.schedule.valuesPerLane; ++i)
    values.push_back(tile.loadScalar(
        planes[0].view, tile.add(tile.firstValue, tile.index(i)), row));
  return vector::FromElementsOp::create(tile.b, tile.valueType(), values);
}

void CodeRows::storeAcross(LaneTile &tile, Value row, Value codes) const {
  for (int i = 0; i < tile.schedule.valuesPerLane; ++i)
    tile.storeScalar(planes[0].view, tile.add(tile.firstValue, tile.index(i)),
                     row, tile.element(codes, i));
}

namespace {

/// The same elements as vectors along the other axis: names, no work.
SmallVector<Value> transposed(LaneTile &tile, ArrayRef<Value> vectors,
                              VectorType type) {
  const int64_t count = cast<VectorType>(vectors[0].getType()).getDimSize(0);
  SmallVector<Value> results;
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> elements;
    for (Value vector : vectors)
      elements.push_back(tile.element(vector, i));
    results.push_back(vector::FromElementsOp::create(tile.b, type, elements));
  }
  return results;
}

} // namespace

SmallVector<Value> CodeRows::loadTile(LaneTile &tile) const {
  SmallVector<Value> vectors;
  if (order != CodeOrder::Columns) {
    for (int i = 0; i < tile.schedule.keysPerLane; ++i)
      vectors.push_back(load(tile, tile.add(tile.firstKey, tile.index(i))));
    return vectors;
  }
  for (int i = 0; i < tile.schedule.valuesPerLane; ++i)
    vectors.push_back(tile.loadAlong(VectorAxis::Key, planes[0].view,
                                     tile.add(tile.firstValue, tile.index(i))));
  return transposed(tile, vectors, tile.valueType());
}

void CodeRows::storeTile(LaneTile &tile, ArrayRef<Value> rows) const {
  if (order != CodeOrder::Columns) {
    for (auto [i, row] : llvm::enumerate(rows))
      store(tile, tile.add(tile.firstKey, tile.index(i)), row);
    return;
  }
  const SmallVector<Value> columns = transposed(tile, rows, tile.keyType());
  tile.ifTrue(tile.inside(VectorAxis::Key), [&] {
    for (auto [i, column] : llvm::enumerate(columns))
      tile.store(planes[0].view, tile.add(tile.firstValue, tile.index(i)),
                 tile.firstKey, column);
  });
}

//===----------------------------------------------------------------------===//
// Fragments
//===----------------------------------------------------------------------===//

SmallVector<CodeRows::Run> CodeRows::runs(LaneTile &tile, const Plane &plane,
                                          Value row) const {
  const IndexMath m{tile};
  const int bits = plane.place.bits;
  const int64_t tiles = tilesPerChunk(tile.layout);
  // All lanes' first half of a tile of f32 comes before their second.
  const bool halves = bits == kWordBits;
  const int64_t chunk = halves ? kLaneCodes / 2 : tiles * kLaneCodes;
  // What the bits of a code's number count for: where codes are elements, they
  // follow one another; fields of a byte come in the order of CodeStore.
  const bool whole = bits >= kByte;
  const int64_t ofOddKey = whole ? 1 : 4, ofUpperValue = whole ? 2 : 1,
                ofUpperKey = halves  ? kLanes * chunk
                             : whole ? 4
                                     : 2;

  Value keyTile = m.over(row, kTile);
  Value inHalf = m.mod(row, kHalfTile);
  Value keyPart = m.sum(
      {m.times(m.over(keyTile, tiles), kLanes * chunk * (halves ? 2 : 1)),
       m.times(m.mod(keyTile, tiles), kLaneCodes),
       m.times(m.over(inHalf, 2), chunk), m.times(m.mod(inHalf, 2), ofOddKey),
       m.times(m.mod(m.over(row, kHalfTile), 2), ofUpperKey)});

  // The next value of a half tile is four lanes on.
  const int64_t values = tile.schedule.valuesPerLane;
  const int64_t length = std::gcd(values, kHalfTile);
  SmallVector<Run> result;
  for (int64_t i = 0; i < values; i += length) {
    Value value = tile.add(tile.firstValue, tile.index(i));
    Value position = m.sum(
        {keyPart, m.times(m.over(value, kTile), kTile * tile.layout.paddedKey),
         m.times(m.mod(m.over(value, kHalfTile), 2), ofUpperValue),
         m.times(m.mod(value, kHalfTile), 4 * chunk)});
    if (whole) {
      result.push_back({position, Value(), 4 * chunk, length});
      continue;
    }
    Value bit = m.times(position, bits);
    result.push_back({m.over(bit, kByte),
                      arith::IndexCastOp::create(tile.b, tile.b.getI8Type(),
                                                 m.mod(bit, kByte)),
                      4 * chunk * bits / kByte, length});
  }
  return result;
}

Value CodeRows::gather(LaneTile &tile, const Plane &plane, Value row) const {
  SmallVector<Value> fields;
  for (const Run &run : runs(tile, plane, row))
    for (int64_t i = 0; i < run.count; ++i) {
      Value at = tile.add(run.first, tile.index(i * run.stride));
      Value field = memref::LoadOp::create(tile.b, plane.view.memref,
                                           ValueRange{tile.index(0), at});
      if (run.shift)
        field = lowBits(tile, arith::ShRUIOp::create(tile.b, field, run.shift),
                        plane.place.bits);
      fields.push_back(field);
    }
  auto vector = VectorType::get({int64_t(fields.size())}, fields[0].getType());
  return vector::FromElementsOp::create(tile.b, vector, fields);
}

void CodeRows::scatter(LaneTile &tile, const Plane &plane, Value row,
                       Value fields) const {
  int64_t n = 0;
  for (const Run &run : runs(tile, plane, row))
    for (int64_t i = 0; i < run.count; ++i) {
      const Value at[] = {tile.index(0),
                          tile.add(run.first, tile.index(i * run.stride))};
      Value field = tile.element(fields, n++);
      if (run.shift) {
        // No other lane is at the byte: check() of schedules for values,
        // scatterInTurn() for keys.
        Value mask = arith::ShLIOp::create(
            tile.b, constantLike(tile, field, (1 << plane.place.bits) - 1),
            run.shift);
        Value others = arith::AndIOp::create(
            tile.b, memref::LoadOp::create(tile.b, plane.view.memref, at),
            by<arith::XOrIOp>(tile, mask, -1));
        field = arith::OrIOp::create(
            tile.b, others, arith::ShLIOp::create(tile.b, field, run.shift));
      }
      memref::StoreOp::create(tile.b, field, plane.view.memref, at);
    }
}

/// Fields of up to 2 bits share a byte with those of the key 8 on, and bits
/// also with those of the next key, which may be another lane's: lanes take
/// turns.
void CodeRows::scatterInTurn(LaneTile &tile, const Plane &plane, Value row,
                             Value fields) const {
  const int keys = tile.schedule.keysPerLane;
  if (plane.place.bits >= 4 || keys % kTile == 0)
    return scatter(tile, plane, row, fields);
  const IndexMath m{tile};
  const bool pairs = plane.place.bits == 1 && keys % 2 != 0;
  Value turn = m.mod(m.over(row, kHalfTile), 2);
  if (pairs)
    turn = m.sum({m.times(turn, 2), m.mod(row, 2)});
  for (int64_t n = 0; n < (pairs ? 4 : 2); ++n) {
    Value mine = arith::CmpIOp::create(tile.b, arith::CmpIPredicate::eq, turn,
                                       tile.index(n));
    tile.ifTrue(mine, [&] { scatter(tile, plane, row, fields); });
    tile.barrier();
  }
}

//===----------------------------------------------------------------------===//
// Rows of codes that share bytes
//===----------------------------------------------------------------------===//

namespace {

/// The byte that holds the lane's first code of the row.
Value firstByte(LaneTile &tile, const CodePlane &place, Value row) {
  const IndexMath m{tile};
  Value code = tile.add(m.times(row, tile.layout.paddedValue), tile.firstValue);
  return m.over(m.times(code, place.bits), kByte);
}

llvm::MaybeAlign alignOfRow(LaneTile &tile, int64_t bytes, int bits) {
  const int64_t row = int64_t(tile.layout.paddedValue) * bits / kByte;
  return llvm::MaybeAlign(std::gcd(std::gcd(bytes, row), kSlotAlign));
}

} // namespace

Value CodeRows::unpack(LaneTile &tile, const Plane &plane, Value row) const {
  const int bits = plane.place.bits;
  const int64_t bytes = int64_t(tile.schedule.valuesPerLane) * bits / kByte;
  return loadFields(tile, plane.view, firstByte(tile, plane.place, row), bits,
                    alignOfRow(tile, bytes, bits));
}

Value CodeRows::loadFields(LaneTile &tile, const View &view, Value byte,
                           int bits, llvm::MaybeAlign align) const {
  const int64_t bytes = int64_t(tile.schedule.valuesPerLane) * bits / kByte;
  Value fields = vector::LoadOp::create(
      tile.b, VectorType::get({bytes}, tile.b.getI8Type()), view.memref,
      ValueRange{tile.index(0), byte}, false, align);
  // Halves of ever smaller fields, low before high.
  for (int width = kByte / 2; width >= bits; width /= 2)
    fields = vector::InterleaveOp::create(
        tile.b, lowBits(tile, fields, width),
        shiftBytes<arith::ShRUIOp>(tile, fields, width));
  return fields;
}

void CodeRows::pack(LaneTile &tile, const Plane &plane, Value row,
                    Value fields) const {
  const int bits = plane.place.bits;
  const int64_t bytes = int64_t(tile.schedule.valuesPerLane) * bits / kByte;
  storeFields(tile, plane.view, firstByte(tile, plane.place, row), bits, fields,
              alignOfRow(tile, bytes, bits));
}

void CodeRows::storeFields(LaneTile &tile, const View &view, Value byte,
                           int bits, Value fields,
                           llvm::MaybeAlign align) const {
  for (int width = bits; width < kByte; width *= 2) {
    auto pairs = vector::DeinterleaveOp::create(tile.b, fields);
    fields = arith::OrIOp::create(
        tile.b, pairs.getRes1(),
        shiftBytes<arith::ShLIOp>(tile, pairs.getRes2(), width));
  }
  vector::StoreOp::create(tile.b, fields, view.memref,
                          ValueRange{tile.index(0), byte}, false, align);
}
