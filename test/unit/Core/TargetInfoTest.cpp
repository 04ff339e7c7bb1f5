//===- TargetInfoTest.cpp - which target a device gets --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of targets, and the choice for each compute capability.
//
//===----------------------------------------------------------------------===//
#include "decant/Core/TargetInfo.h"

#include <gtest/gtest.h>

#include <set>

namespace decant {
namespace {

std::string targetOf(int major, int minor) {
  Expected<TargetInfo> target = targetForDevice(major, minor);
  return target.ok() ? target->name : target.status().message();
}

TEST(TargetInfo, ADeviceGetsItsOwnTargetFirst) {
  EXPECT_EQ(targetOf(8, 0), "sm_80");
  EXPECT_EQ(targetOf(8, 6), "sm_86");
  EXPECT_EQ(targetOf(8, 9), "sm_89");
  EXPECT_EQ(targetOf(9, 0), "sm_90a");
  EXPECT_EQ(targetOf(10, 0), "sm_100a");
  EXPECT_EQ(targetOf(10, 3), "sm_103a");
  EXPECT_EQ(targetOf(12, 0), "sm_120a");
  EXPECT_EQ(targetOf(12, 1), "sm_121a");
}

// Plain PTX runs on every later device; PTX of an "a" target runs on one only.
TEST(TargetInfo, OtherDevicesGetTheNewestPlainTargetBelow) {
  EXPECT_EQ(targetOf(8, 7), "sm_86"); // Orin
  EXPECT_EQ(targetOf(8, 8), "sm_86");
  EXPECT_EQ(targetOf(9, 1), "sm_90");
  EXPECT_EQ(targetOf(10, 1), "sm_100");
  EXPECT_EQ(targetOf(10, 7), "sm_100"); // above sm_103a, which is not plain
  EXPECT_EQ(targetOf(11, 0), "sm_100"); // Thor
  EXPECT_EQ(targetOf(12, 2), "sm_120");
  EXPECT_EQ(targetOf(13, 0), "sm_120");
}

TEST(TargetInfo, DevicesBefore80AreRefused) {
  for (auto [major, minor] :
       {std::pair(7, 5), std::pair(7, 0), std::pair(5, 2)}) {
    Expected<TargetInfo> target = targetForDevice(major, minor);
    ASSERT_FALSE(target.ok());
    EXPECT_EQ(target.status().code(), StatusCode::Unavailable);
  }
  EXPECT_EQ(targetOf(7, 5), "device: compute capability 7.5 is older than 8.0, "
                            "the oldest that Decant compiles for");
}

TEST(TargetInfo, NamesAreKnownAndUnique) {
  std::set<std::string> names;
  for (const TargetInfo &target : knownTargets()) {
    EXPECT_TRUE(names.insert(target.name).second) << target.name;
    Expected<TargetInfo> found = lookupTarget(target.name);
    ASSERT_TRUE(found.ok());
    EXPECT_EQ(found->computeMajor, target.computeMajor);
    EXPECT_EQ(found->forwardCompatible, target.forwardCompatible);
  }
  EXPECT_EQ(names,
            (std::set<std::string>{"x86-64", "sm_80", "sm_86", "sm_89", "sm_90",
                                   "sm_90a", "sm_100", "sm_100a", "sm_103a",
                                   "sm_120", "sm_120a", "sm_121a"}));
}

TEST(TargetInfo, AnUnknownNameListsTheKnownOnes) {
  for (const char *name : {"", "sm_75", "SM_90A", "sm_90a ", "gfx942"}) {
    Expected<TargetInfo> target = lookupTarget(name);
    ASSERT_FALSE(target.ok()) << name;
    EXPECT_EQ(target.status().code(), StatusCode::InvalidInput);
    EXPECT_EQ(target.status().message(),
              std::string("target: unknown target '") + name +
                  "'; known are x86-64, sm_80, sm_86, sm_89, sm_90, sm_90a, "
                  "sm_100, sm_100a, sm_103a, sm_120, sm_120a, sm_121a");
  }
}

// Shared memory per block from the CUDA programming guide's table of compute
// capabilities: 163, 99 or 227 KiB.
TEST(TargetInfo, SharedMemoryPerBlock) {
  EXPECT_EQ(lookupTarget("sm_80")->maxSharedBytes, 166912);
  EXPECT_EQ(lookupTarget("sm_86")->maxSharedBytes, 101376);
  EXPECT_EQ(lookupTarget("sm_89")->maxSharedBytes, 101376);
  EXPECT_EQ(lookupTarget("sm_90a")->maxSharedBytes, 232448);
  EXPECT_EQ(lookupTarget("sm_103a")->maxSharedBytes, 232448);
  EXPECT_EQ(lookupTarget("sm_121a")->maxSharedBytes, 101376);
}

TEST(TargetInfo, FeaturesAreAskedByName) {
  EXPECT_FALSE(lookupTarget("sm_86")->has(Feature::Fp8Convert));
  EXPECT_TRUE(lookupTarget("sm_89")->has(Feature::Fp8Convert));
  EXPECT_FALSE(lookupTarget("sm_89")->has(Feature::BulkCopy));
  EXPECT_TRUE(lookupTarget("sm_90")->has(Feature::BulkCopy));
  EXPECT_FALSE(lookupTarget("sm_90a")->has(Feature::PackedF32));
  EXPECT_TRUE(lookupTarget("sm_100")->has(Feature::WideLoads));
  // Narrow floats are converted by instructions of the "a" targets only.
  EXPECT_FALSE(lookupTarget("sm_100")->has(Feature::Fp4Convert));
  EXPECT_TRUE(lookupTarget("sm_100a")->has(Feature::Fp4Convert));
  EXPECT_FALSE(lookupTarget("x86-64")->has(Feature::BulkCopy));
}

// The "a" suffix and forward compatibility exclude one another.
TEST(TargetInfo, OnlyPlainTargetsAreForwardCompatible) {
  for (const TargetInfo &target : knownTargets())
    if (target.kind == TargetKind::Nvidia)
      EXPECT_NE(target.forwardCompatible, target.name.back() == 'a')
          << target.name;
}

} // namespace
} // namespace decant
