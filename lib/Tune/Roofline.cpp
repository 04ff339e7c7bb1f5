//===- Roofline.cpp - what a step takes at least, and about ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Roofline.h"

#include "Bench/StepBytes.h"

#include <algorithm>
#include <cmath>

using namespace decant;
using namespace decant::tune;

namespace {

/// Loads that an SM has to have in flight for its share of the bandwidth: 1.2
/// us of latency at 4.8 TB/s are 5.8 MB, 44 KB on each of 132 SMs; two thirds
/// of it came with the first kernels that were measured.
constexpr double kBytesInFlight = 30e3;
/// Launches that wait for one another on the device.
constexpr double kDependentUs = 2.0, kOrderedUs = 2.6;
constexpr double kPerSecond = 1e6; // microseconds

/// Of one element in one step: two reads, unpacking, scales.
double workPerRead(const Schedule &schedule, const SlotLayout &layout) {
  if (schedule.strategy == Strategy::Mma)
    return 3;
  if (holdsState(schedule, layout))
    return 6; // reads, decay and write
  const bool grouped = layout.groups() != nullptr || !layout.rowBits.empty();
  return grouped ? 24 : 12;
}

/// Of one element in one fold: rebuilt, fitted, encoded. On tensor cores, whose
/// products take a record's rows along for little, as folds were counted on an
/// H200: 31 lane instructions with 4 compensators and 43 with 8, in windows of
/// 16, of which six tenths are issued in a cycle.
double workPerFold(const Schedule &schedule, const SlotLayout &layout) {
  if (holdsState(schedule, layout)) // scales, codes and back, as counted
    return layout.scales.empty() ? 0 : 16;
  const double fits = double(layout.compensators) * layout.compensatorRounds;
  if (schedule.strategy == Strategy::Mma)
    return (18 + 3 * fits + layout.window / 16.0) / 0.6;
  return 60 + 3 * (2 * fits + layout.window);
}

/// One fold by itself in us, as measured on an H200 where all rows of a small
/// batch fold: on tensor cores 9 with 4 compensators and a window of 16, 11
/// with 8, 13 with none and a window of 64, 20 and 23 with 4 and 8 that are
/// fitted twice, 3 for floats; row by row, 16 for floats.
double foldLatency(const Schedule &schedule, const SlotLayout &layout) {
  if (layout.window == 1)
    return 0;
  const double mma =
      layout.scales.empty()
          ? 3
          : 6 + 0.6 * layout.compensators * layout.compensatorRounds +
                0.1 * layout.window;
  return schedule.strategy == Strategy::Mma ? mma : mma + 13;
}

/// How often a step of `rows` rows at random phases has one that folds.
double dueSteps(const SlotLayout &layout, double rows) {
  return 1 - std::pow(1 - 1.0 / layout.window, rows);
}

struct Work {
  Schedule schedule;
  double bytes = 0;  // of a row
  double blocks = 0; // of a row
};

Work workOf(const KernelImage &shape) {
  Work work;
  if (const auto schedule = parseSchedule(shape.scheduleText))
    work.schedule = *schedule;
  const bench::Traffic total = bench::totalOf(bench::stepTraffic(shape));
  work.bytes = total.read + total.written;
  work.blocks = double(shape.layout.valueHeads) * work.schedule.split;
  return work;
}

} // namespace

std::optional<Machine> decant::tune::machineOf(const TargetInfo &target) {
  // Name, TB/s, SMs and GHz of the vendor's data sheet of one card for each
  // compute capability; kernels read 94 % of it (4.55 of 4.8 TB/s on an H200).
  struct Row {
    int major, minor;
    const char *name;
    double terabytes;
    int multiprocessors;
    double gigahertz;
  };
  static constexpr Row kRows[] = {{8, 0, "A100 80GB", 2.04, 108, 1.41},
                                  {8, 6, "A40", 0.70, 84, 1.74},
                                  {8, 9, "L40S", 0.86, 142, 2.52},
                                  {9, 0, "H200", 4.80, 132, 1.98},
                                  {10, 0, "B200", 8.00, 148, 1.97},
                                  {10, 3, "B300", 8.00, 160, 1.92},
                                  {12, 0, "RTX PRO 6000", 1.79, 188, 2.62},
                                  {12, 1, "GB10", 0.27, 48, 2.42}};
  constexpr double kReadable = 0.94, kLanesOfSm = 128;
  for (const Row &row : kRows)
    if (target.kind == TargetKind::Nvidia && target.computeMajor == row.major &&
        target.computeMinor == row.minor) {
      Machine machine;
      machine.name = row.name;
      machine.bytesPerSecond = kReadable * row.terabytes * 1e12;
      machine.multiprocessors = row.multiprocessors;
      machine.lanesPerSecond =
          row.gigahertz * 1e9 * kLanesOfSm * row.multiprocessors;
      machine.launchUs =
          target.has(Feature::DependentLaunch) ? kDependentUs : kOrderedUs;
      return machine;
    }
  return std::nullopt;
}

KernelImage decant::tune::shapeOf(const KernelImage &usual,
                                  const DecodeSpec &spec,
                                  const ScheduleCandidate &candidate) {
  KernelImage shape;
  shape.target = usual.target;
  shape.entries = usual.entries;
  shape.scheduleText = toString(candidate.schedule);
  shape.layout = makeSlotLayout(spec, usual.layout.record, candidate.order);
  return shape;
}

double decant::tune::leastTime(const KernelImage &shape, const Machine &machine,
                               int64_t batch) {
  if (machine.bytesPerSecond <= 0)
    return 0;
  return workOf(shape).bytes * double(batch) / machine.bytesPerSecond *
         kPerSecond;
}

double decant::tune::likelyTime(const KernelImage &shape,
                                const Machine &machine, int64_t batch) {
  const Work work = workOf(shape);
  const SlotLayout &layout = shape.layout;
  const Schedule &schedule = work.schedule;
  const double rows = double(batch);
  const double blocks = rows * work.blocks;
  // Of the blocks that an SM gets, those that it holds at once.
  const double sms = std::max(machine.multiprocessors, 1);
  const double held = schedule.blocksPerSm > 0
                          ? schedule.blocksPerSm
                          : std::max(1.0, 1024.0 / schedule.threads());
  const double resident = std::min(held, std::ceil(blocks / sms));
  const double inFlight = resident * work.bytes / work.blocks;
  const double busy = std::min(blocks, sms) / sms;
  double memory = 0, reads = 0, folds = 0;
  if (machine.bytesPerSecond > 0)
    memory = rows * work.bytes / machine.bytesPerSecond /
             (busy * std::min(1.0, inFlight / kBytesInFlight));
  const double elements =
      rows * layout.valueHeads * layout.paddedKey * layout.paddedValue;
  if (machine.lanesPerSecond > 0) {
    const double lanes = machine.lanesPerSecond * busy;
    reads = elements * workPerRead(schedule, layout) / lanes;
    folds = elements * workPerFold(schedule, layout) / layout.window / lanes;
  }
  // A fold apart is a launch of its own at every step.
  const bool apart = schedule.boundary == Boundary::Apart && layout.window > 1;
  const double launches =
      machine.launchUs * (apart ? 2 : 1) +
      (schedule.launch == LaunchOrder::Ordered ? kOrderedUs - kDependentUs : 0);
  // Reads hide behind loads; folds, of some blocks at some steps, do not, and
  // where blocks are few a step waits for the one that folds.
  const double throughput = (std::max(memory, reads) + folds) * kPerSecond;
  return launches + std::max(throughput, foldLatency(schedule, layout) *
                                             dueSteps(layout, rows));
}

double decant::tune::likelyMean(const KernelImage &shape,
                                const Machine &machine,
                                const std::vector<int64_t> &batches) {
  constexpr double kNotZero = 1e-9; // of a machine of which nothing is known
  double sum = 0;
  for (int64_t batch : batches)
    sum += std::log(likelyTime(shape, machine, batch) + kNotZero);
  return std::exp(sum / double(batches.size()));
}
