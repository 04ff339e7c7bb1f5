//===- PackCheck.cpp - what holds between the entries of a pack -----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackFormat.h"

#include <fmt/format.h>
#include <map>
#include <tuple>

using namespace decant;

namespace {

Status refuse(const std::string &message) {
  return Status::invalid("pack: " + message);
}

/// A spec is asked for by its name, so that a name must mean one spec.
Status checkSpecs(const PackIndex &index) {
  for (size_t i = 0; i < index.specs.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const PackSpec &a = index.specs[j], &b = index.specs[i];
      if (a.name == b.name && a.tokensPerStep == b.tokensPerStep)
        return refuse(fmt::format(
            "specs {} and {} are both named \"{}\", with {} tokens per step; "
            "each needs a name of its own",
            j, i, a.name, a.tokensPerStep));
    }
  return {};
}

Status checkVariants(const PackIndex &index) {
  using Key = std::tuple<int, PackKernels, std::string, CodeKind, CodeOrder,
                         std::string>;
  std::map<Key, size_t> seen;
  for (size_t i = 0; i < index.variants.size(); ++i) {
    const PackVariant &variant = index.variants[i];
    const auto [place, isNew] =
        seen.emplace(Key(variant.spec, variant.kernels, variant.target,
                         variant.kind, variant.order, variant.schedule),
                     i);
    if (!isNew)
      return refuse(fmt::format(
          "{} and variant {} have one schedule, {}", index.describe(int(i)),
          place->second, variant.schedule.empty() ? "none" : variant.schedule));
    const bool transfers = variant.kernels == PackKernels::Transfer;
    if (transfers && !variant.maxRows.empty())
      return refuse(fmt::format("{} has batches, and only decode kernels are "
                                "chosen by them",
                                index.describe(int(i))));
    int64_t below = 0;
    for (int64_t bound : variant.maxRows) {
      if (bound <= below)
        return refuse(fmt::format("{}: found batches of up to {} rows behind "
                                  "those of up to {}; bounds go up from 1",
                                  index.describe(int(i)), bound, below));
      below = bound;
    }
  }
  return {};
}

/// Of one spec on one target: which variant decodes how many rows.
Status checkPicks(const PackIndex &index) {
  struct Picks {
    size_t first = 0;
    std::map<int64_t, size_t> bounds;
  };
  std::map<std::pair<int, std::string>, Picks> all;
  for (size_t i = 0; i < index.variants.size(); ++i) {
    const PackVariant &variant = index.variants[i];
    if (variant.maxRows.empty())
      continue;
    auto [place, isNew] = all.try_emplace({variant.spec, variant.target});
    Picks &picks = place->second;
    if (isNew)
      picks.first = i;
    const PackVariant &first = index.variants[picks.first];
    if (first.order != variant.order || first.slotBytes != variant.slotBytes)
      return refuse(fmt::format(
          "{} has slots of {} bytes with codes in the order {}, and variant {} "
          "of {} with {}; one sequence cannot be decoded by both",
          index.describe(int(i)), variant.slotBytes, toString(variant.order),
          picks.first, first.slotBytes, toString(first.order)));
    for (int64_t bound : variant.maxRows) {
      const auto [other, free] = picks.bounds.emplace(bound, i);
      // PTX and a cubin of one schedule are one pick.
      if (!free && index.variants[other->second].schedule != variant.schedule)
        return refuse(fmt::format(
            "{} and variant {} are both for batches of {}",
            index.describe(int(i)), other->second,
            bound == kAnyRows ? "any number of rows"
                              : fmt::format("up to {} rows", bound)));
    }
  }
  for (const auto &[key, picks] : all)
    if (picks.bounds.rbegin()->first != kAnyRows)
      return refuse(fmt::format("\"{}\" has no variant for {} that takes "
                                "batches of more than {} rows",
                                index.specs[size_t(key.first)].name, key.second,
                                picks.bounds.rbegin()->first));
  return {};
}

} // namespace

Status pack::checkIndex(const PackIndex &index) {
  if (index.variants.empty())
    return refuse("found no variant; one or more are expected");
  DECANT_TRY(checkSpecs(index));
  DECANT_TRY(checkVariants(index));
  return checkPicks(index);
}
