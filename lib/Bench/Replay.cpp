//===- Replay.cpp - work that is run again and again ----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Replay.h"

using namespace decant;
using namespace decant::bench;

Expected<Replay> Replay::make(Device &device, StreamHandle stream,
                              std::function<Status()> work) {
  Replay replay;
  if (device.info().kind == TargetKind::Cpu) {
    replay.work = std::move(work);
    return replay;
  }
  DECANT_ASSIGN(replay.graph, CudaGraph::capture(device, stream, work));
  return replay;
}

Status Replay::launch(StreamHandle stream) const {
  return graph ? graph->launch(stream) : work();
}

Expected<Timeline> Timeline::create(std::shared_ptr<Device> device,
                                    int events) {
  Timeline timeline;
  timeline.device = std::move(device);
  DECANT_ASSIGN(timeline.handle, timeline.device->createStream());
  for (int i = 0; i < events; ++i) {
    DECANT_ASSIGN(const EventHandle event, timeline.device->createEvent());
    timeline.events.push_back(event);
  }
  return timeline;
}

Timeline::Timeline(Timeline &&other) noexcept
    : device(std::move(other.device)), handle(other.handle),
      events(std::move(other.events)) {
  other.device = nullptr;
}

Timeline::~Timeline() {
  if (!device)
    return;
  // Nothing is to be done about an error here: the measurement is over.
  for (EventHandle event : events)
    (void)device->destroyEvent(event).ok();
  if (handle)
    (void)device->destroyStream(handle).ok();
}

Status Timeline::mark(int event) {
  return device->recordEvent(events[event], handle);
}

Expected<double> Timeline::microseconds(int begin, int end) const {
  return device->microsecondsBetween(events[begin], events[end]);
}
