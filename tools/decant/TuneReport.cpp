//===- TuneReport.cpp - what tuning found, for people and programs --------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TuneReport.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;
using namespace decant::tool;

namespace {

/// A paragraph in lines of at most `width` characters.
std::string wrapped(const std::string &text, size_t width = 100) {
  std::string result, line;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      result += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return result + line + "\n";
}

std::string formatTable(const FormatChoice &choice) {
  size_t width = 6;
  for (const FormatPoint &point : choice.points)
    width = std::max(width, point.name.size());
  std::string text = fmt::format("{:<3}{:<{}} {:>6} {:>9} {:>9}", "", "format",
                                 width, "bits", "outputs", "state");
  for (int64_t batch : choice.batches)
    text += fmt::format(" {:>8}", batch);
  text += "\n";
  for (const FormatPoint &point : choice.points) {
    text +=
        fmt::format("{:<3}{:<{}} {:>6.4g} {:>9.2e} {:>9.2e}",
                    fmt::format("{}{}", point.name == choice.chosen ? ">" : "",
                                point.onFront ? "*" : ""),
                    point.name, width, point.bitsPerElement, point.outputError,
                    point.stateError);
    for (const StepTimes &time : point.times)
      text += fmt::format(" {:>8.2f}", time.us);
    text += "\n";
  }
  return text + "\n*  no other is better in error, bits and time; >  chosen; "
                "us per step at each batch\n";
}

Json toJson(const tune::ScheduleFindings &schedules) {
  Json json;
  json["spec"] = schedules.record.key.spec;
  json["legal"] = schedules.candidates;
  json["tried"] = schedules.tried;
  json["refusals"] = schedules.refusals;
  json["out_of_time"] = schedules.outOfTime;
  json["variants"] = Json::array();
  for (const tune::Variant &variant : schedules.variants) {
    Json entry;
    entry["schedule"] = toString(variant.schedule);
    entry["order"] = toString(variant.order);
    for (const auto &time : variant.times)
      entry["us"].push_back(time ? Json(time->us) : Json());
    json["variants"].push_back(std::move(entry));
  }
  return json;
}

} // namespace

std::string decant::tool::toText(const TuningRecord &record) {
  std::string text = fmt::format(
      "{} ({}) on {}, {}, memory {}, driver {}\n{}, codes in {}, times {}\n\n",
      record.key.spec, record.key.specHash, record.key.device.name,
      record.key.device.target, record.key.device.memory,
      record.key.device.driver, record.key.compiler, toString(record.order),
      toString(record.times));
  text += fmt::format("{:>12} {:>9} {:>9} {:>9} {:>9} {:>8}  {}\n", "batches",
                      "us", "p10", "p90", "usual", "repeats", "why");
  for (const TunedRange &range : record.ranges)
    text +=
        fmt::format("{:>12} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>8}  {}\n",
                    range.to ? fmt::format("{}..{}", range.from, *range.to)
                             : fmt::format("{}..", range.from),
                    range.time.us, range.time.p10, range.time.p90,
                    range.againstTime.us, range.time.repeats, range.why);
  text += "\n";
  for (const TunedRange &range : record.ranges)
    text += fmt::format("{:>6}  {}\n", range.batch, range.schedule);
  return text + fmt::format("{:>6}  {}\n\n", "all", record.schedule) +
         wrapped(record.summary);
}

std::string decant::tool::formatText(const FormatChoice &choice) {
  return fmt::format("formats of {} on {}, errors on {}\n\n{}\n{}",
                     choice.key.spec, choice.key.device.name,
                     fmt::join(choice.traces, "; "), formatTable(choice),
                     wrapped(choice.summary));
}

std::string decant::tool::toText(const TuneFindings &findings) {
  std::string text;
  for (const TuningRecord &record : findings.file.records)
    text += toText(record) + "\n";
  for (const FormatChoice &choice : findings.file.choices)
    text += formatText(choice) + "\n";
  const tune::Spent &spent = findings.spent;
  text +=
      fmt::format("{:.1f} s: kernels {:.1f}, checks {:.1f}, oracles {:.1f}, "
                  "times {:.1f}, errors of formats {:.1f}",
                  findings.seconds, spent.kernels, spent.checks, spent.oracles,
                  spent.times, spent.errors);
  if (findings.resumed > 0)
    text += fmt::format(", with {} measurements of an interrupted run",
                        findings.resumed);
  text += findings.output.empty()
              ? std::string("; nothing was written, since no -o and no folder "
                            "for records was given\n")
              : fmt::format("; written to {}\n", findings.output);
  return text;
}

Json decant::tool::toJson(const TuneFindings &findings) {
  Json json;
  json["spec"] = findings.spec.name;
  json["device_name"] = findings.device.name;
  json["target"] = findings.device.target;
  json["driver"] = findings.device.driver;
  json["times"] =
      toString(findings.ran ? TimesFrom::Measured : TimesFrom::Modelled);
  json["seconds"] = findings.seconds;
  const tune::Spent &spent = findings.spent;
  json["seconds_by_work"] = {{"kernels", spent.kernels},
                             {"checks", spent.checks},
                             {"oracles", spent.oracles},
                             {"times", spent.times},
                             {"errors", spent.errors}};
  json["resumed"] = findings.resumed;
  json["output"] = findings.output.empty() ? Json() : Json(findings.output);
  const Json file = Json::parse(decant::toJson(findings.file));
  json["records"] = file.value("records", Json::array());
  json["choices"] = file.value("choices", Json::array());
  json["schedules"] = Json::array();
  for (const tune::ScheduleFindings &schedules : findings.schedules)
    json["schedules"].push_back(::toJson(schedules));
  return json;
}
