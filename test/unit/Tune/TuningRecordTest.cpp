//===- TuningRecordTest.cpp - round trips, merging and differences --------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Records.h"

#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

using Lines = std::vector<std::string>;

TEST(TuningRecord, ReadsBackWhatItWrote) {
  TuningFile file;
  file.records = {recordOf("one", 4, 123.456), recordOf("two", 6, 0.00123)};
  TunedRange &first = file.records[0].ranges[0];
  first.to = 45;
  TunedRange second = first;
  second.from = 46;
  second.to.reset();
  second.batch = 64;
  second.schedule = scheduleText(6);
  file.records[0].ranges.push_back(second);
  file.records[1].times = TimesFrom::Modelled;
  file.records[1].ranges[0].time.repeats = 0;
  const std::string text = toJson(file);
  const auto again = parseTuningFile(text, "file");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(toJson(*again), text);
  ASSERT_EQ(again->records.size(), 2u);
  const TuningRecord &one = again->records[0];
  EXPECT_TRUE(differences(one.key, file.records[0].key).empty());
  EXPECT_EQ(one.order, CodeOrder::Fragments);
  EXPECT_EQ(one.rangeOf(45).schedule, scheduleText(4));
  EXPECT_EQ(one.rangeOf(46).schedule, scheduleText(6));
  EXPECT_EQ(one.rangeOf(1 << 20).schedule, scheduleText(6));
  // Four digits.
  EXPECT_EQ(one.ranges[0].time.us, 123.5);
  EXPECT_EQ(again->records[1].ranges[0].time.us, 0.00123);
  EXPECT_EQ(again->records[1].times, TimesFrom::Modelled);
}

TEST(TuningRecord, KeyFollowsEveryFieldButTheName) {
  DecodeSpec spec;
  spec.name = "a";
  spec.heads = {2, 4, 128, 128, HeadMap::Group};
  const std::string hash = specHash(spec);
  EXPECT_EQ(hash.size(), 16u);
  spec.name = "b";
  EXPECT_EQ(specHash(spec), hash);
  spec.window.length = 32;
  EXPECT_NE(specHash(spec), hash);
}

TEST(TuningRecord, AMismatchNamesTheField) {
  const TuningKey record = keyOf("one");
  TuningKey here = record;
  here.spec = "another name";
  EXPECT_EQ(differences(record, here), Lines());
  here.device.driver = "590.10";
  EXPECT_EQ(differences(record, here),
            Lines{"driver 580.159.04 in the record, 590.10 here"});
  here.device.name = "NVIDIA H100";
  here.device.memory = "3.4 TB/s";
  here.device.target = "sm_90";
  here.compiler = "decant 0.2.0";
  here.specHash = "f";
  EXPECT_EQ(
      differences(record, here),
      (Lines{"spec hash 000000000000one in the record, f here",
             "device NVIDIA H200 in the record, NVIDIA H100 here",
             "target sm_90a in the record, sm_90 here",
             "memory 4.9 TB/s in the record, 3.4 TB/s here",
             "driver 580.159.04 in the record, 590.10 here",
             "compiler decant 0.1.0 (LLVM 22.1.0) in the record, decant 0.2.0 "
             "here"}));
}

TEST(TuningRecord, MergeKeepsTheLaterOfEqualKeys) {
  TuningFile file, later;
  file.records = {recordOf("one", 4, 10), recordOf("two", 4, 20)};
  later.records = {recordOf("two", 6, 19), recordOf("three", 2, 5)};
  merge(file, later);
  ASSERT_EQ(file.records.size(), 3u);
  EXPECT_EQ(file.records[0].ranges[0].time.us, 10);
  EXPECT_EQ(file.records[1].ranges[0].time.us, 19);
  EXPECT_EQ(file.records[2].key.spec, "three");
}

TEST(TuningRecord, MergeKeepsRecordsOfOtherDrivers) {
  TuningFile file, later;
  file.records = later.records = {recordOf("one", 4, 10)};
  later.records[0].key.device.driver = "590.10";
  merge(file, later);
  EXPECT_EQ(file.records.size(), 2u);
}

TEST(TuningRecord, NoModelReplacesAMeasurement) {
  TuningFile file, later;
  file.records = {recordOf("one", 4, 10)};
  later.records = {recordOf("one", 6, 8)};
  later.records[0].times = TimesFrom::Modelled;
  merge(file, later);
  EXPECT_EQ(file.records[0].schedule, scheduleText(4));
  // The other way round it does.
  merge(later, {{recordOf("one", 4, 10)}, {}});
  EXPECT_EQ(later.records[0].schedule, scheduleText(4));
}

TEST(TuningRecord, DiffSaysWhatChanged) {
  TuningFile before, after;
  before.records = {recordOf("one", 4, 10), recordOf("gone", 4, 10)};
  after.records = {recordOf("one", 6, 9.5), recordOf("new", 4, 10)};
  EXPECT_EQ(diff(before, before), Lines());
  EXPECT_EQ(
      diff(before, after),
      (Lines{"gone on NVIDIA H200: only before",
             "one on NVIDIA H200: all batches: <" + scheduleText(4) + "> -> <" +
                 scheduleText(6) + ">",
             "one on NVIDIA H200: batch 1..: <" + scheduleText(4) + "> -> <" +
                 scheduleText(6) + ">; 10.00 -> 9.50 us (-5.0 %)",
             "new on NVIDIA H200: only after"}));
}

TEST(TuningRecord, DiffNamesTheFieldBetweenTwoDrivers) {
  TuningFile before, after;
  before.records = after.records = {recordOf("one", 4, 10)};
  after.records[0].key.device.driver = "590.10";
  EXPECT_EQ(diff(before, after),
            (Lines{"one on NVIDIA H200: only before",
                   "one on NVIDIA H200: only after; before it was for driver "
                   "580.159.04"}));
}

} // namespace
