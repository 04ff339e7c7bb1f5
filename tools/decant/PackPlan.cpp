//===- PackPlan.cpp - what goes into a pack -------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackPlan.h"

#include "Targets.h"
#include "decant/Runtime/BatchRules.h"
#include "decant/Tune/TuningRecord.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

using namespace decant;
using namespace decant::tool;

namespace {

/// The parts of "a,b"; none of an empty text.
std::vector<std::string> splitAtCommas(const std::string &text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; !text.empty() && begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// The whole of `text` as a number from `low` on, or nothing.
std::optional<int64_t> numberIn(const std::string &text, int64_t low) {
  int64_t number = 0;
  const char *end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number < low)
    return std::nullopt;
  return number;
}

Expected<std::vector<TargetInfo>> targetsOf(const std::string &list) {
  std::vector<TargetInfo> targets;
  if (list.empty()) {
    DECANT_ASSIGN(TargetInfo target, chooseTarget(""));
    return std::vector<TargetInfo>{std::move(target)};
  }
  for (const std::string &name : splitAtCommas(list)) {
    DECANT_ASSIGN(TargetInfo target, lookupTarget(name));
    for (const TargetInfo &other : targets)
      if (other.name == name)
        return Status::invalid(
            fmt::format("--target: found {} twice in \"{}\"", name, list));
    targets.push_back(std::move(target));
  }
  return targets;
}

/// Every spec with every number of tokens per step.
Expected<std::vector<DecodeSpec>> specsOf(const PackArguments &arguments) {
  const std::vector<std::string> counts =
      splitAtCommas(arguments.tokensPerStep);
  for (const std::string &count : counts)
    if (!numberIn(count, 1))
      return Status::invalid(fmt::format(
          "--tokens-per-step: found \"{}\" in \"{}\"; allowed are numbers from "
          "1 to {}",
          count, arguments.tokensPerStep, kMaxTokensPerStep));
  std::vector<DecodeSpec> specs;
  for (const SpecSource &source : arguments.specs) {
    if (counts.empty()) {
      DECANT_ASSIGN(DecodeSpec spec, readSpec(source));
      specs.push_back(std::move(spec));
    }
    for (const std::string &count : counts) {
      SpecSource several = source;
      several.overrides.push_back("tokens_per_step=" + count);
      DECANT_ASSIGN(DecodeSpec spec, readSpec(several));
      specs.push_back(std::move(spec));
    }
  }
  return specs;
}

/// "TEXT" or, for --schedule, "ROWS:TEXT".
Expected<PlannedCut> cutOf(const std::string &word) {
  PlannedCut cut;
  cut.option = "--schedule";
  std::string text = word;
  int64_t bound = kAnyRows;
  if (const size_t colon = word.find(':'); colon != std::string::npos) {
    const std::optional<int64_t> rows = numberIn(word.substr(0, colon), 1);
    if (!rows)
      return Status::invalid(fmt::format(
          "--schedule: found \"{}\" ahead of the colon in \"{}\"; allowed is "
          "the largest number of rows that the schedule is for, from 1",
          word.substr(0, colon), word));
    cut.option += fmt::format(" {}:", *rows);
    bound = *rows;
    text = word.substr(colon + 1);
  }
  if (text != "default") {
    DECANT_ASSIGN(cut.schedule, parseSchedule(text));
  }
  cut.maxRows = {bound};
  return cut;
}

/// Equal schedules are one cut, for the batches of both.
void addCut(PlannedCut cut, std::vector<PlannedCut> &cuts) {
  auto textOf = [](const PlannedCut &of) {
    return of.schedule ? toString(*of.schedule) : std::string("default");
  };
  for (PlannedCut &other : cuts)
    if (textOf(other) == textOf(cut)) {
      other.maxRows.insert(other.maxRows.end(), cut.maxRows.begin(),
                           cut.maxRows.end());
      std::sort(other.maxRows.begin(), other.maxRows.end());
      return;
    }
  cuts.push_back(std::move(cut));
}

/// The cut for any number of rows comes first.
Expected<std::vector<PlannedCut>> cutsOf(const PackArguments &arguments) {
  std::vector<PlannedCut> given, cuts;
  std::vector<int64_t> bounds;
  for (const std::string &word : arguments.schedules) {
    DECANT_ASSIGN(PlannedCut cut, cutOf(word));
    const int64_t bound = cut.maxRows.front();
    if (std::find(bounds.begin(), bounds.end(), bound) != bounds.end())
      return Status::invalid(fmt::format(
          "--schedule: found two for batches of {}; allowed is one each",
          bound == kAnyRows ? "any number of rows"
                            : fmt::format("up to {} rows", bound)));
    bounds.push_back(bound);
    if (bound == kAnyRows)
      addCut(std::move(cut), cuts);
    else
      given.push_back(std::move(cut));
  }
  if (cuts.empty())
    cuts.push_back({std::nullopt, {kAnyRows}, "the default schedule"});
  for (PlannedCut &cut : given)
    addCut(std::move(cut), cuts);
  for (const std::string &text : arguments.candidates) {
    PlannedCut cut;
    DECANT_ASSIGN(cut.schedule, parseSchedule(text));
    cut.option = "--candidate";
    addCut(std::move(cut), cuts);
  }
  return cuts;
}

Expected<std::vector<TuningRecord>> recordsOf(const PackArguments &arguments) {
  if (!arguments.records.empty() && !arguments.schedules.empty())
    return Status::invalid("--schedule: found it beside --record, which has "
                           "the schedules; allowed is one of them");
  std::vector<TuningRecord> records;
  for (const std::string &path : arguments.records) {
    DECANT_ASSIGN(const TuningFile file, readTuningFile(path));
    records.insert(records.end(), file.records.begin(), file.records.end());
  }
  return records;
}

/// What a tuner found for this layer becomes its cuts; without a record it
/// keeps those it has.
Status applyRecord(const std::vector<TuningRecord> &records,
                   PlannedLayer &layer) {
  const TuningRecord *found = nullptr;
  for (const TuningRecord &record : records) {
    if (record.key.specHash != specHash(layer.spec) ||
        record.key.device.target != layer.target.name)
      continue;
    if (found)
      return Status::invalid(fmt::format(
          "--record: found two for {} on {}, of {} and of {}; allowed is one "
          "for each spec and target of a pack",
          layer.spec.name, layer.target.name, found->key.device.name,
          record.key.device.name));
    found = &record;
  }
  if (!found) {
    layer.note =
        fmt::format("there is no record of {} on {}: it has {}",
                    layer.spec.name, layer.target.name, layer.cuts[0].option);
    return {};
  }
  layer.order = found->order;
  std::vector<PlannedCut> cuts;
  // From the end: the cut for any number of rows comes first.
  for (size_t i = found->ranges.size(); i-- > 0;) {
    PlannedCut cut;
    DECANT_ASSIGN(cut.schedule, parseSchedule(found->ranges[i].schedule));
    cut.maxRows = {found->ranges[i].to.value_or(kAnyRows)};
    cut.option = "--record";
    addCut(std::move(cut), cuts);
  }
  for (PlannedCut &cut : layer.cuts)
    if (cut.maxRows.empty())
      addCut(std::move(cut), cuts);
  layer.cuts = std::move(cuts);
  return {};
}

Status checkCubins(const std::vector<std::string> &cubins,
                   const std::vector<TargetInfo> &targets,
                   const std::string &list) {
  for (const std::string &name : cubins) {
    bool found = name == "all";
    for (const TargetInfo &target : targets)
      found |= target.name == name && target.kind == TargetKind::Nvidia;
    if (!found)
      return Status::invalid(fmt::format(
          "--cubin: found \"{}\" in \"{}\"; allowed are \"all\" and the GPU "
          "targets that --target names",
          name, list));
  }
  return {};
}

} // namespace

Expected<std::vector<PlannedLayer>>
decant::tool::planPack(const PackArguments &arguments) {
  DECANT_ASSIGN(const auto targets, targetsOf(arguments.targets));
  DECANT_ASSIGN(const auto cuts, cutsOf(arguments));
  DECANT_ASSIGN(const auto specs, specsOf(arguments));
  DECANT_ASSIGN(const auto records, recordsOf(arguments));
  const std::vector<std::string> cubins = splitAtCommas(arguments.cubins);
  DECANT_TRY(checkCubins(cubins, targets, arguments.cubins));
  std::vector<PlannedLayer> layers;
  for (const DecodeSpec &spec : specs)
    for (const TargetInfo &target : targets) {
      const bool named = std::any_of(
          cubins.begin(), cubins.end(), [&](const std::string &name) {
            return name == "all" || name == target.name;
          });
      PlannedLayer layer;
      layer.spec = spec;
      layer.target = target;
      layer.cuts = cuts;
      layer.cubin = named && target.kind == TargetKind::Nvidia;
      if (!arguments.records.empty())
        DECANT_TRY(applyRecord(records, layer));
      layers.push_back(std::move(layer));
    }
  return layers;
}
