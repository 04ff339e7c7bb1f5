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

/// How many codes of the plane lie before the one asked for.
int64_t positionInRows(const SlotLayout &layout, int key, int value) {
  return int64_t(key) * layout.paddedValue + value;
}

int64_t positionInColumns(const SlotLayout &layout, int key, int value) {
  return int64_t(value) * layout.paddedKey + key;
}

int64_t positionInFragments(const SlotLayout &layout, int bits, int key,
                            int value) {
  const int tiles = tilesPerChunk(layout);
  const int valueTile = value / kTile, keyTile = key / kTile;
  const int lane = value % kHalfTile * 4 + key % kHalfTile / 2;
  const int code =
      key % 2 + (value % kTile / kHalfTile) * 2 + (key % kTile / kHalfTile) * 4;
  const int chunksPerRow = layout.paddedKey / kTile / tiles;
  const int64_t chunk =
      (int64_t(valueTile) * chunksPerRow + keyTile / tiles) * kLanes + lane;
  const int field = bits < 8 ? code / 2 + 4 * (code % 2) : code;
  return (chunk * tiles + keyTile % tiles) * kLaneCodes + field;
}

int64_t position(const SlotLayout &layout, int bits, int key, int value) {
  switch (layout.codeOrder) {
  case CodeOrder::Rows:
    return positionInRows(layout, key, value);
  case CodeOrder::Fragments:
    return positionInFragments(layout, bits, key, value);
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

CodePlace decant::codePlace(const SlotLayout &layout, const CodePlane &plane,
                            int key, int value) {
  const int64_t bit = position(layout, plane.bits, key, value) * plane.bits;
  return {layout.codes.offset + plane.offset + bit / 8, int(bit % 8)};
}

namespace {

bool hasSlabs(const SlotLayout &layout) {
  return layout.codeOrder == CodeOrder::Fragments;
}

/// The parts of one code of a row of its own bits, one per plane.
std::vector<std::pair<CodePlane, CodePlace>>
placesInRow(const SlotLayout &layout, int key, int value) {
  std::vector<std::pair<CodePlane, CodePlace>> places;
  if (!hasSlabs(layout)) {
    const int64_t row = layout.codes.offset + rowOffset(layout, key);
    for (const CodePlane &plane :
         rowPlanes(layout.rowBits[key], layout.paddedValue)) {
      const int64_t bit = int64_t(value) * plane.bits;
      places.push_back({plane, {row + plane.offset + bit / 8, int(bit % 8)}});
    }
    return places;
  }
  const SlabPlace slab = slabPlace(layout, key);
  const int row = slab.position % kSlabRows;
  const int lane = value % kHalfTile * 4 + row % kHalfTile / 2;
  const int code =
      row % 2 + value % kTile / kHalfTile * 2 + row / kHalfTile * 4;
  for (const CodePlane &plane :
       rowPlanes(slab.bits, int64_t(kSlabRows) * layout.paddedValue)) {
    const int64_t bit =
        (int64_t(value / kTile) * kLanes + lane) * kLaneCodes * plane.bits +
        slabField(plane.bits, code);
    places.push_back(
        {plane,
         {layout.codes.offset + slab.offset + plane.offset + bit / 8,
          int(bit % 8)}});
  }
  return places;
}

/// Where a pivot's element is. Slabs have none.
int64_t pivotByte(const SlotLayout &layout, int key, int value) {
  return layout.codes.offset + rowOffset(layout, key) +
         int64_t(value) * elementBytes(ElementType::F16);
}

double loadFromRow(const SlotLayout &layout, const uint8_t *head, int key,
                   int value) {
  if (layout.isPivot(key))
    return loadElement(ElementType::F16, head + pivotByte(layout, key, value));
  const int bits = layout.rowBits[key];
  int stored = 0;
  for (const auto &[plane, at] : placesInRow(layout, key, value))
    stored |= ((head[at.byte] >> at.shift) & ((1 << plane.bits) - 1))
              << plane.firstBit;
  const int sign = 1 << (bits - 1);
  const int code = hasSlabs(layout) ? stored - sign : (stored ^ sign) - sign;
  return code * (1 << (kMaxRowBits - bits));
}

void storeToRow(const SlotLayout &layout, uint8_t *head, int key, int value,
                double code, CodeRange range) {
  if (layout.isPivot(key))
    return storeElement(ElementType::F16, code,
                        head + pivotByte(layout, key, value));
  const int bits = layout.rowBits[key];
  const double largest = (1 << (bits - 1)) - 1;
  const double rounded =
      std::isnan(code) ? 0
                       : std::nearbyint(std::ldexp(code, bits - kMaxRowBits));
  const double least = range == CodeRange::All ? -largest - 1 : -largest;
  int stored = int(std::clamp(rounded, least, largest));
  if (hasSlabs(layout))
    stored += 1 << (bits - 1);
  for (const auto &[plane, at] : placesInRow(layout, key, value)) {
    const int mask = (1 << plane.bits) - 1;
    uint8_t &byte = head[at.byte];
    byte = uint8_t((byte & ~(mask << at.shift)) |
                   ((stored >> plane.firstBit) & mask) << at.shift);
  }
}

} // namespace

double decant::loadCode(const SlotLayout &layout, const uint8_t *head, int key,
                        int value) {
  const ElementType type = layout.codes.type;
  if (!layout.rowBits.empty())
    return loadFromRow(layout, head, key, value);
  if (isWideFloat(type))
    return loadElement(
        type, head + codePlace(layout, codePlanes(layout)[0], key, value).byte);
  int stored = 0;
  for (const CodePlane &plane : codePlanes(layout)) {
    const CodePlace at = codePlace(layout, plane, key, value);
    const int field = (head[at.byte] >> at.shift) & ((1 << plane.bits) - 1);
    stored |= field << plane.firstBit;
  }
  if (isSmallFloat(type))
    return smallToDouble(type, uint8_t(stored));
  if (isTable(type))
    return layout.tables.levels[stored];
  if (isCodebook(type))
    return levelToDouble(type, uint8_t(stored));
  const int sign = 1 << (elementBits(type) - 1);
  return layout.codeOrder == CodeOrder::Fragments ? stored - sign
                                                  : (stored ^ sign) - sign;
}

void decant::storeCode(const SlotLayout &layout, uint8_t *head, int key,
                       int value, double code) {
  const ElementType type = layout.codes.type;
  const CodeRange range =
      layout.usesAllCodes() ? CodeRange::All : CodeRange::Symmetric;
  if (!layout.rowBits.empty())
    return storeToRow(layout, head, key, value, code, range);
  if (isWideFloat(type)) {
    storeElement(type, code,
                 head +
                     codePlace(layout, codePlanes(layout)[0], key, value).byte);
    return;
  }
  int stored = isSmallFloat(type) ? doubleToSmall(type, code)
               : isTable(type)    ? nearestLevel(layout.tables.levels, code)
               : isCodebook(type) ? doubleToLevel(type, code)
                                  : toCode(type, code, range);
  if (isInteger(type) && layout.codeOrder == CodeOrder::Fragments)
    stored += 1 << (elementBits(type) - 1);
  for (const CodePlane &plane : codePlanes(layout)) {
    const CodePlace at = codePlace(layout, plane, key, value);
    const int mask = (1 << plane.bits) - 1;
    const int field = (stored >> plane.firstBit) & mask;
    uint8_t &byte = head[at.byte];
    byte = uint8_t((byte & ~(mask << at.shift)) | field << at.shift);
  }
}
