//===- PackTuner.cpp - a pack's own candidates ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackTuner.h"

#include "Core/Parallel.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;
using namespace decant::tune;

namespace {

bool isCandidate(const PackVariant &variant, int spec,
                 const std::string &target, CodeKind kind) {
  return variant.spec == spec && variant.target == target &&
         variant.kernels == PackKernels::Decode && variant.kind == kind;
}

} // namespace

Expected<PackCandidates>
decant::tune::packCandidates(const Pack &pack, const DecodeSpec &spec,
                             const DeviceInfo &device) {
  PackQuery query;
  query.specText = canonicalText(spec);
  query.transfer = false;
  DECANT_ASSIGN(const PackChoice choice,
                chooseFromPack(pack.index(), query, device));
  const std::vector<PackVariant> &all = pack.index().variants;
  const int usual = choice.decode[choice.rules.back().variant];
  PackCandidates result;
  result.spec = choice.spec;
  result.target = choice.target;
  result.compiler = all[usual].compiler;
  std::vector<int> numbers = {usual};
  for (int i = 0; i < int(all.size()); ++i)
    if (i != usual &&
        isCandidate(all[i], choice.spec, choice.target, all[usual].kind))
      numbers.push_back(i);
  for (int number : numbers) {
    DECANT_ASSIGN(const Schedule schedule, parseSchedule(all[number].schedule));
    result.variants.push_back({number, {schedule, all[number].order}});
  }
  result.picks.key.spec = spec.name;
  result.picks.key.specHash = specHash(spec);
  result.picks.order = all[usual].order;
  result.picks.schedule = all[usual].schedule;
  int64_t from = 1;
  for (const BatchRule &rule : choice.rules) {
    TunedRange range;
    range.from = from;
    if (rule.maxRows != kAnyRows) {
      range.to = rule.maxRows;
      from = rule.maxRows + 1;
    }
    range.schedule = all[choice.decode[rule.variant]].schedule;
    result.picks.ranges.push_back(std::move(range));
  }
  return result;
}

Hooks decant::tune::packHooks(const Pack &pack,
                              const PackCandidates &candidates) {
  Hooks hooks;
  hooks.image = [&](const DecodeSpec &,
                    const ScheduleCandidate *wanted) -> Expected<KernelImage> {
    for (const auto &[number, candidate] : candidates.variants)
      if (!wanted || toString(wanted->schedule) == toString(candidate.schedule))
        return pack.image(number);
    return Status::internal(fmt::format("{} has no schedule <{}>", pack.path(),
                                        toString(wanted->schedule)));
  };
  hooks.candidates = [&](const ScheduleCandidate &) {
    std::vector<ScheduleCandidate> list;
    for (const auto &[number, candidate] : candidates.variants)
      list.push_back(candidate);
    return list;
  };
  return hooks;
}

Status decant::tune::takeFromPack(const Pack &pack,
                                  const PackCandidates &candidates,
                                  Setup &setup) {
  DECANT_ASSIGN(setup.target, lookupTarget(candidates.target));
  setup.deviceClass.target = candidates.target;
  setup.compiler = candidates.compiler;
  setup.before = {candidates.picks};
  setup.effort.mostSchedules = candidates.variants.size();
  Hooks hooks = packHooks(pack, candidates);
  hooks.progress = std::move(setup.hooks.progress);
  hooks.stop = std::move(setup.hooks.stop);
  setup.hooks = std::move(hooks);
  return {};
}

Expected<std::string> decant::tune::tunedPack(const Pack &pack,
                                              const PackCandidates &candidates,
                                              const TuningRecord &record) {
  std::vector<BatchRule> rules;
  for (const TunedRange &range : record.ranges) {
    const auto found = std::find_if(
        candidates.variants.begin(), candidates.variants.end(),
        [&](const auto &variant) {
          return variant.second.order == record.order &&
                 toString(variant.second.schedule) == range.schedule;
        });
    if (found == candidates.variants.end())
      return Status::internal(
          fmt::format("{} has no schedule <{}>", pack.path(), range.schedule));
    const int64_t maxRows = range.to.value_or(kAnyRows);
    if (!rules.empty() && rules.back().variant == found->first)
      rules.back().maxRows = maxRows;
    else
      rules.push_back({maxRows, found->first});
  }
  return pack.withPicks(candidates.spec, candidates.target, rules);
}

Expected<std::string> decant::tune::launchPicks(
    const Pack &tuned, const Pack &before, const DecodeSpec &spec,
    std::shared_ptr<Device> device, const std::vector<int64_t> &batches) {
  PackQuery query;
  query.specText = canonicalText(spec);
  query.transfer = false;
  DECANT_ASSIGN(const auto mine, programFromPack(tuned, device, query));
  DECANT_ASSIGN(const auto theirs, programFromPack(before, device, query));
  for (int64_t batch : batches) {
    DECANT_ASSIGN(const bench::Agreement agreement,
                  bench::compareBatch(spec, device, *mine, device, *theirs,
                                      batch, allThreads()));
    if (!agreement.good())
      return Status::failed(
          fmt::format("{}: at batch {} the picks compute something else: {}",
                      tuned.path(), batch, describe(agreement)));
  }
  return toString(mine->rules());
}
