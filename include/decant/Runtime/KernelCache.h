//===- KernelCache.h - compiled images, kept ------------------ -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a key text that says everything the image depends on. Out: the image, or
// the reason why there is none. A map in memory stands above a folder on disk:
//
//   <root>/v<format>-<hash of the compiler's name>/
//     <XXH128 of the key text>/      image, key.txt, meta.json
//     quarantine/                    entries that did not verify
//     .tmp-<pid>-<random>-<n>/       entries that are being written
//
// An entry is written to a folder of its own, synced and renamed into place, so
// a reader sees a whole entry or none, on network file systems too; no lock is
// held. Of several writers of one key the first wins and the others adopt its
// entry. Reading verifies every byte. A folder that cannot be written costs
// persistence, never correctness: the cache goes on in memory and says so once.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_KERNELCACHE_H
#define DECANT_RUNTIME_KERNELCACHE_H

#include "decant/Core/KernelImage.h"

#include <memory>
#include <mutex>
#include <unordered_map>

namespace decant {

enum class MissReason {
  Absent,      // no entry
  KeyMismatch, // the entry was made for another key text
  Corrupt,     // bytes are missing or changed
  Unreadable,  // the file system gives an error
};
const char *toString(MissReason reason);

struct CacheOptions {
  std::string root;     // empty: memory only
  std::string compiler; // name and version of what made the images
};

struct CacheCounters {
  int64_t memoryHits = 0, diskHits = 0, misses = 0;
  int64_t stores = 0;      // entries written
  int64_t adopted = 0;     // races lost to another writer
  int64_t quarantined = 0; // entries moved away
};

struct CacheLookup {
  std::shared_ptr<const KernelImage> image; // null on a miss
  MissReason reason = MissReason::Absent;   // of a miss
  std::string detail; // what was wrong with which file; empty for Absent
};

/// May be used from several threads, and a root from several processes and
/// caches.
class KernelCache {
public:
  explicit KernelCache(CacheOptions options);

  CacheLookup lookup(const std::string &key);
  /// Keeps `image` and returns the image that the key has now: this one, or the
  /// one of a writer who was faster.
  std::shared_ptr<const KernelImage> store(const std::string &key,
                                           KernelImage image);

  /// Why images are not being kept on disk, the first time that it is asked
  /// after that happened; empty otherwise.
  std::string takeWarning();
  CacheCounters counters() const;

  /// The folder of a key's entry, empty without a root.
  std::string entryFolder(const std::string &key) const;

private:
  CacheLookup readEntry(const std::string &key);
  Status writeEntry(const std::string &key, const std::string &imageBytes,
                    std::shared_ptr<const KernelImage> &kept);
  void quarantine(const std::string &folder);
  std::string metaText(const std::string &key, const std::string &image) const;
  std::string uniqueSuffix();

  CacheOptions options;
  std::string versionFolder;

  mutable std::mutex mutex; // of everything below
  std::unordered_map<std::string, std::shared_ptr<const KernelImage>> memory;
  CacheCounters counts;
  std::string warning;
  bool warned = false;
  uint64_t serial = 0;
};

} // namespace decant

#endif // DECANT_RUNTIME_KERNELCACHE_H
