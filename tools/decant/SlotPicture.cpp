//===- SlotPicture.cpp - a slot's bytes and a tile's lanes, drawn ---------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SlotPicture.h"

#include "decant/Core/CodeStore.h"
#include "decant/Core/Numeric.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;
using namespace decant::tool;

namespace {

constexpr int kBarWidth = 32;

template <typename Offset, typename Bytes>
std::string row(Offset offset, Bytes bytes, const std::string &name,
                const std::string &what, const std::string &bar) {
  std::string line = fmt::format("{:>10} {:>10}  {:<20} {:<21} {}", offset,
                                 bytes, name, what, bar);
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

/// At least one mark for anything at all.
std::string bar(int64_t part, int64_t whole) {
  if (part == 0)
    return "";
  return std::string(std::max<int64_t>(1, part * kBarWidth / whole), '#');
}

std::string shapeOf(const Region &region) {
  return fmt::format("{} [{}, {}]", toString(region.type), region.count,
                     region.width);
}

/// The numbers from which a picture takes its rows or columns: the first two
/// and the last of `count`, -1 for what is left out.
std::vector<int> sample(int count) {
  if (count <= 3) {
    std::vector<int> all(count);
    for (int i = 0; i < count; ++i)
      all[i] = i;
    return all;
  }
  return {0, 1, -1, count - 1};
}

std::string span(int part, int width) {
  return part < 0 ? "..."
                  : fmt::format("{}..{}", part * width, (part + 1) * width - 1);
}

/// A region's name, and the order of codes where it is not by rows.
std::string titleOf(const std::string &name, const SlotLayout &layout) {
  return name == "codes" && layout.codeOrder != CodeOrder::Rows
             ? fmt::format("{} ({})", name, toString(layout.codeOrder))
             : name;
}

/// What the bits of a code mean, from the highest.
std::string bitsOf(ElementType type) {
  const int top = elementBits(type) - 1;
  if (isInteger(type))
    return "two's complement";
  if (isTable(type))
    return "the number of one of the plan's levels";
  if (isCodebook(type))
    return fmt::format("bit {} the sign, below it the number of a level", top);
  const SmallFloat format = smallFloat(type);
  return fmt::format("bit {} the sign, {} of exponent, {} of fraction", top,
                     format.exponentBits, format.fractionBits);
}

/// The first byte of each plane of codes by rows, bit 7 first: a0 is the lowest
/// bit of value 0 of key 0, b0 of value 1.
std::string drawCodes(const SlotLayout &layout) {
  const ElementType type = layout.codes.type;
  if (layout.codeOrder != CodeOrder::Rows || isWideFloat(type) ||
      !layout.rowBits.empty())
    return "";
  std::string text = fmt::format("\na code, {}\n", bitsOf(type));
  for (const CodePlane &plane : codePlanes(layout)) {
    std::string bits[8];
    for (int value = 0; value < 8 / plane.bits; ++value) {
      const CodePlace at = codePlace(layout, plane, 0, value);
      for (int bit = 0; bit < plane.bits; ++bit)
        bits[at.shift + bit] =
            fmt::format("{}{}", char('a' + value), plane.firstBit + bit);
    }
    text += fmt::format("{:>10} {:>10}  ", plane.offset, 1);
    for (int bit = 7; bit >= 0; --bit)
      text += bits[bit] + (bit ? " " : "\n");
  }
  if (layout.groups())
    text += fmt::format("a group has {} x {} elements, keys x values\n",
                        layout.groupKeys(), layout.groupValues());
  return text;
}

/// Codes of rows that differ in bits are as long as those of head 0.
int64_t bytesOf(const std::string &name, const Region &region,
                const SlotLayout &layout) {
  return name == "codes" ? layout.codeBytes(0) : region.bytes();
}

/// What a head's rows differ in.
std::string bitsOf(const SlotLayout &layout, int head) {
  if (layout.rowBits.empty())
    return "";
  const std::string digits = digitsOf(layout.ofHead(head).rowBits);
  std::string text;
  for (char bits = '2'; bits <= '8'; ++bits)
    if (const auto rows = std::count(digits.begin(), digits.end(), bits))
      text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", rows, bits);
  text += " bits";
  if (const auto rows = std::count(digits.begin(), digits.end(), 'f'))
    text += fmt::format(", {} x f16", rows);
  return text;
}

} // namespace

std::string decant::tool::drawSlot(const SlotLayout &layout) {
  std::string text = fmt::format("slot, {} bytes\n", layout.slotBytes);
  text += row("offset", "bytes", "", "", "");
  text += row(0, kSlotHeaderBytes, "header", "version, fill, tokens",
              bar(kSlotHeaderBytes, layout.slotBytes));
  for (int head : sample(layout.valueHeads)) {
    if (head < 0) {
      text += row("...", "", "", "", "");
      continue;
    }
    const int64_t bytes = layout.ofHead(head).headBytes;
    text += row(layout.headOffset(head), bytes, fmt::format("head {}", head),
                bitsOf(layout, head), bar(bytes, layout.slotBytes));
  }
  const int64_t length = layout.ofHead(0).headBytes;
  text += fmt::format("\nhead{}, {} bytes\n",
                      layout.rowBits.empty() ? "" : " 0", length);
  text += row("offset", "bytes", "", "", "");
  for (const auto &[name, region] : layout.regions()) {
    if (region.empty())
      continue;
    const int64_t bytes = bytesOf(name, region, layout);
    text += row(region.offset, bytes, titleOf(name, layout), shapeOf(region),
                bar(bytes, length));
  }
  return text + drawCodes(layout);
}

Json decant::tool::slotToJson(const SlotLayout &layout) {
  Json json = {{"slot_bytes", layout.slotBytes},
               {"header_bytes", kSlotHeaderBytes},
               {"heads", layout.valueHeads},
               {"head_bytes", layout.headBytes},
               {"key_dim", layout.keyDim},
               {"value_dim", layout.valueDim},
               {"padded_key", layout.paddedKey},
               {"padded_value", layout.paddedValue},
               {"window", layout.window},
               {"compensators", layout.compensators},
               {"code_order", toString(layout.codeOrder)}};
  if (!layout.rowBits.empty())
    json["row_bits"] = digitsOf(layout.rowBits);
  json["regions"] = Json::array();
  for (const auto &[name, region] : layout.regions())
    if (!region.empty())
      json["regions"].push_back({{"name", name},
                                 {"offset", region.offset},
                                 {"bytes", bytesOf(name, region, layout)},
                                 {"type", toString(region.type)},
                                 {"count", region.count},
                                 {"width", region.width}});
  return json;
}

/// Warps by values, and one tile of their fragments (SlotLayout.h).
static std::string drawWarps(const Schedule &schedule) {
  std::string text = fmt::format("{:<14}", "value");
  const std::vector<int> warps = sample(schedule.valueLanes);
  for (int warp : warps)
    text += fmt::format(" {:>9}", span(warp, schedule.valuesPerLane));
  text += fmt::format("\n{:<14}", "");
  for (int warp : warps)
    text +=
        fmt::format(" {:>9}", warp < 0 ? "..." : fmt::format("warp {}", warp));
  text += "\n\na tile of 16 x 16 codes, by the lane of the warp that holds "
          "them\nkey           ";
  for (int pair = 0; pair < 8; ++pair)
    text += fmt::format(" {:>6}", span(pair, 2));
  text += '\n';
  for (int group : sample(8)) {
    text += fmt::format("value {:<8}",
                        group < 0 ? "..."
                                  : fmt::format("{}, {}", group, group + 8));
    for (int pair = 0; pair < 8; ++pair)
      text += fmt::format(" {:>6}",
                          group < 0 ? "..."
                                    : fmt::format("t{}", 4 * group + pair % 4));
    text += '\n';
  }
  return text;
}

std::string decant::tool::drawLanes(const Schedule &schedule) {
  if (schedule.strategy == Strategy::Mma)
    return drawWarps(schedule);
  const bool valueFirst = schedule.lanes == LaneOrder::ValueFirst;
  std::string text = fmt::format("{:<14}", "value");
  const std::vector<int> columns = sample(schedule.valueLanes);
  for (int column : columns)
    text += fmt::format(" {:>9}", span(column, schedule.valuesPerLane));
  text += '\n';
  for (int row : sample(schedule.keyLanes)) {
    text += fmt::format("key {:<10}", span(row, schedule.keysPerLane));
    for (int column : columns)
      text += fmt::format(
          " {:>9}",
          row < 0 || column < 0
              ? "..."
              : fmt::format("t{}", valueFirst
                                       ? row * schedule.valueLanes + column
                                       : column * schedule.keyLanes + row));
    text += '\n';
  }
  return text;
}
