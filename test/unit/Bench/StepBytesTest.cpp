//===- StepBytesTest.cpp - the bytes of a step ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The image's layer: 4 value heads of 32 x 48 in f32 (6144 bytes), f16 records
// with a key of 32, a value of 48 and an f32 decay (164 bytes), an f32 total
// decay, a cursor of 16 bytes; 2 key heads, packed bf16 inputs.
//
//===----------------------------------------------------------------------===//

#include "Bench/StepBytes.h"
#include "TestImages.h"

#include <gtest/gtest.h>

using namespace decant;
using namespace decant::bench;

namespace {

constexpr double kHeads = 4, kState = 32 * 48 * 4, kRecord = 2 * (32 + 48) + 4;

KernelImage image(int window, Boundary boundary) {
  KernelImage image = test::decodeImage(window);
  Schedule schedule;
  schedule.keysPerLane = 32;
  schedule.valuesPerLane = 48;
  schedule.boundary = boundary;
  image.scheduleText = toString(schedule);
  return image;
}

Traffic find(const std::vector<Traffic> &list, const std::string &what) {
  for (const Traffic &traffic : list)
    if (traffic.what == what)
      return traffic;
  ADD_FAILURE() << "no " << what;
  return {};
}

void expectTraffic(const std::vector<Traffic> &list, const std::string &what,
                   double read, double written) {
  EXPECT_DOUBLE_EQ(find(list, what).read, read) << what;
  EXPECT_DOUBLE_EQ(find(list, what).written, written) << what;
}

TEST(StepBytes, AStepReadsTheStateAndItsRecords) {
  const KernelImage layer = image(8, Boundary::Apart);
  const auto list = stepTraffic(layer, WindowStep{3, false});
  expectTraffic(list, "codes", kHeads * kState, 0);
  expectTraffic(list, "records", kHeads * kRecord * 3, kHeads * kRecord);
  expectTraffic(list, "total decays", kHeads * 4, kHeads * 4);
  expectTraffic(list, "cursors", kHeads * 16, kHeads * 16);
  // q and k of 2 heads, v of 4, a decay and a beta per value head, in bf16.
  expectTraffic(list, "inputs", 2 * (2 * 2 * 32 + 4 * 48 + 4 + 4), 0);
  expectTraffic(list, "outputs", 0, 2 * 4 * 48);
}

TEST(StepBytes, AFoldApartReadsAgain) {
  const KernelImage layer = image(8, Boundary::Apart);
  const auto list = stepTraffic(layer, WindowStep{7, true});
  expectTraffic(list, "codes", 2 * kHeads * kState, kHeads * kState);
  expectTraffic(list, "records", kHeads * kRecord * (7 + 8), kHeads * kRecord);
}

TEST(StepBytes, AFoldInTheStepReadsOnce) {
  const KernelImage layer = image(8, Boundary::Step);
  const auto list = stepTraffic(layer, WindowStep{7, true});
  expectTraffic(list, "codes", kHeads * kState, kHeads * kState);
  expectTraffic(list, "records", kHeads * kRecord * 7, kHeads * kRecord);
}

TEST(StepBytes, WindowsGoThroughTheirFills) {
  for (Boundary boundary : {Boundary::Apart, Boundary::Step}) {
    const auto steps = windowSteps(image(4, boundary));
    ASSERT_EQ(steps.size(), 4u);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(steps[i].fill, i);
      EXPECT_EQ(steps[i].folds, i == 3);
    }
  }
}

TEST(StepBytes, TheMeanHoldsAPartOfTheFold) {
  // Fills 0 to 7 are 3.5 in the mean; the fold apart reads all 8 records once
  // in 8 steps.
  auto list = stepTraffic(image(8, Boundary::Apart));
  expectTraffic(list, "codes", kHeads * kState * 9 / 8, kHeads * kState / 8);
  expectTraffic(list, "records", kHeads * kRecord * 4.5, kHeads * kRecord);
  list = stepTraffic(image(8, Boundary::Step));
  expectTraffic(list, "codes", kHeads * kState, kHeads * kState / 8);
  expectTraffic(list, "records", kHeads * kRecord * 3.5, kHeads * kRecord);
}

TEST(StepBytes, WithoutAWindowAStepRewritesTheState) {
  const auto list = stepTraffic(image(1, Boundary::Apart));
  expectTraffic(list, "codes", kHeads * kState, kHeads * kState);
  for (const Traffic &traffic : list)
    EXPECT_NE(traffic.what, "records");
  const Traffic total = totalOf(list);
  EXPECT_DOUBLE_EQ(total.read,
                   kHeads * (kState + 16) + 2 * (128 + 192 + 4 + 4));
  EXPECT_DOUBLE_EQ(total.written, kHeads * (kState + 16) + 2 * 192);
}

} // namespace
