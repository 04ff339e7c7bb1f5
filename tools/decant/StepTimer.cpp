//===- StepTimer.cpp - how long one step takes ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On the host each step of the decoded trace was timed, and the median stands
// for them. On a GPU a step is too short for a host's clock: whole windows of
// steps are captured and replayed, so that the launches cost what they cost in
// an engine.
//
//===----------------------------------------------------------------------===//

#include "TraceDecoder.h"
#include "decant/Runtime/Cuda.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;
using namespace decant::tool;

Expected<StepTime> TraceDecoder::measure() {
  if (device->info().kind != TargetKind::Cpu)
    return measureByGraph();
  if (hostMicroseconds.empty()) // of fewer tokens than a step takes
    return StepTime{0, "not measured: no step was full"};
  constexpr size_t kWarmUp = 16;
  std::vector<double> times = hostMicroseconds;
  times.erase(times.begin(),
              times.begin() + std::min(kWarmUp, times.size() / 4));
  const auto middle = times.begin() + times.size() / 2;
  std::nth_element(times.begin(), middle, times.end());
  return StepTime{*middle,
                  fmt::format("median of {} {}, wall clock", times.size(),
                              program->info().tokensPerStep > 1
                                  ? "full steps with their commits"
                                  : "steps")};
}

Expected<StepTime> TraceDecoder::measureByGraph() {
  constexpr int64_t kStepsPerGraph = 64; // rounded up to whole windows
  constexpr int kWarmUp = 3, kLaunches = 20;
  const int64_t window = program->layout().window;
  const int64_t steps = (kStepsPerGraph + window - 1) / window * window;
  const int64_t several = program->info().tokensPerStep;
  const int64_t count = std::min(several, decodedTokens);
  DECANT_TRY(resetPool());
  DECANT_ASSIGN(const StreamHandle stream, device->createStream());
  DECANT_ASSIGN(const EventHandle begin, device->createEvent());
  DECANT_ASSIGN(const EventHandle end, device->createEvent());
  auto work = [&]() -> Status {
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t token = i * count % (decodedTokens - count + 1);
      DECANT_TRY(step(token, count, stream));
      if (several > 1)
        DECANT_TRY(commit(count, stream));
    }
    return {};
  };
  double microseconds = 0;
  {
    DECANT_ASSIGN(const CudaGraph graph,
                  CudaGraph::capture(*device, stream, work));
    for (int i = 0; i < kWarmUp; ++i)
      DECANT_TRY(graph.launch(stream));
    DECANT_TRY(device->recordEvent(begin, stream));
    for (int i = 0; i < kLaunches; ++i)
      DECANT_TRY(graph.launch(stream));
    DECANT_TRY(device->recordEvent(end, stream));
    DECANT_ASSIGN(microseconds, device->microsecondsBetween(begin, end));
  }
  DECANT_TRY(device->destroyEvent(begin));
  DECANT_TRY(device->destroyEvent(end));
  DECANT_TRY(device->destroyStream(stream));
  return StepTime{
      microseconds / double(steps * kLaunches),
      several == 1
          ? fmt::format("mean of {} steps in a captured graph",
                        steps * kLaunches)
          : fmt::format("mean of {} steps of {} tokens, with their commits, in "
                        "a captured graph",
                        steps * kLaunches, count)};
}
