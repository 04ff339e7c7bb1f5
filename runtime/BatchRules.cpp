//===- BatchRules.cpp - which variant decodes how many rows ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/BatchRules.h"

#include <fmt/format.h>

using namespace decant;

Status decant::checkRules(const std::vector<BatchRule> &rules,
                          size_t variants) {
  if (rules.empty())
    return Status::invalid("batch rules: found none; one or more are expected, "
                           "the last of them for any number of rows");
  int64_t below = 0;
  for (size_t i = 0; i < rules.size(); ++i) {
    const BatchRule &rule = rules[i];
    if (rule.maxRows <= below)
      return Status::invalid(fmt::format(
          "batch rule {}: found at most {} rows; more than {} are expected{}",
          i, rule.maxRows, below,
          i > 0 ? ", the bound of the rule ahead of it" : ""));
    if (rule.variant < 0 || size_t(rule.variant) >= variants)
      return Status::invalid(
          fmt::format("batch rule {}: found variant {}; allowed are 0 to {}", i,
                      rule.variant, int64_t(variants) - 1));
    below = rule.maxRows;
  }
  if (below != kAnyRows)
    return Status::invalid(fmt::format(
        "batch rules: found none for more than {} rows; the last rule must be "
        "for any number of rows",
        below));
  return {};
}

int decant::variantForRows(const std::vector<BatchRule> &rules, int64_t rows) {
  for (const BatchRule &rule : rules)
    if (rows <= rule.maxRows)
      return rule.variant;
  return rules.back().variant;
}

std::string decant::toString(const std::vector<BatchRule> &rules) {
  std::string text;
  int64_t first = 1;
  for (const BatchRule &rule : rules) {
    const bool any = rule.maxRows == kAnyRows;
    text += fmt::format("{}{}..{}: {}", text.empty() ? "" : ", ", first,
                        any ? "" : std::to_string(rule.maxRows), rule.variant);
    first = any ? first : rule.maxRows + 1;
  }
  return text;
}
