//===- Finalists.cpp - who is tried, and who is timed again ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Finalists.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace decant;
using namespace decant::tune;

/// Within this part of the best of its order at some batch, and so many of an
/// order: the last round is to be short, and first times are good to a few
/// percent.
static constexpr double kNearBest = 0.05;
static constexpr size_t kMostFinalists = 6;
static constexpr int kNeighbour = 1;

std::vector<ScheduleCandidate>
decant::tune::mostPromising(const std::vector<ScheduleCandidate> &all,
                            const KernelImage &usual, const DecodeSpec &spec,
                            const Setup &setup) {
  auto isFar = [&](const ScheduleCandidate &candidate) {
    const auto first =
        std::find_if(all.begin(), all.end(), [&](const auto &other) {
          return other.order == candidate.order;
        });
    return distance(first->schedule, candidate.schedule) > kNeighbour;
  };
  std::vector<std::tuple<bool, double, size_t>> ranks;
  for (size_t i = 0; i < all.size(); ++i)
    ranks.emplace_back(isFar(all[i]),
                       likelyMean(shapeOf(usual, spec, all[i]), setup.machine,
                                  setup.effort.batches),
                       i);
  std::get<1>(ranks.front()) = 0; // the usual one is always tried
  std::sort(ranks.begin(), ranks.end());
  ranks.resize(std::min(ranks.size(), setup.effort.mostSchedules));
  std::vector<size_t> kept;
  for (const auto &rank : ranks)
    kept.push_back(std::get<2>(rank));
  std::sort(kept.begin(), kept.end());
  std::vector<ScheduleCandidate> list;
  for (size_t i : kept)
    list.push_back(all[i]);
  return list;
}

std::vector<size_t>
decant::tune::finalists(const std::vector<Variant> &variants) {
  std::map<CodeOrder, std::vector<size_t>> byOrder;
  for (size_t i = 0; i < variants.size(); ++i)
    if (variants[i].timedEverywhere())
      byOrder[variants[i].order].push_back(i);
  std::vector<size_t> result;
  for (const auto &[order, members] : byOrder) {
    const size_t batches = variants[members.front()].times.size();
    std::vector<double> best(batches, 0);
    for (size_t batch = 0; batch < batches; ++batch)
      for (size_t i : members) {
        const double us = variants[i].times[batch]->us;
        best[batch] = best[batch] == 0 ? us : std::min(best[batch], us);
      }
    std::vector<std::pair<int, size_t>> near; // batches, negated to sort
    for (size_t i : members) {
      int count = 0;
      for (size_t batch = 0; batch < batches; ++batch)
        count += variants[i].times[batch]->us <= best[batch] * (1 + kNearBest);
      if (i == members.front())
        count = INT32_MAX;
      if (count > 0)
        near.emplace_back(-count, i);
    }
    std::sort(near.begin(), near.end());
    near.resize(std::min(near.size(), kMostFinalists));
    for (const auto &[count, i] : near)
      result.push_back(i);
  }
  std::sort(result.begin(), result.end());
  return result;
}
