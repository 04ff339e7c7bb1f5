//===- RecordReader.cpp - tuning files from JSON --------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of RecordFields.h says what may stand where; what it cannot say is
// checked here: ranges that follow one another, schedules that can be read,
// points that exist.
//
//===----------------------------------------------------------------------===//

#include "RecordFields.h"
#include "Spec/Files.h"
#include "Spec/Suggest.h"
#include "Spec/Validate.h"

#include <algorithm>

using namespace decant;
using namespace decant::spec;

namespace {

/// Where in a file something is wrong; its text becomes the message.
struct Issue {
  std::string path, message;
};

StepTimes readTime(const Json &json) {
  return {json.at("us"), json.at("p10"), json.at("p90"),
          int(json.at("repeats").get<double>())};
}

TuningKey readKey(const Json &json) {
  TuningKey key;
  key.spec = json.at("spec").at("name");
  key.specHash = json.at("spec").at("hash");
  key.device = {json.at("device").at("name"), json.at("device").at("target"),
                json.at("device").at("memory"), json.at("driver")};
  key.compiler = json.at("compiler");
  return key;
}

std::optional<Issue> checkSchedule(const Json &json, const std::string &path) {
  const Expected<Schedule> schedule =
      parseSchedule(json.at("schedule").get<std::string>());
  if (schedule.ok())
    return std::nullopt;
  return Issue{joinPath(path, "schedule"), schedule.status().message()};
}

/// The first batch of a range is the one behind the last of the range before.
std::optional<Issue> checkRanges(const std::vector<TunedRange> &ranges,
                                 const std::string &path) {
  int64_t next = 1;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const TunedRange &range = ranges[i];
    const std::string at = joinPath(path, std::to_string(i));
    const bool last = i + 1 == ranges.size();
    if (range.from != next)
      return Issue{joinPath(at, "from"),
                   fmt::format("found {}; allowed: {}, since ranges follow one "
                               "another from batch 1 on",
                               range.from, next)};
    if (range.to.has_value() == last)
      return Issue{joinPath(at, "to"),
                   last ? fmt::format("found {}; allowed: nothing, since the "
                                      "last range has no end",
                                      *range.to)
                        : "missing; allowed: an integer, since only the last "
                          "range has no end"};
    if (range.to && *range.to < range.from)
      return Issue{
          joinPath(at, "to"),
          fmt::format("found {}; allowed: {} or more", *range.to, range.from)};
    if (range.batch < range.from || (range.to && range.batch > *range.to))
      return Issue{
          joinPath(at, "batch"),
          fmt::format("found {}; allowed: a batch of its range", range.batch)};
    next = range.to.value_or(0) + 1;
  }
  return std::nullopt;
}

std::optional<Issue> readRecord(const Json &json, const std::string &path,
                                TuningRecord &record) {
  record.key = readKey(json);
  record.times = json.at("times") == toString(TimesFrom::Measured)
                     ? TimesFrom::Measured
                     : TimesFrom::Modelled;
  for (CodeOrder order :
       {CodeOrder::Rows, CodeOrder::Fragments, CodeOrder::Columns})
    if (json.at("order") == toString(order))
      record.order = order;
  if (auto issue = checkSchedule(json, path))
    return issue;
  record.schedule = json.at("schedule");
  const std::string list = joinPath(path, "ranges");
  for (const Json &entry : json.at("ranges")) {
    const std::string at = joinPath(list, std::to_string(record.ranges.size()));
    TunedRange range;
    range.from = int64_t(entry.at("from").get<double>());
    if (entry.contains("to"))
      range.to = int64_t(entry.at("to").get<double>());
    range.batch = int64_t(entry.at("batch").get<double>());
    range.time = readTime(entry.at("time"));
    const Json &against = entry.at("against");
    if (auto issue = checkSchedule(entry, at))
      return issue;
    if (auto issue = checkSchedule(against, joinPath(at, "against")))
      return issue;
    range.schedule = entry.at("schedule");
    range.against = against.at("schedule");
    range.againstTime = readTime(against.at("time"));
    range.why = entry.at("why");
    record.ranges.push_back(std::move(range));
  }
  record.summary = json.at("summary");
  return checkRanges(record.ranges, list);
}

std::optional<Issue> readChoice(const Json &json, const std::string &path,
                                FormatChoice &choice) {
  choice.key = readKey(json);
  choice.timesFrom = json.at("times") == toString(TimesFrom::Measured)
                         ? TimesFrom::Measured
                         : TimesFrom::Modelled;
  choice.traces = json.at("traces").get<std::vector<std::string>>();
  choice.errorsFrom = json.at("errors");
  if (json.contains("max_error"))
    choice.maxError = json.at("max_error").get<double>();
  if (json.contains("max_bits"))
    choice.maxBits = json.at("max_bits").get<double>();
  for (const Json &batch : json.at("batches"))
    choice.batches.push_back(int64_t(batch.get<double>()));
  std::vector<std::string> names;
  for (const Json &entry : json.at("points")) {
    FormatPoint point;
    point.name = entry.at("name");
    point.state = entry.at("state").dump();
    point.window = entry.at("window").dump();
    point.outputError = entry.at("output_error");
    point.stateError = entry.at("state_error");
    point.bitsPerElement = entry.at("bits_per_element");
    point.onFront = entry.at("front") == "yes";
    if (entry.contains("times"))
      for (const Json &time : entry.at("times"))
        point.times.push_back(readTime(time));
    if (!point.times.empty() && point.times.size() != choice.batches.size())
      return Issue{
          joinPath(joinPath(joinPath(path, "points"),
                            std::to_string(choice.points.size())),
                   "times"),
          fmt::format("found {} entries; allowed: {}, one for each batch",
                      point.times.size(), choice.batches.size())};
    names.push_back(point.name);
    choice.points.push_back(std::move(point));
  }
  choice.chosen = json.at("chosen");
  choice.summary = json.at("summary");
  if (std::find(names.begin(), names.end(), choice.chosen) == names.end())
    return Issue{joinPath(path, "chosen"),
                 fmt::format("found {}; allowed: the name of a point: {}",
                             show(json.at("chosen")), join(names))};
  return std::nullopt;
}

template <typename T, typename Read>
Status readList(const Json &json, const char *name, const std::string &label,
                Read read, std::vector<T> &list) {
  if (!json.contains(name))
    return {};
  for (const Json &entry : json.at(name)) {
    const std::string path = joinPath(name, std::to_string(list.size()));
    list.emplace_back();
    if (const auto issue = read(entry, path, list.back()))
      return Status::invalid(
          fmt::format("{}: {}: {}", label, issue->path, issue->message));
  }
  return {};
}

} // namespace

Expected<TuningFile> decant::parseTuningFile(const std::string &text,
                                             const std::string &label) {
  Expected<Json> json = parseJson(text);
  if (!json)
    return json.status().within(label);
  // The version first: of another one, every field may differ.
  if (json->is_object() && json->contains("decant_tuning") &&
      (*json)["decant_tuning"].is_number() &&
      (*json)["decant_tuning"] != tune::kTuningVersion)
    return Status::invalid(fmt::format(
        "{}: decant_tuning: found {}; allowed: {}, the version that this build "
        "reads; tune again",
        label, show((*json)["decant_tuning"]), tune::kTuningVersion));
  for (const FieldIssue &issue : validateField(tune::recordFields(), *json, ""))
    return Status::invalid(fmt::format("{}: {}{}{}", label, issue.path,
                                       issue.path.empty() ? "" : ": ",
                                       issue.message));
  TuningFile file;
  DECANT_TRY(readList(*json, "records", label, readRecord, file.records));
  DECANT_TRY(readList(*json, "choices", label, readChoice, file.choices));
  return file;
}

Expected<TuningFile> decant::readTuningFile(const std::string &path) {
  DECANT_ASSIGN(const std::string text, readTextFile(path));
  return parseTuningFile(text, printable(path));
}
