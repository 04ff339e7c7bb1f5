//===- Progress.h - a line that says how far a job is -----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_PROGRESS_H
#define BYTELM_PROGRESS_H

#include <cstdint>
#include <cstdio>
#include <fmt/format.h>
#include <string>
#include <unistd.h>

namespace bytelm {

/// Shows "what 12/256" on stderr while it lives, if stderr is a terminal.
class Progress {
public:
  Progress(std::string what, int64_t total)
      : what(std::move(what)), total(total),
        shown(::isatty(STDERR_FILENO) == 1) {}
  ~Progress() {
    if (shown)
      fmt::print(stderr, "\r\x1b[K");
  }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  void update(int64_t done, const std::string &note = "") {
    if (!shown)
      return;
    fmt::print(stderr, "\r\x1b[K{} {}/{}{}{}", what, done, total,
               note.empty() ? "" : ", ", note);
    std::fflush(stderr);
  }

private:
  std::string what;
  int64_t total;
  bool shown;
};

} // namespace bytelm

#endif // BYTELM_PROGRESS_H
