//===- Choose.cpp - from times to choices ---------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Choose.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <fmt/format.h>

using namespace decant;
using namespace decant::tune;

bool Variant::timedEverywhere() const {
  return !times.empty() &&
         std::all_of(times.begin(), times.end(),
                     [](const auto &time) { return time.has_value(); });
}

double decant::tune::noiseOf(const StepTimes &a, const StepTimes &b) {
  auto half = [](const StepTimes &time) { return (time.p90 - time.p10) / 2; };
  return std::max({half(a), half(b), kLeastGain * std::max(a.us, b.us)});
}

bool decant::tune::beats(const StepTimes &a, const StepTimes &b) {
  return a.us + noiseOf(a, b) < b.us;
}

double decant::tune::meanTime(const Variant &variant) {
  double sum = 0;
  for (const auto &time : variant.times)
    sum += std::log(time->us);
  return std::exp(sum / double(variant.times.size()));
}

namespace {

using Indices = std::vector<size_t>;

/// Variants of one order.
struct OrderOfVariants {
  CodeOrder order;
  Indices members; // the first one is the incumbent
};

std::vector<OrderOfVariants> byOrder(const std::vector<Variant> &variants) {
  std::vector<OrderOfVariants> groups;
  for (size_t i = 0; i < variants.size(); ++i) {
    auto group =
        std::find_if(groups.begin(), groups.end(), [&](const auto &known) {
          return known.order == variants[i].order;
        });
    if (group != groups.end())
      group->members.push_back(i);
    else if (variants[i].timedEverywhere()) // or nobody knows what to beat
      groups.push_back({variants[i].order, {i}});
  }
  return groups;
}

/// Those that may be chosen at a batch: the incumbent alone, or all within
/// noise of the fastest that beat it.
Indices equals(const std::vector<Variant> &variants, const Indices &members,
               size_t batch, std::optional<size_t> held) {
  if (held && variants[*held].times[batch] &&
      std::none_of(members.begin(), members.end(), [&](size_t i) {
        return variants[i].times[batch] &&
               beats(*variants[i].times[batch], *variants[*held].times[batch]);
      }))
    return {*held};
  const StepTimes &incumbent = *variants[members.front()].times[batch];
  Indices better;
  for (size_t i : members)
    if (variants[i].times[batch] && beats(*variants[i].times[batch], incumbent))
      better.push_back(i);
  if (better.empty())
    return {members.front()};
  const size_t fastest =
      *std::min_element(better.begin(), better.end(), [&](size_t a, size_t b) {
        return variants[a].times[batch]->us < variants[b].times[batch]->us;
      });
  const StepTimes &best = *variants[fastest].times[batch];
  Indices result;
  for (size_t i : better)
    if (!beats(best, *variants[i].times[batch]))
      result.push_back(i);
  return result;
}

/// One variant for each batch, few in all: the one that serves most batches,
/// then the one that serves most of the rest.
Indices fewOf(const std::vector<Indices> &allowed) {
  Indices chosen(allowed.size(), SIZE_MAX);
  for (size_t left = allowed.size(); left > 0;) {
    size_t best = SIZE_MAX, most = 0;
    for (const Indices &list : allowed)
      for (size_t candidate : list) {
        size_t served = 0;
        for (size_t batch = 0; batch < allowed.size(); ++batch)
          served += chosen[batch] == SIZE_MAX &&
                    std::count(allowed[batch].begin(), allowed[batch].end(),
                               candidate) > 0;
        if (served > most || (served == most && candidate < best)) {
          most = served;
          best = candidate;
        }
      }
    for (size_t batch = 0; batch < allowed.size(); ++batch)
      if (chosen[batch] == SIZE_MAX &&
          std::count(allowed[batch].begin(), allowed[batch].end(), best) > 0) {
        chosen[batch] = best;
        --left;
      }
  }
  return chosen;
}

std::string whyOf(const std::vector<Variant> &variants, const Indices &members,
                  size_t chosen, size_t batch) {
  const size_t incumbent = members.front();
  const StepTimes &mine = *variants[chosen].times[batch];
  const StepTimes &old = *variants[incumbent].times[batch];
  if (chosen != incumbent)
    return fmt::format("{:.1f} % faster than the incumbent; noise {:.1f} %",
                       100 * (1 - mine.us / old.us),
                       100 * noiseOf(mine, old) / old.us);
  const StepTimes *nearest = nullptr;
  for (size_t i : members)
    if (i != incumbent && variants[i].times[batch] &&
        (!nearest || variants[i].times[batch]->us < nearest->us))
      nearest = &*variants[i].times[batch];
  if (!nearest)
    return "the incumbent; nothing else was timed";
  if (nearest->us >= old.us)
    return fmt::format("the incumbent; the next one takes {:.1f} % more",
                       100 * (nearest->us / old.us - 1));
  return fmt::format(
      "the incumbent; the fastest is {:.1f} % faster, within noise of {:.1f} %",
      100 * (1 - nearest->us / old.us), 100 * noiseOf(*nearest, old) / old.us);
}

/// The member with the least mean, unless it gains too little.
size_t bestForAll(const std::vector<Variant> &variants, const Indices &members,
                  std::optional<size_t> held) {
  size_t best =
      held && variants[*held].timedEverywhere() ? *held : members.front();
  const double old = meanTime(variants[best]);
  double least = old * (1 - kLeastGain);
  for (size_t i : members)
    if (variants[i].timedEverywhere() && meanTime(variants[i]) < least) {
      // A tie stays with the earlier one.
      least = meanTime(variants[i]) * (1 - kLeastGain);
      best = i;
    }
  return best;
}

} // namespace

Held decant::tune::heldFrom(const TuningRecord &record,
                            const std::vector<Variant> &variants,
                            const std::vector<int64_t> &batches) {
  auto find = [&](const std::string &schedule) -> std::optional<size_t> {
    for (size_t i = 0; i < variants.size(); ++i)
      if (variants[i].order == record.order &&
          toString(variants[i].schedule) == schedule)
        return i;
    return std::nullopt;
  };
  Held held;
  held.order = record.order;
  held.forAll = find(record.schedule);
  for (int64_t batch : batches)
    held.batches.push_back(find(record.rangeOf(batch).schedule));
  return held;
}

Choice decant::tune::choose(const std::vector<Variant> &variants,
                            const Held &held) {
  assert(!variants.empty() && variants.front().timedEverywhere());
  const size_t batches = variants.front().times.size();
  Choice best;
  double leastMean = 0;
  std::vector<OrderOfVariants> groups = byOrder(variants);
  // The first layout is the one that another has to beat.
  const auto first =
      std::find_if(groups.begin(), groups.end(), [&](const auto &group) {
        return group.order == held.order;
      });
  if (first != groups.end())
    std::rotate(groups.begin(), first, first + 1);
  for (const OrderOfVariants &group : groups) {
    const bool isHeld = group.order == held.order;
    auto heldAt = [&](size_t batch) {
      return isHeld ? held.batches[batch] : std::nullopt;
    };
    std::vector<Indices> allowed;
    for (size_t batch = 0; batch < batches; ++batch)
      allowed.push_back(equals(variants, group.members, batch, heldAt(batch)));
    const Indices chosen = fewOf(allowed);
    Choice choice;
    choice.order = group.order;
    choice.forAll = bestForAll(variants, group.members,
                               isHeld ? held.forAll : std::nullopt);
    Variant together;
    double noise = 0;
    for (size_t batch = 0; batch < batches; ++batch) {
      const StepTimes &time = *variants[chosen[batch]].times[batch];
      together.times.push_back(time);
      noise = std::max(noise, noiseOf(time, time) / time.us);
      choice.batches.push_back(
          {chosen[batch], group.members.front(),
           (heldAt(batch) == chosen[batch] ? "as before, since nothing is "
                                             "faster beyond noise; "
                                           : "") +
               whyOf(variants, group.members, chosen[batch], batch)});
    }
    // Another layout has to be worth it, as another schedule has.
    const double mean = meanTime(together);
    if (best.batches.empty() || mean * (1 + noise) < leastMean) {
      best = std::move(choice);
      leastMean = mean;
    }
  }
  return best;
}

std::vector<TunedRange>
decant::tune::rangesOf(const std::vector<Variant> &variants,
                       const std::vector<int64_t> &batches,
                       const Choice &choice) {
  std::vector<TunedRange> ranges;
  int64_t from = 1;
  for (size_t i = 0; i < batches.size(); ++i) {
    const BatchChoice &own = choice.batches[i];
    TunedRange range;
    range.from = from;
    range.batch = batches[i];
    if (i + 1 < batches.size()) {
      range.to = std::max(
          batches[i],
          std::min(batches[i + 1] - 1,
                   int64_t(std::sqrt(double(batches[i]) * batches[i + 1]))));
      from = *range.to + 1;
    }
    range.schedule = toString(variants[own.variant].schedule);
    range.time = *variants[own.variant].times[i];
    range.against = toString(variants[own.against].schedule);
    range.againstTime = *variants[own.against].times[i];
    range.why = own.why;
    ranges.push_back(std::move(range));
  }
  return ranges;
}
