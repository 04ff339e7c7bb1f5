//===- Progress.h - a line that says how far a job is -----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_PROGRESS_H
#define DECANT_TOOLS_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <string>

namespace decant::tool {

/// Shows "what 12/256" on stderr while it lives, if stderr is a terminal.
class Progress {
public:
  Progress(std::string what, int64_t total);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  void update(int64_t done);

private:
  using Clock = std::chrono::steady_clock;
  std::string what;
  int64_t total;
  bool shown;
  Clock::time_point next; // when the line may change again
};

} // namespace decant::tool

#endif // DECANT_TOOLS_PROGRESS_H
