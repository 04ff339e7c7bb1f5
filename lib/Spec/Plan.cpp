//===- Plan.cpp - bits of key rows, from a file or inline -----------------===//
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
                    "decant_plan, heads, key_dim and bits",
                    printable(path), typeName(*json)));
  for (const FieldIssue &issue : validateField(field, *json, ""))
    return Status::invalid(
        fmt::format("{}: {}{}{}", printable(path), issue.path,
                    issue.path.empty() ? "" : ": ", issue.message));
  return json;
}

std::vector<uint8_t> planWidths(const Json &plan, const HeadShape &heads,
                                std::vector<SpecIssue> &issues) {
  auto compare = [&](const char *name, int expected, const char *field) {
    const int found = int(plan.at(name).get<double>());
    if (found != expected)
      issues.push_back(
          {name, fmt::format("found {}; allowed: {}, the spec's {}", found,
                             expected, field)});
  };
  compare("heads", heads.value, "heads.value");
  compare("key_dim", heads.keyDim, "heads.key_dim");
  const Json &bits = plan.at("bits");
  if (issues.empty() && int(bits.size()) != heads.value)
    issues.push_back(
        {"bits", fmt::format("found {} entries; allowed: {}, one per value "
                             "head",
                             bits.size(), heads.value)});
  if (!issues.empty())
    return {};
  std::vector<uint8_t> widths;
  for (size_t head = 0; head < bits.size(); ++head) {
    const Json &entry = bits[head];
    const std::string path = joinPath("bits", std::to_string(head));
    if (entry.is_number()) {
      widths.insert(widths.end(), heads.keyDim, uint8_t(entry.get<double>()));
      continue;
    }
    const std::string digits = entry.get<std::string>();
    const auto found = rowBitsOf(digits);
    if (!found)
      issues.push_back(
          {path, fmt::format("found {}; allowed: digits from {} to {}",
                             show(entry), kMinRowBits, kMaxRowBits)});
    else if (int(digits.size()) != heads.keyDim)
      issues.push_back(
          {path, fmt::format("found {} digits; allowed: {}, one per key row",
                             digits.size(), heads.keyDim)});
    else
      widths.insert(widths.end(), found->begin(), found->end());
  }
  return widths;
}

} // namespace decant::spec

std::string decant::planToJson(const HeadShape &heads,
                               const std::vector<uint8_t> &widths,
                               const std::string &description) {
  nlohmann::ordered_json json;
  json["decant_plan"] = 1;
  json["description"] = description;
  json["heads"] = heads.value;
  json["key_dim"] = heads.keyDim;
  for (auto row = widths.begin(); row != widths.end(); row += heads.keyDim) {
    const std::vector<uint8_t> head(row, row + heads.keyDim);
    if (std::equal(head.begin() + 1, head.end(), head.begin()))
      json["bits"].push_back(head[0]);
    else
      json["bits"].push_back(digitsOf(head));
  }
  return json.dump(2) + "\n";
}
