//===- RotatedBatch.h - a batch in several sets of slots ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What every timing of steps needs: how many sets of slots to rotate so that
// the L2 cache serves none of them, the steps of all sets, and rows at places
// of their own in the window.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_BENCH_ROTATEDBATCH_H
#define DECANT_LIB_BENCH_ROTATEDBATCH_H

#include "SyntheticLayer.h"
#include "WorkingSet.h"

namespace decant::bench {

/// Different rows of inputs; larger batches and further sets repeat them. Odd,
/// so that they meet rows in ever new ways.
constexpr int64_t kDistinctRows = 509;
/// A graph's own launch is to vanish beside its steps.
constexpr int64_t kStepsPerReplay = 16;

/// How a batch will be measured.
struct BatchPlan {
  int64_t batch = 0, sets = 0;
  SlotPlan slots; // of all sets
  int64_t rotatedBytes = 0;
  bool beyondCache = false;
};

/// As many sets as leave the cache, or more where memory allows it.
enum class SetCount { Fewest, Usual };

/// Refuses a batch that does not fit into the device's memory, with the bytes
/// that it needs and those that are free. `name` is the spec's.
Expected<BatchPlan> planBatch(const std::string &name, const Device &device,
                              const Program &program, int64_t batch,
                              SetCount count);

/// The rows of all sets: set s has rows s * batch and following.
struct RotatedBatch {
  const LayerRun *layer = nullptr;
  int64_t batch = 0, sets = 0;

  /// One step of every set. The inputs of a set change with `turn`: a state
  /// that gets one key again and again is of rank one.
  Status stepAll(int64_t turn, StreamHandle stream) const;
};

/// Puts each row at a place of its own in the window, by steps of those rows
/// that are not there yet.
Status stagger(LayerRun &layer, int window);

} // namespace decant::bench

#endif // DECANT_LIB_BENCH_ROTATEDBATCH_H
