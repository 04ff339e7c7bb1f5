//===- Plan.cpp - numbers of a layer, from a file or inline ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Spec/Plan.h"

#include "Fields.h"
#include "Files.h"
#include "Plan.h"
#include "Validate.h"

#include <fmt/format.h>

#include <algorithm>

namespace decant::spec {

Expected<Json> readPlanFile(const std::string &path) {
  DECANT_ASSIGN(const std::string text, readTextFile(path));
  Expected<Json> json = parseJson(text);
  if (!json.ok())
    return json.status().within(printable(path));
  const Field &field = *findMember(*findMember(specFields(), "state"), "plan");
  if (!json->is_object())
    return Status::invalid(
        fmt::format("{}: found {}; allowed: a plan, an object with the fields "
                    "decant_plan, heads and key_dim, and bits, weights, levels "
                    "or scales",
                    printable(path), typeName(*json)));
  for (const FieldIssue &issue : validateField(field, *json, ""))
    return Status::invalid(
        fmt::format("{}: {}{}{}", printable(path), issue.path,
                    issue.path.empty() ? "" : ": ", issue.message));
  return json;
}

namespace {

/// Reads the entries of a plan, one per value head.
class PlanReader {
public:
  PlanReader(const Json &plan, const HeadShape &heads,
             std::vector<SpecIssue> &issues)
      : plan(plan), heads(heads), issues(issues) {}

  /// Whether the plan is one of this layer.
  bool fits() {
    compare("heads", heads.value, "heads.value");
    compare("key_dim", heads.keyDim, "heads.key_dim");
    return issues.empty();
  }

  std::vector<uint8_t> widths() {
    std::vector<uint8_t> all;
    forHeads("bits", [&](const Json &entry, const std::string &path) {
      if (entry.is_number()) {
        all.insert(all.end(), heads.keyDim, uint8_t(entry.get<double>()));
        return;
      }
      const std::string digits = entry.get<std::string>();
      const auto found = rowBitsOf(digits);
      if (!found)
        issues.push_back(
            {path, fmt::format("found {}; allowed: digits from {} to {}, or f",
                               show(entry), kMinRowBits, kMaxRowBits)});
      else if (int(digits.size()) != heads.keyDim)
        issues.push_back(
            {path, fmt::format("found {} digits; allowed: {}, one per key row",
                               digits.size(), heads.keyDim)});
      else
        all.insert(all.end(), found->begin(), found->end());
    });
    return all;
  }

  /// `each` numbers of each head.
  std::vector<float> numbers(const char *name, int64_t each) {
    std::vector<float> all;
    forHeads(name, [&](const Json &entry, const std::string &path) {
      if (entry.is_number())
        all.insert(all.end(), each, entry.get<float>());
      else if (int64_t(entry.size()) != each)
        issues.push_back(
            {path, fmt::format("found {} numbers; allowed: {}, or one for all",
                               entry.size(), each)});
      else
        for (const Json &number : entry)
          all.push_back(number.get<float>());
    });
    return all;
  }

  std::vector<float> levels() {
    std::vector<float> all;
    if (plan.contains("levels"))
      for (const Json &number : plan.at("levels"))
        all.push_back(number.get<float>());
    return all;
  }

private:
  void compare(const char *name, int expected, const char *field) {
    const int found = int(plan.at(name).get<double>());
    if (found != expected)
      issues.push_back(
          {name, fmt::format("found {}; allowed: {}, the spec's {}", found,
                             expected, field)});
  }

  template <typename Read> void forHeads(const char *name, Read read) {
    if (!plan.contains(name))
      return;
    const Json &entries = plan.at(name);
    if (int(entries.size()) != heads.value) {
      issues.push_back(
          {name, fmt::format("found {} entries; allowed: {}, one per value "
                             "head",
                             entries.size(), heads.value)});
      return;
    }
    for (size_t head = 0; head < entries.size(); ++head)
      read(entries[head], joinPath(name, std::to_string(head)));
  }

  const Json &plan;
  const HeadShape &heads;
  std::vector<SpecIssue> &issues;
};

/// Scales that a key row has where they are static, 1 elsewhere.
int64_t blocksOf(const DecodeSpec &spec) {
  for (const ScaleSpec &scale : spec.state.scales)
    if (scale.fit == ScaleFit::Static && scale.block > 0)
      return (spec.heads.valueDim - 1) / scale.block + 1;
  return 1;
}

} // namespace

void usePlan(const Json &plan, DecodeSpec &spec,
             std::vector<SpecIssue> &issues) {
  PlanReader reader(plan, spec.heads, issues);
  if (!reader.fits())
    return;
  if (spec.state.bits.mean > 0 && !plan.contains("bits"))
    issues.push_back({"bits", "missing beside state.bits; allowed: one entry "
                              "per value head"});
  const auto names = {"bits", "weights", "levels", "scales"};
  if (std::none_of(names.begin(), names.end(),
                   [&](const char *name) { return plan.contains(name); }))
    issues.push_back({"bits", "missing; allowed: a plan with bits, weights, "
                              "levels or scales"});
  spec.state.bits.widths = reader.widths();
  spec.state.tables.weights = reader.numbers("weights", spec.heads.keyDim);
  spec.state.tables.levels = reader.levels();
  spec.state.tables.scales =
      reader.numbers("scales", spec.heads.keyDim * blocksOf(spec));
}

} // namespace decant::spec

/// A double of few digits that reads back as the same float.
static double shortest(float number) {
  return std::stod(fmt::format("{}", number));
}

/// A number per head where all of a head's are equal, else all of them.
static nlohmann::ordered_json numbersToJson(const std::vector<float> &numbers,
                                            int heads) {
  nlohmann::ordered_json json;
  const size_t each = numbers.size() / heads;
  for (auto row = numbers.begin(); row != numbers.end(); row += each) {
    if (std::equal(row + 1, row + each, row)) {
      json.push_back(shortest(*row));
      continue;
    }
    nlohmann::ordered_json entry;
    for (size_t i = 0; i < each; ++i)
      entry.push_back(shortest(row[i]));
    json.push_back(std::move(entry));
  }
  return json;
}

/// `text` with every array that holds nothing but numbers on one line.
static std::string withNumbersInLine(const std::string &text) {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t end =
        text[at] == '[' ? text.find_first_of("[]{}\"", at + 1) : at;
    if (text[at] != '[' || text[end] != ']') {
      result += text[at];
      continue;
    }
    for (; at < end; ++at)
      if (text[at] == ',')
        result += ", ";
      else if (text[at] != ' ' && text[at] != '\n')
        result += text[at];
    result += ']';
  }
  return result;
}

std::string decant::planToJson(const HeadShape &heads, const StateSpec &state,
                               const std::string &description) {
  const std::vector<uint8_t> &widths = state.bits.widths;
  nlohmann::ordered_json json;
  json["decant_plan"] = 1;
  json["description"] = description;
  json["heads"] = heads.value;
  json["key_dim"] = heads.keyDim;
  for (auto row = widths.begin(); row != widths.end(); row += heads.keyDim) {
    const std::vector<uint8_t> head(row, row + heads.keyDim);
    if (std::equal(head.begin() + 1, head.end(), head.begin()) &&
        head[0] != kPivotBits)
      json["bits"].push_back(head[0]);
    else
      json["bits"].push_back(digitsOf(head));
  }
  const PlanTables &tables = state.tables;
  if (!tables.weights.empty())
    json["weights"] = numbersToJson(tables.weights, heads.value);
  for (float level : tables.levels)
    json["levels"].push_back(shortest(level));
  if (!tables.scales.empty())
    json["scales"] = numbersToJson(tables.scales, heads.value);
  return withNumbersInLine(json.dump(2)) + "\n";
}
