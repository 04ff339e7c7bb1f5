//===- Summary.cpp - a choice of schedules in one paragraph ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleTuner.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

using namespace decant;
using namespace decant::tune;

namespace {

std::string differencesOf(const Schedule &chosen, const Schedule &usual) {
  std::vector<std::string> list;
  auto add = [&](const char *name, const auto &mine, const auto &old) {
    if (fmt::format("{}", mine) != fmt::format("{}", old))
      list.push_back(fmt::format("{} {} instead of {}", name, mine, old));
  };
  add("strategy", toString(chosen.strategy), toString(usual.strategy));
  add("key_lanes", chosen.keyLanes, usual.keyLanes);
  add("value_lanes", chosen.valueLanes, usual.valueLanes);
  add("keys_per_lane", chosen.keysPerLane, usual.keysPerLane);
  add("values_per_lane", chosen.valuesPerLane, usual.valuesPerLane);
  add("rows", toString(chosen.rows), toString(usual.rows));
  add("boundary", toString(chosen.boundary), toString(usual.boundary));
  add("blocks_per_sm", chosen.blocksPerSm, usual.blocksPerSm);
  add("lanes", toString(chosen.lanes), toString(usual.lanes));
  add("split", chosen.split, usual.split);
  add("fetch", toString(chosen.fetch), toString(usual.fetch));
  add("launch", toString(chosen.launch), toString(usual.launch));
  add("exchange", chosen.exchange, usual.exchange);
  return fmt::format("{}", fmt::join(list, ", "));
}

/// Batches that got the same variant, each with what it gained.
std::string gains(const ScheduleFindings &findings, size_t variant) {
  std::vector<std::string> list;
  for (const TunedRange &range : findings.record.ranges)
    if (range.schedule == toString(findings.variants[variant].schedule))
      list.push_back(fmt::format("{} ({:.2f} us, was {:.2f})", range.batch,
                                 range.time.us, range.againstTime.us));
  return fmt::format("{}", fmt::join(list, ", "));
}

} // namespace

std::string decant::tune::summaryOf(const ScheduleFindings &findings,
                                    const Setup &setup) {
  const Variant &usual = findings.variants.front();
  const Choice &choice = findings.choice;
  std::string text =
      setup.device
          ? fmt::format("Of {} legal schedules {} were loaded, checked and "
                        "timed on {} (driver {}){}",
                        findings.candidates, findings.tried,
                        setup.deviceClass.name, setup.deviceClass.driver,
                        findings.outOfTime
                            ? ", until the time that was allowed was over"
                            : "")
          : fmt::format("Nothing was run: a model of {} ranked {} legal "
                        "schedules by bytes, loads in flight and work",
                        setup.machine.name, findings.candidates);
  if (!findings.refusals.empty())
    text += fmt::format("; {} did not compile, load or compute the right "
                        "values",
                        findings.refusals.size());
  text += ". ";
  if (choice.order != usual.order)
    text += fmt::format("Codes lie in the order {} instead of {}. ",
                        toString(choice.order), toString(usual.order));
  std::set<size_t> changed;
  for (const BatchChoice &batch : choice.batches)
    if (batch.variant != 0)
      changed.insert(batch.variant);
  if (changed.empty())
    return text + fmt::format("No other schedule was faster than the usual "
                              "one beyond noise at any batch, so it stays: "
                              "<{}>.",
                              toString(usual.schedule));
  for (size_t variant : changed)
    text += fmt::format(
        "At batch {} it has {}. ", gains(findings, variant),
        differencesOf(findings.variants[variant].schedule, usual.schedule));
  double gain = 0, noise = 0;
  for (size_t i = 0; i < choice.batches.size(); ++i) {
    const StepTimes &mine =
        *findings.variants[choice.batches[i].variant].times[i];
    gain += std::log(usual.times[i]->us / mine.us);
    noise = std::max(noise, (mine.p90 - mine.p10) / 2 / mine.us);
  }
  gain = std::exp(gain / double(choice.batches.size())) - 1;
  return text + fmt::format("In the geometric mean over batches steps are "
                            "{:.1f} % faster than with the usual schedule; "
                            "the spread of a time is up to {:.1f} %.",
                            100 * gain, 100 * noise);
}
