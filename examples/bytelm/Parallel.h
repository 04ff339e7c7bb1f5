//===- Parallel.h - a loop over two threads or more -------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_PARALLEL_H
#define BYTELM_PARALLEL_H

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace bytelm {

/// body(begin, end) for parts of 0 .. count - 1 of `grain` or more, one per
/// thread. Starting a thread takes some 20 us: that is nothing beside a matrix
/// product of some hundred rows, and a single row stays on the caller's.
template <typename Body>
void forRanges(int64_t count, int64_t grain, int threads, Body body) {
  const int64_t parts =
      std::min<int64_t>(threads, std::max<int64_t>(1, count / grain));
  std::vector<std::thread> others;
  for (int64_t part = 1; part < parts; ++part)
    others.emplace_back(
        [=, &body] { body(count * part / parts, count * (part + 1) / parts); });
  body(0, count / parts);
  for (std::thread &other : others)
    other.join();
}

} // namespace bytelm

#endif // BYTELM_PARALLEL_H
