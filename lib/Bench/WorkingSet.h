//===- WorkingSet.h - rows, phases and how many sets of them --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The arithmetic of a measurement. A batch is stepped in several sets of slots
// in turn, so that a set's bytes have left the L2 cache before its next step:
// in an engine the model's other layers see to that.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_BENCH_WORKINGSET_H
#define DECANT_LIB_BENCH_WORKINGSET_H

#include "decant/Core/Status.h"

#include <cstdint>
#include <vector>

namespace decant::bench {

/// A set is used again after the others have moved this many L2 caches' bytes.
constexpr int64_t kCachesBetween = 4;
/// Where memory allows it, so many sets also of large batches: one launch of a
/// graph then holds that many steps, and its own cost is spread over them.
constexpr int64_t kUsualSets = 8;
constexpr int64_t kUsualBytes = int64_t(8) << 30;
constexpr int64_t kMaxSets = 512;

/// How many sets with `setBytes` of slots to rotate. The fewest that leave the
/// cache are returned also where memory holds less than that (`fitting` sets):
/// the caller says so.
int64_t chooseSets(int64_t setBytes, int64_t l2Bytes, int64_t fitting);
/// The fewest that leave the cache, whatever memory holds.
int64_t fewestSets(int64_t setBytes, int64_t l2Bytes);

/// The tokens that each row's window holds before the first step, at random:
/// what a batch looks like whose sequences came one by one.
std::vector<int> randomPhases(int64_t rows, int window);

/// The rows that round `round` (from 0) steps, so that after window - 1 rounds
/// every row has been stepped as often as its phase says.
std::vector<int64_t> rowsBehind(const std::vector<int> &phases, int round);

/// How often a replay takes all sets through a whole window, so that it has at
/// least `atLeast` steps.
int64_t windowsPerReplay(int64_t sets, int window, int64_t atLeast);

/// Median and the 10th and 90th percentile, by linear interpolation between the
/// sorted values.
struct Spread {
  double median = 0, p10 = 0, p90 = 0;
};
Spread spreadOf(std::vector<double> values);

} // namespace decant::bench

#endif // DECANT_LIB_BENCH_WORKINGSET_H
