//===- BlockPool.cpp - blocks over threads --------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockPool.h"

#include <algorithm>

using namespace decant;

BlockPool::BlockPool(int threads) {
  for (int i = 1; i < threads; ++i)
    workers.emplace_back([this] { workerLoop(); });
}

BlockPool::~BlockPool() {
  {
    std::lock_guard<std::mutex> guard(mutex);
    stopping = true;
  }
  arrived.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void BlockPool::Job::takeBlocks() {
  for (;;) {
    const int64_t first = next.fetch_add(grain, std::memory_order_relaxed);
    if (first >= blocks)
      return;
    function(context, first, std::min(first + grain, blocks));
  }
}

void BlockPool::runJob(int64_t blocks, const void *context, Function function) {
  if (blocks <= 0)
    return;
  std::unique_lock<std::mutex> mine(callers, std::defer_lock);
  if (blocks == 1 || workers.empty() || !mine.try_lock()) {
    function(context, 0, blocks);
    return;
  }
  // A few ranges per thread even out blocks of unequal cost (padding rows).
  constexpr int64_t kRangesPerThread = 4;
  Job current;
  current.function = function;
  current.context = context;
  current.blocks = blocks;
  current.grain = std::max<int64_t>(1, blocks / (kRangesPerThread * threads()));
  {
    std::lock_guard<std::mutex> guard(mutex);
    job = &current;
  }
  arrived.notify_all();
  current.takeBlocks();
  // Workers that wake from here on find no job, so the caller waits for those
  // alone that are in the middle of one.
  std::unique_lock<std::mutex> guard(mutex);
  job = nullptr;
  left.wait(guard, [&] { return current.inside == 0; });
}

void BlockPool::workerLoop() {
  std::unique_lock<std::mutex> guard(mutex);
  for (;;) {
    arrived.wait(guard, [this] {
      return stopping ||
             (job && job->next.load(std::memory_order_relaxed) < job->blocks);
    });
    if (stopping)
      return;
    Job *current = job;
    ++current->inside;
    guard.unlock();
    current->takeBlocks();
    guard.lock();
    // Under the lock: the caller may not see 0 and end the job's life while the
    // count is still being written.
    if (--current->inside == 0)
      left.notify_one();
  }
}
