//===- TuningRecord.cpp - keys, merging and differences of records --------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Tune/TuningRecord.h"

#include <algorithm>
#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace decant;

std::string decant::specHash(const DecodeSpec &spec) {
  const std::string text = canonicalText(spec);
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

TuningKey decant::tuningKey(const DecodeSpec &spec, const DeviceClass &device,
                            const std::string &compiler) {
  return {spec.name, specHash(spec), device, compiler};
}

std::vector<std::string> decant::differences(const TuningKey &record,
                                             const TuningKey &here) {
  std::vector<std::string> list;
  auto compare = [&](const char *field, const std::string &found,
                     const std::string &wanted) {
    if (found != wanted)
      list.push_back(
          fmt::format("{} {} in the record, {} here", field, found, wanted));
  };
  compare("spec hash", record.specHash, here.specHash);
  compare("device", record.device.name, here.device.name);
  compare("target", record.device.target, here.device.target);
  compare("memory", record.device.memory, here.device.memory);
  compare("driver", record.device.driver, here.device.driver);
  compare("compiler", record.compiler, here.compiler);
  return list;
}

const char *decant::toString(TimesFrom source) {
  return source == TimesFrom::Measured ? "measured" : "modelled";
}

const TunedRange &TuningRecord::rangeOf(int64_t batch) const {
  for (const TunedRange &range : ranges)
    if (!range.to || batch <= *range.to)
      return range;
  return ranges.back();
}

namespace {

bool sameKey(const TuningKey &a, const TuningKey &b) {
  return differences(a, b).empty();
}

/// A choice also depends on what it was made from.
bool samePlace(const FormatChoice &a, const FormatChoice &b) {
  return sameKey(a.key, b.key) && a.traces == b.traces &&
         a.maxError == b.maxError && a.maxBits == b.maxBits;
}
bool samePlace(const TuningRecord &a, const TuningRecord &b) {
  return sameKey(a.key, b.key);
}

TimesFrom sourceOf(const TuningRecord &record) { return record.times; }
TimesFrom sourceOf(const FormatChoice &choice) { return choice.timesFrom; }

template <typename T>
void mergeList(std::vector<T> &list, const std::vector<T> &later) {
  for (const T &entry : later) {
    const auto found =
        std::find_if(list.begin(), list.end(), [&](const T &present) {
          return samePlace(present, entry);
        });
    if (found == list.end())
      list.push_back(entry);
    else if (sourceOf(entry) == TimesFrom::Measured ||
             sourceOf(*found) == TimesFrom::Modelled)
      *found = entry;
  }
}

std::string placeOf(const TuningKey &key) {
  return fmt::format("{} on {}", key.spec, key.device.name);
}

std::string rangeText(const TunedRange &range) {
  return range.to ? fmt::format("batch {}..{}", range.from, *range.to)
                  : fmt::format("batch {}..", range.from);
}

std::string change(double before, double after) {
  return before > 0 ? fmt::format("{:.2f} -> {:.2f} us ({:+.1f} %)", before,
                                  after, 100 * (after / before - 1))
                    : fmt::format("{:.2f} -> {:.2f} us", before, after);
}

void diffRecord(const TuningRecord &before, const TuningRecord &after,
                DiffOf what, std::vector<std::string> &lines) {
  const std::string place = placeOf(after.key);
  if (before.order != after.order)
    lines.push_back(fmt::format("{}: order {} -> {}", place,
                                toString(before.order), toString(after.order)));
  if (before.times != after.times)
    lines.push_back(fmt::format("{}: times {} -> {}", place,
                                toString(before.times), toString(after.times)));
  if (before.schedule != after.schedule)
    lines.push_back(fmt::format("{}: all batches: <{}> -> <{}>", place,
                                before.schedule, after.schedule));
  for (const TunedRange &range : after.ranges) {
    const TunedRange &old = before.rangeOf(range.batch);
    std::string line;
    if (rangeText(old) != rangeText(range))
      line += fmt::format(" {} before;", rangeText(old));
    if (old.schedule != range.schedule)
      line += fmt::format(" <{}> -> <{}>;", old.schedule, range.schedule);
    if (what == DiffOf::PicksAndTimes && old.time.us != range.time.us)
      line += fmt::format(" {};", change(old.time.us, range.time.us));
    if (line.empty())
      continue;
    line.pop_back();
    lines.push_back(fmt::format("{}: {}:{}", place, rangeText(range), line));
  }
}

/// A record for the same spec and device name under another key, which is what
/// a reader will want to hear of a record that has no counterpart.
const TuningRecord *relativeOf(const TuningRecord &record,
                               const std::vector<TuningRecord> &list) {
  for (const TuningRecord &other : list)
    if (other.key.specHash == record.key.specHash &&
        other.key.device.name == record.key.device.name)
      return &other;
  return nullptr;
}

} // namespace

void decant::merge(TuningFile &file, const TuningFile &later) {
  mergeList(file.records, later.records);
  mergeList(file.choices, later.choices);
}

std::vector<std::string> decant::diff(const TuningFile &before,
                                      const TuningFile &after, DiffOf what) {
  std::vector<std::string> lines;
  auto counterpart = [](const TuningRecord &record,
                        const std::vector<TuningRecord> &list) {
    for (const TuningRecord &other : list)
      if (samePlace(other, record))
        return &other;
    return static_cast<const TuningRecord *>(nullptr);
  };
  for (const TuningRecord &record : before.records)
    if (!counterpart(record, after.records))
      lines.push_back(fmt::format("{}: only before", placeOf(record.key)));
  for (const TuningRecord &record : after.records) {
    if (const TuningRecord *old = counterpart(record, before.records)) {
      diffRecord(*old, record, what, lines);
      continue;
    }
    std::string line = fmt::format("{}: only after", placeOf(record.key));
    if (const TuningRecord *old = relativeOf(record, before.records)) {
      line += "; before it was for";
      for (const std::string &what : differences(old->key, record.key))
        line += " " + what.substr(0, what.find(" in the record")) + ",";
      line.pop_back();
    }
    lines.push_back(line);
  }
  auto chosen = [](const FormatChoice &choice) {
    return fmt::format("{}: format {}", placeOf(choice.key), choice.chosen);
  };
  for (const FormatChoice &choice : after.choices) {
    const auto old = std::find_if(
        before.choices.begin(), before.choices.end(),
        [&](const FormatChoice &other) { return samePlace(other, choice); });
    if (old == before.choices.end())
      lines.push_back(chosen(choice) + ", only after");
    else if (old->chosen != choice.chosen)
      lines.push_back(fmt::format("{} -> {}", chosen(*old), choice.chosen));
  }
  for (const FormatChoice &choice : before.choices)
    if (std::none_of(after.choices.begin(), after.choices.end(),
                     [&](const FormatChoice &other) {
                       return samePlace(other, choice);
                     }))
      lines.push_back(chosen(choice) + ", only before");
  return lines;
}
