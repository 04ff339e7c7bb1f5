//===- Schedules.h - what a tuner may try -----------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a format, a target, and the schedule that is used without a tuner. Out:
// other schedules that check() lets through, each with the order of codes that
// it works on. The compiler may still refuse one, for what a layout does not
// show: sums over values, reads along keys.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_TUNE_SCHEDULES_H
#define DECANT_LIB_TUNE_SCHEDULES_H

#include "decant/Core/Schedule.h"

namespace decant::tune {

struct ScheduleCandidate {
  Schedule schedule;
  CodeOrder order = CodeOrder::Rows;
};

/// `usual` first; the others by how many of their fields differ from it, then
/// by their text, so that the order is the same everywhere. Of each other order
/// of codes, the schedule that is the default there comes before its like.
std::vector<ScheduleCandidate>
scheduleCandidates(const DecodeSpec &spec, const RecordShape &record,
                   const TargetInfo &target, const ScheduleCandidate &usual);

/// What an untuned program would have, as far as a layout shows it: what only
/// the rule's IR knows may make the compiler take another one.
ScheduleCandidate usualGuess(const DecodeSpec &spec, const RecordShape &record,
                             const TargetInfo &target);

/// Fields of two schedules that differ.
int distance(const Schedule &a, const Schedule &b);

} // namespace decant::tune

#endif // DECANT_LIB_TUNE_SCHEDULES_H
