//===- Finalists.h - who is tried, and who is timed again -------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two places where a search over schedules becomes shorter: before anything
// is compiled, by the model, and before the last round, by first times.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_TUNE_FINALISTS_H
#define DECANT_LIB_TUNE_FINALISTS_H

#include "Tune/Choose.h"
#include "Tune/Setup.h"

namespace decant::tune {

/// Up to effort.mostSchedules of `all`, in their order: those that are the
/// first of their order of codes or differ from it in one field, then what the
/// model ranks highest.
std::vector<ScheduleCandidate>
mostPromising(const std::vector<ScheduleCandidate> &all,
              const KernelImage &usual, const DecodeSpec &spec,
              const Setup &setup);

/// Numbers of the variants of each order that came near its best at a batch,
/// and of its first; ascending. Variants without times do not take part.
std::vector<size_t> finalists(const std::vector<Variant> &variants);

} // namespace decant::tune

#endif // DECANT_LIB_TUNE_FINALISTS_H
