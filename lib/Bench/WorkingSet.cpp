//===- WorkingSet.cpp - rows, phases and how many sets of them ------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WorkingSet.h"

#include <algorithm>
#include <random>

using namespace decant;

int64_t decant::bench::fewestSets(int64_t setBytes, int64_t l2Bytes) {
  const int64_t beyondCache =
      (kCachesBetween * l2Bytes + setBytes - 1) / setBytes;
  return std::clamp<int64_t>(beyondCache, 1, kMaxSets);
}

int64_t decant::bench::chooseSets(int64_t setBytes, int64_t l2Bytes,
                                  int64_t fitting) {
  const int64_t fewest = fewestSets(setBytes, l2Bytes);
  const int64_t usual = std::min(kUsualSets, kUsualBytes / setBytes);
  return std::max(fewest, std::min(usual, fitting));
}

std::vector<int> decant::bench::randomPhases(int64_t rows, int window) {
  std::mt19937 random(3);
  std::vector<int> phases(rows);
  for (int &phase : phases)
    phase = int(random() % unsigned(window));
  return phases;
}

std::vector<int64_t> decant::bench::rowsBehind(const std::vector<int> &phases,
                                               int round) {
  std::vector<int64_t> rows;
  for (size_t row = 0; row < phases.size(); ++row)
    if (phases[row] > round)
      rows.push_back(int64_t(row));
  return rows;
}

int64_t decant::bench::windowsPerReplay(int64_t sets, int window,
                                        int64_t atLeast) {
  const int64_t steps = sets * window;
  return std::max<int64_t>(1, (atLeast + steps - 1) / steps);
}

decant::bench::Spread decant::bench::spreadOf(std::vector<double> values) {
  if (values.empty())
    return {};
  std::sort(values.begin(), values.end());
  auto at = [&](double part) {
    const double place = part * double(values.size() - 1);
    const size_t below = size_t(place);
    const size_t above = std::min(below + 1, values.size() - 1);
    return values[below] +
           (values[above] - values[below]) * (place - double(below));
  };
  return {at(0.5), at(0.1), at(0.9)};
}
