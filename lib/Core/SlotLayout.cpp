//===- SlotLayout.cpp - the bytes of one sequence's state -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Core/SlotLayout.h"

#include "decant/Core/Numeric.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

using namespace decant;

namespace {

/// Padded key dims split into 8 key lanes, padded value dims into at most 16
/// value lanes of whole 16-byte vectors: so a block of 16 x 16 lanes serves
/// every dim.
constexpr int kKeyMultiple = 8, kValueMultiple = 16;
constexpr int64_t kLongRegion = 512; // bytes
/// A fragment is 16 keys wide.
constexpr int kFragmentKeys = 16;

int64_t alignTo(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Hands out consecutive aligned regions.
class RegionAllocator {
public:
  Region take(ElementType type, int64_t count, int64_t width) {
    Region region{next, type, count, width};
    if (region.bytes() >= kLongRegion)
      region.offset = next = alignTo(next, kLineBytes);
    next = alignTo(next + region.bytes(), kSlotAlign);
    return region;
  }
  int64_t bytes() const { return next; }

private:
  int64_t next = 0;
};

int64_t decayWidth(DecayShape shape, int64_t paddedDim) {
  switch (shape) {
  case DecayShape::None:
    return 0;
  case DecayShape::Scalar:
    return 1;
  case DecayShape::Vector:
    return paddedDim;
  }
  return 0;
}

/// A scalar decay costs 4 bytes a token, so it stays f32. A vector is stored in
/// 16 bits unless the records are f32; f16 rather than bf16, since decays lie
/// in [0, 1] and up to 63 of them are multiplied.
ElementType decayType(DecayShape shape, ElementType records) {
  if (shape == DecayShape::Scalar || records == ElementType::F32)
    return ElementType::F32;
  return ElementType::F16;
}

} // namespace

const char *decant::toString(DecayShape shape) {
  switch (shape) {
  case DecayShape::None:
    return "none";
  case DecayShape::Scalar:
    return "scalar";
  case DecayShape::Vector:
    return "vector";
  }
  return "";
}

const char *decant::toString(CodeOrder order) {
  switch (order) {
  case CodeOrder::Rows:
    return "rows";
  case CodeOrder::Fragments:
    return "fragments";
  case CodeOrder::Columns:
    return "columns";
  }
  return "";
}

const ScaleSpec *SlotLayout::groups() const {
  return !scales.empty() && isGrouped(scales.back()) ? &scales.back() : nullptr;
}

int SlotLayout::groupKeys() const {
  const ScaleSpec *scale = groups();
  if (!scale || scale->axis == Axis::Key)
    return 1;
  return scale->block ? scale->block : paddedKey;
}

int SlotLayout::groupValues() const {
  const ScaleSpec *scale = groups();
  if (!scale || scale->axis == Axis::Value)
    return 1;
  return scale->block ? scale->block : paddedValue;
}

int64_t SlotLayout::groupRows() const {
  return groups() ? (paddedKey - 1) / groupKeys() + 1 : 0;
}

int64_t SlotLayout::groupColumns() const {
  return groups() ? (paddedValue - 1) / groupValues() + 1 : 0;
}

bool SlotLayout::hasStaticScales() const {
  return groups() && groups()->fit == ScaleFit::Static;
}

double SlotLayout::largestOver(size_t index) const {
  const double code = maxFinite(codes.type);
  if (index + 1 < scales.size())
    return scales[index + 1].type == ElementType::E4M3
               ? code * maxFinite(ElementType::E4M3)
               : 1;
  return scales[index].type == ElementType::E8M0
             ? std::ldexp(1.0, std::ilogb(code))
             : code;
}

bool SlotLayout::hasPivots() const {
  return std::find(rowBits.begin(), rowBits.end(), kPivotBits) != rowBits.end();
}

int SlotLayout::groupRowOf(int key) const {
  if (rowBits.empty())
    return key;
  return key - int(std::count(rowBits.begin(), rowBits.begin() + key,
                              uint8_t(kPivotBits)));
}

bool SlotLayout::rotatesKeys() const {
  return rotation == Rotation::Key || rotation == Rotation::Both;
}

bool SlotLayout::rotatesValues() const {
  return rotation == Rotation::Value || rotation == Rotation::Both;
}

int64_t SlotLayout::scaleBytes() const {
  return keyScale.bytes() + valueScale.bytes() + headScale.bytes() +
         groupScale.bytes() + groupOffset.bytes();
}

/// Bytes of all heads' codes, scales, compensators and carried vectors.
static int64_t stateBytes(const SlotLayout &layout) {
  int64_t codes = 0;
  for (int head = 0; head < layout.valueHeads; ++head)
    codes += layout.codeBytes(head);
  return codes + layout.valueHeads *
                     (layout.scaleBytes() + layout.compKeys.bytes() +
                      layout.compValues.bytes() + layout.compScale.bytes() +
                      layout.carried.bytes() / layout.places());
}

int64_t SlotLayout::stateBytesPerHead() const {
  return (stateBytes(*this) + valueHeads - 1) / valueHeads;
}

double SlotLayout::bitsPerElement() const {
  return 8.0 * double(stateBytes(*this)) /
         (double(valueHeads) * keyDim * valueDim);
}

int64_t SlotLayout::codeBytes(int head) const {
  if (rowBits.empty())
    return codes.bytes();
  const auto first = rowBits.begin() + int64_t(head) * keyDim;
  return std::accumulate(first, first + keyDim, int64_t(0)) * paddedValue / 8;
}

int64_t SlotLayout::headOffset(int head) const {
  if (rowBits.empty())
    return kSlotHeaderBytes + head * headBytes;
  int64_t offset = kSlotHeaderBytes;
  for (int before = 0; before < head; ++before)
    offset += alignTo(codes.offset + codeBytes(before), kLineBytes);
  return offset;
}

SlotLayout SlotLayout::ofHead(int head) const {
  SlotLayout result = *this;
  result.valueHeads = 1;
  result.firstHead = firstHead + head;
  auto cut = [&](std::vector<float> &numbers) {
    const int64_t each = int64_t(numbers.size()) / valueHeads;
    const std::vector<float> own(numbers.begin() + head * each,
                                 numbers.begin() + (head + 1) * each);
    numbers = own;
  };
  cut(result.tables.weights);
  cut(result.tables.scales);
  if (!rowBits.empty()) {
    const auto first = rowBits.begin() + int64_t(head) * keyDim;
    result.rowBits.assign(first, first + keyDim);
    result.headBytes = alignTo(codes.offset + codeBytes(head), kLineBytes);
  }
  result.slotBytes = kSlotHeaderBytes + result.headBytes;
  return result;
}

int SlotLayout::reachOfRow(int key) const {
  return rowBits.empty()
             ? maxCode(codes.type)
             : (1 << (kMaxRowBits - 1)) - (1 << (kMaxRowBits - rowBits[key]));
}

std::vector<std::pair<std::string, Region>> SlotLayout::regions() const {
  std::vector<std::pair<std::string, Region>> all = {
      {"codes", codes},
      {"key_scale", keyScale},
      {"value_scale", valueScale},
      {"head_scale", headScale},
      {"group_scale", groupScale},
      {"group_offset", groupOffset},
      {"comp_keys", compKeys},
      {"comp_values", compValues},
      {"comp_scale", compScale},
      {"cursor", cursor},
      {"carried", carried},
      {"total_key_decay", totalKeyDecay},
      {"total_value_decay", totalValueDecay},
      {"record_key_decay", recordKeyDecay},
      {"record_value_decay", recordValueDecay},
      {"record_keys", recordKeys},
      {"record_values", recordValues}};
  if (!rowBits.empty()) // codes lie behind the rest
    std::rotate(all.begin(), all.begin() + 1, all.end());
  return all;
}

/// Padded key rows that are no pivots, of the head that has most of them.
static int64_t mostCodedRows(const SlotLayout &layout) {
  if (layout.rowBits.empty())
    return layout.paddedKey;
  int64_t most = 0;
  for (int head = 0; head < layout.valueHeads; ++head) {
    const SlotLayout own = layout.ofHead(head);
    most = std::max<int64_t>(most, own.groupRowOf(layout.keyDim));
  }
  return most + layout.paddedKey - layout.keyDim;
}

/// `bytes` are those of a head whose codes all have the bits of their type.
static void sizeHeads(SlotLayout &layout, int64_t bytes) {
  if (layout.rowBits.empty())
    layout.headBytes = alignTo(bytes, kLineBytes);
  else
    for (int head = 0; head < layout.valueHeads; ++head)
      layout.headBytes =
          std::max(layout.headBytes, layout.ofHead(head).headBytes);
  layout.slotBytes = layout.headOffset(layout.valueHeads);
}

SlotLayout decant::makeSlotLayout(const DecodeSpec &spec,
                                  const RecordShape &record, CodeOrder order) {
  assert(check(spec).empty() && "layouts are made for sound specs only");
  SlotLayout layout;
  layout.valueHeads = spec.heads.value;
  layout.keyDim = spec.heads.keyDim;
  layout.valueDim = spec.heads.valueDim;
  layout.paddedKey =
      alignTo(spec.heads.keyDim,
              order == CodeOrder::Fragments ? kFragmentKeys : kKeyMultiple);
  layout.paddedValue = alignTo(spec.heads.valueDim, kValueMultiple);
  layout.window = spec.window.length;
  layout.compensators = spec.window.compensators;
  layout.tokensPerStep = spec.tokensPerStep;
  layout.compensatorRounds = spec.window.compensatorRounds;
  layout.record = record;
  layout.scales = spec.state.scales;
  layout.rotation = spec.state.rotation;
  layout.rotationBlock = spec.state.rotationBlock;
  layout.tables = spec.state.tables;
  layout.rounding = spec.state.rounding;
  layout.codeOrder = order;
  const int64_t key = layout.paddedKey, value = layout.paddedValue;

  RegionAllocator allocator;
  const bool columns = order == CodeOrder::Columns;
  layout.rowBits = spec.state.bits.widths;
  if (layout.rowBits.empty())
    layout.codes = allocator.take(spec.state.codes, columns ? value : key,
                                  columns ? key : value);
  for (const ScaleSpec &scale : spec.state.scales) {
    if (isGrouped(scale)) {
      if (scale.fit == ScaleFit::Static)
        continue;
      const int64_t keys =
          scale.axis == Axis::Key ? mostCodedRows(layout) : layout.groupRows();
      const int64_t values = layout.groupColumns();
      layout.groupScale = allocator.take(scale.type, keys, values);
      if (scale.fit == ScaleFit::MinMax)
        layout.groupOffset = allocator.take(scale.type, keys, values);
    } else if (scale.axis == Axis::Head)
      layout.headScale = allocator.take(scale.type, 1, 1);
    else if (scale.axis == Axis::Key)
      layout.keyScale = allocator.take(scale.type, 1, key);
    else
      layout.valueScale = allocator.take(scale.type, 1, value);
  }
  const ElementType comp = spec.window.compensatorType;
  layout.compKeys = allocator.take(comp, layout.compensators, key);
  layout.compValues = allocator.take(comp, layout.compensators, value);
  layout.compScale =
      allocator.take(ElementType::F32,
                     elementBits(comp) == 8 && layout.compensators > 0 ? 1 : 0,
                     layout.compensators);
  layout.cursor = allocator.take(ElementType::F32, 1, 4);
  // f32 whatever the codes are: a sum over all tokens, and small.
  layout.carried =
      allocator.take(ElementType::F32, layout.places() * record.carried, key);

  if (spec.window.length > 1) {
    const ElementType type = spec.window.records;
    const int64_t tokens = spec.window.length, places = layout.places();
    const int64_t keyWidth = decayWidth(record.keyDecay, key);
    const int64_t valueWidth = decayWidth(record.valueDecay, value);
    layout.totalKeyDecay =
        allocator.take(ElementType::F32, keyWidth ? places : 0, keyWidth);
    layout.totalValueDecay =
        allocator.take(ElementType::F32, valueWidth ? places : 0, valueWidth);
    layout.recordKeyDecay =
        allocator.take(decayType(record.keyDecay, type), tokens, keyWidth);
    layout.recordValueDecay =
        allocator.take(decayType(record.valueDecay, type), tokens, valueWidth);
    layout.recordKeys = allocator.take(type, tokens * record.writes, key);
    layout.recordValues = allocator.take(type, tokens * record.writes, value);
  }
  // Heads differ in length by their codes alone, so these come last.
  if (!layout.rowBits.empty())
    layout.codes = allocator.take(spec.state.codes, key, value);
  sizeHeads(layout, allocator.bytes());
  return layout;
}
