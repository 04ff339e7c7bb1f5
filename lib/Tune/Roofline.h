//===- Roofline.h - what a step takes at least, and about -------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: the bytes that a step has to move (Bench/StepBytes.h), its schedule and a
// few numbers of a machine. Out: a time that no kernel can beat, by which
// candidates are dropped before they are compiled, and a guess of the time, by
// which they are ranked where nothing can be measured.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_TUNE_ROOFLINE_H
#define DECANT_LIB_TUNE_ROOFLINE_H

#include "Tune/Schedules.h"
#include "decant/Core/KernelImage.h"

namespace decant::tune {

struct Machine {
  std::string name;
  double bytesPerSecond = 0; // that kernels can read; 0: unknown
  int multiprocessors = 0;
  double lanesPerSecond = 0; // instructions of one lane, of all SMs together
  double launchUs = 0;       // one launch behind another
  bool measured = false;     // the bandwidth is a measured one
};

/// A GPU that runs `target`, by its data sheet; nullopt for the host.
std::optional<Machine> machineOf(const TargetInfo &target);

/// A step of `usual`'s image under another schedule and order.
KernelImage shapeOf(const KernelImage &usual, const DecodeSpec &spec,
                    const ScheduleCandidate &candidate);

/// Microseconds of `batch` rows: the bytes of a mean step at the machine's
/// bandwidth. 0 where that is unknown.
double leastTime(const KernelImage &shape, const Machine &machine,
                 int64_t batch);
/// A guess, from how many loads are in flight, what lanes have to do for each
/// element, and launches. It ranks; it is not to be believed to the
/// microsecond.
double likelyTime(const KernelImage &shape, const Machine &machine,
                  int64_t batch);
/// Its geometric mean over batches.
double likelyMean(const KernelImage &shape, const Machine &machine,
                  const std::vector<int64_t> &batches);

} // namespace decant::tune

#endif // DECANT_LIB_TUNE_ROOFLINE_H
