//===- PackPicks.cpp - a pack with other picks ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/Pack.h"
#include "decant/Runtime/PackBuilder.h"

#include <fmt/format.h>

using namespace decant;

namespace {

bool belongs(const PackVariant &variant, int spec, const std::string &target) {
  return variant.spec == spec && variant.target == target &&
         variant.kernels == PackKernels::Decode;
}

Status checkPicked(const PackIndex &index, int spec, const std::string &target,
                   const std::vector<BatchRule> &rules) {
  if (spec < 0 || size_t(spec) >= index.specs.size())
    return Status::invalid(fmt::format("found spec {}; allowed are 0 to {}",
                                       spec, index.specs.size() - 1));
  DECANT_TRY(checkRules(rules, index.variants.size()));
  for (size_t i = 0; i < rules.size(); ++i)
    if (!belongs(index.variants[size_t(rules[i].variant)], spec, target))
      return Status::invalid(fmt::format(
          "batch rule {}: found {}; allowed are decode kernels of \"{}\" for "
          "{}",
          i, index.describe(rules[i].variant), index.specs[size_t(spec)].name,
          target));
  return {};
}

} // namespace

Expected<std::string>
Pack::withPicks(int spec, const std::string &target,
                const std::vector<BatchRule> &rules) const {
  DECANT_TRY(checkPicked(held, spec, target, rules).within(name));
  PackBuilder builder;
  for (size_t i = 0; i < held.variants.size(); ++i) {
    const PackVariant &variant = held.variants[i];
    std::vector<int64_t> maxRows = variant.maxRows;
    if (belongs(variant, spec, target)) {
      maxRows.clear();
      for (const BatchRule &rule : rules) {
        const PackVariant &picked = held.variants[size_t(rule.variant)];
        if (picked.schedule == variant.schedule &&
            picked.order == variant.order)
          maxRows.push_back(rule.maxRows);
      }
    }
    DECANT_ASSIGN(const KernelImage copied, image(int(i)));
    DECANT_TRY(builder.add(copied, std::move(maxRows)).within(name));
  }
  Expected<std::string> bytes = builder.bytes();
  return bytes ? std::move(bytes)
               : Expected<std::string>(bytes.status().within(name));
}
