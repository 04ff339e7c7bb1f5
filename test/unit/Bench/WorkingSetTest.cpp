//===- WorkingSetTest.cpp - sets, phases, percentiles ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bench/WorkingSet.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace decant::bench;

namespace {

constexpr int64_t kMiB = int64_t(1) << 20, kGiB = int64_t(1) << 30;
constexpr int64_t kL2 = 50 * kMiB;

TEST(WorkingSet, SmallSetsAreRotatedUntilTheCacheIsLeft) {
  // 4 x 50 MiB in sets of 1 MiB, and of 3 MiB rounded up.
  EXPECT_EQ(chooseSets(kMiB, kL2, 100), 200);
  EXPECT_EQ(chooseSets(3 * kMiB, kL2, 100), 67);
  // Too little memory is the caller's to refuse.
  EXPECT_EQ(chooseSets(kMiB, kL2, 10), 200);
  // Slots of a few bytes would need more launches than a graph should have.
  EXPECT_EQ(chooseSets(1000, kL2, 100), kMaxSets);
}

TEST(WorkingSet, LargeSetsAreRotatedWhereMemoryAllows) {
  EXPECT_EQ(chooseSets(400 * kMiB, kL2, 100), 8);
  EXPECT_EQ(chooseSets(400 * kMiB, kL2, 5), 5);
  EXPECT_EQ(chooseSets(3 * kGiB, kL2, 100), 2); // 8 GiB at most
  EXPECT_EQ(chooseSets(10 * kGiB, kL2, 100), 1);
}

TEST(WorkingSet, RowsEndAtTheirPhases) {
  constexpr int64_t kRows = 1000;
  constexpr int kWindow = 16;
  const std::vector<int> phases = randomPhases(kRows, kWindow);
  EXPECT_EQ(phases, randomPhases(kRows, kWindow)) << "not seeded";
  std::vector<int> stepped(kRows);
  for (int round = 0; round + 1 < kWindow; ++round)
    for (int64_t row : rowsBehind(phases, round))
      ++stepped[row];
  EXPECT_EQ(stepped, phases);

  // In every step of a window each row is at another place, and after the
  // window each has been due once.
  std::vector<int> due(kRows);
  for (int step = 0; step < kWindow; ++step) {
    int64_t now = 0;
    for (int64_t row = 0; row < kRows; ++row)
      if ((phases[row] + step) % kWindow == kWindow - 1) {
        ++due[row];
        ++now;
      }
    // A binomial of 1000 rows and 1/16: mean 62.5, deviation 7.7; 5 of these.
    EXPECT_NEAR(double(now), 62.5, 38.5) << step;
  }
  EXPECT_EQ(due, std::vector<int>(kRows, 1));
}

TEST(WorkingSet, AWindowOfOneHasOnePhase) {
  EXPECT_EQ(randomPhases(3, 1), (std::vector<int>{0, 0, 0}));
  EXPECT_TRUE(rowsBehind({0, 0, 0}, 0).empty());
}

TEST(WorkingSet, ReplaysAreWholeWindows) {
  EXPECT_EQ(windowsPerReplay(1, 16, 16), 1);
  EXPECT_EQ(windowsPerReplay(1, 1, 16), 16);
  EXPECT_EQ(windowsPerReplay(3, 1, 16), 6); // 18 steps
  EXPECT_EQ(windowsPerReplay(200, 16, 16), 1);
}

TEST(WorkingSet, SpreadInterpolatesBetweenSortedValues) {
  const Spread odd = spreadOf({11, 2, 3, 4, 10, 6, 7, 8, 9, 5, 1});
  EXPECT_DOUBLE_EQ(odd.median, 6);
  EXPECT_DOUBLE_EQ(odd.p10, 2);
  EXPECT_DOUBLE_EQ(odd.p90, 10);
  const Spread even = spreadOf({4, 2});
  EXPECT_DOUBLE_EQ(even.median, 3);
  EXPECT_DOUBLE_EQ(even.p10, 2.2);
  EXPECT_DOUBLE_EQ(even.p90, 3.8);
  EXPECT_DOUBLE_EQ(spreadOf({5}).p90, 5);
}

} // namespace
