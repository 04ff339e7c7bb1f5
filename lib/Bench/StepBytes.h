//===- StepBytes.h - the memory traffic of one step -------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a slot's layout and the step's arguments. Out: how many bytes one token
// of one sequence has to move, if every byte that is needed moves once: what a
// measured time is to be compared with.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_BENCH_STEPBYTES_H
#define DECANT_LIB_BENCH_STEPBYTES_H

#include "decant/Core/KernelImage.h"

namespace decant::bench {

/// One kind of traffic, of all heads.
struct Traffic {
  std::string what;
  double read = 0, written = 0;
};

/// A step of a window: how many records it finds, and whether the window, full
/// with its own, is folded at its end, or right behind it when the image's
/// schedule does that apart.
struct WindowStep {
  int64_t fill = 0;
  bool folds = false;
};

/// The steps of a window, in the order in which a sequence goes through them.
std::vector<WindowStep> windowSteps(const KernelImage &image);

/// Of one step. A fold apart reads the state and all records once more; one in
/// the step finds in the cache what the step has read or written.
std::vector<Traffic> stepTraffic(const KernelImage &image,
                                 const WindowStep &step);

/// Of one step with its part of the fold: the mean over a window.
std::vector<Traffic> stepTraffic(const KernelImage &image);

Traffic totalOf(const std::vector<Traffic> &list);

} // namespace decant::bench

#endif // DECANT_LIB_BENCH_STEPBYTES_H
