//===- KernelCacheTest.cpp - hits, misses and damage ----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFixture.h"

#include <algorithm>
#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace decant;
using namespace decant::test;

namespace {

class Cache : public CacheFixture {
protected:
  /// Puts an entry of markedImage("whole") for "key" on disk.
  void storeWhole() {
    KernelCache cache = makeCache();
    cache.store("key", markedImage("whole"));
    ASSERT_EQ(warningsOf(cache), "");
  }
};

TEST_F(Cache, KeepsInMemoryAndOnDisk) {
  KernelCache cache = makeCache();
  CacheLookup first = cache.lookup("key");
  EXPECT_EQ(first.image, nullptr);
  EXPECT_EQ(first.reason, MissReason::Absent);
  EXPECT_EQ(first.detail, "");
  auto stored = cache.store("key", markedImage("one"));
  EXPECT_EQ(cache.lookup("key").image, stored);
  EXPECT_EQ(cache.counters().memoryHits, 1);
  EXPECT_EQ(cache.counters().stores, 1);
  EXPECT_EQ(cache.counters().misses, 1);

  KernelCache other = makeCache();
  CacheLookup found = other.lookup("key");
  ASSERT_NE(found.image, nullptr) << found.detail;
  EXPECT_EQ(serialize(*found.image), serialize(markedImage("one")));
  EXPECT_EQ(other.counters().diskHits, 1);
  EXPECT_EQ(other.lookup("key").image, found.image);
  EXPECT_EQ(other.counters().memoryHits, 1);
  EXPECT_EQ(other.lookup("another key").image, nullptr);
  EXPECT_EQ(count(versionFolder(), ".tmp-"), 0);
}

TEST_F(Cache, WithoutARootItIsAMap) {
  KernelCache cache({"", "decant"});
  EXPECT_EQ(cache.lookup("key").reason, MissReason::Absent);
  auto stored = cache.store("key", markedImage("one"));
  EXPECT_EQ(cache.lookup("key").image, stored);
  EXPECT_EQ(cache.entryFolder("key"), "");
  EXPECT_EQ(warningsOf(cache), "");
  EXPECT_EQ(cache.counters().stores, 0);
}

TEST_F(Cache, CompilersDoNotMeet) {
  storeWhole();
  KernelCache newer({root, "decant 0.2.0"});
  EXPECT_EQ(newer.lookup("key").reason, MissReason::Absent);
  EXPECT_NE(newer.entryFolder("key"), entry("key"));
}

TEST_F(Cache, TheFolderDependsOnTheKeyTextAlone) {
  std::string here = entry("key");
  ASSERT_EQ(setenv("PATH", "/elsewhere", 1), 0);
  EXPECT_EQ(entry("key"), here);
  // A hash of 128 bits, so that no two keys ever meet by accident.
  EXPECT_EQ(fs::path(here).filename().string().size(), 32u);
  EXPECT_NE(entry("key "), here);
  EXPECT_EQ(fs::path(here).parent_path().filename().string().rfind("v1-", 0),
            0u);
}

TEST_F(Cache, EveryChangedByteIsFoundAndQuarantined) {
  storeWhole();
  std::string where = entry("key");
  for (const char *name : {"key.txt", "meta.json", "image"}) {
    std::string path = where + "/" + name, bytes = readFile(path);
    ASSERT_FALSE(bytes.empty()) << name;
    // Each byte of the small files, a sample of the image: a prime step meets
    // its fixed part, header and code.
    size_t step = bytes.size() > 1000 ? size_t(rounds(13, 1)) : 1;
    for (size_t at = 0; at < bytes.size(); at += step) {
      std::string damaged = bytes;
      damaged[at] = char(damaged[at] ^ 0x10);
      writeFile(path, damaged);
      KernelCache cache = makeCache();
      CacheLookup found = cache.lookup("key");
      ASSERT_EQ(found.image, nullptr) << name << " byte " << at;
      ASSERT_EQ(found.reason, MissReason::Corrupt) << name << " byte " << at;
      ASSERT_EQ(cache.counters().quarantined, 1);
      ASSERT_EQ(cache.takeWarnings().size(), 1u) << "one line each";
      ASSERT_FALSE(fs::exists(where));
      ASSERT_EQ(count(versionFolder() + "/quarantine",
                      fs::path(where).filename().string()),
                1);
      fs::rename(
          fs::directory_iterator(versionFolder() + "/quarantine")->path(),
          where);
      writeFile(path, bytes);
    }
    for (size_t size = 0; size < bytes.size(); size += step) {
      writeFile(path, bytes.substr(0, size));
      KernelCache cache = makeCache();
      ASSERT_EQ(cache.lookup("key").reason, MissReason::Corrupt)
          << name << " cut to " << size;
      fs::rename(
          fs::directory_iterator(versionFolder() + "/quarantine")->path(),
          where);
    }
    writeFile(path, bytes);
  }
  EXPECT_NE(makeCache().lookup("key").image, nullptr);
}

/// The user hears of it once, with both places; then all is as before.
TEST_F(Cache, ABadEntryIsRebuiltWithOneLine) {
  storeWhole();
  writeFile(entry("key") + "/image", "rubbish");
  KernelCache cache = makeCache();
  EXPECT_EQ(cache.lookup("key").image, nullptr);
  cache.store("key", markedImage("again"));
  const std::string line = warningsOf(cache);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
  EXPECT_EQ(line.find("a cache entry is bad and its kernels are made again: " +
                      entry("key")),
            0u)
      << line;
  EXPECT_NE(line.find("it is now " + versionFolder() + "/quarantine/"),
            std::string::npos)
      << line;
  KernelCache next = makeCache();
  EXPECT_EQ(next.lookup("key").image->specName, "again");
  EXPECT_EQ(warningsOf(next), "");
}

TEST_F(Cache, MissingFilesAreFoundAndRebuilt) {
  for (const char *name : {"key.txt", "meta.json", "image"}) {
    storeWhole();
    fs::remove(entry("key") + "/" + name);
    KernelCache cache = makeCache();
    CacheLookup found = cache.lookup("key");
    EXPECT_EQ(found.reason, MissReason::Corrupt);
    EXPECT_NE(found.detail.find(std::string("/") + name + ": missing"),
              std::string::npos)
        << found.detail;
    cache.store("key", markedImage("again"));
    CacheLookup again = makeCache().lookup("key");
    ASSERT_NE(again.image, nullptr) << again.detail;
    EXPECT_EQ(again.image->specName, "again");
    fs::remove_all(root);
  }
}

TEST_F(Cache, AnEntryOfAnotherKeyIsNotUsed) {
  storeWhole();
  fs::rename(entry("key"), entry("other"));
  KernelCache cache = makeCache();
  CacheLookup found = cache.lookup("other");
  EXPECT_EQ(found.image, nullptr);
  EXPECT_EQ(found.reason, MissReason::KeyMismatch);
  EXPECT_NE(found.detail.find("made for another key"), std::string::npos);
  EXPECT_EQ(cache.counters().quarantined, 1);
}

/// What is whole by its hashes may still be an image that this build refuses.
TEST_F(Cache, AnImageThatIsNoneIsCorrupt) {
  KernelImage image = markedImage("whole");
  image.entries[0].threads = 0; // refused when it is read
  {
    KernelCache cache = makeCache();
    cache.store("key", image);
  }
  CacheLookup found = makeCache().lookup("key");
  EXPECT_EQ(found.reason, MissReason::Corrupt);
  EXPECT_NE(found.detail.find("entries[0].threads"), std::string::npos)
      << found.detail;
}

TEST_F(Cache, AFileInPlaceOfAnEntryGivesWay) {
  fs::create_directories(versionFolder());
  writeFile(entry("key"), "not a folder");
  KernelCache cache = makeCache();
  cache.store("key", markedImage("one"));
  EXPECT_NE(warningsOf(cache).find(": not a folder; it is now "),
            std::string::npos);
  EXPECT_EQ(cache.counters().quarantined, 1);
  EXPECT_NE(makeCache().lookup("key").image, nullptr);
}

TEST_F(Cache, ACorruptEntryInTheWayOfAStoreGivesWay) {
  storeWhole();
  writeFile(entry("key") + "/image", "rubbish");
  KernelCache cache = makeCache();
  cache.store("key", markedImage("fresh"));
  EXPECT_EQ(cache.counters().quarantined, 1);
  EXPECT_EQ(cache.counters().stores, 1);
  EXPECT_EQ(makeCache().lookup("key").image->specName, "fresh");
}

TEST_F(Cache, TheLoserOfARaceAdoptsTheWinnersImage) {
  KernelCache winner = makeCache(), loser = makeCache();
  EXPECT_EQ(winner.lookup("key").image, nullptr);
  EXPECT_EQ(loser.lookup("key").image, nullptr);
  winner.store("key", markedImage("winner"));
  EXPECT_EQ(loser.store("key", markedImage("loser"))->specName, "winner");
  EXPECT_EQ(loser.lookup("key").image->specName, "winner");
  EXPECT_EQ(loser.counters().adopted, 1);
  EXPECT_EQ(loser.counters().stores, 0);
  EXPECT_EQ(count(versionFolder(), ".tmp-"), 0);
}

TEST_F(Cache, AnUnreadableEntryStaysWhereItIs) {
  storeWhole();
  // open() succeeds and read() does not, for root too.
  fs::remove(entry("key") + "/image");
  fs::create_directory(entry("key") + "/image");
  KernelCache cache = makeCache();
  CacheLookup found = cache.lookup("key");
  EXPECT_EQ(found.reason, MissReason::Unreadable);
  EXPECT_NE(found.detail.find(entry("key") + "/image: cannot read: "),
            std::string::npos)
      << found.detail;
  EXPECT_EQ(cache.counters().quarantined, 0);
  EXPECT_TRUE(fs::exists(entry("key")));
  auto image = cache.store("key", markedImage("one"));
  EXPECT_EQ(cache.lookup("key").image, image);
  EXPECT_NE(warningsOf(cache), "");
}

TEST_F(Cache, AFolderThatCannotBeWrittenCostsPersistenceAlone) {
  writeFile(folder + "/file", "in the way");
  for (const std::string &place :
       {folder + "/file", folder + "/file/below", std::string("/dev/null/x"),
        folder + "/" + std::string(300, 'n')}) {
    KernelCache cache({place, "decant"});
    EXPECT_EQ(cache.lookup("key").image, nullptr);
    auto image = cache.store("key", markedImage("one"));
    EXPECT_EQ(cache.lookup("key").image, image);
    std::string warning = warningsOf(cache);
    EXPECT_NE(warning.find(place), std::string::npos) << warning;
    EXPECT_NE(warning.find("in memory only"), std::string::npos) << warning;
    cache.store("other", markedImage("two"));
    EXPECT_EQ(warningsOf(cache), "") << "said twice";
    EXPECT_EQ(cache.counters().stores, 0);
  }
}

TEST_F(Cache, AFullDiskLeavesNothingBehind) {
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{10000, 10000};
    setrlimit(RLIMIT_FSIZE, &limit);
    KernelCache cache = makeCache();
    auto image = cache.store("key", markedImage("big", 1 << 20));
    std::string warning = warningsOf(cache);
    bool right = image->specName == "big" &&
                 cache.lookup("key").image == image &&
                 warning.find("/image: cannot write: File too large") !=
                     std::string::npos;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(count(versionFolder(), ".tmp-"), 0);
  EXPECT_EQ(makeCache().lookup("key").reason, MissReason::Absent);
}

} // namespace
