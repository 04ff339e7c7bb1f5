//===- StepBench.cpp - how long the steps of a batch take -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepBench.h"

#include "Replay.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;
using namespace decant::bench;

namespace {

/// Different rows of inputs; larger batches and further sets repeat them. Odd,
/// so that they meet rows in ever new ways.
constexpr int64_t kDistinctRows = 509;
/// A graph's own launch is to vanish beside its steps.
constexpr int64_t kStepsPerReplay = 16;
constexpr int kWarmUp = 1; // replays, each of two windows at least
constexpr int64_t kFewestReplays = 5;
/// For captured graphs and whatever else the driver keeps.
constexpr int64_t kReserveBytes = int64_t(256) << 20;

int64_t replaysFor(int64_t wantedSteps, int64_t stepsPerReplay) {
  return std::max(kFewestReplays,
                  (wantedSteps + stepsPerReplay - 1) / stepsPerReplay);
}

/// The rows of all sets: set s has rows s * batch and following.
struct RotatedBatch {
  const LayerRun *layer = nullptr;
  int64_t batch = 0, sets = 0;

  /// One step of every set. The inputs of a set change with `turn`: a state
  /// that gets one key again and again is of rank one.
  Status stepAll(int64_t turn, StreamHandle stream) const {
    for (int64_t set = 0; set < sets; ++set)
      DECANT_TRY(layer->step({set * batch, (set + turn) % sets * batch, batch},
                             stream));
    return {};
  }
};

/// Puts each row at a place of its own in the window, by steps of those rows
/// that are not there yet.
Status stagger(LayerRun &layer, int window) {
  const std::vector<int32_t> all = layer.slotPlan().slots;
  const std::vector<int> phases = randomPhases(layer.rows(), window);
  for (int round = 0; round + 1 < window; ++round) {
    std::vector<int32_t> behind;
    for (int64_t row : rowsBehind(phases, round))
      behind.push_back(all[row]);
    if (behind.empty())
      break;
    DECANT_TRY(layer.setSlots(behind));
    DECANT_TRY(layer.step({0, 0, int64_t(behind.size())}, nullptr));
  }
  return layer.setSlots(all);
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
  const int64_t slotBytes = program.info().slotBytes;
  const bool host = device->info().kind == TargetKind::Cpu;
  CudaMemory memory;
  memory.freeBytes = device->info().memoryBytes;
  if (!host) {
    DECANT_ASSIGN(memory, cudaMemory(*device));
  }
  // Sets differ by what rounding and the pool's spare slot add.
  const int64_t setNeeds = LayerRun::bytesNeeded(program, batch);
  const int64_t fitting = (memory.freeBytes - kReserveBytes) / setNeeds;
  BatchPlan plan;
  plan.batch = batch;
  plan.sets = host ? 1 : chooseSets(batch * slotBytes, memory.l2Bytes, fitting);
  plan.rotatedBytes = plan.sets * batch * slotBytes;
  plan.beyondCache =
      !host && plan.rotatedBytes >= kCachesBetween * memory.l2Bytes;
  const int64_t needed =
      LayerRun::bytesNeeded(program, batch * plan.sets) + kReserveBytes;
  if (needed > memory.freeBytes)
    return Status::failed(fmt::format(
        "--batch {}: {} needs {} bytes of device memory for {} sets of {} "
        "slots, and {} are free on {}",
        batch, spec.name, needed, plan.sets, batch, memory.freeBytes,
        device->info().name));
  plan.slots = SlotPlan::dense(batch * plan.sets, slotBytes);
  return plan;
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
