//===- RecordWriter.cpp - tuning files as JSON ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordFields.h"

#include <cmath>

using namespace decant;
using namespace decant::tune;

namespace {

using Ordered = nlohmann::ordered_json;

/// Four digits are more than any clock here gives; longer ones would make two
/// equal measurements look different.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value))
    return value;
  const double unit =
      std::pow(10, std::floor(std::log10(std::fabs(value))) - 3);
  // By its text, so that the file says 4.5 and not 4.500000000000001.
  return std::stod(fmt::format("{:.12g}", std::round(value / unit) * unit));
}

Ordered toJson(const StepTimes &time) {
  return {{"us", rounded(time.us)},
          {"p10", rounded(time.p10)},
          {"p90", rounded(time.p90)},
          {"repeats", time.repeats}};
}

void addKey(const TuningKey &key, Ordered &json) {
  json["spec"] = {{"name", key.spec}, {"hash", key.specHash}};
  json["device"] = {{"name", key.device.name},
                    {"target", key.device.target},
                    {"memory", key.device.memory}};
  json["driver"] = key.device.driver;
  json["compiler"] = key.compiler;
}

Ordered toJson(const TunedRange &range) {
  Ordered json;
  json["from"] = range.from;
  if (range.to)
    json["to"] = *range.to;
  json["batch"] = range.batch;
  json["schedule"] = range.schedule;
  json["time"] = toJson(range.time);
  json["against"] = {{"schedule", range.against},
                     {"time", toJson(range.againstTime)}};
  json["why"] = range.why;
  return json;
}

Ordered toJson(const TuningRecord &record) {
  Ordered json;
  addKey(record.key, json);
  json["times"] = toString(record.times);
  json["order"] = toString(record.order);
  json["schedule"] = record.schedule;
  json["ranges"] = Ordered::array();
  for (const TunedRange &range : record.ranges)
    json["ranges"].push_back(toJson(range));
  json["summary"] = record.summary;
  return json;
}

Ordered toJson(const FormatPoint &point) {
  Ordered json;
  json["name"] = point.name;
  json["state"] = Ordered::parse(point.state);
  json["window"] = Ordered::parse(point.window);
  json["output_error"] = rounded(point.outputError);
  json["state_error"] = rounded(point.stateError);
  json["bits_per_element"] = rounded(point.bitsPerElement);
  for (const StepTimes &time : point.times) // none: the field is absent
    json["times"].push_back(toJson(time));
  json["front"] = point.onFront ? "yes" : "no";
  return json;
}

Ordered toJson(const FormatChoice &choice) {
  Ordered json;
  addKey(choice.key, json);
  json["times"] = toString(choice.timesFrom);
  json["traces"] = choice.traces;
  json["errors"] = choice.errorsFrom;
  if (choice.maxError)
    json["max_error"] = *choice.maxError;
  if (choice.maxBits)
    json["max_bits"] = *choice.maxBits;
  json["batches"] = choice.batches;
  json["points"] = Ordered::array();
  for (const FormatPoint &point : choice.points)
    json["points"].push_back(toJson(point));
  json["chosen"] = choice.chosen;
  json["summary"] = choice.summary;
  return json;
}

} // namespace

std::string decant::toJson(const TuningFile &file) {
  Ordered json;
  json["decant_tuning"] = kTuningVersion;
  for (const TuningRecord &record : file.records)
    json["records"].push_back(::toJson(record));
  for (const FormatChoice &choice : file.choices)
    json["choices"].push_back(::toJson(choice));
  return json.dump(1, ' ', false, Ordered::error_handler_t::replace) + "\n";
}
