//===- BlockPoolTest.cpp - every block once, whoever runs it --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine/BlockPool.h"

#include <chrono>
#include <gtest/gtest.h>
#include <memory>

using namespace decant;

namespace {

/// How often each of `blocks` blocks ran.
std::vector<int> countRuns(BlockPool &pool, int64_t blocks) {
  std::unique_ptr<std::atomic<int>[]> runs(new std::atomic<int>[blocks + 1]());
  pool.run(blocks, [&](int64_t first, int64_t last) {
    EXPECT_LT(first, last);
    for (int64_t i = first; i < last; ++i)
      ++runs[i];
  });
  return {runs.get(), runs.get() + blocks};
}

TEST(BlockPool, EveryBlockRunsOnce) {
  for (int threads : {1, 2, 5}) {
    BlockPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t blocks : {0, 1, 2, 3, 19, 1000})
      EXPECT_EQ(countRuns(pool, blocks), std::vector<int>(blocks, 1))
          << threads << " threads, " << blocks << " blocks";
  }
}

/// Whether `arrived` reaches `count` within ten seconds.
bool waitFor(const std::atomic<int> &arrived, int count) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (arrived < count)
    if (std::chrono::steady_clock::now() > end)
      return false;
    else
      std::this_thread::yield();
  return true;
}

// Each block waits for the others, which needs a thread for each of them.
TEST(BlockPool, AllThreadsTakePart) {
  BlockPool pool(3);
  for (int i = 0; i < 200; ++i) {
    std::atomic<int> arrived{0};
    pool.run(3, [&](int64_t, int64_t) {
      ++arrived;
      EXPECT_TRUE(waitFor(arrived, 3));
    });
  }
}

// Short jobs one after another: a worker that wakes late must not touch the
// next job, nor one whose caller has returned.
TEST(BlockPool, ManyShortJobs) {
  BlockPool pool(4);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int64_t> byWorkers{0};
  for (int i = 0; i < 5000; ++i) {
    std::atomic<int64_t> sum{0};
    pool.run(8, [&](int64_t first, int64_t last) {
      std::this_thread::yield();
      byWorkers += std::this_thread::get_id() != caller;
      for (int64_t b = first; b < last; ++b)
        sum += b;
    });
    ASSERT_EQ(sum, 28);
  }
  EXPECT_GT(byWorkers, 0);
}

TEST(BlockPool, SeveralCallers) {
  BlockPool pool(3);
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (int j = 0; j < 200; ++j)
        EXPECT_EQ(countRuns(pool, 37), std::vector<int>(37, 1));
    });
  for (std::thread &caller : callers)
    caller.join();
}

} // namespace
