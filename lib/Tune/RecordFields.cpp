//===- RecordFields.cpp - every field of a tuning file --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordFields.h"

using namespace decant;
using namespace decant::spec;

namespace {

constexpr double kMost = 1e15;
constexpr int kMostRecords = 4096, kMostEntries = 1024;

Field text(std::string name, TextRule rule, std::string about) {
  Field field;
  field.name = std::move(name);
  field.about = std::move(about);
  field.text = rule;
  return field;
}

Field words(std::string name, std::vector<std::string> allowed,
            std::string about) {
  Field field = text(std::move(name), TextRule::Words, std::move(about));
  field.words = std::move(allowed);
  return field;
}

Field number(std::string name, NumberKind kind, double low, std::string about) {
  Field field = text(std::move(name), TextRule::None, std::move(about));
  field.number = NumberRange{kind, low, kMost};
  return field;
}

Field object(std::string name, std::vector<Field> members, std::string about) {
  Field field = text(std::move(name), TextRule::None, std::move(about));
  field.members = std::move(members);
  return field;
}

Field list(std::string name, Field element, int most, std::string about) {
  Field field = text(std::move(name), TextRule::None, std::move(about));
  field.element = {std::move(element)};
  field.maxElements = most;
  return field;
}

Field optional(Field field) {
  field.presence = Presence::Optional;
  return field;
}

Field timeField(std::string name) {
  return object(
      std::move(name),
      {number("us", NumberKind::Real, 0, "the median"),
       number("p10", NumberKind::Real, 0, "10th percentile"),
       number("p90", NumberKind::Real, 0, "90th percentile"),
       number("repeats", NumberKind::Integer, 0, "measurements; 0 of a model")},
      "microseconds of a step");
}

std::vector<Field> keyFields() {
  return {
      object("spec",
             {text("name", TextRule::Line, "the spec's name"),
              text("hash", TextRule::Line, "16 hex digits of its fields")},
             "what was tuned"),
      object("device",
             {text("name", TextRule::Line, "the device's name"),
              text("target", TextRule::Line, "the target that it runs"),
              text("memory", TextRule::Line, "its bandwidth, to two digits")},
             "where it was tuned"),
      text("driver", TextRule::Line, "the device's driver"),
      text("compiler", TextRule::Line, "the build that made the kernels"),
      words("times", {"measured", "modelled"}, "where times come from")};
}

Field scheduleField(std::string name, std::string about) {
  return text(std::move(name), TextRule::Any, std::move(about));
}

Field recordField() {
  const Field range = object(
      "",
      {number("from", NumberKind::Integer, 1, "the first batch"),
       optional(number("to", NumberKind::Integer, 1, "the last one")),
       number("batch", NumberKind::Integer, 1, "the one that was timed"),
       scheduleField("schedule", "what these batches get"), timeField("time"),
       object("against",
              {scheduleField("schedule", "what it had to beat"),
               timeField("time")},
              "the incumbent"),
       text("why", TextRule::Any, "the reason")},
      "a range of batches");
  std::vector<Field> members = keyFields();
  members.push_back(
      words("order",
            {toString(CodeOrder::Rows), toString(CodeOrder::Fragments),
             toString(CodeOrder::Columns)},
            "the order of codes in slots"));
  members.push_back(scheduleField("schedule", "the best for all batches"));
  members.push_back(list("ranges", range, kMostEntries, "ranges in order"));
  members.push_back(text("summary", TextRule::Any, "one paragraph"));
  return object("", std::move(members), "a record");
}

/// state or window, as in a spec; that they mean something is not asked of a
/// report.
Field formatField(const char *name) { return *findMember(specFields(), name); }

Field choiceField() {
  const Field point = object(
      "",
      {text("name", TextRule::Any, "the format's name"), formatField("state"),
       formatField("window"),
       number("output_error", NumberKind::Real, 0, "of all outputs"),
       number("state_error", NumberKind::Real, 0, "at the end"),
       number("bits_per_element", NumberKind::Real, 0, "of what is stored"),
       optional(
           list("times", timeField(""), kMostEntries, "one for each batch")),
       words("front", {"yes", "no"}, "whether no other is better in all")},
      "a format");
  std::vector<Field> members = keyFields();
  members.push_back(list("traces", text("", TextRule::Any, "a trace"),
                         kMostEntries, "what errors were measured on"));
  members.push_back(text("errors", TextRule::Any, "how"));
  members.push_back(
      optional(number("max_error", NumberKind::Real, 0, "the bound asked")));
  members.push_back(
      optional(number("max_bits", NumberKind::Real, 0, "the bound asked")));
  members.push_back(list("batches",
                         number("", NumberKind::Integer, 1, "a batch"),
                         kMostEntries, "that were timed"));
  members.push_back(list("points", point, kMostEntries, "formats"));
  members.push_back(text("chosen", TextRule::Any, "the name of a point"));
  members.push_back(text("summary", TextRule::Any, "one paragraph"));
  return object("", std::move(members), "a choice of a format");
}

Field rootField() {
  Field version = number("decant_tuning", NumberKind::Integer,
                         tune::kTuningVersion, "the version of this form");
  version.number->high = tune::kTuningVersion;
  return object(
      "",
      {version,
       optional(list("records", recordField(), kMostRecords, "records")),
       optional(list("choices", choiceField(), kMostRecords, "choices"))},
      "a tuning file");
}

} // namespace

const Field &decant::tune::recordFields() {
  static const Field root = rootField();
  return root;
}
