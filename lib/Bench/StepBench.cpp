//===- StepBench.cpp - how long the steps of a batch take -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepBench.h"

#include "Replay.h"
#include "RotatedBatch.h"

#include <algorithm>

using namespace decant;
using namespace decant::bench;

namespace {

constexpr int kWarmUp = 1; // replays, each of two windows at least
constexpr int64_t kFewestReplays = 5;

int64_t replaysFor(int64_t wantedSteps, int64_t stepsPerReplay) {
  return std::max(kFewestReplays,
                  (wantedSteps + stepsPerReplay - 1) / stepsPerReplay);
}

/// One graph per place of the window; their times are its places' times.
Status timeSynchronized(const RotatedBatch &rotated, Device &device,
                        Timeline &timeline, int window, int64_t wantedSteps,
                        BatchTimes &times) {
  std::vector<Replay> places;
  for (int place = 0; place < window; ++place) {
    DECANT_ASSIGN(Replay replay,
                  Replay::make(device, timeline.stream(), [&, place] {
                    return rotated.stepAll(place, timeline.stream());
                  }));
    places.push_back(std::move(replay));
  }
  const double steps = double(rotated.sets);
  const int64_t replays = replaysFor(wantedSteps, rotated.sets * window);
  std::vector<double> means;
  std::vector<std::vector<double>> byPlace(window);
  for (int64_t replay = 0; replay < kWarmUp + replays; ++replay) {
    // A window ahead keeps the device busy until all that is timed is queued.
    for (const Replay &place : places)
      DECANT_TRY(place.launch(timeline.stream()));
    DECANT_TRY(timeline.mark(0));
    for (int place = 0; place < window; ++place) {
      DECANT_TRY(places[place].launch(timeline.stream()));
      DECANT_TRY(timeline.mark(place + 1));
    }
    DECANT_ASSIGN(const double whole, timeline.microseconds(0, window));
    if (replay < kWarmUp)
      continue;
    means.push_back(whole / (steps * window));
    for (int place = 0; place < window; ++place) {
      DECANT_ASSIGN(const double us, timeline.microseconds(place, place + 1));
      byPlace[place].push_back(us / steps);
    }
  }
  times.synchronizedSteps = replays * rotated.sets * window;
  times.synchronized = spreadOf(means);
  for (const std::vector<double> &place : byPlace)
    times.places.push_back(spreadOf(place));
  return {};
}

/// One graph of whole windows.
Status timeStaggered(const RotatedBatch &rotated, Device &device,
                     Timeline &timeline, int window, int64_t wantedSteps,
                     BatchTimes &times) {
  const int64_t turns =
      window * windowsPerReplay(rotated.sets, window, kStepsPerReplay);
  DECANT_ASSIGN(const Replay graph,
                Replay::make(device, timeline.stream(), [&]() -> Status {
                  for (int64_t turn = 0; turn < turns; ++turn)
                    DECANT_TRY(rotated.stepAll(turn, timeline.stream()));
                  return {};
                }));
  const int64_t steps = turns * rotated.sets;
  const int64_t replays = replaysFor(wantedSteps, steps);
  std::vector<double> means;
  for (int64_t replay = 0; replay < kWarmUp + replays; ++replay) {
    DECANT_TRY(graph.launch(timeline.stream())); // ahead, as above
    DECANT_TRY(timeline.mark(0));
    DECANT_TRY(graph.launch(timeline.stream()));
    DECANT_TRY(timeline.mark(1));
    DECANT_ASSIGN(const double us, timeline.microseconds(0, 1));
    if (replay >= kWarmUp)
      means.push_back(us / double(steps));
  }
  times.staggeredSteps = replays * steps;
  times.staggered = spreadOf(means);
  return {};
}

} // namespace

Expected<BatchPlan> StepBench::plan(int64_t batch) const {
  return planBatch(spec.name, *device, program, batch, SetCount::Usual);
}

Expected<BatchTimes> StepBench::measure(const BatchPlan &plan,
                                        const Progress &progress) const {
  const int window = program.info().window;
  BatchTimes times;
  times.batch = plan.batch;
  times.sets = plan.sets;
  times.rotatedBytes = plan.rotatedBytes;
  times.beyondCache = plan.beyondCache;
  progress(0);
  DECANT_ASSIGN(LayerRun layer,
                LayerRun::create(spec, device, program, plan.slots));
  DECANT_TRY(layer.upload(makeToken(spec, program.stepArguments(),
                                    std::min(layer.rows(), kDistinctRows), 0)));
  DECANT_ASSIGN(Timeline timeline, Timeline::create(device, window + 1));
  const RotatedBatch rotated{&layer, plan.batch, plan.sets};
  progress(0.2);
  DECANT_TRY(
      timeSynchronized(rotated, *device, timeline, window, wantedSteps, times));
  progress(0.6);
  DECANT_TRY(stagger(layer, window));
  DECANT_TRY(
      timeStaggered(rotated, *device, timeline, window, wantedSteps, times));
  DECANT_TRY(layer.checkPoison());
  return times;
}
