//===- BlockPool.h - blocks over threads ---------------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a number of independent blocks. Out: each of them has run once. The
// caller works too, so a call makes progress when no other thread does; nothing
// is allocated per call.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_ENGINE_BLOCKPOOL_H
#define DECANT_ENGINE_BLOCKPOOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace decant {

class BlockPool {
public:
  /// `threads` counts the caller: 1 starts none.
  explicit BlockPool(int threads);
  ~BlockPool();
  BlockPool(const BlockPool &) = delete;
  BlockPool &operator=(const BlockPool &) = delete;

  int threads() const { return static_cast<int>(workers.size()) + 1; }

  /// Calls work(first, last) for ranges that cover [0, blocks) and returns when
  /// all have. While one caller has the workers, others run their blocks alone.
  template <typename Work> void run(int64_t blocks, const Work &work) {
    runJob(blocks, &work, [](const void *context, int64_t first, int64_t last) {
      (*static_cast<const Work *>(context))(first, last);
    });
  }

private:
  using Function = void (*)(const void *context, int64_t first, int64_t last);
  struct Job {
    Function function;
    const void *context;
    int64_t blocks, grain;
    std::atomic<int64_t> next{0};
    int inside = 0; // workers; guarded by the pool's mutex

    void takeBlocks();
  };

  void runJob(int64_t blocks, const void *context, Function function);
  void workerLoop();

  std::mutex callers; // held by the caller that has the workers
  std::mutex mutex;   // of everything below
  std::condition_variable arrived, left;
  Job *job = nullptr;
  bool stopping = false;
  std::vector<std::thread> workers;
};

} // namespace decant

#endif // DECANT_ENGINE_BLOCKPOOL_H
