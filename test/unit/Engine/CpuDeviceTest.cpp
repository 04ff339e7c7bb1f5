//===- CpuDeviceTest.cpp - host objects on the CPU device -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/CpuDevice.h"
#include "HostImages.h"

#include "../Target/Lowering.h"

#include <cstring>
#include <gtest/gtest.h>
#include <limits>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace decant;
using namespace decant::test;

namespace {

struct Rows {
  std::vector<float> decay, out;
  std::vector<int32_t> slots;
  explicit Rows(int count) : decay(count), out(count, -1), slots(count) {
    for (int i = 0; i < count; ++i) {
      decay[i] = 0.25f * i;
      slots[i] = 1000 - i;
    }
  }
  std::vector<ArgValue> args() {
    std::vector<ArgValue> values(9);
    values[0].pointer = nullptr;
    values[1].integer = 0;
    values[2].pointer = slots.data();
    values[3].integer = 1;
    values[4].integer = int64_t(slots.size());
    values[5].pointer = decay.data();
    values[6].integer = 1;
    values[7].pointer = out.data();
    values[8].integer = 1;
    return values;
  }
};

TEST(CpuDevice, RunsAnImageOnAnyNumberOfThreads) {
  for (int threads : {1, 2, 3}) {
    auto device = CpuDevice::open(threads);
    ASSERT_TRUE(device.ok()) << device.status().message();
    auto image = decodeImage(smallSpec());
    ASSERT_TRUE(image.ok()) << image.status().message();
    auto loaded = (*device)->load(*image);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    EXPECT_TRUE((*loaded)->image().code.empty());
    Rows rows(1001);
    Status status = (*loaded)->launch("step", 1001, rows.args(), nullptr);
    ASSERT_TRUE(status.ok()) << status.message();
    for (int i = 0; i < 1001; ++i)
      ASSERT_EQ(rows.out[i], 0.75f * i + (1000 - i)); // exact in f32
  }
}

TEST(CpuDevice, LaunchesOnlyTheBlocksItIsAskedFor) {
  auto device = CpuDevice::open(2).take();
  auto loaded = device->load(*decodeImage(smallSpec())).take();
  Rows rows(10);
  ASSERT_TRUE(loaded->launch("step", 7, rows.args(), nullptr).ok());
  EXPECT_NE(rows.out[6], -1);
  EXPECT_EQ(rows.out[7], -1);
  EXPECT_EQ(loaded->launch(0, -1, rows.args().data(), nullptr).code(),
            StatusCode::InvalidInput);
  EXPECT_FALSE(loaded->launch(1, 1, rows.args().data(), nullptr).ok());
}

#if defined(__x86_64__)
// A host engine may have told its threads to flush small numbers to zero.
TEST(CpuDevice, KeepsSmallNumbersAndTheCallersSettings) {
  constexpr unsigned kFlush = 0x8040; // FTZ and DAZ
  auto device = CpuDevice::open(1).take();
  auto loaded = device->load(*decodeImage(smallSpec())).take();
  Rows rows(1);
  rows.slots[0] = 0;
  rows.decay[0] = std::numeric_limits<float>::denorm_min();
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | kFlush);
  Status status = loaded->launch("step", 1, rows.args(), nullptr);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  ASSERT_TRUE(status.ok());
  EXPECT_EQ(after & kFlush, kFlush);
  EXPECT_EQ(rows.out[0], 3 * std::numeric_limits<float>::denorm_min());
}
#endif

TEST(CpuDevice, RefusesWhatItCannotRun) {
  auto device = CpuDevice::open(1).take();
  const KernelImage good = *decodeImage(smallSpec());
  auto message = [&](const KernelImage &image) {
    auto loaded = device->load(image);
    return loaded ? std::string() : loaded.status().message();
  };

  KernelImage ptx = good;
  ptx.kind = CodeKind::Ptx;
  ptx.target = "sm_90a";
  EXPECT_NE(message(ptx).find("for sm_90a"), std::string::npos) << message(ptx);

  KernelImage missing = good;
  missing.entries[0].symbol = "absent";
  EXPECT_NE(message(missing).find("absent"), std::string::npos)
      << message(missing);

  KernelImage damaged = good;
  damaged.code.resize(100);
  EXPECT_NE(message(damaged).find("image \"small\""), std::string::npos)
      << message(damaged);

  // The processor's name is a string in the object: put another one there.
  KernelImage foreign = good;
  const std::string name = device->info().name;
  const size_t at = foreign.code.find(name);
  ASSERT_NE(at, std::string::npos);
  foreign.code.replace(at, 2, "zz");
  EXPECT_NE(message(foreign).find("processor zz"), std::string::npos)
      << message(foreign);
  EXPECT_NE(message(foreign).find(name), std::string::npos);
}

TEST(CpuDevice, CodeForAnyProcessorRunsHere) {
  auto device = CpuDevice::open(1).take();
  auto image = decodeImage(smallSpec(), "x86-64");
  ASSERT_TRUE(image.ok()) << image.status().message();
  EXPECT_TRUE(device->load(*image).ok());
}

TEST(CpuDevice, MemoryAndEvents) {
  auto device = CpuDevice::open(1).take();
  void *memory = *device->allocate(1000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 64, 0u);
  ASSERT_TRUE(device->fill(memory, 7, 1000, nullptr).ok());
  char back[3];
  ASSERT_TRUE(
      device->copyToHost(back, static_cast<char *>(memory) + 997, 3, nullptr)
          .ok());
  EXPECT_EQ(std::memcmp(back, "\7\7\7", 3), 0);
  EXPECT_TRUE(device->release(memory).ok());
  EXPECT_FALSE(device->allocate(-1).ok());
  EXPECT_FALSE(device->allocate(std::numeric_limits<int64_t>::max()).ok());

  EventHandle begin = *device->createEvent(), end = *device->createEvent();
  ASSERT_TRUE(device->recordEvent(begin, nullptr).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  ASSERT_TRUE(device->recordEvent(end, nullptr).ok());
  EXPECT_GE(*device->microsecondsBetween(begin, end), 2000);
  EXPECT_TRUE(device->destroyEvent(begin).ok());
  EXPECT_TRUE(device->destroyEvent(end).ok());
}

TEST(CpuDevice, RefusesANegativeNumberOfThreads) {
  auto device = CpuDevice::open(-1);
  ASSERT_FALSE(device.ok());
  EXPECT_NE(device.status().message().find("threads"), std::string::npos);
}

} // namespace
