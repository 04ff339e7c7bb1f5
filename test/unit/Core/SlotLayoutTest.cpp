//===- SlotLayoutTest.cpp - the bytes of a slot ---------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Offsets worked out by hand, and what must hold for every layout.
//
//===----------------------------------------------------------------------===//
#include "decant/Core/SlotLayout.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace decant {
namespace {

DecodeSpec leapQuantInt8() {
  DecodeSpec spec;
  spec.name = "leapquant-int8";
  spec.rule = {"r", "decant.rule @r"};
  spec.heads = {2, 4, 128, 128, HeadMap::Group};
  spec.state.codes = ElementType::I8;
  spec.state.scales = {{Axis::Key, ScaleFit::SqrtMeanAbs, ElementType::F32},
                       {Axis::Value, ScaleFit::AbsMax, ElementType::F32}};
  spec.window = {16, 4, ElementType::F16};
  return spec;
}

void expectRegion(const Region &region, int64_t offset, ElementType type,
                  int64_t count, int64_t width) {
  EXPECT_EQ(region.offset, offset);
  EXPECT_EQ(region.type, type);
  EXPECT_EQ(region.count, count);
  EXPECT_EQ(region.width, width);
}

TEST(SlotLayout, LeapQuantInt8ByHand) {
  const SlotLayout layout = makeSlotLayout(
      leapQuantInt8(), {1, DecayShape::Scalar, DecayShape::None});
  expectRegion(layout.codes, 0, ElementType::I8, 128, 128);
  // 128 * 128 = 16384
  expectRegion(layout.keyScale, 16384, ElementType::F32, 1, 128);
  // + 128 * 4
  expectRegion(layout.valueScale, 16896, ElementType::F32, 1, 128);
  // + 128 * 4
  expectRegion(layout.compKeys, 17408, ElementType::F16, 4, 128);
  // + 4 * 128 * 2
  expectRegion(layout.compValues, 18432, ElementType::F16, 4, 128);
  // + 4 * 128 * 2
  expectRegion(layout.cursor, 19456, ElementType::F32, 1, 4);
  // + 16
  expectRegion(layout.totalKeyDecay, 19472, ElementType::F32, 1, 1);
  // + 4, aligned to 16; a scalar decay stays f32
  expectRegion(layout.recordKeyDecay, 19488, ElementType::F32, 16, 1);
  // + 16 * 4, aligned to 128, since 512 bytes or more follow
  expectRegion(layout.recordKeys, 19584, ElementType::F16, 16, 128);
  // + 16 * 128 * 2
  expectRegion(layout.recordValues, 23680, ElementType::F16, 16, 128);
  // + 16 * 128 * 2, a multiple of 128
  EXPECT_EQ(layout.headBytes, 27776);
  EXPECT_EQ(layout.slotBytes, 128 + 4 * 27776);
  EXPECT_TRUE(layout.totalValueDecay.empty());
  EXPECT_TRUE(layout.recordValueDecay.empty());

  // 8 bits of code, 2 * 128 f32 scales, 2 * 4 * 128 f16 compensators:
  // (16384 + 1024 + 2048) * 8 / 16384.
  EXPECT_EQ(layout.stateBytesPerHead(), 19456);
  EXPECT_DOUBLE_EQ(layout.bitsPerElement(), 9.5);
}

TEST(SlotLayout, VectorDecaysOfBothAxes) {
  DecodeSpec spec = leapQuantInt8();
  spec.heads.valueDim = 64;
  spec.window.compensators = 0;
  spec.state = {ElementType::BF16, {}, {}};
  const RecordShape record = {2, DecayShape::Vector, DecayShape::Vector};
  SlotLayout layout = makeSlotLayout(spec, record);
  // 128 * 64 * 2 = 16384, then the cursor's 16 bytes; 512 bytes are a long
  // region, which starts at 129 * 128, 256 are not.
  expectRegion(layout.totalKeyDecay, 16512, ElementType::F32, 1, 128);
  expectRegion(layout.totalValueDecay, 17024, ElementType::F32, 1, 64);
  expectRegion(layout.recordKeyDecay, 17280, ElementType::F16, 16, 128);
  expectRegion(layout.recordValueDecay, 21376, ElementType::F16, 16, 64);
  // Two writes per token: 32 records.
  expectRegion(layout.recordKeys, 23424, ElementType::F16, 32, 128);
  expectRegion(layout.recordValues, 31616, ElementType::F16, 32, 64);

  // bf16 has 8 bits of precision, of which 63 products would leave too few:
  // decays stay f16 beside bf16 records, and are f32 beside f32 ones.
  spec.window.records = ElementType::BF16;
  layout = makeSlotLayout(spec, record);
  EXPECT_EQ(layout.recordKeyDecay.type, ElementType::F16);
  EXPECT_EQ(layout.recordKeys.type, ElementType::BF16);
  spec.window.records = ElementType::F32;
  layout = makeSlotLayout(spec, record);
  EXPECT_EQ(layout.recordValueDecay.type, ElementType::F32);
}

TEST(SlotLayout, AWindowOfOneTokenHasNoRecords) {
  DecodeSpec spec = leapQuantInt8();
  spec.window = {1, 0, ElementType::F16};
  const SlotLayout layout =
      makeSlotLayout(spec, {1, DecayShape::Scalar, DecayShape::None});
  for (const auto &[name, region] : layout.regions())
    if (name.rfind("record", 0) == 0 || name.rfind("total", 0) == 0 ||
        name.rfind("comp", 0) == 0)
      EXPECT_TRUE(region.empty()) << name;
  // 16384 + 512 + 512 + 16 = 17424, and up to 137 * 128.
  EXPECT_EQ(layout.headBytes, 17536);
}

TEST(SlotLayout, ScalesLieInPlaceWhateverTheirOrder) {
  DecodeSpec spec = leapQuantInt8();
  std::swap(spec.state.scales[0], spec.state.scales[1]);
  spec.state.scales[1].fit = ScaleFit::AbsMax;
  const SlotLayout layout =
      makeSlotLayout(spec, {1, DecayShape::Scalar, DecayShape::None});
  // The first fitted scale comes first in memory, under its axis' name.
  EXPECT_EQ(layout.valueScale.offset, 16384);
  EXPECT_EQ(layout.keyScale.offset, 16896);
  ASSERT_EQ(layout.scales.size(), 2u);
  EXPECT_EQ(layout.scales[0].axis, Axis::Value);
}

/// Regions in memory order: aligned, those of 512 bytes and more to lines of
/// 128, one behind the other, inside the head, which is whole lines.
void expectSound(const SlotLayout &layout) {
  int64_t end = 0;
  auto regions = layout.regions();
  std::sort(regions.begin(), regions.end(), [](const auto &a, const auto &b) {
    return a.second.offset < b.second.offset;
  });
  for (const auto &[name, region] : regions) {
    if (region.empty())
      continue;
    const int64_t align = region.bytes() >= 512 ? kLineBytes : kSlotAlign;
    EXPECT_EQ(region.offset % align, 0) << name;
    EXPECT_GE(region.offset, end) << name << " overlaps what lies before it";
    EXPECT_LT(region.offset - end, align) << name << " leaves a hole";
    end = region.offset + region.bytes();
  }
  EXPECT_GE(layout.headBytes, end);
  EXPECT_LT(layout.headBytes - end, kLineBytes);
  EXPECT_EQ(layout.headBytes % kLineBytes, 0);
  EXPECT_EQ(kSlotHeaderBytes % kLineBytes, 0);
  EXPECT_EQ(layout.slotBytes,
            kSlotHeaderBytes + layout.headBytes * layout.valueHeads);
}

TEST(SlotLayout, KeyDimsArePaddedTo8AndValueDimsTo16) {
  for (int dim = kMinDim; dim <= kMaxDim; ++dim)
    for (ElementType codes :
         {ElementType::F32, ElementType::F16, ElementType::BF16,
          ElementType::I8, ElementType::I6, ElementType::I4, ElementType::I3,
          ElementType::I2}) {
      SCOPED_TRACE(testing::Message() << dim << " " << toString(codes));
      DecodeSpec spec = leapQuantInt8();
      spec.heads.keyDim = dim;
      spec.heads.valueDim = kMinDim + kMaxDim - dim;
      spec.state.codes = codes;
      if (!isInteger(codes))
        spec.state.scales.clear();
      ASSERT_TRUE(check(spec).empty());
      const SlotLayout layout =
          makeSlotLayout(spec, {1, DecayShape::Vector, DecayShape::None});
      EXPECT_EQ(layout.keyDim, dim);
      EXPECT_EQ(layout.paddedKey % 8, 0);
      EXPECT_GE(layout.paddedKey, dim);
      EXPECT_LT(layout.paddedKey, dim + 8);
      EXPECT_EQ(layout.paddedValue % 16, 0);
      EXPECT_GE(layout.paddedValue, layout.valueDim);
      EXPECT_LT(layout.paddedValue, layout.valueDim + 16);
      EXPECT_EQ(layout.codes.count, layout.paddedKey);
      EXPECT_EQ(layout.codes.width, layout.paddedValue);
      expectSound(layout);
    }
}

// Sizes at 128 x 128 as LeapQuant's settings give them.
TEST(SlotLayout, BitsPerElementOfNarrowCodes) {
  DecodeSpec spec = leapQuantInt8();
  auto layoutOf = [&](ElementType codes, int compensators) {
    spec.state.codes = codes;
    spec.window.compensators = compensators;
    return makeSlotLayout(spec, {1, DecayShape::Scalar, DecayShape::None});
  };
  // codes + 2 x 512 of scales + 512 per compensator
  EXPECT_EQ(layoutOf(ElementType::I6, 4).stateBytesPerHead(), 12288 + 3072);
  EXPECT_EQ(layoutOf(ElementType::I6, 4).bitsPerElement(), 7.5);
  EXPECT_EQ(layoutOf(ElementType::I4, 8).stateBytesPerHead(), 8192 + 5120);
  EXPECT_EQ(layoutOf(ElementType::I4, 8).bitsPerElement(), 6.5);
  EXPECT_EQ(layoutOf(ElementType::I3, 0).codes.bytes(), 6144);
  EXPECT_EQ(layoutOf(ElementType::I2, 0).codes.bytes(), 4096);
}

TEST(SlotLayout, FragmentsPadKeysTo16) {
  DecodeSpec spec = leapQuantInt8();
  for (int dim : {16, 17, 24, 100, 128, 251}) {
    spec.heads.keyDim = dim;
    const SlotLayout layout = makeSlotLayout(
        spec, {1, DecayShape::Scalar, DecayShape::None}, CodeOrder::Fragments);
    EXPECT_EQ(layout.codeOrder, CodeOrder::Fragments);
    EXPECT_EQ(layout.paddedKey, (dim + 15) / 16 * 16);
    EXPECT_EQ(layout.codes.bytes(), layout.paddedKey * 128);
    expectSound(layout);
  }
}

TEST(SlotLayout, ColumnsAreTheOtherWayRound) {
  DecodeSpec spec = leapQuantInt8();
  spec.state = {ElementType::F32, {}, {}};
  spec.window = {1, 0, ElementType::F32};
  const RecordShape record = {1, DecayShape::Scalar, DecayShape::None};
  for (int dim : {16, 17, 24, 100, 128, 251}) {
    spec.heads.keyDim = dim;
    const SlotLayout layout = makeSlotLayout(spec, record, CodeOrder::Columns);
    EXPECT_EQ(layout.codeOrder, CodeOrder::Columns);
    EXPECT_EQ(layout.paddedKey, (dim + 7) / 8 * 8);
    EXPECT_EQ(layout.codes.count, layout.paddedValue);
    EXPECT_EQ(layout.codes.width, layout.paddedKey);
    // No byte more than rows take.
    EXPECT_EQ(layout.slotBytes, makeSlotLayout(spec, record).slotBytes);
    expectSound(layout);
  }
}

TEST(SlotLayout, EveryWindowAndRecordShapeIsSound) {
  for (int length : {1, 2, 7, 16, 64})
    for (int compensators : {0, 1, 3, 16})
      for (ElementType records :
           {ElementType::F32, ElementType::F16, ElementType::BF16})
        for (int writes : {1, 2, 3})
          for (DecayShape key :
               {DecayShape::None, DecayShape::Scalar, DecayShape::Vector})
            for (DecayShape value :
                 {DecayShape::None, DecayShape::Scalar, DecayShape::Vector}) {
              DecodeSpec spec = leapQuantInt8();
              spec.heads.keyDim = 100;
              spec.heads.valueDim = 48;
              spec.window.length = length;
              spec.window.compensators = compensators;
              spec.window.records = records;
              if (!check(spec).empty())
                continue; // one token with compensators, for instance
              SCOPED_TRACE(testing::Message()
                           << "window " << length << ", " << compensators
                           << " compensators, " << toString(records) << ", "
                           << writes << " writes, decays " << toString(key)
                           << " and " << toString(value));
              const SlotLayout layout =
                  makeSlotLayout(spec, {writes, key, value});
              expectSound(layout);
              EXPECT_EQ(layout.recordKeys.count,
                        length > 1 ? length * writes : 0);
            }
}

TEST(SlotLayout, LargestSlotNeedsMoreThan32Bits) {
  DecodeSpec spec = leapQuantInt8();
  spec.heads = {kMaxHeads, kMaxHeads, kMaxDim, kMaxDim, HeadMap::Group};
  spec.state = {ElementType::F32, {}, {}};
  spec.window = {kMaxWindow, 0, ElementType::F32};
  const SlotLayout layout =
      makeSlotLayout(spec, {1, DecayShape::Vector, DecayShape::Vector});
  // codes 262144, cursor 16 in a line, totals 2 * 1024, records 4 * 64 * 1024.
  EXPECT_EQ(layout.headBytes, 262144 + 128 + 2048 + 262144);
  EXPECT_EQ(layout.slotBytes, 128 + int64_t(4096) * 526464);
  EXPECT_GT(layout.slotBytes, int64_t(1) << 31);
}

} // namespace
} // namespace decant
