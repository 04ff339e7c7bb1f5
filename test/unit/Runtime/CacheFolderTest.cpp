//===- CacheFolderTest.cpp - entries listed, verified, given up -----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/CacheFolder.h"
#include "CacheFixture.h"

#include <chrono>
#include <csignal>
#include <thread>

using namespace decant;
using namespace decant::test;

namespace {

class Folder : public CacheFixture {
protected:
  CacheFolder openFolder() const { return CacheFolder::open(root).take(); }
  void store(const std::string &key, size_t codeBytes = 1000) const {
    KernelCache cache = makeCache();
    cache.store(key, markedImage(key, codeBytes));
    ASSERT_EQ(warningsOf(cache), "");
  }
  bool has(const std::string &key) const { return fs::exists(entry(key)); }
  /// Moves the time of last use; the past is negative.
  void shift(const std::string &path, std::chrono::hours by) const {
    fs::last_write_time(path, fs::last_write_time(path) + by);
  }
  int64_t bytesOf(const std::string &key) const {
    int64_t bytes = 0;
    for (const auto &file : fs::directory_iterator(entry(key)))
      bytes += int64_t(file.file_size());
    return bytes;
  }
};

using std::chrono::hours;

TEST_F(Folder, ListsEntriesByLastUse) {
  store("target = sm_90a\nwindow.length = 16\nno field\n");
  store("target = x86-64\n", 5000);
  shift(entry("target = x86-64\n"), hours(1));
  std::vector<CacheEntryInfo> entries = openFolder().list();
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].folder, entry("target = x86-64\n"));
  EXPECT_EQ(entries[0].bytes, bytesOf("target = x86-64\n"));
  EXPECT_EQ(entries[0].compiler, kTestCompiler);
  EXPECT_EQ(entries[1].field("target"), "sm_90a");
  EXPECT_EQ(entries[1].field("window.length"), "16");
  EXPECT_EQ(entries[1].field("no field"), "");
  EXPECT_EQ(entries[1].key.size(), 2u);
  EXPECT_NEAR(double(entries[0].lastUse - entries[1].lastUse), 3600, 60);
  const CacheTotals totals = openFolder().totals();
  EXPECT_EQ(totals.entries, 2);
  EXPECT_EQ(totals.bytes, entries[0].bytes + entries[1].bytes);
}

TEST_F(Folder, RefusesWhatIsNoCache) {
  auto refusal = [](const std::string &path) {
    auto opened = CacheFolder::open(path);
    EXPECT_FALSE(opened.ok());
    EXPECT_EQ(opened.status().code(), StatusCode::InvalidInput);
    return opened.status().message();
  };
  EXPECT_EQ(refusal(folder + "/none"),
            "cache folder " + folder +
                "/none: not there; it is made when the first kernels are kept");
  writeFile(folder + "/file", "text");
  EXPECT_EQ(refusal(folder + "/file"),
            "cache folder " + folder + "/file: not a folder");
  EXPECT_EQ(refusal(folder).find("cache folder " + folder +
                                 ": not a cache: it holds file and no folder "
                                 "named v"),
            0u);
  fs::create_directory(folder + "/empty");
  EXPECT_TRUE(CacheFolder::open(folder + "/empty").ok());
  store("key");
  writeFile(root + "/notes", "of a person");
  EXPECT_TRUE(CacheFolder::open(root).ok());
}

TEST_F(Folder, VerifyReadsEveryByte) {
  store("good");
  store("changed");
  store("moved");
  store("short");
  EXPECT_TRUE(openFolder().verify(kTestCompiler, BadEntries::Report)->empty());
  std::string image = readFile(entry("changed") + "/image");
  image[image.size() / 2] ^= 1;
  writeFile(entry("changed") + "/image", image);
  fs::rename(entry("moved"), entry("elsewhere"));
  fs::remove(entry("short") + "/meta.json");

  auto problems = openFolder().verify(kTestCompiler, BadEntries::Report).take();
  ASSERT_EQ(problems.size(), 3u);
  for (const CacheProblem &problem : problems) {
    EXPECT_EQ(problem.movedTo, "");
    const char *what = problem.folder == entry("changed")
                           ? "not those that meta.json describes"
                       : problem.folder == entry("elsewhere")
                           ? "not where its key and compiler belong"
                           : "meta.json: missing";
    EXPECT_NE(problem.what.find(what), std::string::npos)
        << problem.folder << ": " << problem.what;
  }
  problems = openFolder().verify(kTestCompiler, BadEntries::Quarantine).take();
  ASSERT_EQ(problems.size(), 3u);
  for (const CacheProblem &problem : problems) {
    EXPECT_TRUE(fs::exists(problem.movedTo));
    EXPECT_FALSE(fs::exists(problem.folder));
  }
  EXPECT_TRUE(openFolder().verify(kTestCompiler, BadEntries::Report)->empty());
  EXPECT_EQ(openFolder().totals().quarantined, 3);
  EXPECT_EQ(openFolder().totals().entries, 1);
}

/// Whole by its hashes, and refused when it is read: a matter of this compiler
/// alone, since another's images may be of another version.
TEST_F(Folder, VerifyReadsImagesOfThisCompilerOnly) {
  KernelImage image = markedImage("odd");
  image.entries[0].threads = 0;
  makeCache().store("key", image);
  auto mine = openFolder().verify(kTestCompiler, BadEntries::Report).take();
  ASSERT_EQ(mine.size(), 1u);
  EXPECT_NE(mine[0].what.find("entries[0].threads"), std::string::npos);
  EXPECT_TRUE(openFolder().verify("another", BadEntries::Report)->empty());
}

TEST_F(Folder, GivesUpWhatWasUnusedForLongest) {
  for (const char *key : {"a", "b", "c"})
    store(key);
  shift(entry("a"), hours(-3));
  shift(entry("b"), hours(-2));
  shift(entry("c"), hours(-1));
  const int64_t one = bytesOf("a");
  EXPECT_EQ(openFolder().collect(3 * one)->entries, 0);
  // Reading is use.
  EXPECT_NE(makeCache().lookup("a").image, nullptr);
  CacheRemoval removed = openFolder().collect(3 * one - 1).take();
  EXPECT_EQ(removed.entries, 1);
  EXPECT_EQ(removed.bytes, one);
  EXPECT_TRUE(has("a") && !has("b") && has("c"));
  // The last one stays, however little is allowed.
  EXPECT_EQ(openFolder().collect(0)->entries, 1);
  EXPECT_TRUE(has("a") && !has("c"));
  EXPECT_EQ(openFolder().collect(0)->entries, 0);
  EXPECT_EQ(count(root, ".gc-"), 0);
}

TEST_F(Folder, ACacheKeepsToItsLimit) {
  store("probe");
  const int64_t one = bytesOf("probe");
  CacheOptions small = options();
  small.maxBytes = 3 * one;
  KernelCache cache(small);
  for (char key = 'a'; key <= 'j'; ++key) {
    cache.store(std::string(1, key), markedImage(std::string(5, key), 1000));
    EXPECT_LE(openFolder().totals().bytes, small.maxBytes + 100);
    EXPECT_TRUE(has(std::string(1, key))) << "the newest stays";
  }
  EXPECT_EQ(openFolder().totals().entries, 3);
  EXPECT_EQ(cache.counters().evicted, 8);
  EXPECT_EQ(warningsOf(cache), "");
  EXPECT_NE(cache.lookup("a").image, nullptr) << "memory still has it";
}

/// Times only order what goes first.
TEST_F(Folder, AClockOfAnotherDayChangesNothingElse) {
  store("a");
  store("b");
  for (int days : {1, -1, 400, -400}) {
    for (const char *key : {"a", "b"}) {
      shift(entry(key), hours(24 * days));
      for (const char *file : {"image", "key.txt", "meta.json"})
        shift(entry(key) + "/" + file, hours(24 * days));
    }
    KernelCache cache = makeCache();
    EXPECT_NE(cache.lookup("a").image, nullptr) << days;
    EXPECT_NE(cache.lookup("b").image, nullptr) << days;
    EXPECT_EQ(warningsOf(cache), "");
    EXPECT_EQ(openFolder().collect(1 << 20)->entries, 0) << days;
  }
}

TEST_F(Folder, BadEntriesGoBeforeGoodOnes) {
  store("good");
  store("bad");
  writeFile(entry("bad") + "/image", "rubbish");
  makeCache().lookup("bad");
  shift(entry("good"), hours(-24));
  EXPECT_EQ(openFolder().totals().quarantined, 1);
  CacheRemoval removed = openFolder().collect(bytesOf("good")).take();
  EXPECT_EQ(removed.quarantined, 1);
  EXPECT_EQ(removed.entries, 0);
  EXPECT_TRUE(has("good"));
}

TEST_F(Folder, WhatDeadWritersLeftGoesAfterTenMinutes) {
  store("key");
  const std::string left = versionFolder() + "/.tmp-1-2";
  fs::create_directory(left);
  writeFile(left + "/image", "half an im");
  writeFile(versionFolder() + "/.lock-" + std::string(32, '0'), "");
  fs::create_directories(root + "/.gc-1-2/0");
  EXPECT_EQ(openFolder().collect(1 << 20)->leftovers, 0) << "it may live";
  EXPECT_EQ(openFolder().totals().leftovers, 3);
  for (const std::string &path :
       {left, versionFolder() + "/.lock-" + std::string(32, '0'),
        root + "/.gc-1-2"})
    shift(path, hours(-1));
  CacheRemoval removed = openFolder().collect(1 << 20).take();
  EXPECT_EQ(removed.leftovers, 3);
  EXPECT_EQ(removed.entries, 0);
  EXPECT_EQ(openFolder().totals().leftovers, 0);
  EXPECT_TRUE(has("key"));
}

TEST_F(Folder, ClearRemovesWhatCachesMadeAndNothingElse) {
  store("key");
  store("bad");
  writeFile(entry("bad") + "/image", "rubbish");
  makeCache().lookup("bad");
  KernelCache({root, "another compiler"}).store("key", markedImage("x"));
  fs::create_directory(versionFolder() + "/.tmp-1-2");
  writeFile(root + "/notes", "of a person");
  CacheRemoval removed = openFolder().clear().take();
  EXPECT_EQ(removed.entries, 2);
  EXPECT_EQ(removed.quarantined, 1);
  EXPECT_EQ(removed.leftovers, 1);
  EXPECT_EQ(readFile(root + "/notes"), "of a person");
  fs::remove(root + "/notes");
  EXPECT_TRUE(fs::is_empty(root));
  store("key"); // and all begins anew
  EXPECT_TRUE(has("key"));
}

/// Readers and writers beside a collector that always removes something see
/// whole entries or none.
TEST_F(Folder, CollectingIsSafeBesideReadersAndWriters) {
  store("0");
  const int64_t one = bytesOf("0");
  // As long as it takes to meet each other on a busy machine, within reason.
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const auto least = std::chrono::milliseconds(rounds(700, 20000));
  auto goesOn = [&](bool met) {
    const auto taken = Clock::now() - begin;
    return taken < least || (!met && taken < std::chrono::minutes(1));
  };
  auto worker = [&](int seed) -> std::string {
    int hits = 0, misses = 0;
    for (int i = seed; goesOn(hits > 0 && misses > 0); ++i) {
      KernelCache cache = makeCache();
      const std::string key = std::to_string(i % 6);
      CacheLookup found = cache.lookup(key);
      ++(found.image ? hits : misses);
      if (!found.image && found.reason != MissReason::Absent)
        return found.detail;
      auto image =
          found.image ? found.image : cache.store(key, markedImage(key, 1000));
      if (image->specName != key)
        return "another key's image";
      if (std::string text = warningsOf(cache); !text.empty())
        return text;
    }
    return hits > 0 && misses > 0 ? "" : "nothing met";
  };
  auto collector = [&]() -> std::string {
    int64_t removed = 0;
    while (goesOn(removed > 0)) {
      auto done = CacheFolder::open(root)->collect(3 * one);
      if (!done)
        return done.status().message();
      removed += done->entries;
    }
    return removed > 0 ? "" : "nothing removed";
  };
  std::vector<ChildProcess> children;
  for (int i = 0; i < 2; ++i)
    children.emplace_back([&, i] { return worker(3 * i); });
  children.emplace_back(collector);
  children.emplace_back(collector);
  for (ChildProcess &child : children)
    EXPECT_EQ(child.wait(), "");
  EXPECT_EQ(openFolder().totals().quarantined, 0);
}

TEST(ByteCount, Units) {
  EXPECT_EQ(*parseByteCount("--max-bytes", "0"), 0);
  EXPECT_EQ(*parseByteCount("--max-bytes", "1048576"), 1048576);
  EXPECT_EQ(*parseByteCount("--max-bytes", "3K"), 3072);
  EXPECT_EQ(*parseByteCount("--max-bytes", "512M"), int64_t(512) << 20);
  EXPECT_EQ(*parseByteCount("--max-bytes", "2G"), int64_t(2) << 30);
  EXPECT_EQ(*parseByteCount("--max-bytes", "1T"), int64_t(1) << 40);
  for (const char *text : {"", "-1", "M", "1MB", "1 M", "1.5G", "9000000T",
                           "99999999999999999999"}) {
    auto count = parseByteCount("--max-bytes", text);
    ASSERT_FALSE(count.ok()) << text;
    EXPECT_EQ(count.status().message(),
              "--max-bytes: found \"" + std::string(text) +
                  "\"; allowed: a number of bytes from 0, also with K, M, G or "
                  "T behind it for powers of 1024 (512M)");
  }
}

} // namespace
