//===- StepBenchTest.cpp - timing with a driver that only counts ----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fake driver has 5 GiB of memory and an L2 cache of 50 MiB, and its events
// say that each kernel takes half a millisecond.
//
//===----------------------------------------------------------------------===//

#include "Bench/StepBench.h"
#include "Bench/CallCost.h"
#include "FakeCudaTest.h"
#include "TestImages.h"

using namespace decant;
using namespace decant::bench;
using namespace decant::test;

namespace {

class StepBenchOnFake : public FakeCudaTest {
protected:
  void make(int window) {
    spec.name = "layer";
    spec.heads = {kKeyHeads, kValueHeads, kKeyDim, kValueDim, HeadMap::Group};
    device = openDevice();
    program = Program::create(device, decodeImage(window)).take();
  }
  Expected<BatchTimes> measure(int64_t batch, int64_t steps) {
    const StepBench timer(spec, device, *program, steps);
    DECANT_ASSIGN(const BatchPlan plan, timer.plan(batch));
    return timer.measure(plan, [](double) {});
  }

  DecodeSpec spec;
  std::shared_ptr<Device> device;
  std::unique_ptr<Program> program;
};

TEST_F(StepBenchOnFake, CountsAStepAndItsFold) {
  make(8);
  auto times = measure(100, 1);
  ASSERT_TRUE(times.ok()) << times.status().message();
  // Every step launches two kernels.
  EXPECT_DOUBLE_EQ(times->staggered.median, 1000);
  EXPECT_DOUBLE_EQ(times->synchronized.median, 1000);
  ASSERT_EQ(times->places.size(), 8u);
  for (const Spread &place : times->places)
    EXPECT_DOUBLE_EQ(place.p90, 1000);
  EXPECT_TRUE(times->beyondCache);
  EXPECT_GE(times->rotatedBytes, int64_t(200) << 20);
  EXPECT_EQ(times->staggeredSteps % (8 * times->sets), 0);
}

TEST_F(StepBenchOnFake, TimesAtLeastTheStepsAskedFor) {
  make(1);
  auto times = measure(200, 20000);
  ASSERT_TRUE(times.ok()) << times.status().message();
  EXPECT_DOUBLE_EQ(times->staggered.median, 500);
  EXPECT_GE(times->staggeredSteps, 20000);
  EXPECT_LT(times->staggeredSteps, 20000 + 2 * times->sets + 16);
}

TEST_F(StepBenchOnFake, SaysWhenTheCacheServesTinySlots) {
  make(1);
  auto times = measure(1, 1);
  ASSERT_TRUE(times.ok()) << times.status().message();
  EXPECT_EQ(times->sets, kMaxSets);
  EXPECT_FALSE(times->beyondCache);
}

TEST_F(StepBenchOnFake, RefusesABatchBeyondMemoryWithBothNumbers) {
  make(8);
  auto times = measure(300000, 1);
  ASSERT_FALSE(times.ok());
  EXPECT_EQ(times.status().code(), StatusCode::JobFailed);
  const std::string message = times.status().message();
  // A stride is slot_bytes and a guard of 256, in a pool of one slot more; a
  // row has a slot number, 656 bytes of inputs and 384 of output.
  const int64_t stride = program->info().slotBytes + 256;
  const int64_t needed =
      300001 * stride + 300000 * (4 + 656 + 384) + (int64_t(256) << 20);
  EXPECT_NE(message.find(std::to_string(needed) + " bytes"), std::string::npos)
      << message << " for " << needed;
  EXPECT_NE(message.find(std::to_string(int64_t(5) << 30) + " are free"),
            std::string::npos)
      << message;
  EXPECT_EQ(fake->allocations, 0);
}

TEST_F(StepBenchOnFake, GivesTheProgramBackAfterTimingACall) {
  make(8);
  auto call = measureStepCall(spec, device, program);
  ASSERT_TRUE(call.ok()) << call.status().message();
  EXPECT_GT(call->median, 0);
  ASSERT_NE(program, nullptr);
  // 35 bursts of 100 calls of two kernels.
  EXPECT_EQ(fake->launchCount, 7000);
  EXPECT_EQ(fake->allocations, 0);
  EXPECT_EQ(fake->streams, 0);
}

TEST_F(StepBenchOnFake, LeavesNothingBehind) {
  make(8);
  ASSERT_TRUE(measure(100, 1).ok());
  EXPECT_EQ(fake->allocations, 0);
  EXPECT_EQ(fake->streams, 0);
  EXPECT_EQ(fake->events, 0);
}

} // namespace
