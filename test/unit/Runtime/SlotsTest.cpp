//===- SlotsTest.cpp - zero, copy and the debug check ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramFixture.h"

using namespace decant;
using namespace decant::test;

namespace {

class Slots : public ProgramFixture {
protected:
  static constexpr int64_t kStride = int64_t(1) << 30;
  char *base = at<char>(0x10000000000);
  SlotPool pool{base, kStride, 100};
};

TEST_F(Slots, ZeroFillsWholeSlotsBeyondFourGigabytes) {
  int32_t slots[] = {99, 0, 2};
  ASSERT_TRUE(program->zero({pool, slots, 3, nullptr}).ok());
  ASSERT_EQ(device->work.size(), 3u);
  EXPECT_EQ(device->work[0].kind, 'f');
  EXPECT_EQ(device->work[0].target, base + 99 * kStride);
  EXPECT_EQ(device->work[1].target, base);
  EXPECT_EQ(device->work[2].target, base + 2 * kStride);
  for (const MemoryWork &work : device->work) {
    EXPECT_EQ(work.bytes, program->info().slotBytes);
    EXPECT_EQ(work.byte, 0);
  }
}

// A seed goes into word 5 of the header, byte by byte; zero bytes are there.
TEST_F(Slots, ZeroSetsSeeds) {
  int32_t slots[] = {7, 3};
  uint32_t seeds[] = {0, 0x5600af01};
  ASSERT_TRUE(program->zero({pool, slots, 2, nullptr, seeds}).ok());
  ASSERT_EQ(device->work.size(), 5u);
  EXPECT_EQ(device->work[0].target, base + 7 * kStride);
  EXPECT_EQ(device->work[1].target, base + 3 * kStride);
  const int places[] = {0, 1, 3}, bytes[] = {0x01, 0xaf, 0x56};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(device->work[2 + i].target, base + 3 * kStride + 20 + places[i]);
    EXPECT_EQ(device->work[2 + i].bytes, 1);
    EXPECT_EQ(device->work[2 + i].byte, bytes[i]);
  }
}

TEST_F(Slots, CopyKeepsOrderAndMayCrossPools) {
  SlotPool other{at(0x90000000000), 0, 10};
  int32_t sources[] = {5, 7, 5}, targets[] = {3, 5, 9};
  ASSERT_TRUE(program->copy({pool, other, sources, targets, 3, nullptr}).ok());
  ASSERT_EQ(device->work.size(), 3u);
  int64_t bytes = program->info().slotBytes;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(device->work[size_t(i)].kind, 'c');
    EXPECT_EQ(device->work[size_t(i)].source, base + sources[i] * kStride);
    EXPECT_EQ(device->work[size_t(i)].target,
              at<char>(0x90000000000) + targets[i] * bytes);
    EXPECT_EQ(device->work[size_t(i)].bytes, bytes);
  }
  device->work.clear();
  int32_t same[] = {4};
  ASSERT_TRUE(program->copy({pool, pool, same, same, 1, nullptr}).ok());
  EXPECT_TRUE(device->work.empty());
}

TEST_F(Slots, ZeroAndCopyRefuse) {
  int32_t good[] = {1, 2, 3}, negative[] = {1, -1, 2}, beyond[] = {1, 2, 100},
          twice[] = {1, 2, 1};
  auto zero = [&](const int32_t *slots, int64_t count) {
    return program->zero({pool, slots, count, nullptr});
  };
  expectRefused(zero(good, 0), "zero of \"layer\": argument \"count\" is 0");
  expectRefused(zero(good, -3), "\"count\" is -3");
  expectRefused(zero(nullptr, 1), "\"slots\" is null");
  expectRefused(zero(negative, 3), "\"slots\": slot -1 at place 1; 0 to 99 are "
                                   "allowed");
  expectRefused(zero(beyond, 3), "slot 100 at place 2");
  pool.count = 0;
  expectRefused(zero(negative, 3), "numbers from 0");
  EXPECT_TRUE(zero(beyond, 3).ok()); // nothing to compare with
  device->work.clear();
  pool.count = 100;
  auto copy = [&](const int32_t *from, const int32_t *to) {
    return program->copy({pool, pool, from, to, 3, nullptr});
  };
  expectRefused(copy(good, twice), "\"targets\": slot 1 stands twice, first at "
                                   "place 0");
  expectRefused(copy(negative, good), "\"sources\": slot -1");
  expectRefused(copy(good, beyond), "\"targets\": slot 100");
  EXPECT_TRUE(copy(twice, good).ok()); // a fork
  device->work.clear();
  pool.base = base + 8;
  expectRefused(copy(good, good), "\"from.state\"");
  expectRefused(
      program->copy({{base, 0, 4}, {base, 8, 4}, good, good, 1, nullptr}),
      "\"to.slot_stride_bytes\" is 8");
}

TEST_F(Slots, TheDebugCheckFindsSharedAndForeignSlots) {
  int32_t slots[] = {4, -1, -1, 7, -5, 0};
  EXPECT_TRUE(program->checkSlots(slots, 6, 0, 8).ok());
  EXPECT_TRUE(program->checkSlots(nullptr, 0, 0, 8).ok());
  expectRefused(program->checkSlots(slots, 6, 1, 7),
                "row 3 has slot 7; the pool has slots 0 to 6, and the pad "
                "policy is negative");
  int32_t shared[] = {4, 9, 1, 9, 4, 9}; // with a stride of 2: 4, 1, 4
  expectRefused(program->checkSlots(shared, 3, 2, 10),
                "rows 0 and 2 share slot 4");
  expectRefused(program->checkSlots(nullptr, 3, 0, 10), "slots is null");
  expectRefused(program->checkSlots(slots, -1, 0, 10), "rows is -1");
}

TEST_F(Slots, TheDebugCheckKnowsEachPadPolicy) {
  int32_t zeros[] = {0, 0, 1}, negatives[] = {-1, -1, 1};
  EXPECT_FALSE(program->checkSlots(zeros, 3, 1, 4).ok());
  KernelImage image = decodeImage(8);
  image.pad = PadPolicy::NonPositive;
  make(image, std::nullopt);
  EXPECT_TRUE(program->checkSlots(zeros, 3, 1, 4).ok());
  EXPECT_TRUE(program->checkSlots(negatives, 3, 1, 4).ok());
  image.pad = PadPolicy::None;
  make(image, std::nullopt);
  EXPECT_FALSE(program->checkSlots(zeros, 3, 1, 4).ok());
  expectRefused(program->checkSlots(negatives, 3, 1, 4), "row 0 has slot -1");
}

} // namespace
