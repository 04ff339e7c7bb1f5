//===- PackChoice.cpp - which variants a device is to run -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/PackChoice.h"

#include "PackFormat.h"
#include "decant/Runtime/Cuda.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

using namespace decant;

namespace {

std::string tokensText(int tokens) {
  return fmt::format("{} token{} per step", tokens, tokens == 1 ? "" : "s");
}

/// "\"a\" with 1 token per step, ...": every spec of the pack.
std::string specsOf(const PackIndex &index) {
  std::string text;
  for (const PackSpec &spec : index.specs)
    text += fmt::format("{}\"{}\" with {}", text.empty() ? "" : ", ", spec.name,
                        tokensText(spec.tokensPerStep));
  return text;
}

Expected<int> findSpec(const PackIndex &index, const PackQuery &query) {
  std::vector<int> found;
  const uint64_t hash = hashSpecText(query.specText);
  for (size_t i = 0; i < index.specs.size(); ++i) {
    const PackSpec &spec = index.specs[i];
    const bool named = query.spec.empty() || spec.name == query.spec;
    const bool meant = query.specText.empty() ? named : spec.textHash == hash;
    if (meant &&
        (query.tokensPerStep == 0 || query.tokensPerStep == spec.tokensPerStep))
      found.push_back(int(i));
  }
  // Equal texts under two names are one spec.
  if (found.size() == 1 || (!query.specText.empty() && !found.empty()))
    return found.front();
  std::string wanted =
      query.spec.empty() ? "spec" : fmt::format("spec \"{}\"", query.spec);
  if (query.tokensPerStep != 0)
    wanted += " with " + tokensText(query.tokensPerStep);
  if (found.empty() && !query.specText.empty())
    return Status::invalid(fmt::format(
        "the pack has no spec of the same text as this {}; it has {}", wanted,
        specsOf(index)));
  return Status::invalid(fmt::format("the pack has {} {}; it has {}",
                                     found.empty() ? "no" : "more than one",
                                     wanted, specsOf(index)));
}

/// The targets that `device` runs, the best first.
std::vector<TargetInfo> targetsOf(const DeviceInfo &device) {
  std::vector<TargetInfo> targets;
  const auto present = std::pair(device.computeMajor, device.computeMinor);
  for (const TargetInfo &target : knownTargets()) {
    const auto wanted = std::pair(target.computeMajor, target.computeMinor);
    if (target.kind == device.kind &&
        (device.kind == TargetKind::Cpu || wanted == present ||
         (target.forwardCompatible && wanted < present)))
      targets.push_back(target);
  }
  // The table is in order of age, and a device's "a" target is behind its plain
  // one.
  std::reverse(targets.begin(), targets.end());
  return targets;
}

/// Whether `device` loads a variant for one of its targets; says why not.
Status loads(const PackVariant &variant, const TargetInfo &target,
             const DeviceInfo &device) {
  const bool own = target.computeMajor == device.computeMajor &&
                   target.computeMinor == device.computeMinor;
  switch (variant.kind) {
  case CodeKind::HostObject:
    return device.kind == TargetKind::Cpu ? Status()
                                          : Status::invalid("is host code");
  case CodeKind::Cubin:
    return own ? Status() : Status::invalid("is machine code of that target");
  case CodeKind::Ptx:
    return checkPtxIsa(variant.ptxIsa, device.driverVersion);
  }
  return {};
}

/// The picks of one spec on one target, by the bound of their batches.
using Picks = std::map<int64_t, int>;

/// Adds `variant` where it is the first for its batches, or the better one.
void addPicks(const PackIndex &index, int variant, Picks &picks) {
  const PackVariant &added = index.variants[size_t(variant)];
  for (int64_t bound : added.maxRows) {
    const auto [place, isNew] = picks.emplace(bound, variant);
    if (!isNew && added.kind == CodeKind::Cubin)
      place->second = variant;
  }
}

/// Rules for the batches that will be run, over places in `choice.decode`.
void makeRules(const Picks &picks, const PackQuery &query, PackChoice &choice) {
  int64_t first = 1;
  for (const auto &[bound, variant] : picks) {
    const bool run = bound >= query.minRows && first <= query.maxRows;
    first = bound == kAnyRows ? bound : bound + 1;
    if (!run)
      continue;
    auto place = std::find(choice.decode.begin(), choice.decode.end(), variant);
    if (place == choice.decode.end())
      place = choice.decode.insert(place, variant);
    choice.rules.push_back({bound, int(place - choice.decode.begin())});
  }
  choice.rules.back().maxRows = kAnyRows;
}

int findTransfer(const PackIndex &index, const PackChoice &choice,
                 const TargetInfo &target, const DeviceInfo &device) {
  const PackVariant &decode = index.variants[size_t(choice.decode.front())];
  int found = -1;
  for (size_t i = 0; i < index.variants.size(); ++i) {
    const PackVariant &variant = index.variants[i];
    if (variant.kernels == PackKernels::Transfer &&
        variant.spec == choice.spec && variant.target == choice.target &&
        variant.order == decode.order &&
        variant.slotBytes == decode.slotBytes &&
        loads(variant, target, device).ok() &&
        (found < 0 || variant.kind == CodeKind::Cubin))
      found = int(i);
  }
  return found;
}

std::string nameOf(const DeviceInfo &device) {
  return device.kind == TargetKind::Cpu
             ? fmt::format("the CPU ({})", device.name)
             : fmt::format("{} (compute capability {}.{})", device.name,
                           device.computeMajor, device.computeMinor);
}

/// Why nothing of `spec` runs on `device`.
Status nothingFor(const PackIndex &index, int spec, const DeviceInfo &device,
                  const std::vector<std::string> &reasons) {
  std::vector<std::string> targets;
  bool candidates = false;
  for (const PackVariant &variant : index.variants) {
    if (variant.spec != spec || variant.kernels != PackKernels::Decode)
      continue;
    const std::string text =
        fmt::format("{} ({}{})", variant.target, toString(variant.kind),
                    variant.maxRows.empty() ? ", a candidate" : "");
    candidates |= variant.maxRows.empty();
    if (std::find(targets.begin(), targets.end(), text) == targets.end())
      targets.push_back(text);
  }
  std::string text = fmt::format(
      "the pack has no variant of \"{}\" that runs on {}; it has {}",
      index.specs[size_t(spec)].name, nameOf(device),
      targets.empty() ? "none" : fmt::format("{}", fmt::join(targets, ", ")));
  if (candidates)
    text += "; a candidate is run once a tuner has picked it";
  for (const std::string &reason : reasons)
    text += "; " + reason;
  return Status::unavailable(std::move(text));
}

} // namespace

Expected<PackChoice> decant::chooseFromPack(const PackIndex &index,
                                            const PackQuery &query,
                                            const DeviceInfo &device) {
  if (query.minRows < 1 || query.maxRows < query.minRows)
    return Status::invalid(
        fmt::format("batches of {} to {} rows are asked for; allowed are 1 or "
                    "more, the smaller number first",
                    query.minRows, query.maxRows));
  PackChoice choice;
  DECANT_ASSIGN(choice.spec, findSpec(index, query));
  std::vector<std::string> reasons;
  const std::vector<TargetInfo> targets = targetsOf(device);
  for (const TargetInfo &target : targets) {
    Picks picks;
    for (size_t i = 0; i < index.variants.size(); ++i) {
      const PackVariant &variant = index.variants[i];
      if (variant.spec != choice.spec || variant.target != target.name ||
          variant.kernels != PackKernels::Decode)
        continue;
      if (Status status = loads(variant, target, device); status.ok())
        addPicks(index, int(i), picks);
      else
        reasons.push_back(status.within(target.name).message());
    }
    // What the device loads may leave batches out.
    if (picks.empty() || picks.rbegin()->first != kAnyRows)
      continue;
    choice.target = target.name;
    makeRules(picks, query, choice);
    if (query.transfer)
      choice.transfer = findTransfer(index, choice, target, device);
    if (target.name != targets.front().name)
      choice.note = fmt::format(
          "the pack has nothing for {} that {} loads; {} runs in its place",
          targets.front().name, nameOf(device), target.name);
    return choice;
  }
  return nothingFor(index, choice.spec, device, reasons);
}
