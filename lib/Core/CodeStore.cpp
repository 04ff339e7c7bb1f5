//===- CodeStore.cpp - where one code lies --------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Core/CodeStore.h"

#include "decant/Core/Numeric.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace decant;

namespace {

/// A tile is 16 values x 16 keys on 32 lanes of 8 codes.
constexpr int kTile = 16, kHalfTile = 8;
constexpr int kLanes = 32, kLaneCodes = 8;
/// A lane loads up to 16 bytes at once.
constexpr int kMaxChunkBytes = 16;
constexpr int kWordBits = 32, kWordCodes = 4; // of f32, in one load

/// How many codes of the plane lie before the one asked for.
int64_t positionInRows(const SlotLayout &layout, int key, int value) {
  return int64_t(key) * layout.paddedValue + value;
}

int64_t positionInColumns(const SlotLayout &layout, int key, int value) {
  return int64_t(value) * layout.paddedKey + key;
}

int64_t positionInFragments(const SlotLayout &layout, int tiles, int bits,
                            int key, int value) {
  const int valueTile = value / kTile, keyTile = key / kTile;
  const int lane = value % kHalfTile * 4 + key % kHalfTile / 2;
  const int code =
      key % 2 + (value % kTile / kHalfTile) * 2 + (key % kTile / kHalfTile) * 4;
  const int chunksPerRow = layout.paddedKey / kTile / tiles;
  if (bits == kWordBits) { // a lane's load is half of its part of a tile
    const int64_t row =
        (int64_t(valueTile) * chunksPerRow + keyTile) * 2 + code / kWordCodes;
    return (row * kLanes + lane) * kWordCodes + code % kWordCodes;
  }
  const int64_t chunk =
      (int64_t(valueTile) * chunksPerRow + keyTile / tiles) * kLanes + lane;
  const int field = bits < 8 ? code / 2 + 4 * (code % 2) : code;
  return (chunk * tiles + keyTile % tiles) * kLaneCodes + field;
}

/// `tiles` are those of a chunk.
int64_t position(const SlotLayout &layout, int tiles, int bits, int key,
                 int value) {
  switch (layout.codeOrder) {
  case CodeOrder::Rows:
    return positionInRows(layout, key, value);
  case CodeOrder::Fragments:
    return positionInFragments(layout, tiles, bits, key, value);
  case CodeOrder::Columns:
    return positionInColumns(layout, key, value);
  }
  return 0;
}

} // namespace

std::vector<CodePlane> decant::codePlanes(const SlotLayout &layout) {
  const int64_t codes = layout.codes.count * layout.codes.width;
  const int bits = elementBits(layout.codes.type);
  if (bits % 3 != 0)
    return {{bits, 0, 0}};
  const int low = bits / 3 * 2; // 4 and 2, or 2 and 1
  return {{low, 0, 0}, {bits - low, low, codes * low / 8}};
}

int64_t decant::rowOffset(const SlotLayout &layout, int key) {
  const auto first = layout.rowBits.begin();
  return std::accumulate(first, first + key, int64_t(0)) * layout.paddedValue /
         8;
}

std::vector<CodePlane> decant::rowPlanes(int bits, int64_t paddedValue) {
  std::vector<CodePlane> planes;
  int64_t offset = 0;
  if (bits == kPivotBits)
    return {{bits, 0, 0}};
  for (int left = bits; left > 0;) {
    const int width = left >= 4 ? 4 : left >= 2 ? 2 : 1;
    left -= width;
    planes.push_back({width, left, offset});
    offset += paddedValue * width / 8;
  }
  return planes;
}

bool decant::fillsSlabs(const SlotLayout &layout) {
  if (layout.keyDim % kSlabRows != 0)
    return false;
  const auto &bits = layout.rowBits;
  if (std::find(bits.begin(), bits.end(), kPivotBits) != bits.end())
    return false;
  for (size_t first = 0; first < bits.size(); first += layout.keyDim)
    for (int width = kMinRowBits; width <= kMaxRowBits; ++width) {
      const auto begin = bits.begin() + first;
      if (std::count(begin, begin + layout.keyDim, width) % kSlabRows != 0)
        return false;
    }
  return true;
}

SlabPlace decant::slabPlace(const SlotLayout &layout, int key) {
  const int bits = layout.rowBits[key];
  int64_t before = 0; // bits of a column
  int wider = 0, same = 0;
  for (int other = 0; other < layout.keyDim; ++other)
    if (layout.rowBits[other] > bits) {
      before += layout.rowBits[other];
      ++wider;
    } else if (layout.rowBits[other] == bits && other < key) {
      ++same;
    }
  before += int64_t(same / kSlabRows) * kSlabRows * bits;
  return {wider + same, bits, before * layout.paddedValue / 8};
}

int decant::slabField(int bits, int e) {
  const int oddKey = e % 2, upperValue = e / 2 % 2, upperKey = e / 4;
  switch (bits) {
  case 4:
    return 4 * (2 * oddKey + 4 * upperValue + upperKey);
  case 2:
    return 2 * (upperValue + 2 * upperKey + 4 * oddKey);
  default:
    return e;
  }
}

int decant::tilesPerChunk(const SlotLayout &layout) {
  const int bits = codePlanes(layout)[0].bits; // no other has more
  const int tiles = layout.paddedKey / kTile;
  int chunk = 1;
  while (2 * chunk * bits <= kMaxChunkBytes && tiles % (2 * chunk) == 0)
    chunk *= 2;
  return chunk;
}

static CodePlace placeAmong(const SlotLayout &layout, int tiles,
                            const CodePlane &plane, int key, int value) {
  const int64_t bit =
      position(layout, tiles, plane.bits, key, value) * plane.bits;
  return {layout.codes.offset + plane.offset + bit / 8, int(bit % 8)};
}

CodePlace decant::codePlace(const SlotLayout &layout, const CodePlane &plane,
                            int key, int value) {
  const bool hasTiles = layout.codeOrder == CodeOrder::Fragments;
  return placeAmong(layout, hasTiles ? tilesPerChunk(layout) : 1, plane, key,
                    value);
}

CodeTable::CodeTable(const SlotLayout &layout)
    : layout(layout), planes(codePlanes(layout)) {
  const bool inFragments = layout.codeOrder == CodeOrder::Fragments;
  if (layout.rowBits.empty()) {
    tiles = inFragments ? tilesPerChunk(layout) : 1;
    return;
  }
  for (int key = 0; key < layout.keyDim; ++key) {
    Row row;
    if (inFragments) {
      const SlabPlace slab = slabPlace(layout, key);
      row.offset = layout.codes.offset + slab.offset;
      row.inSlab = slab.position % kSlabRows;
      row.planes =
          rowPlanes(slab.bits, int64_t(kSlabRows) * layout.paddedValue);
    } else {
      row.offset = layout.codes.offset + rowOffset(layout, key);
      row.planes = rowPlanes(layout.rowBits[key], layout.paddedValue);
    }
    rows.push_back(std::move(row));
  }
}

CodePlace CodeTable::placeInRow(const Row &row, const CodePlane &plane,
                                int value) const {
  int64_t bit = int64_t(value) * plane.bits;
  if (layout.codeOrder == CodeOrder::Fragments) {
    const int lane = value % kHalfTile * 4 + row.inSlab % kHalfTile / 2;
    const int code = row.inSlab % 2 + value % kTile / kHalfTile * 2 +
                     row.inSlab / kHalfTile * 4;
    bit = (int64_t(value / kTile) * kLanes + lane) * kLaneCodes * plane.bits +
          slabField(plane.bits, code);
  }
  return {row.offset + plane.offset + bit / 8, int(bit % 8)};
}

CodePlace CodeTable::placeOf(const CodePlane &plane, int key, int value) const {
  return rows.empty() ? placeAmong(layout, tiles, plane, key, value)
                      : placeInRow(rows[key], plane, value);
}

int CodeTable::loadField(const uint8_t *head, int key, int value) const {
  int field = 0;
  for (const CodePlane &plane : rows.empty() ? planes : rows[key].planes) {
    const CodePlace at = placeOf(plane, key, value);
    field |= ((head[at.byte] >> at.shift) & ((1 << plane.bits) - 1))
             << plane.firstBit;
  }
  return field;
}

void CodeTable::storeField(uint8_t *head, int key, int value, int field) const {
  for (const CodePlane &plane : rows.empty() ? planes : rows[key].planes) {
    const CodePlace at = placeOf(plane, key, value);
    const int mask = (1 << plane.bits) - 1;
    uint8_t &byte = head[at.byte];
    byte = uint8_t((byte & ~(mask << at.shift)) |
                   ((field >> plane.firstBit) & mask) << at.shift);
  }
}

double CodeTable::load(const uint8_t *head, int key, int value) const {
  const ElementType type = layout.codes.type;
  const bool isPivot = !rows.empty() && layout.isPivot(key);
  if (isPivot)
    return loadElement(
        ElementType::F16,
        head + placeInRow(rows[key], rows[key].planes[0], value).byte);
  if (rows.empty() && isWideFloat(type))
    return loadElement(type, head + placeOf(planes[0], key, value).byte);
  const int field = loadField(head, key, value);
  if (rows.empty() && isSmallFloat(type))
    return smallToDouble(type, uint8_t(field));
  if (rows.empty() && isTable(type))
    return layout.tables.levels[field];
  if (rows.empty() && isCodebook(type))
    return levelToDouble(type, uint8_t(field));
  const int bits = rows.empty() ? elementBits(type) : layout.rowBits[key];
  const int sign = 1 << (bits - 1);
  const int code = layout.codeOrder == CodeOrder::Fragments
                       ? field - sign
                       : (field ^ sign) - sign;
  return rows.empty() ? code : code * (1 << (kMaxRowBits - bits));
}

/// In the bits of a row of its own.
static int toRowCode(int bits, double code, CodeRange range) {
  const double largest = (1 << (bits - 1)) - 1;
  const double rounded =
      std::isnan(code) ? 0
                       : std::nearbyint(std::ldexp(code, bits - kMaxRowBits));
  const double least = range == CodeRange::All ? -largest - 1 : -largest;
  return int(std::clamp(rounded, least, largest));
}

void CodeTable::store(uint8_t *head, int key, int value, double code) const {
  const ElementType type = layout.codes.type;
  const CodeRange range =
      layout.usesAllCodes() ? CodeRange::All : CodeRange::Symmetric;
  const bool isPivot = !rows.empty() && layout.isPivot(key);
  if (isPivot)
    return storeElement(
        ElementType::F16, code,
        head + placeInRow(rows[key], rows[key].planes[0], value).byte);
  if (rows.empty() && isWideFloat(type))
    return storeElement(type, code, head + placeOf(planes[0], key, value).byte);
  int field = 0, bits = elementBits(type);
  bool isSigned = true;
  if (!rows.empty()) {
    bits = layout.rowBits[key];
    field = toRowCode(bits, code, range);
  } else if (isInteger(type)) {
    field = toCode(type, code, range);
  } else {
    isSigned = false;
    field = isSmallFloat(type) ? doubleToSmall(type, code)
            : isTable(type)    ? nearestLevel(layout.tables.levels, code)
                               : doubleToLevel(type, code);
  }
  if (isSigned && layout.codeOrder == CodeOrder::Fragments)
    field += 1 << (bits - 1);
  storeField(head, key, value, field);
}

double decant::loadCode(const SlotLayout &layout, const uint8_t *head, int key,
                        int value) {
  return CodeTable(layout).load(head, key, value);
}

void decant::storeCode(const SlotLayout &layout, uint8_t *head, int key,
                       int value, double code) {
  CodeTable(layout).store(head, key, value, code);
}
