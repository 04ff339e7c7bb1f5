//===- BitAllocation.cpp - who gets how many bits -------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/BitAllocation.h"

#include "decant/Core/CodeStore.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <queue>

using namespace decant;

namespace {

/// The best way up from `bits`: costs may have dents, so several bits at once
/// can gain more per bit than one.
struct Climb {
  double gainPerBit = 0;
  size_t row = 0;
  int bits = 0; // afterwards
  bool operator<(const Climb &other) const {
    // Of equal gains the first row's, so that plans do not depend on a library.
    return gainPerBit != other.gainPerBit ? gainPerBit < other.gainPerBit
                                          : row > other.row;
  }
};

Climb bestClimb(const CostByBits &costs, size_t row, int bits, int64_t most) {
  Climb best{-1, row, bits};
  for (int next = bits + 1; next <= kMaxRowBits && next - bits <= most;
       ++next) {
    const double gain =
        (costs[bits - kMinRowBits] - costs[next - kMinRowBits]) / (next - bits);
    if (gain > best.gainPerBit)
      best = {gain, row, next};
  }
  return best;
}

} // namespace

std::vector<uint8_t> decant::allocateBits(const std::vector<CostByBits> &costs,
                                          int64_t budget) {
  std::vector<uint8_t> widths(costs.size(), kMinRowBits);
  int64_t left = budget - int64_t(costs.size()) * kMinRowBits;
  assert(left >= 0 && "every row gets the least width");
  std::priority_queue<Climb> climbs;
  for (size_t row = 0; row < costs.size(); ++row)
    climbs.push(bestClimb(costs[row], row, kMinRowBits, left));
  while (left > 0 && !climbs.empty()) {
    const Climb climb = climbs.top();
    climbs.pop();
    const int from = widths[climb.row];
    if (climb.bits == from) // nothing fits, or the row is at the top
      continue;
    if (climb.bits - from <= left) {
      left -= climb.bits - from;
      widths[climb.row] = uint8_t(climb.bits);
    }
    climbs.push(
        bestClimb(costs[climb.row], climb.row, widths[climb.row], left));
  }
  return widths;
}

std::vector<uint8_t> decant::allocateRows(const std::vector<CostByBits> &costs,
                                          int keyDim, int pivots,
                                          int64_t budget, bool areWhole) {
  std::vector<uint8_t> widths(costs.size(), kMaxRowBits);
  for (size_t first = 0; first < costs.size(); first += keyDim) {
    std::vector<size_t> order(keyDim);
    std::iota(order.begin(), order.end(), first);
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      // Of equal costs the first row's, on every machine alike.
      return costs[a].back() != costs[b].back()
                 ? costs[a].back() > costs[b].back()
                 : a < b;
    });
    for (int i = 0; i < pivots; ++i)
      widths[order[i]] = kPivotBits;
  }
  if (areWhole)
    return widths;
  std::vector<size_t> rows;
  std::vector<CostByBits> rest;
  for (size_t row = 0; row < costs.size(); ++row)
    if (widths[row] == kPivotBits) {
      budget -= kPivotBits;
    } else {
      rows.push_back(row);
      rest.push_back(costs[row]);
    }
  const std::vector<uint8_t> own = allocateBits(rest, budget);
  for (size_t i = 0; i < rows.size(); ++i)
    widths[rows[i]] = own[i];
  return widths;
}

std::vector<uint8_t>
decant::allocateSlabBits(const std::vector<CostByBits> &costs, int64_t budget,
                         int headRows) {
  if (headRows % kSlabRows != 0)
    return allocateBits(costs, budget);
  // Rows in the order of what the fewest bits cost, head by head.
  std::vector<size_t> order(costs.size());
  std::iota(order.begin(), order.end(), size_t(0));
  for (auto head = order.begin(); head != order.end(); head += headRows)
    std::sort(head, head + headRows, [&](size_t a, size_t b) {
      return costs[a][0] != costs[b][0] ? costs[a][0] > costs[b][0] : a < b;
    });
  std::vector<CostByBits> slabs(costs.size() / kSlabRows, CostByBits{});
  for (size_t place = 0; place < order.size(); ++place)
    for (size_t width = 0; width < CostByBits().size(); ++width)
      slabs[place / kSlabRows][width] += costs[order[place]][width];
  const std::vector<uint8_t> bits = allocateBits(slabs, budget / kSlabRows);
  std::vector<uint8_t> widths(costs.size());
  for (size_t place = 0; place < order.size(); ++place)
    widths[order[place]] = bits[place / kSlabRows];
  return widths;
}
