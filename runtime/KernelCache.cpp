//===- KernelCache.cpp - compiled images, kept ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/KernelCache.h"

#include "CacheEntry.h"
#include "decant/Runtime/CacheFolder.h"

#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>

using namespace decant;
namespace fs = std::filesystem;

namespace {

CacheLookup miss(MissReason reason, std::string detail) {
  return {nullptr, reason, std::move(detail)};
}

/// Sets the time of last use. Whoever may not do that leaves the order of what
/// goes first a little less true.
void touch(const std::string &folder) {
  utimensat(AT_FDCWD, folder.c_str(), nullptr, 0);
}

/// The image in an entry's files, or what is wrong with them.
CacheLookup checkFiles(const cache::Files &files, const std::string &key,
                       const std::string &compiler, const std::string &folder) {
  if (files.meta != cache::metaText(compiler, files.key, files.image))
    return miss(MissReason::Corrupt,
                folder + ": key.txt and image are not those that meta.json "
                         "describes");
  if (files.key != key)
    return miss(MissReason::KeyMismatch,
                folder + "/key.txt: the entry was made for another key");
  Expected<KernelImage> loaded = deserialize(files.image);
  if (!loaded)
    return miss(MissReason::Corrupt,
                folder + "/image: " + loaded.status().message());
  return {std::make_shared<const KernelImage>(loaded.take()),
          MissReason::Absent, ""};
}

} // namespace

const char *decant::toString(MissReason reason) {
  switch (reason) {
  case MissReason::Absent:
    return "absent";
  case MissReason::KeyMismatch:
    return "key mismatch";
  case MissReason::Corrupt:
    return "corrupt";
  case MissReason::Unreadable:
    return "unreadable";
  }
  return "unknown";
}

KernelCache::KernelCache(CacheOptions given) : options(std::move(given)) {
  const std::string name = cache::versionFolderName(options.compiler);
  if (!options.root.empty())
    versionFolder = options.root + "/" + name;
  for (const std::string &layer : options.layers)
    layerFolders.push_back(layer + "/" + name);
}

std::string KernelCache::entryFolder(const std::string &key) const {
  return versionFolder.empty() ? std::string()
                               : versionFolder + "/" + cache::entryName(key);
}

CacheLookup KernelCache::lookup(const std::string &key) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = memory.find(key);
    if (found != memory.end()) {
      ++counts.memoryHits;
      return {found->second, MissReason::Absent, ""};
    }
  }
  CacheLookup result = readDisk(key);
  std::lock_guard<std::mutex> lock(mutex);
  if (!result.image) {
    ++counts.misses;
    return result;
  }
  ++counts.diskHits;
  result.image = memory.emplace(key, result.image).first->second;
  return result;
}

/// The first entry that is good; without one, what was wrong with the first
/// that is there.
CacheLookup KernelCache::readDisk(const std::string &key) {
  CacheLookup result = miss(MissReason::Absent, "");
  if (!versionFolder.empty()) {
    const std::string folder = entryFolder(key);
    result = readEntry(key, folder, Access::ReadWrite);
    if (result.image) {
      touch(folder);
      return result;
    }
  }
  for (const std::string &layer : layerFolders) {
    CacheLookup below =
        readEntry(key, layer + "/" + cache::entryName(key), Access::ReadOnly);
    if (below.image) {
      std::lock_guard<std::mutex> lock(mutex);
      ++counts.layerHits;
      return below;
    }
    if (result.reason == MissReason::Absent)
      result = std::move(below);
  }
  return result;
}

CacheLookup KernelCache::readEntry(const std::string &key,
                                   const std::string &folder, Access access) {
  const cache::Reading reading = cache::readFiles(folder);
  CacheLookup result =
      reading.miss ? miss(*reading.miss, reading.detail)
                   : checkFiles(reading.files, key, options.compiler, folder);
  const bool bad = result.reason == MissReason::Corrupt ||
                   result.reason == MissReason::KeyMismatch;
  if (result.image || !bad)
    return result;
  if (access == Access::ReadOnly) {
    warn("a cache layer has a bad entry, which is passed over: " +
         result.detail);
    return result;
  }
  const Expected<std::string> place = cache::moveToQuarantine(
      folder, reading.folder ? &*reading.folder : nullptr);
  if (!place) {
    warn(fmt::format("a cache entry is bad and its kernels are made again: "
                     "{}; it stays, since {}",
                     result.detail, place.status().message()));
  } else if (!place->empty()) {
    warn(fmt::format("a cache entry is bad and its kernels are made again: "
                     "{}; it is now {}",
                     result.detail, *place));
    std::lock_guard<std::mutex> lock(mutex);
    ++counts.quarantined;
  }
  return result;
}

std::shared_ptr<const KernelImage> KernelCache::store(const std::string &key,
                                                      KernelImage image) {
  std::string bytes;
  if (!versionFolder.empty())
    bytes = serialize(image);
  auto kept = std::make_shared<const KernelImage>(std::move(image));
  if (!versionFolder.empty()) {
    Status written = writeEntry(key, bytes, kept);
    std::unique_lock<std::mutex> lock(mutex);
    if (!written.ok() && !std::exchange(saidUnwritable, true))
      warnings.push_back(
          fmt::format("compiled kernels are kept in memory only, since the "
                      "cache folder cannot be written: {}",
                      written.message()));
    lock.unlock();
    if (written.ok() && options.maxBytes > 0)
      makeRoom();
  }
  std::lock_guard<std::mutex> lock(mutex);
  return memory[key] = kept;
}

/// Failures are for `decant cache gc` to report: they cost disk space alone.
void KernelCache::makeRoom() {
  Expected<CacheFolder> folder = CacheFolder::open(options.root);
  if (!folder)
    return;
  Expected<CacheRemoval> removed = folder->collect(options.maxBytes);
  if (!removed)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  counts.evicted += removed->entries;
}

void KernelCache::warn(std::string line) {
  std::lock_guard<std::mutex> lock(mutex);
  warnings.push_back(std::move(line));
}

std::vector<std::string> KernelCache::takeWarnings() {
  std::lock_guard<std::mutex> lock(mutex);
  return std::exchange(warnings, {});
}

CacheCounters KernelCache::counters() const {
  std::lock_guard<std::mutex> lock(mutex);
  return counts;
}

Status KernelCache::writeEntry(const std::string &key,
                               const std::string &imageBytes,
                               std::shared_ptr<const KernelImage> &kept) {
  auto failure = [](const std::string &path, const std::error_code &error) {
    return Status::failed(path + ": " + error.message());
  };
  std::error_code error;
  const std::string temporary =
      versionFolder + "/" + cache::kTemporary + cache::uniqueSuffix();
  // Twice, since another process may just have removed an empty folder.
  for (int attempt = 0; attempt < 2; ++attempt) {
    fs::create_directories(versionFolder, error);
    if (error)
      return failure(versionFolder, error);
    if (fs::create_directory(temporary, error))
      break;
  }
  if (error)
    return failure(temporary, error);

  std::string folder = entryFolder(key);
  struct Part {
    const char *name;
    std::string bytes;
  };
  Status status;
  for (const Part &part :
       {Part{cache::kImageFile, imageBytes}, Part{cache::kKeyFile, key},
        Part{cache::kMetaFile,
             cache::metaText(options.compiler, key, imageBytes)}})
    if (status.ok())
      status = writeDurably(temporary + "/" + part.name, part.bytes);
  if (status.ok())
    status = syncFolder(temporary);

  // The second round is for an entry that stood in the way and was bad: reading
  // it has moved it aside.
  for (int round = 0; status.ok() && round < 2; ++round) {
    fs::rename(temporary, folder, error);
    if (!error) {
      std::lock_guard<std::mutex> lock(mutex);
      ++counts.stores;
      return syncFolder(versionFolder);
    }
    CacheLookup winner = readEntry(key, folder, Access::ReadWrite);
    if (winner.image) {
      std::error_code ignored;
      fs::remove_all(temporary, ignored);
      std::lock_guard<std::mutex> lock(mutex);
      ++counts.adopted;
      kept = winner.image;
      return {};
    }
  }
  if (status.ok())
    status = failure(folder, error);
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  return status;
}
