//===- Schedules.cpp - what a tuner may try -------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schedules.h"

#include "Core/ScheduleParts.h"
#include "decant/Core/CodeStore.h"

#include <algorithm>
#include <set>

using namespace decant;
using namespace decant::tune;

namespace {

/// Of an SM since sm_80; some have room for 48. More blocks than fit only bind
/// registers, which the times show.
constexpr int kWarpsOfSm = 64;
/// Registers of a thread, from whose numbers blocks per SM follow.
constexpr int kRegisters[] = {64, 80, 96, 128, 168};
constexpr int kRegistersOfSm = 65536;

class Enumerator {
public:
  Enumerator(const DecodeSpec &spec, const RecordShape &record,
             const TargetInfo &target, const Schedule &usual)
      : spec(spec), record(record), target(target), usual(usual) {}

  std::vector<ScheduleCandidate> of(CodeOrder order) {
    list.clear();
    this->order = order;
    layout = makeSlotLayout(spec, record, order);
    if (target.kind == TargetKind::Cpu)
      addHost();
    else if (order == CodeOrder::Fragments)
      addMma();
    else if (order == CodeOrder::Columns)
      addColumns();
    if (target.kind != TargetKind::Cpu)
      addRectangles();
    return std::move(list);
  }

private:
  void add(const Schedule &schedule) {
    if (!check(schedule, layout, target).ok())
      return;
    // A lane's rows are unrolled or not; a step that holds the state has no
    // choice, and neither has one whose codes' order asks for it.
    if (order == CodeOrder::Columns && !holdsState(schedule, layout))
      return;
    list.push_back({schedule, order});
  }

  /// Every way to fold the window, with and without an exchange of rows.
  void addBoundaries(Schedule schedule) {
    schedule.launch = usual.launch;
    for (Boundary boundary : {Boundary::Apart, Boundary::Step}) {
      if (boundary == Boundary::Step && layout.window == 1)
        continue;
      schedule.boundary = boundary;
      for (int exchange : {0, kExchangedBlocks}) {
        schedule.exchange = exchange;
        add(schedule);
      }
    }
  }

  /// With blocks per SM for several numbers of registers, and as `usual` has
  /// them, give or take two.
  void addBlocks(Schedule schedule) {
    std::set<int> counts = {0};
    const int most = std::max(
        1, std::min(target.maxBlocksPerSm,
                    kWarpsOfSm * kWarp / std::max(schedule.threads(), 1)));
    for (int registers : kRegisters)
      counts.insert(kRegistersOfSm / (schedule.threads() * registers));
    if (schedule.threads() == usual.threads())
      for (int more = -2; more <= 2; ++more)
        counts.insert(usual.blocksPerSm + more);
    for (int blocks : counts) {
      if (blocks < 0 || blocks > most)
        continue;
      schedule.blocksPerSm = blocks;
      addBoundaries(schedule);
    }
  }

  void addMma() {
    Schedule schedule;
    schedule.strategy = Strategy::Mma;
    schedule.keyLanes = kWarp;
    schedule.keysPerLane = 1;
    while (schedule.keysPerLane * kWarp < layout.paddedKey)
      schedule.keysPerLane *= 2;
    schedule.rows = RowLoop::Unrolled;
    for (int values : {16, 32, 64})
      for (CodeFetch fetch :
           {CodeFetch::Registers, CodeFetch::Shared, CodeFetch::Bulk}) {
        if (layout.paddedValue % values != 0)
          continue;
        schedule.valuesPerLane = values;
        schedule.valueLanes = layout.paddedValue / values;
        schedule.fetch = fetch;
        addBlocks(schedule);
      }
  }

  /// Rectangles of keys x values. A state that the step holds may be cut over
  /// several blocks.
  void addRectangles() {
    for (int keyLanes : {8, 16, 32})
      for (int values : {4, 8, 16, 32}) {
        if (layout.paddedKey % keyLanes != 0 ||
            layout.paddedValue % values != 0)
          continue;
        Schedule schedule;
        schedule.keyLanes = keyLanes;
        schedule.keysPerLane = layout.paddedKey / keyLanes;
        schedule.valuesPerLane = values;
        for (int split : {1, 2, 4, 8}) {
          const int columns = layout.paddedValue / values;
          if (columns % split != 0)
            continue;
          schedule.split = split;
          schedule.valueLanes = columns / split;
          for (LaneOrder lanes : {LaneOrder::KeyFirst, LaneOrder::ValueFirst})
            for (RowLoop rows : {RowLoop::Unrolled, RowLoop::Rolled}) {
              schedule.lanes = lanes;
              schedule.rows = rows;
              addBlocks(schedule);
            }
        }
      }
  }

  /// Lanes of a warp have all keys of some values.
  void addColumns() {
    for (int keys : {1, 2, 4, 8})
      for (int values : {1, 2, 4, 8, 16})
        for (int warps : {1, 2, 4}) {
          Schedule schedule;
          schedule.rows = RowLoop::Unrolled;
          schedule.keysPerLane = keys;
          while (schedule.keyLanes < kWarp &&
                 schedule.keyLanes * keys < layout.paddedKey)
            schedule.keyLanes *= 2;
          schedule.valuesPerLane = values;
          schedule.valueLanes = kWarp * warps / schedule.keyLanes;
          const int columns = schedule.valueLanes * values;
          if (layout.paddedValue % columns != 0)
            continue;
          schedule.split = layout.paddedValue / columns;
          addBlocks(schedule);
        }
  }

  /// One lane, or those of a block in lock step, in which loops over values are
  /// vectors.
  void addHost() {
    for (int keyLanes : {1, 8, 16})
      for (int valueLanes : {1, 2, 4, 8})
        for (RowLoop rows : {RowLoop::Rolled, RowLoop::Unrolled}) {
          if (layout.paddedKey % keyLanes != 0 ||
              layout.paddedValue % valueLanes != 0)
            continue;
          Schedule schedule;
          schedule.keyLanes = keyLanes;
          schedule.valueLanes = valueLanes;
          schedule.keysPerLane = layout.paddedKey / keyLanes;
          schedule.valuesPerLane = layout.paddedValue / valueLanes;
          schedule.rows = rows;
          addBoundaries(schedule);
        }
  }

  const DecodeSpec &spec;
  const RecordShape &record;
  const TargetInfo &target;
  const Schedule &usual;
  CodeOrder order = CodeOrder::Rows;
  SlotLayout layout;
  std::vector<ScheduleCandidate> list;
};

/// What an order's schedules are compared with: the default for its layout, as
/// far as there is one.
Schedule defaultFor(const DecodeSpec &spec, const RecordShape &record,
                    const TargetInfo &target, CodeOrder order,
                    LaunchOrder launch) {
  const SlotLayout layout = makeSlotLayout(spec, record, order);
  Schedule schedule = defaultSchedule(layout, target);
  if (auto mma = mmaSchedule(layout, target))
    schedule = *mma;
  schedule.launch = launch;
  return schedule;
}

} // namespace

ScheduleCandidate decant::tune::usualGuess(const DecodeSpec &spec,
                                           const RecordShape &record,
                                           const TargetInfo &target) {
  const LaunchOrder launch = target.has(Feature::DependentLaunch)
                                 ? LaunchOrder::Dependent
                                 : LaunchOrder::Ordered;
  CodeOrder order = CodeOrder::Rows;
  if (target.kind == TargetKind::Nvidia) {
    const bool floats = isWideFloat(spec.state.codes);
    const CodeOrder wanted = floats && spec.window.length == 1
                                 ? CodeOrder::Columns
                                 : CodeOrder::Fragments;
    const SlotLayout layout = makeSlotLayout(spec, record, wanted);
    if (wanted == CodeOrder::Columns
            ? holdsState(defaultSchedule(layout, target), layout)
            : mmaSchedule(layout, target).has_value())
      order = wanted;
  }
  return {defaultFor(spec, record, target, order, launch), order};
}

int decant::tune::distance(const Schedule &a, const Schedule &b) {
  return (a.strategy != b.strategy) + (a.keyLanes != b.keyLanes) +
         (a.valueLanes != b.valueLanes) + (a.keysPerLane != b.keysPerLane) +
         (a.valuesPerLane != b.valuesPerLane) + (a.rows != b.rows) +
         (a.boundary != b.boundary) + (a.blocksPerSm != b.blocksPerSm) +
         (a.lanes != b.lanes) + (a.split != b.split) + (a.fetch != b.fetch) +
         (a.launch != b.launch) + (a.exchange != b.exchange);
}

std::vector<ScheduleCandidate> decant::tune::scheduleCandidates(
    const DecodeSpec &spec, const RecordShape &record, const TargetInfo &target,
    const ScheduleCandidate &usual) {
  std::vector<CodeOrder> orders = {usual.order};
  // Hosts and what carries vectors beside the state have rows.
  if (target.kind == TargetKind::Nvidia && record.carried == 0)
    for (CodeOrder order :
         {CodeOrder::Fragments, CodeOrder::Columns, CodeOrder::Rows}) {
      const bool floats = isWideFloat(spec.state.codes);
      const bool sound =
          order == CodeOrder::Columns ? floats
          : order == CodeOrder::Fragments
              ? (!floats || spec.window.length > 1) &&
                    (spec.state.bits.widths.empty() ||
                     fillsSlabs(makeSlotLayout(spec, record, order)))
              : true;
      if (order != usual.order && sound)
        orders.push_back(order);
    }
  std::vector<ScheduleCandidate> result;
  std::set<std::string> known;
  for (CodeOrder order : orders) {
    const Schedule first =
        order == usual.order
            ? usual.schedule
            : defaultFor(spec, record, target, order, usual.schedule.launch);
    std::vector<ScheduleCandidate> list =
        Enumerator(spec, record, target, first).of(order);
    std::sort(list.begin(), list.end(), [&](const auto &a, const auto &b) {
      const int far = distance(a.schedule, first),
                near = distance(b.schedule, first);
      return far != near ? far < near
                         : toString(a.schedule) < toString(b.schedule);
    });
    // The default itself need not be among them.
    if (order == usual.order ||
        check(first, makeSlotLayout(spec, record, order), target).ok())
      list.insert(list.begin(), {first, order});
    for (const ScheduleCandidate &candidate : list)
      if (known.insert(toString(candidate.schedule) + toString(order)).second)
        result.push_back(candidate);
  }
  return result;
}
