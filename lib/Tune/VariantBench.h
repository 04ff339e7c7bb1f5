//===- VariantBench.h - candidates loaded, checked and timed ----*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_TUNE_VARIANTBENCH_H
#define DECANT_LIB_TUNE_VARIANTBENCH_H

#include "Bench/VariantTimer.h"
#include "Tune/Setup.h"

#include <map>

namespace decant::tune {

/// A candidate that is on the device, or why it is not.
struct LoadedVariant {
  std::unique_ptr<Program> program;
  std::string refusal;
};

/// The device side of a search over one spec. Slots are made once for each
/// batch and order of codes, and shared by all candidates.
class VariantBench {
public:
  /// Both must outlive it.
  VariantBench(const DecodeSpec &spec, const Setup &setup)
      : spec(spec), setup(setup) {}

  /// Makes and loads candidates, several at a time.
  std::vector<LoadedVariant>
  load(const std::vector<const ScheduleCandidate *> &candidates) const;

  /// Ok if the program computes what it has to, else why not.
  Status check(const Program &program);

  /// Microseconds of a step at a batch.
  Expected<std::vector<double>> measure(const Program &program, int64_t batch,
                                        int repeats);
  /// The same of several in turn, `rounds` times; one list for each.
  Expected<std::vector<std::vector<double>>>
  measureInTurn(const std::vector<const Program *> &programs, int64_t batch,
                int repeats, int rounds);

private:
  Expected<bench::VariantTimer *> timerFor(const Program &program,
                                           int64_t batch);

  const DecodeSpec &spec;
  const Setup &setup;
  std::optional<bench::BatchResults> expected;
  std::map<std::pair<int, int64_t>, bench::VariantTimer> timers;
};

} // namespace decant::tune

#endif // DECANT_LIB_TUNE_VARIANTBENCH_H
