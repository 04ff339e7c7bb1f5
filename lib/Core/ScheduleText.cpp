//===- ScheduleText.cpp - schedules as text -------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Core/Schedule.h"

#include <fmt/format.h>
#include <map>
#include <sstream>

using namespace decant;

const char *decant::toString(Strategy strategy) {
  switch (strategy) {
  case Strategy::Simt:
    return "simt";
  case Strategy::Mma:
    return "mma";
  }
  return "";
}

const char *decant::toString(Boundary boundary) {
  return boundary == Boundary::Apart ? "apart" : "step";
}

const char *decant::toString(RowLoop loop) {
  return loop == RowLoop::Unrolled ? "unrolled" : "rolled";
}

const char *decant::toString(LaunchOrder launch) {
  return launch == LaunchOrder::Ordered ? "ordered" : "dependent";
}

const char *decant::toString(CodeFetch fetch) {
  switch (fetch) {
  case CodeFetch::Registers:
    return "registers";
  case CodeFetch::Shared:
    return "shared";
  case CodeFetch::Bulk:
    return "bulk";
  }
  return "?";
}

const char *decant::toString(LaneOrder order) {
  return order == LaneOrder::KeyFirst ? "key_first" : "value_first";
}

std::string decant::toString(const Schedule &schedule) {
  std::string text = fmt::format(
      "strategy = {}, key_lanes = {}, value_lanes = {}, keys_per_lane = {}, "
      "values_per_lane = {}, rows = {}, boundary = {}, blocks_per_sm = {}, "
      "lanes = {}, split = {}",
      toString(schedule.strategy), schedule.keyLanes, schedule.valueLanes,
      schedule.keysPerLane, schedule.valuesPerLane, toString(schedule.rows),
      toString(schedule.boundary), schedule.blocksPerSm,
      toString(schedule.lanes), schedule.split);
  if (schedule.strategy == Strategy::Mma) // others have one way
    text += fmt::format(", fetch = {}", toString(schedule.fetch));
  if (schedule.launch != LaunchOrder::Ordered)
    text += fmt::format(", launch = {}", toString(schedule.launch));
  if (schedule.exchange > 0)
    text += fmt::format(", exchange = {}", schedule.exchange);
  return text;
}

namespace {

/// The fields of a schedule's text; each is taken once, and those that are left
/// are unknown.
class FieldReader {
public:
  static Expected<FieldReader> make(const std::string &text) {
    FieldReader reader;
    std::stringstream stream(text);
    for (std::string field; std::getline(stream, field, ',');) {
      const size_t equals = field.find('=');
      if (equals == std::string::npos)
        return Status::invalid(
            fmt::format("schedule: '{}' is not 'field = value'", trim(field)));
      reader.fields[trim(field.substr(0, equals))] =
          trim(field.substr(equals + 1));
    }
    return reader;
  }

  bool has(const char *name) const { return fields.count(name) > 0; }

  Status number(const char *name, int least, int &out) {
    const std::string word = take(name);
    const bool digits = !word.empty() && word.size() < 6 &&
                        std::all_of(
                            word.begin(), word.end(),
                            [](char c) { return c >= '0' && c <= '9'; });
    if (!digits || std::stoi(word) < least)
      return Status::invalid(
          fmt::format("schedule.{}: '{}'; a whole number of at least {} is "
                      "needed",
                      name, word, least));
    out = std::stoi(word);
    return {};
  }

  template <typename Enum>
  Status choice(const char *name, std::initializer_list<Enum> allowed,
                Enum &out) {
    const std::string word = take(name);
    std::vector<std::string> names;
    for (Enum value : allowed) {
      if (word == toString(value)) {
        out = value;
        return {};
      }
      names.push_back(toString(value));
    }
    return Status::invalid(fmt::format("schedule.{}: '{}'; allowed are {}",
                                       name, word, fmt::join(names, ", ")));
  }

  Status finish() const {
    if (fields.empty())
      return {};
    return Status::invalid(
        fmt::format("schedule: unknown field '{}'", fields.begin()->first));
  }

private:
  static std::string trim(const std::string &word) {
    const size_t first = word.find_first_not_of(' ');
    return first == std::string::npos
               ? std::string()
               : word.substr(first, word.find_last_not_of(' ') - first + 1);
  }

  std::string take(const char *name) {
    auto found = fields.find(name);
    if (found == fields.end())
      return {};
    std::string word = found->second;
    fields.erase(found);
    return word;
  }

  std::map<std::string, std::string> fields;
};

} // namespace

Expected<Schedule> decant::parseSchedule(const std::string &text) {
  DECANT_ASSIGN(FieldReader reader, FieldReader::make(text));
  Schedule schedule;
  DECANT_TRY(reader.choice("strategy", {Strategy::Simt, Strategy::Mma},
                           schedule.strategy));
  DECANT_TRY(reader.number("key_lanes", 1, schedule.keyLanes));
  DECANT_TRY(reader.number("value_lanes", 1, schedule.valueLanes));
  DECANT_TRY(reader.number("keys_per_lane", 1, schedule.keysPerLane));
  DECANT_TRY(reader.number("values_per_lane", 1, schedule.valuesPerLane));
  DECANT_TRY(reader.choice("rows", {RowLoop::Unrolled, RowLoop::Rolled},
                           schedule.rows));
  if (reader.has("boundary"))
    DECANT_TRY(reader.choice("boundary", {Boundary::Apart, Boundary::Step},
                             schedule.boundary));
  if (reader.has("blocks_per_sm"))
    DECANT_TRY(reader.number("blocks_per_sm", 0, schedule.blocksPerSm));
  if (reader.has("lanes"))
    DECANT_TRY(reader.choice(
        "lanes", {LaneOrder::KeyFirst, LaneOrder::ValueFirst}, schedule.lanes));
  if (reader.has("split"))
    DECANT_TRY(reader.number("split", 1, schedule.split));
  if (reader.has("fetch"))
    DECANT_TRY(reader.choice(
        "fetch", {CodeFetch::Registers, CodeFetch::Shared, CodeFetch::Bulk},
        schedule.fetch));
  if (reader.has("launch"))
    DECANT_TRY(reader.choice("launch",
                             {LaunchOrder::Ordered, LaunchOrder::Dependent},
                             schedule.launch));
  if (reader.has("exchange"))
    DECANT_TRY(reader.number("exchange", 0, schedule.exchange));
  DECANT_TRY(reader.finish());
  return schedule;
}
