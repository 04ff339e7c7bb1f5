//===- VariantTimer.cpp - programs of one layout, timed side by side ------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VariantTimer.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;
using namespace decant::bench;

Expected<VariantTimer> VariantTimer::create(const DecodeSpec &spec,
                                            std::shared_ptr<Device> device,
                                            const Program &first, int64_t batch,
                                            int repeats) {
  DECANT_ASSIGN(const BatchPlan plan,
                planBatch(spec.name, *device, first, batch, SetCount::Fewest));
  DECANT_ASSIGN(LayerRun layer,
                LayerRun::create(spec, device, first, plan.slots));
  DECANT_TRY(layer.upload(makeToken(spec, first.stepArguments(),
                                    std::min(layer.rows(), kDistinctRows), 0)));
  DECANT_TRY(stagger(layer, first.info().window));
  DECANT_ASSIGN(Timeline timeline, Timeline::create(device, repeats + 1));
  VariantTimer timer;
  timer.state.reset(
      new State{device, std::move(layer), {}, std::move(timeline), 0});
  State &state = *timer.state;
  state.rotated = {&state.layer, plan.batch, plan.sets};
  const int window = first.info().window;
  state.turns = window * windowsPerReplay(plan.sets, window, kStepsPerReplay);
  return Expected<VariantTimer>(std::move(timer));
}

Expected<Replay> VariantTimer::prepare(const Program &program) {
  State *place = state.get();
  return Replay::make(
      *place->device, place->timeline.stream(), [place, &program]() -> Status {
        place->layer.use(program);
        for (int64_t turn = 0; turn < place->turns; ++turn)
          DECANT_TRY(place->rotated.stepAll(turn, place->timeline.stream()));
        return {};
      });
}

Expected<std::vector<double>> VariantTimer::measure(const Replay &replay,
                                                    int repeats) {
  Timeline &timeline = state->timeline;
  // The one ahead keeps the device busy until all that is timed is queued.
  DECANT_TRY(replay.launch(timeline.stream()));
  DECANT_TRY(timeline.mark(0));
  for (int repeat = 0; repeat < repeats; ++repeat) {
    DECANT_TRY(replay.launch(timeline.stream()));
    DECANT_TRY(timeline.mark(repeat + 1));
  }
  std::vector<double> times;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    DECANT_ASSIGN(const double us, timeline.microseconds(repeat, repeat + 1));
    times.push_back(us / double(steps()));
  }
  return times;
}
