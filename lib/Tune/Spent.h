//===- Spent.h - where a tuner's time goes ----------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two questions about seconds. Of the past: how many went to which kind of
// work? Of the future: how many kernels may be begun at once, so that the
// budget still holds? A driver takes from half a second to half a minute for
// the machine code of one kernel, and whether it compiles several at a time is
// its own business, so the answer follows what was seen.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_TUNE_SPENT_H
#define DECANT_LIB_TUNE_SPENT_H

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>

namespace decant::tune {

/// Seconds by kind of work, none of which goes on beside another.
struct Spent {
  double errors = 0;  // of formats, in float64
  double kernels = 0; // compiled, made machine code of, loaded
  double checks = 0;  // against what else there is
  double oracles = 0;
  double times = 0;
};

/// Adds the time until it goes out of scope.
class Spending {
public:
  explicit Spending(double &sum) : sum(sum) {}
  Spending(const Spending &) = delete;
  Spending &operator=(const Spending &) = delete;
  ~Spending() { sum += seconds(); }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begin)
        .count();
  }

private:
  double &sum;
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
};

class Pace {
public:
  /// `count` kernels, begun together, were there after so many seconds. What is
  /// known fades by half with each: some come from a cache.
  void note(size_t count, double seconds) {
    if (count > 0)
      each = std::max(seconds / double(count), each / 2);
  }

  /// How many of them to begin at once, on `threads` threads, when `seconds`
  /// are left. One was made alone at first, which says nothing about several,
  /// so the next ones are as many as would fit one behind the other.
  size_t atOnce(unsigned threads, double seconds) const {
    const double fitting = each > 0 ? std::floor(seconds / each) : threads;
    return size_t(std::clamp(fitting, 1.0, std::max(double(threads), 1.0)));
  }

private:
  double each = 0; // seconds for one, when several are made at once
};

} // namespace decant::tune

#endif // DECANT_LIB_TUNE_SPENT_H
