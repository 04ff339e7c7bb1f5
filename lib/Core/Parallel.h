//===- Parallel.h - independent work on several threads ---------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_CORE_PARALLEL_H
#define DECANT_LIB_CORE_PARALLEL_H

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <system_error>
#include <thread>
#include <vector>

namespace decant {

/// One per processor.
inline unsigned allThreads() {
  return std::max(1u, std::thread::hardware_concurrency());
}

/// Calls work(0) .. work(count - 1), each once, on up to `threads` threads, the
/// caller's among them: on fewer where the system has no more. `work` must not
/// throw.
inline void parallelFor(size_t count, unsigned threads,
                        const std::function<void(size_t)> &work) {
  std::atomic<size_t> next{0};
  auto run = [&] {
    for (size_t i; (i = next++) < count;)
      work(i);
  };
  std::vector<std::thread> helpers;
  const size_t wanted = std::min<size_t>(std::max(threads, 1u), count);
  try {
    for (size_t i = 1; i < wanted; ++i)
      helpers.emplace_back(run);
  } catch (const std::system_error &) {
  }
  run();
  for (std::thread &helper : helpers)
    helper.join();
}

} // namespace decant

#endif // DECANT_LIB_CORE_PARALLEL_H
