//===- StepBench.h - how long the steps of a batch take -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Times a program's steps as an engine makes them: captured in CUDA graphs (one
// by one on the host device, which has none), rows in scattered slots, several
// sets of slots, inputs and outputs in turn so that the L2 cache serves none of
// them. Two kinds of batches:
//
//   staggered     every row at a random place of its window; one graph is a
//                 whole window of all sets, so its mean holds every fold
//   synchronized  all rows at the same place; one graph per place, timed
//                 apart: the time at every fill, and of the step that folds all
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_BENCH_STEPBENCH_H
#define DECANT_LIB_BENCH_STEPBENCH_H

#include "RotatedBatch.h"

#include <functional>

namespace decant::bench {

struct BatchTimes {
  int64_t batch = 0, sets = 0;
  int64_t rotatedBytes = 0; // slots of all sets
  bool beyondCache = false; // whether that leaves the L2 cache before reuse
  // Microseconds of one step.
  Spread staggered, synchronized;
  std::vector<Spread> places; // synchronized, at each place of the window
  int64_t staggeredSteps = 0, synchronizedSteps = 0; // timed in all
};

class StepBench {
public:
  /// All must outlive the bench. At least `steps` steps are timed.
  StepBench(const DecodeSpec &spec, std::shared_ptr<Device> device,
            const Program &program, int64_t steps)
      : spec(spec), device(std::move(device)), program(program),
        wantedSteps(steps) {}

  /// Refuses a batch that does not fit into the device's memory, with the bytes
  /// that it needs and those that are free.
  Expected<BatchPlan> plan(int64_t batch) const;

  /// What is called with the part of a batch's work that is done, 0 to 1.
  using Progress = std::function<void(double)>;

  Expected<BatchTimes> measure(const BatchPlan &plan,
                               const Progress &progress) const;

private:
  const DecodeSpec &spec;
  std::shared_ptr<Device> device;
  const Program &program;
  int64_t wantedSteps;
};

} // namespace decant::bench

#endif // DECANT_LIB_BENCH_STEPBENCH_H
