//===- Records.h - records as tests want them -------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_TUNE_RECORDS_H
#define DECANT_TEST_UNIT_TUNE_RECORDS_H

#include "decant/Tune/TuningRecord.h"

namespace decant::test {

/// A schedule that differs by its blocks alone.
inline std::string scheduleText(int blocks) {
  Schedule schedule;
  schedule.keyLanes = 16;
  schedule.valueLanes = 8;
  schedule.keysPerLane = 8;
  schedule.valuesPerLane = 16;
  schedule.blocksPerSm = blocks;
  return toString(schedule);
}

inline TuningKey keyOf(const std::string &spec) {
  return {spec,
          "00000000" + std::string("0000") + spec,
          {"NVIDIA H200", "sm_90a", "4.9 TB/s", "580.159.04"},
          "decant 0.1.0 (LLVM 22.1.0)"};
}

/// One range, for all batches.
inline TuningRecord recordOf(const std::string &spec, int blocks, double us) {
  TuningRecord record;
  record.key = keyOf(spec);
  record.order = CodeOrder::Fragments;
  record.schedule = scheduleText(blocks);
  TunedRange range;
  range.batch = 32;
  range.schedule = record.schedule;
  range.time = {us, us * 0.99, us * 1.01, 9};
  range.against = scheduleText(1);
  range.againstTime = {us * 1.1, us * 1.09, us * 1.11, 9};
  range.why = "faster";
  record.ranges = {range};
  record.summary = "One paragraph.";
  return record;
}

} // namespace decant::test

#endif // DECANT_TEST_UNIT_TUNE_RECORDS_H
