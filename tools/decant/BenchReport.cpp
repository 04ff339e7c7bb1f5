//===- BenchReport.cpp - what decant bench found out ----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BenchReport.h"

#include "Bench/StepBytes.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;
using namespace decant::tool;
using bench::BatchTimes;
using bench::Spread;
using bench::Traffic;

namespace {

constexpr const char *kCounted =
    "codes, scales, compensators, records, decays and cursors of every head, "
    "inputs and outputs, each once per use: the fewest bytes that the layout "
    "allows";

/// The step of a synchronized window in which most is done: the one that folds
/// all rows, wherever the schedule does that.
size_t slowestPlace(const BatchTimes &times) {
  return size_t(std::max_element(times.places.begin(), times.places.end(),
                                 [](const Spread &a, const Spread &b) {
                                   return a.median < b.median;
                                 }) -
                times.places.begin());
}

double terabytesPerSecond(const Traffic &row, int64_t batch, double us) {
  return (row.read + row.written) * double(batch) / us * 1e-6;
}

Json spreadJson(const Spread &spread) {
  return {{"us", spread.median}, {"p10", spread.p10}, {"p90", spread.p90}};
}

/// Adds bytes and speed to a time.
void addTraffic(Json &json, const Traffic &row, int64_t batch,
                const BenchFindings &findings) {
  const double speed = terabytesPerSecond(row, batch, json["us"].get<double>());
  json["bytes_read"] = row.read * double(batch);
  json["bytes_written"] = row.written * double(batch);
  json["tb_per_s"] = speed;
  json["ceiling_ratio"] =
      findings.ceiling ? Json(speed / findings.ceiling->terabytesPerSecond)
                       : Json();
}

Json synchronizedJson(const BenchFindings &findings, const BatchTimes &times) {
  Json json = spreadJson(times.synchronized);
  json["steps"] = times.synchronizedSteps;
  const size_t slowest = slowestPlace(times);
  json["due_us"] = times.places[slowest].median;
  json["due_ratio"] = times.places[slowest].median / times.staggered.median;
  const std::vector<bench::WindowStep> steps =
      bench::windowSteps(findings.image);
  json["by_fill"] = Json::array();
  for (size_t place = 0; place < times.places.size(); ++place) {
    Json step = {{"fill", steps[place].fill}, {"folds", steps[place].folds}};
    step.update(spreadJson(times.places[place]));
    addTraffic(step,
               bench::totalOf(bench::stepTraffic(findings.image, steps[place])),
               times.batch, findings);
    json["by_fill"].push_back(step);
  }
  return json;
}

Json batchJson(const BenchFindings &findings, const BatchFindings &found) {
  Json json = {{"batch", found.batch},
               {"check",
                {{"output_error", found.check.output},
                 {"state_error", found.check.state},
                 {"output_bound", found.check.outputBound},
                 {"bound", found.check.bound},
                 {"rows", found.check.rows},
                 {"tokens", found.check.tokens},
                 {"ok", found.check.good()}}}};
  const BatchTimes &times = found.times;
  if (times.batch == 0)
    return json;
  json["sets"] = times.sets;
  json["rotated_bytes"] = times.rotatedBytes;
  json["beyond_cache"] = times.beyondCache;
  Json staggered = spreadJson(times.staggered);
  staggered["steps"] = times.staggeredSteps;
  addTraffic(staggered, bench::totalOf(bench::stepTraffic(findings.image)),
             times.batch, findings);
  json["staggered"] = staggered;
  json["synchronized"] = synchronizedJson(findings, times);
  return json;
}

std::string batchLine(const BenchFindings &findings,
                      const BatchFindings &found) {
  const BatchTimes &times = found.times;
  if (times.batch == 0)
    return fmt::format("{:>6}  the check failed\n", found.batch);
  const Traffic row = bench::totalOf(bench::stepTraffic(findings.image));
  const double speed =
      terabytesPerSecond(row, times.batch, times.staggered.median);
  const std::string ratio =
      findings.ceiling
          ? fmt::format("{:.1f} %",
                        100 * speed / findings.ceiling->terabytesPerSecond)
          : "-";
  const size_t slowest = slowestPlace(times);
  return fmt::format(
      "{:>6} {:>9.2f} {:>8.2f} {:>8.2f} {:>9.2f} {:>8.3f} {:>8} {:>10.2f} "
      "{:>9.2f} {:>5.2f} {:>5}{} {:>8.1e}\n",
      found.batch, times.staggered.median, times.staggered.p10,
      times.staggered.p90, (row.read + row.written) * double(times.batch) / 1e6,
      speed, ratio, times.synchronized.median, times.places[slowest].median,
      times.places[slowest].median / times.staggered.median, times.sets,
      times.beyondCache ? " " : "*",
      std::max(found.check.output, found.check.state));
}

/// Microseconds at every fill, a line per batch.
std::string fillTable(const BenchFindings &findings) {
  const std::vector<bench::WindowStep> steps =
      bench::windowSteps(findings.image);
  if (steps.size() == 1)
    return "";
  std::string text = "\nus by fill, all rows at the same (^ folds)\n fill ";
  for (const bench::WindowStep &step : steps)
    text += fmt::format(" {:>8}",
                        fmt::format("{}{}", step.fill, step.folds ? "^" : ""));
  text += "\n";
  for (const BatchFindings &found : findings.batches) {
    if (found.times.batch == 0)
      continue;
    text += fmt::format("{:>6}", found.batch);
    for (const Spread &place : found.times.places)
      text += fmt::format(" {:>8.2f}", place.median);
    text += "\n";
  }
  return text;
}

} // namespace

Json decant::tool::toJson(const BenchFindings &findings) {
  const ProgramInfo &program = findings.program;
  Json json;
  json["spec"] = findings.spec.name;
  json["device"] = findings.deviceName;
  json["device_name"] = findings.device.name;
  json["driver"] = findings.device.driverVersion;
  json["target"] = program.target;
  json["compiler"] = findings.image.compiler;
  json["schedule"] = findings.image.scheduleText;
  json["heads"] = {{"key", findings.spec.heads.key},
                   {"value", findings.spec.heads.value},
                   {"key_dim", program.keyDim},
                   {"value_dim", program.valueDim}};
  json["codes"] = toString(findings.spec.state.codes);
  json["window"] = program.window;
  json["compensators"] = program.compensators;
  json["records"] = toString(findings.spec.window.records);
  json["bytes_per_state"] = program.stateBytesPerHead;
  json["slot_bytes"] = program.slotBytes;
  json["l2_bytes"] = findings.memory.l2Bytes;
  json["multiprocessors"] = findings.memory.multiprocessors;
  json["read_ceiling"] = Json();
  if (findings.ceiling)
    json["read_ceiling"] = {{"tb_per_s", findings.ceiling->terabytesPerSecond},
                            {"bytes", findings.ceiling->bytes},
                            {"blocks", findings.ceiling->blocks}};
  json["call"] = spreadJson(findings.call);
  json["bytes_counted"] = kCounted;
  json["method"] = findings.ceiling
                       ? "CUDA graphs of whole windows, events around replays; "
                         "slots, inputs and outputs rotated"
                       : "wall clock";
  json["kernels"] = Json::array();
  for (const KernelResources &kernel : findings.resources)
    json["kernels"].push_back({{"role", kernel.role},
                               {"registers", kernel.registers},
                               {"shared_bytes", kernel.sharedBytes},
                               {"local_bytes", kernel.localBytes}});
  json["batches"] = Json::array();
  for (const BatchFindings &found : findings.batches)
    json["batches"].push_back(batchJson(findings, found));
  return json;
}

std::string decant::tool::toText(const BenchFindings &findings) {
  const ProgramInfo &program = findings.program;
  std::string text = fmt::format(
      "{} on {} ({}, {}): {} heads of {} x {}, state {}, window {}, {} "
      "compensators\nschedule {}\n",
      findings.spec.name, findings.deviceName, findings.device.name,
      program.target, program.heads, program.keyDim, program.valueDim,
      toString(findings.spec.state.codes), program.window, program.compensators,
      findings.image.scheduleText);
  for (const KernelResources &kernel : findings.resources)
    text += fmt::format("{:<8} {} registers, {} bytes shared, {} bytes local\n",
                        kernel.role, kernel.registers, kernel.sharedBytes,
                        kernel.localBytes);
  if (findings.ceiling)
    text += fmt::format("reading  {:.3f} TB/s, a kernel that reads {} MiB\n",
                        findings.ceiling->terabytesPerSecond,
                        findings.ceiling->bytes >> 20);
  text += fmt::format("calling  {:.2f} us of the host per step of one row\n\n",
                      findings.call.median);
  text += fmt::format(
      "{:>6} {:>9} {:>8} {:>8} {:>9} {:>8} {:>8} {:>10} {:>9} {:>5} {:>6} "
      "{:>8}\n",
      "batch", "us", "p10", "p90", "MB", "TB/s", "of read", "in step",
      "all due", "x", "sets", "error");
  for (const BatchFindings &found : findings.batches)
    text += batchLine(findings, found);
  text += fillTable(findings);
  text +=
      "\nus: mean step of whole windows, rows at random fills; in step: all "
      "rows at\nthe same fill; all due: its step that folds all, and how "
      "many times us";
  if (findings.ceiling)
    text += "; * the cache\nserves some of it";
  return text + "\n";
}
