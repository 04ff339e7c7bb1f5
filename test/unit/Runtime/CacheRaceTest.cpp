//===- CacheRaceTest.cpp - many writers, and writers that die -------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFixture.h"

#include <atomic>
#include <random>
#include <set>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace decant;
using namespace decant::test;

namespace {

constexpr int kProcesses = 64;

class CacheRace : public CacheFixture {
protected:
  /// Runs `work(number)` in processes that start together; its exit codes.
  template <typename Work> std::vector<int> race(Work work) {
    int gate[2];
    EXPECT_EQ(pipe(gate), 0);
    std::vector<pid_t> children;
    for (int number = 0; number < kProcesses; ++number) {
      pid_t child = fork();
      if (child == 0) {
        close(gate[1]);
        char byte;
        // Returns when the parent closes its end, for all at once.
        while (read(gate[0], &byte, 1) > 0)
          ;
        _exit(work(number));
      }
      children.push_back(child);
    }
    close(gate[0]);
    close(gate[1]);
    std::vector<int> codes;
    for (pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    return codes;
  }
};

TEST_F(CacheRace, AllProcessesEndWithOneImage) {
  // Each compiles "its own" image; the exit code tells whose image it got.
  std::vector<int> codes = race([&](int number) {
    KernelCache cache = makeCache();
    if (cache.lookup("key").image)
      return 100; // late: another had finished before this one began
    auto kept = cache.store("key", markedImage(std::to_string(number), 100000));
    CacheCounters counts = cache.counters();
    if (counts.stores + counts.adopted != 1 || warningsOf(cache) != "")
      return 101;
    return std::stoi(kept->specName);
  });
  std::set<int> winners(codes.begin(), codes.end());
  winners.erase(100);
  ASSERT_EQ(winners.size(), 1u);
  EXPECT_LT(*winners.begin(), kProcesses);
  CacheLookup found = makeCache().lookup("key");
  ASSERT_NE(found.image, nullptr) << found.detail;
  EXPECT_EQ(found.image->specName, std::to_string(*winners.begin()));
  EXPECT_EQ(count(versionFolder(), ".tmp-"), 0);
}

TEST_F(CacheRace, ACorruptEntryIsRebuiltUnderTheSameRace) {
  makeCache().store("key", markedImage("old"));
  writeFile(entry("key") + "/image", "rubbish");
  std::vector<int> codes = race([&](int) {
    KernelCache cache = makeCache();
    CacheLookup found = cache.lookup("key");
    auto image =
        found.image ? found.image : cache.store("key", markedImage("new"));
    return image->specName == "new" ? 0 : 1;
  });
  EXPECT_EQ(codes, std::vector<int>(kProcesses, 0));
  CacheLookup found = makeCache().lookup("key");
  // A process that saw the bad entry and was late to move it leaves the good
  // one that took its place.
  ASSERT_NE(found.image, nullptr) << found.detail;
  EXPECT_EQ(found.image->specName, "new");
  EXPECT_EQ(count(versionFolder() + "/quarantine", ""), 1);
}

/// With claims, the image is also made but once, and nothing is left of them.
TEST_F(CacheRace, OneProcessMakesTheImageAndTheOthersWait) {
  auto *made = static_cast<std::atomic<int> *>(
      mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(made, MAP_FAILED);
  new (made) std::atomic<int>(0);
  std::vector<int> codes = race([&](int) {
    KernelCache cache = makeCache();
    CacheLookup found = cache.lookup("key");
    if (!found.image) {
      const CacheClaim claim = cache.claim("key");
      if (claim.lookAgain)
        found = cache.lookup("key");
      if (!found.image) {
        ++*made;
        // As long as compiling something small.
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        found.image = cache.store("key", markedImage("one", 100000));
      }
    }
    return found.image && found.image->specName == "one" ? 0 : 1;
  });
  EXPECT_EQ(codes, std::vector<int>(kProcesses, 0));
  EXPECT_EQ(made->load(), 1);
  EXPECT_EQ(count(versionFolder(), ".lock-"), 0);
  EXPECT_EQ(count(versionFolder(), ".tmp-"), 0);
  munmap(made, sizeof(std::atomic<int>));
}

TEST_F(CacheRace, AClaimGoesWithItsProcess) {
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  pid_t child = fork();
  if (child == 0) {
    KernelCache cache = makeCache();
    const CacheClaim claim = cache.claim("key");
    if (write(gate[1], "x", 1) == 1)
      pause();
    _exit(1);
  }
  char byte;
  ASSERT_EQ(read(gate[0], &byte, 1), 1);
  CacheOptions hasty = options();
  hasty.claimMs = 50;
  KernelCache impatient(hasty);
  {
    // Held by another: patience ends, and the image may be made all the same.
    const CacheClaim none = impatient.claim("key");
    EXPECT_FALSE(none.lookAgain);
    EXPECT_EQ(count(versionFolder(), ".lock-"), 1);
  }
  EXPECT_EQ(count(versionFolder(), ".lock-"), 1) << "it was not ours";
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  KernelCache next = makeCache();
  const auto begin = std::chrono::steady_clock::now();
  {
    const CacheClaim claim = next.claim("key");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10))
      << "of the two minutes that it would wait for one who lives";
  EXPECT_EQ(count(versionFolder(), ".lock-"), 0);
}

TEST_F(CacheRace, WaitingEndsWhenTheEntryIsThere) {
  // The lock stays held, as by a process on a host whose locks go no further.
  KernelCache holder = makeCache(), waiter = makeCache();
  const CacheClaim held = holder.claim("key");
  std::thread writer([&] { makeCache().store("key", markedImage("one")); });
  EXPECT_TRUE(waiter.claim("key").lookAgain);
  writer.join();
  EXPECT_EQ(waiter.lookup("key").image->specName, "one");
}

TEST_F(CacheRace, ThreadsShareOneCache) {
  KernelCache cache = makeCache();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int number = 0; number < 8; ++number)
    threads.emplace_back([&, number] {
      for (int i = 0; i < 20; ++i) {
        std::string key = "key " + std::to_string((number + i) % 5);
        CacheLookup found = cache.lookup(key);
        auto image =
            found.image ? found.image : cache.store(key, markedImage(key));
        wrong += image->specName != key;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(cache.counters().quarantined, 0);
}

/// A writer that is killed at any moment leaves a whole entry or none.
TEST_F(CacheRace, KilledWritersLeaveWholeEntriesOrNone) {
  const int kRounds = rounds(60, 200);
  std::mt19937 random(7);
  int whole = 0;
  // Some stores of a disk that nobody else uses. One that is busier gets
  // longer.
  int span = 30000;
  for (int round = 0; round < kRounds; ++round) {
    if (round % 10 == 9 && whole < round / 10)
      span *= 2;
    std::string prefix = std::to_string(round) + " ";
    pid_t child = fork();
    if (child == 0) {
      KernelCache cache = makeCache();
      for (int i = 0;; ++i)
        cache.store(prefix + std::to_string(i),
                    markedImage(prefix + std::to_string(i), 300000));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % span));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    for (int i = 0; i < 1000; ++i) {
      std::string key = prefix + std::to_string(i);
      CacheLookup found = makeCache().lookup(key);
      if (!found.image) {
        // The one that was being written, and nothing after it.
        ASSERT_EQ(found.reason, MissReason::Absent) << found.detail;
        break;
      }
      ASSERT_EQ(found.image->specName, key);
      ++whole;
    }
  }
  EXPECT_EQ(count(versionFolder(), "quarantine"), 0);
  // The kills did fall between and into writes: some entries were finished,
  // and some folders were left unfinished.
  EXPECT_GT(whole, 0);
  EXPECT_GT(count(versionFolder(), ".tmp-"), 0);
}

} // namespace
