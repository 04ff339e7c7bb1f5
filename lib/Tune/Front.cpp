//===- Front.cpp - formats that no other beats in everything --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Front.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace decant;
using namespace decant::tune;

namespace {

bool dominates(const Place &a, const Place &b) {
  return a.error <= b.error && a.bits <= b.bits && a.time <= b.time &&
         (a.error < b.error || a.bits < b.bits || a.time < b.time);
}

bool near(double a, double b) {
  constexpr double kNear = 0.01;
  return std::fabs(a - b) <= kNear * std::max(a, b);
}

} // namespace

std::vector<bool> decant::tune::frontOf(const std::vector<Place> &places) {
  std::vector<bool> front(places.size(), true);
  for (size_t i = 0; i < places.size(); ++i)
    for (const Place &other : places)
      if (dominates(other, places[i]))
        front[i] = false;
  return front;
}

std::vector<size_t> decant::tune::worthTiming(const std::vector<Place> &places,
                                              const Bounds &bounds,
                                              size_t most) {
  const std::vector<bool> front = frontOf(places);
  std::vector<size_t> good, other;
  for (size_t i = 1; i < places.size(); ++i)
    if (front[i])
      (bounds.met(places[i]) ? good : other).push_back(i);
  std::sort(good.begin(), good.end(), [&](size_t a, size_t b) {
    return std::tie(places[a].time, a) < std::tie(places[b].time, b);
  });
  std::sort(other.begin(), other.end(), [&](size_t a, size_t b) {
    return std::tie(places[a].error, a) < std::tie(places[b].error, b);
  });
  std::vector<size_t> list = {0};
  good.insert(good.end(), other.begin(), other.end());
  for (size_t i : good) {
    const bool known = std::any_of(list.begin(), list.end(), [&](size_t j) {
      return j != 0 && near(places[i].time, places[j].time) &&
             near(places[i].bits, places[j].bits) &&
             places[j].error <= places[i].error;
    });
    if (!known && list.size() < most)
      list.push_back(i);
  }
  return list;
}

std::optional<size_t>
decant::tune::fastestWithin(const std::vector<Place> &places,
                            const Bounds &bounds, double noise,
                            std::optional<size_t> held) {
  std::optional<size_t> best;
  for (size_t i = 0; i < places.size(); ++i)
    if (bounds.met(places[i]) && (!best || places[i].time < places[*best].time))
      best = i;
  if (!best)
    return best;
  const double limit = places[*best].time * (1 + noise);
  if (held && bounds.met(places[*held]) && places[*held].time <= limit)
    return held;
  for (size_t i = 0; i < places.size(); ++i)
    if (bounds.met(places[i]) && places[i].time <= limit &&
        places[i].error < places[*best].error)
      best = i;
  return best;
}
