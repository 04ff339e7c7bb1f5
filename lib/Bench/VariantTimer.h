//===- VariantTimer.h - programs of one layout, timed side by side --------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs that differ by their schedules work on one set of slots in turn, at
// whatever place of its window each row is: nothing is allocated or filled
// between them, so that a tuner can time many, and come back to one to see what
// the machine itself changes. The slots are the timer's own.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_BENCH_VARIANTTIMER_H
#define DECANT_LIB_BENCH_VARIANTTIMER_H

#include "Replay.h"
#include "RotatedBatch.h"

namespace decant::bench {

class VariantTimer {
public:
  /// `first` decides on the layout and is run to put rows at random places of
  /// their windows. At most `repeats` are measured in one call.
  static Expected<VariantTimer> create(const DecodeSpec &spec,
                                       std::shared_ptr<Device> device,
                                       const Program &first, int64_t batch,
                                       int repeats);

  /// Whole windows of all sets, ready to be replayed. The program must outlive
  /// it, and the timer both.
  Expected<Replay> prepare(const Program &program);

  /// Microseconds of a step, `repeats` times, after one replay that is not
  /// timed.
  Expected<std::vector<double>> measure(const Replay &replay, int repeats);

  /// Ok when no byte outside the slots in use has changed.
  Status checkPoison() const { return state->layer.checkPoison(); }

  /// Steps of one replay.
  int64_t steps() const { return state->turns * state->rotated.sets; }

private:
  /// At a place that does not move: replays point to it.
  struct State {
    std::shared_ptr<Device> device;
    LayerRun layer;
    RotatedBatch rotated;
    Timeline timeline;
    int64_t turns = 0;
  };

  std::unique_ptr<State> state;
};

} // namespace decant::bench

#endif // DECANT_LIB_BENCH_VARIANTTIMER_H
