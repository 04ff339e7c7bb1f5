//===- Stopwatch.h - milliseconds since -----------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_ENGINE_STOPWATCH_H
#define DECANT_LIB_ENGINE_STOPWATCH_H

#include <chrono>

namespace decant {

class Stopwatch {
public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start)
        .count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

} // namespace decant

#endif // DECANT_LIB_ENGINE_STOPWATCH_H
