//===- CodeStoreTest.cpp - where one code lies ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fragment order is enumerated here from the lanes' side, as a tensor-core
// kernel loads it: value tile, chunk of key tiles, lane, tile, code.
//
//===----------------------------------------------------------------------===//
#include "decant/Core/CodeStore.h"
#include "decant/Core/Numeric.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <set>

namespace decant {
namespace {

SlotLayout layoutOf(ElementType codes, int keyDim, int valueDim,
                    CodeOrder order) {
  DecodeSpec spec;
  spec.name = "codes";
  spec.rule = {"r", "decant.rule @r"};
  spec.heads = {1, 1, keyDim, valueDim, HeadMap::Group};
  spec.state.codes = codes;
  if (!isWideFloat(codes))
    spec.state.scales = {{Axis::Key, ScaleFit::AbsMax, ElementType::F32}};
  return makeSlotLayout(spec, {1, DecayShape::Scalar, DecayShape::None}, order);
}

struct Case {
  ElementType type;
  int keyDim, valueDim;
  int tilesPerChunk, planes; // worked out by hand
};
void PrintTo(const Case &c, std::ostream *out) {
  *out << toString(c.type) << " " << c.keyDim << " x " << c.valueDim;
}

class Fragments : public testing::TestWithParam<Case> {};

TEST_P(Fragments, AreWhatLanesLoad) {
  const Case &c = GetParam();
  const SlotLayout layout =
      layoutOf(c.type, c.keyDim, c.valueDim, CodeOrder::Fragments);
  const std::vector<CodePlane> planes = codePlanes(layout);
  ASSERT_EQ(int(planes.size()), c.planes);
  // (value, key) of codes e = 0 .. 7 of lane 4 g + t, as offsets from (g, 2t).
  const int values[8] = {0, 0, 8, 8, 0, 0, 8, 8};
  const int keys[8] = {0, 1, 0, 1, 8, 9, 8, 9};
  const int fieldOf[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  std::set<std::pair<int64_t, int>> seen;
  int64_t planeStart = layout.codes.offset;
  for (size_t p = 0; p < planes.size(); ++p) {
    const int bits = planes[p].bits, tiles = c.tilesPerChunk;
    const int parts = bits == 32 ? 2 : 1; // loads of all lanes for a tile
    EXPECT_EQ(tilesPerChunk(layout), tiles);
    int64_t byte = planeStart; // goes on by one load after the other
    for (int m = 0; m < layout.paddedValue / 16; ++m)
      for (int chunk = 0; chunk < layout.paddedKey / 16 / tiles; ++chunk)
        for (int lane = 0; lane < 32 * parts; ++lane)
          for (int tile = 0; tile < tiles; ++tile, byte += bits / parts)
            for (int n = 0; n < 8 / parts; ++n) {
              const int e = lane / 32 * 4 + n;
              const int value = 16 * m + lane % 32 / 4 + values[e];
              const int key =
                  16 * (chunk * tiles + tile) + 2 * (lane % 4) + keys[e];
              const int bit = bits * (bits < 8 ? fieldOf[n] : n);
              const CodePlace at = codePlace(layout, planes[p], key, value);
              ASSERT_EQ(at.byte, byte + bit / 8) << key << " " << value;
              ASSERT_EQ(at.shift, bit % 8) << key << " " << value;
              ASSERT_TRUE(seen.insert({at.byte, at.shift}).second);
            }
    planeStart = byte;
  }
  EXPECT_EQ(planeStart, layout.codes.offset + layout.codes.bytes());
}

INSTANTIATE_TEST_SUITE_P(
    All, Fragments,
    testing::Values(Case{ElementType::F32, 128, 128, 1, 1},
                    Case{ElementType::BF16, 128, 128, 1, 1},
                    Case{ElementType::F16, 48, 64, 1, 1},
                    Case{ElementType::I8, 128, 128, 2, 1},
                    Case{ElementType::I8, 48, 64, 1, 1},
                    Case{ElementType::I8, 96, 80, 2, 1},
                    Case{ElementType::I8, 256, 128, 2, 1},
                    Case{ElementType::I8, 17, 31, 2, 1},
                    Case{ElementType::I4, 128, 128, 4, 1},
                    Case{ElementType::I4, 96, 80, 2, 1},
                    Case{ElementType::I2, 128, 128, 8, 1},
                    Case{ElementType::I2, 256, 128, 8, 1},
                    Case{ElementType::I6, 128, 128, 4, 2},
                    Case{ElementType::I3, 256, 128, 8, 2}));

using Stored = std::tuple<ElementType, CodeOrder>;
class Codes : public testing::TestWithParam<Stored> {};

// Every code comes back where it was put, whatever is written beside it.
TEST_P(Codes, ComeBack) {
  const auto [type, order] = GetParam();
  const SlotLayout layout = layoutOf(type, 48, 32, order);
  std::vector<uint8_t> head(layout.headBytes, 0xA5);
  auto codeOf = [&, type = type](int key, int value) {
    const int n = key * 31 + value * 17;
    if (isSmallFloat(type) ||
        isCodebook(type)) // whatever it holds, once rounded
      return roundTo(type, (n % 64 - 32) / 8.0);
    return isInteger(type) ? double(n % (2 * maxCode(type) + 1) - maxCode(type))
                           : n % 128 / 16.0;
  };
  for (int key = 0; key < layout.paddedKey; ++key)
    for (int value = 0; value < layout.paddedValue; ++value)
      storeCode(layout, head.data(), key, value, codeOf(key, value));
  for (int key = 0; key < layout.paddedKey; ++key)
    for (int value = 0; value < layout.paddedValue; ++value)
      ASSERT_EQ(loadCode(layout, head.data(), key, value), codeOf(key, value))
          << key << " " << value;
  for (int64_t i = layout.codes.bytes(); i < layout.headBytes; ++i)
    ASSERT_EQ(head[i], 0xA5) << i;
}

INSTANTIATE_TEST_SUITE_P(
    All, Codes,
    testing::Combine(
        testing::Values(ElementType::F32, ElementType::F16, ElementType::BF16,
                        ElementType::I8, ElementType::I6, ElementType::I4,
                        ElementType::I3, ElementType::I2, ElementType::E4M3,
                        ElementType::E5M2, ElementType::E3M2, ElementType::E2M3,
                        ElementType::E2M1, ElementType::L4, ElementType::L3),
        testing::Values(CodeOrder::Rows, CodeOrder::Fragments,
                        CodeOrder::Columns)));

// Padded to 24 keys and 32 values: a value's keys follow one another.
TEST(CodeStore, ColumnsByHand) {
  const SlotLayout layout =
      layoutOf(ElementType::BF16, 20, 31, CodeOrder::Columns);
  const CodePlane plane = codePlanes(layout)[0];
  EXPECT_EQ(codePlace(layout, plane, 0, 0).byte, layout.codes.offset);
  EXPECT_EQ(codePlace(layout, plane, 23, 0).byte, layout.codes.offset + 46);
  EXPECT_EQ(codePlace(layout, plane, 0, 1).byte, layout.codes.offset + 48);
  EXPECT_EQ(codePlace(layout, plane, 23, 31).byte,
            layout.codes.offset + layout.codes.bytes() - 2);
  std::vector<uint8_t> head(layout.headBytes, 0);
  storeCode(layout, head.data(), 5, 3, 1);
  const int64_t at = layout.codes.offset + (3 * 24 + 5) * 2;
  EXPECT_EQ(head[at + 1], 0x3F); // 1 is 0x3F80
  EXPECT_EQ(head[at], 0x80);
  // All-zero bytes are zeros.
  EXPECT_EQ(loadCode(layout, head.data(), 5, 4), 0);
}

TEST(CodeStore, RowsByHand) {
  SlotLayout layout = layoutOf(ElementType::I4, 16, 16, CodeOrder::Rows);
  std::vector<uint8_t> head(layout.headBytes, 0);
  storeCode(layout, head.data(), 1, 2, -3); // byte 8 + 1, lower half
  storeCode(layout, head.data(), 1, 3, 7);
  EXPECT_EQ(head[9], 0x7D); // 7, and 16 - 3
  EXPECT_EQ(loadCode(layout, head.data(), 1, 2), -3);

  layout = layoutOf(ElementType::I6, 16, 16, CodeOrder::Rows);
  head.assign(layout.headBytes, 0);
  storeCode(layout, head.data(), 0, 1, -19); // 64 - 19 = 45 = 0b10'1101
  EXPECT_EQ(head[0], 0xD0);
  EXPECT_EQ(head[16 * 16 / 2], 0b1000);

  layout = layoutOf(ElementType::E2M3, 16, 16, CodeOrder::Rows);
  head.assign(layout.headBytes, 0);
  storeCode(layout, head.data(), 0, 1, -3.25); // s ee fff = 1 10 101
  EXPECT_EQ(head[0], 0x50);
  EXPECT_EQ(head[16 * 16 / 2], 0b1100 & 0b1111);

  layout = layoutOf(ElementType::E2M1, 16, 16, CodeOrder::Rows);
  head.assign(layout.headBytes, 0);
  storeCode(layout, head.data(), 1, 2, -1.5); // s ee f = 1 01 1
  storeCode(layout, head.data(), 1, 3, 6);
  EXPECT_EQ(head[9], 0x7B);
}

DecodeSpec specWithRowBits(std::vector<uint8_t> widths, int heads) {
  DecodeSpec spec;
  spec.rule.text = "rule";
  spec.heads.key = spec.heads.value = heads;
  spec.heads.keyDim = int(widths.size()) / heads;
  spec.heads.valueDim = 32;
  spec.state.codes = ElementType::I8;
  spec.state.scales = {{Axis::Value, ScaleFit::AbsMax, ElementType::F32}};
  spec.state.bits.widths = std::move(widths);
  return spec;
}

// Every code of every width comes back as what it counts among those of int8,
// whatever is written beside it.
void expectCodesComeBack(const SlotLayout &layout) {
  const std::vector<uint8_t> &widths = layout.rowBits;
  std::vector<uint8_t> head(layout.headBytes, 0xA5);
  auto codeOf = [&](int key, int value) {
    const int largest = (1 << (widths[key] - 1)) - 1;
    const int n = key * 31 + value * 17;
    return double((n % (2 * largest + 1) - largest) * (1 << (8 - widths[key])));
  };
  for (int key = 0; key < layout.keyDim; ++key)
    for (int value = 0; value < 32; ++value)
      storeCode(layout, head.data(), key, value, codeOf(key, value));
  for (int key = 0; key < layout.keyDim; ++key)
    for (int value = 0; value < 32; ++value)
      ASSERT_EQ(loadCode(layout, head.data(), key, value), codeOf(key, value))
          << key << " " << value;
  for (int64_t i = 0; i < layout.headBytes; ++i)
    if (i < layout.codes.offset ||
        i >= layout.codes.offset + layout.codeBytes(0))
      ASSERT_EQ(head[i], 0xA5) << i;
}

TEST(CodeStore, RowsOfTheirOwnBitsComeBack) {
  const std::vector<uint8_t> widths = {8, 7, 6, 5, 4, 3, 2, 8,
                                       2, 3, 5, 7, 2, 6, 4, 8};
  expectCodesComeBack(
      makeSlotLayout(specWithRowBits(widths, 1), RecordShape()));
}

// Seven slabs, whose rows lie between one another.
TEST(CodeStore, SlabsComeBack) {
  std::vector<uint8_t> widths;
  for (int key = 0; key < 7 * kSlabRows; ++key)
    widths.push_back(uint8_t(2 + key * 3 % 7));
  const SlotLayout layout = makeSlotLayout(specWithRowBits(widths, 1),
                                           RecordShape(), CodeOrder::Fragments);
  EXPECT_TRUE(fillsSlabs(layout));
  expectCodesComeBack(layout);
}

// Even rows have 6 bits and come first, odd ones 3. Key 6 is the fourth row of
// its slab: t = 1, odd. Value 9 is g = 1 of the upper half: lane 5, code 3.
TEST(CodeStore, SlabsByHand) {
  std::vector<uint8_t> widths;
  for (int key = 0; key < 32; ++key)
    widths.push_back(key % 2 == 0 ? 6 : 3);
  SlotLayout layout = makeSlotLayout(specWithRowBits(widths, 1), RecordShape(),
                                     CodeOrder::Fragments);
  EXPECT_EQ(slabPlace(layout, 6).position, 3);
  EXPECT_EQ(slabPlace(layout, 7).position, 16 + 3);
  EXPECT_EQ(slabPlace(layout, 7).offset, 16 * 32 * 6 / 8);
  std::vector<uint8_t> head(layout.headBytes, 0);
  storeCode(layout, head.data(), 6, 9, -19 * 4); // 32 - 19 = 0b0011'01
  const uint8_t *codes = head.data() + layout.codes.offset;
  EXPECT_EQ(codes[5 * 4 + 3], 0b0011);
  EXPECT_EQ(codes[16 * 32 / 2 + 5 * 2 + 1], 0b01 << 2);
  EXPECT_EQ(std::accumulate(codes, codes + layout.codeBytes(0), 0), 3 + 4);
  // All-zero bytes are the lowest code, under scales of zero.
  EXPECT_EQ(loadCode(layout, head.data(), 1, 0), -128);
  layout.rowBits[0] = 3;
  EXPECT_FALSE(fillsSlabs(layout));
}

// A row of 6 bits is 16 bytes of each code's upper 4, then 8 of the lower 2.
TEST(CodeStore, RowsOfTheirOwnBitsByHand) {
  const SlotLayout layout = makeSlotLayout(
      specWithRowBits({2, 6, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}, 1),
      RecordShape());
  std::vector<uint8_t> head(layout.headBytes, 0);
  const int64_t row = layout.codes.offset + 32 * 2 / 8;
  storeCode(layout, head.data(), 1, 1, -19 * 4); // 45 = 0b1011'01
  EXPECT_EQ(head[row], 0xB0);
  EXPECT_EQ(head[row + 16], 0b0100);
  // Rounded to the row's own unit, and no further than it reaches.
  storeCode(layout, head.data(), 0, 0, 33);
  EXPECT_EQ(loadCode(layout, head.data(), 0, 0), 64);
  storeCode(layout, head.data(), 0, 0, -127);
  EXPECT_EQ(loadCode(layout, head.data(), 0, 0), -64);
  EXPECT_EQ(layout.reachOfRow(0), 64);
  EXPECT_EQ(layout.reachOfRow(1), 124);
}

// A pivot is a row of f16: 64 bytes of 32 values between its neighbours.
TEST(CodeStore, PivotsByHand) {
  std::vector<uint8_t> widths(16, 4);
  widths[1] = kPivotBits;
  const SlotLayout layout =
      makeSlotLayout(specWithRowBits(widths, 1), RecordShape());
  std::vector<uint8_t> head(layout.headBytes, 0);
  const int64_t row = layout.codes.offset + 32 * 4 / 8;
  storeCode(layout, head.data(), 1, 3, -1.5); // 0xBE00
  EXPECT_EQ(head[row + 6], 0x00);
  EXPECT_EQ(head[row + 7], 0xBE);
  EXPECT_EQ(loadCode(layout, head.data(), 1, 3), -1.5);
  EXPECT_EQ(loadCode(layout, head.data(), 1, 4), 0);
  storeCode(layout, head.data(), 2, 0, 16 * 7);
  EXPECT_EQ(head[row + 64], 7);
  EXPECT_TRUE(layout.hasPivots() && layout.isPivot(1) && !layout.isPivot(2));
  EXPECT_EQ(layout.codeBytes(0), 15 * 16 + 64);
}

// Groups of rows leave pivots out, head by head.
TEST(CodeStore, GroupsLeavePivotsOut) {
  std::vector<uint8_t> widths(32, 8);
  widths[0] = widths[2] = widths[19] = kPivotBits;
  DecodeSpec spec = specWithRowBits(widths, 2);
  spec.state.scales = {{Axis::Key, ScaleFit::MinMax, ElementType::F16, 16}};
  ASSERT_TRUE(check(spec).empty());
  const SlotLayout layout = makeSlotLayout(spec, RecordShape());
  EXPECT_EQ(layout.groupScale.count, 15); // the second head's rows
  EXPECT_EQ(layout.groupScale.width, 2);
  EXPECT_EQ(layout.ofHead(0).groupRowOf(1), 0);
  EXPECT_EQ(layout.ofHead(0).groupRowOf(3), 1);
  EXPECT_EQ(layout.ofHead(1).groupRowOf(3), 3);
  EXPECT_EQ(layout.ofHead(1).groupRowOf(15), 14);
}

// Heads are as long as their rows: 16 x 32 codes of 2, and of 8 bits.
TEST(CodeStore, HeadsDifferInLength) {
  std::vector<uint8_t> widths(16, 2);
  widths.resize(32, 8);
  const SlotLayout layout =
      makeSlotLayout(specWithRowBits(widths, 2), RecordShape());
  EXPECT_EQ(layout.codeBytes(0), 128);
  EXPECT_EQ(layout.codeBytes(1), 512);
  // 144 bytes of scale and cursor come before the codes.
  EXPECT_EQ(layout.codes.offset, 256);
  EXPECT_EQ(layout.headOffset(1) - layout.headOffset(0), 256 + 128);
  EXPECT_EQ(layout.slotBytes, 128 + 384 + 768);
  EXPECT_EQ(layout.ofHead(1).rowBits, std::vector<uint8_t>(16, 8));
  EXPECT_DOUBLE_EQ(layout.bitsPerElement(), 5 + 32.0 * 32 / (16 * 32));
}

TEST(CodeStore, FragmentsByHand) {
  const SlotLayout layout =
      layoutOf(ElementType::I8, 32, 16, CodeOrder::Fragments);
  std::vector<uint8_t> head(layout.headBytes, 0);
  // All-zero bytes are the lowest code, under scales of zero.
  EXPECT_EQ(loadCode(layout, head.data(), 0, 0), -128);
  // Value 9 is g = 1 of the upper half, key 16 + 13 is t = 2 of the upper half,
  // odd: lane 6 of tile 1, code 2 + 4 + 1.
  storeCode(layout, head.data(), 29, 9, 5);
  EXPECT_EQ(head[6 * 16 + 8 + 7], 128 + 5);
}

} // namespace
} // namespace decant
