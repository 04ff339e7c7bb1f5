//===- Replay.h - work that is run again and again ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a GPU a captured graph, so that launches cost what they cost in an engine;
// on the host device, which has none, the work itself.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_BENCH_REPLAY_H
#define DECANT_LIB_BENCH_REPLAY_H

#include "decant/Runtime/Cuda.h"

#include <optional>

namespace decant::bench {

class Replay {
public:
  /// `work` launches on `stream` and must stay callable.
  static Expected<Replay> make(Device &device, StreamHandle stream,
                               std::function<Status()> work);
  Status launch(StreamHandle stream) const;

private:
  std::optional<CudaGraph> graph;
  std::function<Status()> work;
};

/// A device's stream and events, given back when they are no longer needed.
class Timeline {
public:
  static Expected<Timeline> create(std::shared_ptr<Device> device, int events);
  Timeline(Timeline &&other) noexcept;
  Timeline &operator=(Timeline &&) = delete;
  ~Timeline();

  StreamHandle stream() const { return handle; }
  Status mark(int event);
  /// Waits for `end`.
  Expected<double> microseconds(int begin, int end) const;

private:
  Timeline() = default;

  std::shared_ptr<Device> device;
  StreamHandle handle = nullptr;
  std::vector<EventHandle> events;
};

} // namespace decant::bench

#endif // DECANT_LIB_BENCH_REPLAY_H
