//===- TunedSchedules.cpp - what records say about a program --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TunedSchedules.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;

Expected<RecordLookup> TunedSchedules::find(const DecodeSpec &spec,
                                            const Device &device) {
  DECANT_ASSIGN(const TargetInfo target, targetFor(device));
  DECANT_ASSIGN(const DeviceClass place, deviceClassOf(device, target.name));
  return read()->find(tuningKey(spec, place, compilerVersion()));
}

std::shared_ptr<const RecordStore> TunedSchedules::read() {
  std::lock_guard<std::mutex> guard(mutex);
  if (!store)
    store = std::make_shared<RecordStore>(RecordStore::open(folders));
  return store;
}

void TunedSchedules::refresh() {
  std::lock_guard<std::mutex> guard(mutex);
  store = nullptr;
}

/// One image for each schedule, and a rule for each run of ranges that share
/// one.
static Expected<VariantPlan> planOf(const TuningRecord &record,
                                    VariantChoice choice) {
  VariantPlan plan;
  plan.schedules.clear();
  plan.rules.clear();
  plan.order = record.order;
  std::vector<std::string> texts;
  auto add = [&](const std::string &text, int64_t maxRows) -> Status {
    auto known = std::find(texts.begin(), texts.end(), text);
    const int number = int(known - texts.begin());
    if (known == texts.end()) {
      texts.push_back(text);
      DECANT_ASSIGN(const Schedule schedule, parseSchedule(text));
      plan.schedules.push_back(schedule);
    }
    if (!plan.rules.empty() && plan.rules.back().variant == number)
      plan.rules.back().maxRows = maxRows;
    else
      plan.rules.push_back({maxRows, number});
    return {};
  };
  if (choice == VariantChoice::One)
    DECANT_TRY(add(record.schedule, kAnyRows));
  else
    for (const TunedRange &range : record.ranges)
      DECANT_TRY(add(range.schedule, range.to.value_or(kAnyRows)));
  return plan;
}

VariantPlan TunedSchedules::plan(const DecodeSpec &spec, const Device &device,
                                 VariantChoice choice, TuningReport &report) {
  if (choice == VariantChoice::Fixed) {
    report.notes = {"variants are fixed: no record was looked at"};
    return {};
  }
  // Whatever goes wrong here, there is a usual schedule.
  const Expected<RecordLookup> found = find(spec, device);
  report.notes = read()->warnings();
  if (!found) {
    report.notes.push_back(found.status().message());
    return {};
  }
  report.notes.insert(report.notes.end(), found->differences.begin(),
                      found->differences.end());
  if (!found->record)
    return {};
  // That schedules suit the layout is the compiler's to check.
  Expected<VariantPlan> plan = planOf(*found->record, choice);
  if (!plan) {
    report.notes.push_back(
        fmt::format("{}: {}", found->source, plan.status().message()));
    return {};
  }
  plan->exact = found->differences.empty();
  report.found = true;
  report.source = found->source;
  for (const auto &schedule : plan->schedules)
    report.schedules.push_back(toString(*schedule));
  return *plan;
}
