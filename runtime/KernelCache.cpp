//===- KernelCache.cpp - compiled images, kept ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/KernelCache.h"

#include "DurableFile.h"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <random>
#include <unistd.h>
#define XXH_INLINE_ALL // nothing to link with
#include <xxhash.h>

using namespace decant;
namespace fs = std::filesystem;

namespace {

/// Of the folder's layout; the image inside has a version of its own.
constexpr int kCacheFormat = 1;

std::string hash128(const std::string &bytes) {
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

CacheLookup miss(MissReason reason, std::string detail) {
  return {nullptr, reason, std::move(detail)};
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
  if (!options.root.empty())
    versionFolder = fmt::format("{}/v{}-{}", options.root, kCacheFormat,
                                hash128(options.compiler).substr(0, 16));
}

std::string KernelCache::entryFolder(const std::string &key) const {
  return versionFolder.empty() ? std::string()
                               : versionFolder + "/" + hash128(key);
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
  CacheLookup result =
      versionFolder.empty() ? miss(MissReason::Absent, "") : readEntry(key);
  std::lock_guard<std::mutex> lock(mutex);
  if (!result.image) {
    ++counts.misses;
    return result;
  }
  ++counts.diskHits;
  result.image = memory.emplace(key, result.image).first->second;
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
    std::lock_guard<std::mutex> lock(mutex);
    if (!written.ok() && !warned) {
      warned = true;
      warning = fmt::format("compiled kernels are kept in memory only, since "
                            "the cache folder cannot be written: {}",
                            written.message());
    }
  }
  std::lock_guard<std::mutex> lock(mutex);
  return memory[key] = kept;
}

std::string KernelCache::takeWarning() {
  std::lock_guard<std::mutex> lock(mutex);
  return std::exchange(warning, {});
}

CacheCounters KernelCache::counters() const {
  std::lock_guard<std::mutex> lock(mutex);
  return counts;
}

/// Derived from the other two files alone, so that comparing the whole text
/// leaves no byte of an entry unverified.
std::string KernelCache::metaText(const std::string &key,
                                  const std::string &image) const {
  nlohmann::json meta = {
      {"format", kCacheFormat},      {"compiler", options.compiler},
      {"key_bytes", key.size()},     {"key_xxh128", hash128(key)},
      {"image_bytes", image.size()}, {"image_xxh128", hash128(image)}};
  return meta.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

CacheLookup KernelCache::readEntry(const std::string &key) {
  std::string folder = entryFolder(key);
  std::error_code error;
  fs::file_status found = fs::symlink_status(folder, error);
  if (found.type() == fs::file_type::not_found)
    return miss(MissReason::Absent, "");
  // A file above the entry, say: there is none, and there cannot be one.
  if (error)
    return miss(MissReason::Unreadable, folder + ": " + error.message());
  if (found.type() != fs::file_type::directory) {
    quarantine(folder);
    return miss(MissReason::Corrupt, folder + ": not a folder");
  }

  struct Part {
    const char *name;
    std::string bytes;
  } parts[] = {{"key.txt", {}}, {"image", {}}, {"meta.json", {}}};
  for (Part &part : parts) {
    bool missing = false;
    std::string path = folder + "/" + part.name;
    Expected<std::string> bytes = readWholeFile(path, &missing);
    if (!bytes && !missing)
      return miss(MissReason::Unreadable, bytes.status().message());
    if (!bytes) {
      // Between the check above and here, another reader may have moved it.
      if (fs::symlink_status(folder, error).type() == fs::file_type::not_found)
        return miss(MissReason::Absent, "");
      quarantine(folder);
      return miss(MissReason::Corrupt, path + ": missing");
    }
    part.bytes = bytes.take();
  }
  const std::string &foundKey = parts[0].bytes, &image = parts[1].bytes;
  if (parts[2].bytes != metaText(foundKey, image)) {
    quarantine(folder);
    return miss(MissReason::Corrupt,
                folder + ": key.txt and image are not those that meta.json "
                         "describes");
  }
  if (foundKey != key) {
    quarantine(folder);
    return miss(MissReason::KeyMismatch,
                folder + "/key.txt: the entry was made for another key");
  }
  Expected<KernelImage> loaded = deserialize(image);
  if (!loaded) {
    quarantine(folder);
    return miss(MissReason::Corrupt,
                folder + "/image: " + loaded.status().message());
  }
  return {std::make_shared<const KernelImage>(loaded.take()),
          MissReason::Absent, ""};
}

Status KernelCache::writeEntry(const std::string &key,
                               const std::string &imageBytes,
                               std::shared_ptr<const KernelImage> &kept) {
  auto failure = [](const std::string &path, const std::error_code &error) {
    return Status::failed(path + ": " + error.message());
  };
  std::error_code error;
  fs::create_directories(versionFolder, error);
  if (error)
    return failure(versionFolder, error);
  std::string temporary = versionFolder + "/.tmp-" + uniqueSuffix();
  if (!fs::create_directory(temporary, error) || error)
    return failure(temporary, error);

  std::string folder = entryFolder(key);
  Status status = writeDurably(temporary + "/image", imageBytes);
  if (status.ok())
    status = writeDurably(temporary + "/key.txt", key);
  if (status.ok())
    status = writeDurably(temporary + "/meta.json", metaText(key, imageBytes));
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
    CacheLookup winner = readEntry(key);
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

void KernelCache::quarantine(const std::string &folder) {
  std::string ward = versionFolder + "/quarantine";
  std::error_code error;
  fs::create_directories(ward, error);
  fs::rename(folder,
             fmt::format("{}/{}-{}", ward, fs::path(folder).filename().string(),
                         uniqueSuffix()),
             error);
  if (error)
    return; // read-only, or another process was faster: it is not used anyway
  std::lock_guard<std::mutex> lock(mutex);
  ++counts.quarantined;
}

std::string KernelCache::uniqueSuffix() {
  uint64_t number;
  {
    std::lock_guard<std::mutex> lock(mutex);
    number = serial++;
  }
  // Process ids repeat between hosts and containers that share a folder.
  std::random_device random;
  return fmt::format("{}-{:08x}{:08x}-{}", getpid(), random(), random(),
                     number);
}
