//===- ScheduleTuner.h - the best schedules of one spec ---------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Candidates are ranked by the roofline model, made and loaded several at a
// time, compared with what they have to compute, timed at every batch with
// slots that no cache holds, and those that came near the best are timed again,
// in turn, so that all see the same machine. Scratch slots only.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_TUNE_SCHEDULETUNER_H
#define DECANT_LIB_TUNE_SCHEDULETUNER_H

#include "Tune/Choose.h"
#include "Tune/Setup.h"

namespace decant::tune {

struct ScheduleFindings {
  TuningRecord record;
  std::vector<Variant> variants; // that were in the last round
  Choice choice;
  size_t candidates = 0;             // that check() let through
  size_t tried = 0;                  // made, checked and timed
  std::vector<std::string> refusals; // of those that were made, with reasons
  bool outOfTime = false;

  double mean() const; // geometric, of the chosen times
};

/// Whether candidates are searched, or only the untuned schedule timed.
enum class Breadth { UsualOnly, All };

Expected<ScheduleFindings> tuneSchedules(const DecodeSpec &spec,
                                         const Setup &setup, Journal &journal,
                                         Breadth breadth);

/// A record's summary, in one paragraph.
std::string summaryOf(const ScheduleFindings &findings, const Setup &setup);

} // namespace decant::tune

#endif // DECANT_LIB_TUNE_SCHEDULETUNER_H
