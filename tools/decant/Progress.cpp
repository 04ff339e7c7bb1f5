//===- Progress.cpp - a line that says how far a job is -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Progress.h"

#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

using namespace decant::tool;

namespace {
constexpr std::chrono::milliseconds kPause(100);
constexpr const char *kClearLine = "\r\x1b[K";
} // namespace

Progress::Progress(std::string what, int64_t total)
    : what(std::move(what)), total(total), shown(::isatty(STDERR_FILENO) == 1),
      next(Clock::now()) {}

Progress::~Progress() {
  if (shown)
    fmt::print(stderr, "{}", kClearLine);
}

void Progress::update(int64_t done) {
  // Writing for every token would cost more than decoding it.
  if (!shown || Clock::now() < next)
    return;
  next = Clock::now() + kPause;
  fmt::print(stderr, "{}{} {}/{}", kClearLine, what, done, total);
  std::fflush(stderr);
}
