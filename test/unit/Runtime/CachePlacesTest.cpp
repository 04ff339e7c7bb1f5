//===- CachePlacesTest.cpp - layers, hosts and disks ----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tests that mount something run in a process with mounts of its own; where the
// system allows none, they say so and are skipped.
//
//===----------------------------------------------------------------------===//

#include "CacheFixture.h"
#include "decant/Runtime/CacheFolder.h"

#include <cstdarg>
#include <fcntl.h>
#include <sys/syscall.h>

using namespace decant;
using namespace decant::test;

/// How often opening an entry's image fails as it does on a network file system
/// when another host has replaced the file.
static int staleOpens = 0;

/// Stands before the C library's.
extern "C" int openat(int folder, const char *name, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
  va_end(rest);
  if (staleOpens > 0 && std::strcmp(name, "image") == 0) {
    --staleOpens;
    errno = ESTALE;
    return -1;
  }
  return int(syscall(SYS_openat, folder, name, flags, mode));
}

namespace {

constexpr char kNoMounts[] = "no mounts of one's own: ";

class Places : public CacheFixture {
protected:
  /// A root with one entry of `key`.
  std::string filledRoot(const std::string &name, const std::string &key,
                         const std::string &mark) const {
    const std::string place = folder + "/" + name;
    KernelCache({place, kTestCompiler}).store(key, markedImage(mark));
    return place;
  }
  /// Runs `work` as another host would; skips the test where that cannot be.
  static void onOtherHost(const std::function<std::string()> &work) {
    const std::string wrong = ChildProcess([&] {
                                const std::string why = leaveHost("other");
                                return why.empty() ? work() : kNoMounts + why;
                              }).wait();
    if (wrong.rfind(kNoMounts, 0) == 0)
      GTEST_SKIP() << wrong;
    EXPECT_EQ(wrong, "");
  }
  static std::string mounted(const char *what, const std::string &source,
                             const std::string &place, const char *type,
                             unsigned long flags, const char *data = nullptr) {
    return mount(source.c_str(), place.c_str(), type, flags, data) == 0
               ? ""
               : std::string(what) + ": " + std::strerror(errno);
  }
};

TEST_F(Places, LayersAreLookedIntoInOrder) {
  const std::string site = filledRoot("site", "a", "site a");
  filledRoot("site", "b", "site b");
  const std::string bundled = filledRoot("bundled", "a", "bundled a");
  filledRoot("bundled", "c", "bundled c");
  CacheOptions layered = options();
  layered.layers = {site, folder + "/none", bundled};
  KernelCache cache(layered);
  EXPECT_EQ(cache.lookup("a").image->specName, "site a");
  EXPECT_EQ(cache.lookup("b").image->specName, "site b");
  EXPECT_EQ(cache.lookup("c").image->specName, "bundled c");
  EXPECT_EQ(cache.lookup("d").reason, MissReason::Absent);
  EXPECT_EQ(cache.counters().layerHits, 3);
  EXPECT_EQ(cache.counters().diskHits, 3);
  EXPECT_EQ(cache.counters().misses, 1);
  EXPECT_FALSE(fs::exists(root)) << "nothing is copied";

  makeCache().store("a", markedImage("own a"));
  KernelCache next(layered);
  EXPECT_EQ(next.lookup("a").image->specName, "own a");
  EXPECT_EQ(next.counters().layerHits, 0);
  next.store("d", markedImage("own d"));
  EXPECT_TRUE(fs::exists(entry("d")));
  EXPECT_EQ(warningsOf(next), "");
  // Without a folder of one's own.
  layered.root = "";
  EXPECT_EQ(KernelCache(layered).lookup("a").image->specName, "site a");
}

TEST_F(Places, ABadLayerIsPassedOverAndLeftAlone) {
  const std::string site = filledRoot("site", "key", "site");
  const std::string bundled = filledRoot("bundled", "key", "bundled");
  CacheOptions layered = options();
  layered.layers = {site, bundled};
  const std::string bad = KernelCache({site, kTestCompiler}).entryFolder("key");
  writeFile(bad + "/image", "rubbish");
  KernelCache cache(layered);
  EXPECT_EQ(cache.lookup("key").image->specName, "bundled");
  EXPECT_EQ(warningsOf(cache).find("a cache layer has a bad entry, which is "
                                   "passed over: " +
                                   bad),
            0u);
  EXPECT_EQ(cache.counters().quarantined, 0);
  EXPECT_TRUE(fs::exists(bad));
  layered.layers.pop_back();
  EXPECT_EQ(KernelCache(layered).lookup("key").reason, MissReason::Corrupt);
}

TEST_F(Places, TwoHostsShareOneFolder) {
  fs::create_directory(root);
  // Each host sees the folder at a place of its own, by a mount of its own.
  auto host = [&](const std::string &name) -> std::string {
    const std::string place = folder + "/" + name;
    fs::create_directory(place);
    if (std::string why = leaveHost(name); !why.empty())
      return kNoMounts + why;
    if (std::string why = mounted("bind", root, place, nullptr, MS_BIND);
        !why.empty())
      return kNoMounts + why;
    for (int i = 0; i < rounds(40, 2000); ++i) {
      KernelCache cache({place, kTestCompiler});
      const std::string key = std::to_string(i);
      CacheLookup found = cache.lookup(key);
      if (!found.image && found.reason != MissReason::Absent)
        return found.detail;
      auto image =
          found.image ? found.image : cache.store(key, markedImage(name, 5000));
      const std::string made = image->specName;
      if (made != "red" && made != "blue")
        return "made by " + made;
      // Whoever won, both now say the same.
      CacheLookup again = KernelCache({place, kTestCompiler}).lookup(key);
      if (!again.image || again.image->specName != made)
        return key + " changed";
      if (std::string text = warningsOf(cache); !text.empty())
        return text;
    }
    return "";
  };
  ChildProcess red([&] { return host("red"); });
  ChildProcess blue([&] { return host("blue"); });
  const std::string first = red.wait(), second = blue.wait();
  if (first.rfind(kNoMounts, 0) == 0)
    GTEST_SKIP() << first;
  EXPECT_EQ(first, "");
  EXPECT_EQ(second, "");
  const CacheTotals totals = CacheFolder::open(root)->totals();
  EXPECT_EQ(totals.entries, rounds(40, 2000));
  EXPECT_EQ(totals.quarantined + totals.leftovers, 0);
}

TEST_F(Places, AStaleFileIsLookedUpAgain) {
  makeCache().store("key", markedImage("kept"));
  staleOpens = 1;
  EXPECT_NE(makeCache().lookup("key").image, nullptr);
  EXPECT_EQ(staleOpens, 0);
  staleOpens = 2;
  CacheLookup found = makeCache().lookup("key");
  EXPECT_EQ(found.reason, MissReason::Unreadable);
  EXPECT_NE(found.detail.find("Stale file handle"), std::string::npos)
      << found.detail;
  EXPECT_TRUE(fs::exists(entry("key"))) << "it is not a bad one";
}

TEST_F(Places, AReadOnlyFolderIsRead) {
  makeCache().store("key", markedImage("kept"));
  makeCache().store("bad", markedImage("bad"));
  writeFile(entry("bad") + "/image", "rubbish");
  onOtherHost([&]() -> std::string {
    for (unsigned long flags : {0ul, (unsigned long)MS_REMOUNT | MS_RDONLY})
      if (std::string why =
              mounted("bind", root, root, nullptr, MS_BIND | flags);
          !why.empty())
        return kNoMounts + why;
    CacheOptions capped = options();
    capped.maxBytes = 1;
    KernelCache cache(capped);
    if (!cache.lookup("key").image)
      return "not found";
    if (cache.lookup("bad").image)
      return "the bad one found";
    const std::string first = warningsOf(cache);
    if (first.find("it stays, since") == std::string::npos ||
        first.find("Read-only file system") == std::string::npos)
      return "of the bad one: " + first;
    {
      const CacheClaim claim = cache.claim("new");
    }
    auto image = cache.store("new", markedImage("new"));
    if (cache.lookup("new").image != image)
      return "not kept in memory";
    const std::string second = warningsOf(cache);
    if (second.find("in memory only") == std::string::npos ||
        second.find("Read-only file system") == std::string::npos)
      return "of the store: " + second;
    cache.store("newer", markedImage("newer"));
    if (std::string third = warningsOf(cache); !third.empty())
      return "said twice: " + third;
    auto removed = CacheFolder::open(root)->collect(0);
    if (removed || removed.status().message() !=
                       "cache folder " + root +
                           ": cannot be written: Read-only file system")
      return "collected";
    if (CacheFolder::open(root)->list().size() != 2)
      return "not listed";
    return "";
  });
}

TEST_F(Places, AFullDiskCostsPersistenceAlone) {
  fs::create_directory(root);
  onOtherHost([&]() -> std::string {
    if (std::string why =
            mounted("tmpfs", "none", root, "tmpfs", 0, "size=256k");
        !why.empty())
      return kNoMounts + why;
    KernelCache cache = makeCache();
    cache.store("small", markedImage("small", 20000));
    auto image = cache.store("big", markedImage("big", 1 << 20));
    const std::string text = warningsOf(cache);
    if (text.find("No space left on device") == std::string::npos)
      return "no warning: " + text;
    if (cache.lookup("big").image != image || image->specName != "big")
      return "not in memory";
    const CacheTotals totals = CacheFolder::open(root)->totals();
    if (totals.entries != 1 || totals.leftovers != 0)
      return "something is left";
    if (!makeCache().lookup("small").image)
      return "what was there is gone";
    // With a limit below the disk's there is always room again.
    CacheOptions capped = options();
    capped.maxBytes = 100000;
    for (int i = 0; i < 20; ++i) {
      KernelCache next(capped);
      next.store(std::to_string(i), markedImage("one", 20000));
      if (std::string wrong = warningsOf(next); !wrong.empty())
        return wrong;
    }
    return "";
  });
}

} // namespace
