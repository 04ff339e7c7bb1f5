//===- KernelCache.h - compiled images, kept ------------------ -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a key text that says everything the image depends on. Out: the image, or
// the reason why there is none. A map in memory stands above a folder on disk,
// and below that folder, layers that others have filled and that are only read:
//
//   <root>/v<format>-<hash of the compiler's name>/
//     <XXH128 of the key text>/      image, key.txt, meta.json
//     quarantine/                    entries that did not verify
//     .tmp-<pid>-<random>/           entries that are being written
//     .lock-<XXH128 of the key>      held while an image is being made
//
// An entry is written to a folder of its own, synced and renamed into place, so
// a reader sees a whole entry or none, on network file systems too. Of several
// writers of one key the first wins and the others adopt its entry. Reading
// verifies every byte. A folder that cannot be written costs persistence, never
// correctness: the cache goes on in memory and says so once.
//
// Renames alone keep entries right. A lock only keeps processes from making the
// same image at once; it goes with its process, and where it does not work the
// image is made twice.
//
// The time of an entry's last use is its folder's modification time, set when
// it is read. It says what a full cache gives up first and nothing else: a
// wrong clock, or a file system that does not keep it, changes that order, not
// what is found.
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
  /// Roots that are looked into after `root`, in this order, and never written:
  /// a site's, say, and one that came with an installation.
  std::vector<std::string> layers = {};
  /// When root's files hold more than this, those unused for longest go; 0 is
  /// no limit.
  int64_t maxBytes = 0;
  /// The longest wait for another process that makes an image.
  int claimMs = 120000;
};

struct CacheCounters {
  int64_t memoryHits = 0, diskHits = 0, misses = 0;
  int64_t layerHits = 0;   // of diskHits, those in a layer
  int64_t stores = 0;      // entries written
  int64_t adopted = 0;     // races lost to another writer
  int64_t quarantined = 0; // entries moved away
  int64_t evicted = 0;     // entries given up for others
};

struct CacheLookup {
  std::shared_ptr<const KernelImage> image; // null on a miss
  MissReason reason = MissReason::Absent;   // of a miss
  std::string detail; // what was wrong with which file; empty for Absent
};

/// Held by the one who makes a key's image; ends with its owner's life, or with
/// its process.
class CacheClaim {
public:
  CacheClaim() = default;
  CacheClaim(CacheClaim &&other) noexcept { swap(other); }
  CacheClaim &operator=(CacheClaim &&other) noexcept {
    swap(other);
    return *this;
  }
  ~CacheClaim();

  /// Whether an entry appeared while this was waited for: look again.
  bool lookAgain = false;

private:
  friend class KernelCache;
  void swap(CacheClaim &other) noexcept;

  int file = -1; // locked, or -1: everyone may make the image
  std::string path;
};

/// May be used from several threads, and a root from several processes and
/// caches.
class KernelCache {
public:
  explicit KernelCache(CacheOptions options);

  CacheLookup lookup(const std::string &key);
  /// After a miss, before making the image: waits until no other process makes
  /// it. Nothing depends on it but work that is not done twice.
  CacheClaim claim(const std::string &key);
  /// Keeps `image` and returns the image that the key has now: this one, or the
  /// one of a writer who was faster.
  std::shared_ptr<const KernelImage> store(const std::string &key,
                                           KernelImage image);

  /// What has happened since it was last asked that a user should know, one
  /// line each: why images are not kept on disk (once), and each bad entry.
  std::vector<std::string> takeWarnings();
  CacheCounters counters() const;

  /// The folder of a key's entry, empty without a root.
  std::string entryFolder(const std::string &key) const;

private:
  /// A root or a layer.
  enum class Access { ReadWrite, ReadOnly };
  CacheLookup readEntry(const std::string &key, const std::string &folder,
                        Access access);
  CacheLookup readDisk(const std::string &key);
  Status writeEntry(const std::string &key, const std::string &imageBytes,
                    std::shared_ptr<const KernelImage> &kept);
  void warn(std::string line);
  void makeRoom();

  CacheOptions options;
  std::string versionFolder;
  std::vector<std::string> layerFolders;

  mutable std::mutex mutex; // of everything below
  std::unordered_map<std::string, std::shared_ptr<const KernelImage>> memory;
  CacheCounters counts;
  std::vector<std::string> warnings;
  bool saidUnwritable = false;
};

} // namespace decant

#endif // DECANT_RUNTIME_KERNELCACHE_H
