//===- Setup.h - what a tuner works with ------------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tuner knows neither a compiler nor a terminal: where kernels come from,
// what else checks them and who hears of progress are functions. With a
// compiler behind `image` candidates are made as they are needed; with a pack
// they are those that it holds.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_TUNE_SETUP_H
#define DECANT_LIB_TUNE_SETUP_H

#include "Bench/Agreement.h"
#include "Tune/Journal.h"
#include "Tune/Roofline.h"
#include "Tune/Spent.h"
#include "decant/Runtime/Program.h"

#include <chrono>
#include <functional>

namespace decant::tune {

struct Hooks {
  /// The kernels of a spec on the target; without a candidate, those that are
  /// used untuned. Called from several threads.
  std::function<Expected<KernelImage>(const DecodeSpec &,
                                      const ScheduleCandidate *)>
      image;
  /// What may be tried beside the usual schedule, which comes first; without
  /// it, whatever is legal.
  std::function<std::vector<ScheduleCandidate>(const ScheduleCandidate &)>
      candidates;
  /// Called from several threads before formats are tried one by one: the time
  /// to make what will be asked for.
  std::function<void(const DecodeSpec &)> warmUp = [](const DecodeSpec &) {};
  /// What some rows of a batch have to give, from another target or
  /// implementation than the one that is tuned. Without it, the first variant
  /// is what others are compared with.
  std::function<Expected<bench::BatchResults>(const DecodeSpec &,
                                              int64_t batch)>
      expect;
  /// A further check, of those that came near the best before they are timed
  /// again, and of a format's usual schedule.
  std::function<Status(const DecodeSpec &, const Program &)> verify;
  /// Asked between measurements; true ends the work.
  std::function<bool()> stop = [] { return false; };
  std::function<void(const std::string &what, int64_t done, int64_t total)>
      progress = [](const std::string &, int64_t, int64_t) {};
};

struct Effort {
  std::vector<int64_t> batches = {1, 8, 32, 128, 512};
  int screenRepeats = 3; // of every candidate
  int finalRounds = 3;   // of those that came near, in turn
  size_t mostSchedules = 48;
  size_t mostFormats = 16; // that are timed
  size_t mostTuned = 2;    // formats whose schedules are searched, beside the
                           // one that was asked about
  unsigned threads = 1;    // that compile and check
};

struct Setup {
  /// What earlier runs chose on this class of devices; their picks are tried,
  /// and stay within noise.
  std::vector<TuningRecord> before;
  std::shared_ptr<Device> device; // null: nothing can run, a model ranks
  TargetInfo target;
  DeviceClass deviceClass;
  std::string compiler;
  Machine machine;
  Hooks hooks;
  Effort effort;
  /// No further candidate is begun when so many seconds are over.
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
  double budget = 1e9;
  /// Of one tuner's calls, which share it.
  std::shared_ptr<Spent> spent = std::make_shared<Spent>();
  std::shared_ptr<Pace> pace = std::make_shared<Pace>();

  /// Seconds of that part of the budget; none left are less than 0.
  double secondsLeft(double part = 1) const {
    const std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - begin;
    return part * budget - passed.count();
  }
  bool outOfTime(double part = 1) const { return secondsLeft(part) < 0; }
};

/// The status of work that `stop` ended.
Status interrupted();

} // namespace decant::tune

#endif // DECANT_LIB_TUNE_SETUP_H
