//===- CacheEntry.cpp - one entry of a kernel cache -----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheEntry.h"

#include <algorithm>
#include <cerrno>
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
constexpr size_t kHashDigits = 32, kCompilerDigits = 16;

bool isHex(const std::string &text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isdigit(c) || (c >= 'a' && c <= 'f');
  });
}

/// A network file system's word for a file that is no longer the one it was.
bool isStale(int error) { return error == ESTALE; }

cache::Reading miss(MissReason reason, std::string detail) {
  cache::Reading reading;
  reading.miss = reason;
  reading.detail = std::move(detail);
  return reading;
}

cache::Reading readOnce(const std::string &folder, int &found) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(folder, error);
  if (status.type() == fs::file_type::not_found)
    return miss(MissReason::Absent, "");
  // A file above the entry, say: there is none, and there cannot be one.
  if (error)
    return miss(MissReason::Unreadable, folder + ": " + error.message());
  if (status.type() != fs::file_type::directory)
    return miss(MissReason::Corrupt, folder + ": not a folder");

  Expected<OpenFolder> opened = OpenFolder::open(folder, found);
  if (!opened)
    return found == ENOENT
               ? miss(MissReason::Absent, "")
               : miss(MissReason::Unreadable, opened.status().message());
  cache::Reading reading;
  reading.folder = opened.take();
  struct Part {
    const char *name;
    std::string cache::Files::*bytes;
  };
  for (Part part : {Part{cache::kKeyFile, &cache::Files::key},
                    Part{cache::kImageFile, &cache::Files::image},
                    Part{cache::kMetaFile, &cache::Files::meta}}) {
    Expected<std::string> bytes = reading.folder->read(part.name, found);
    if (bytes) {
      reading.files.*part.bytes = bytes.take();
      continue;
    }
    // Whoever moved it away since is done with it.
    reading.miss = !reading.folder->isAt(folder) ? MissReason::Absent
                   : found == ENOENT             ? MissReason::Corrupt
                                                 : MissReason::Unreadable;
    if (reading.miss == MissReason::Corrupt)
      reading.detail = folder + "/" + part.name + ": missing";
    else if (reading.miss == MissReason::Unreadable)
      reading.detail = bytes.status().message();
    return reading;
  }
  return reading;
}

} // namespace

std::string cache::hash128(const std::string &bytes) {
  XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string cache::versionFolderName(const std::string &compiler) {
  return fmt::format("v{}-{}", kCacheFormat,
                     hash128(compiler).substr(0, kCompilerDigits));
}

bool cache::isVersionFolderName(const std::string &name) {
  const size_t dash = name.find('-');
  return dash != std::string::npos && dash > 1 && name[0] == 'v' &&
         name.find_first_not_of("0123456789", 1) == dash &&
         name.size() == dash + 1 + kCompilerDigits &&
         isHex(name.substr(dash + 1));
}

std::string cache::entryName(const std::string &key) { return hash128(key); }

bool cache::isEntryName(const std::string &name) {
  return name.size() == kHashDigits && isHex(name);
}

std::string cache::uniqueSuffix() {
  std::random_device random;
  return fmt::format("{}-{:08x}{:08x}{:08x}", getpid(), random(), random(),
                     random());
}

std::string cache::metaText(const std::string &compiler, const std::string &key,
                            const std::string &image) {
  nlohmann::json meta = {
      {"format", kCacheFormat},      {"compiler", compiler},
      {"key_bytes", key.size()},     {"key_xxh128", hash128(key)},
      {"image_bytes", image.size()}, {"image_xxh128", hash128(image)}};
  return meta.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

cache::Reading cache::readFiles(const std::string &folder) {
  int found = 0;
  Reading reading = readOnce(folder, found);
  // The path is looked up afresh, and leads to what took its place.
  if (reading.miss == MissReason::Unreadable && isStale(found))
    reading = readOnce(folder, found);
  return reading;
}

Expected<std::string> cache::moveToQuarantine(const std::string &folder,
                                              const OpenFolder *found) {
  const fs::path path = folder;
  const std::string ward = path.parent_path() / kQuarantine;
  const std::string place =
      fmt::format("{}/{}-{}", ward, path.filename().string(), uniqueSuffix());
  auto failure = [&](const std::error_code &error) {
    return Status::failed(fmt::format("{}: cannot be moved to {}: {}", folder,
                                      ward, error.message()));
  };
  std::error_code error, ignored;
  fs::create_directories(ward, error);
  if (error)
    return failure(error);
  fs::rename(folder, place, error);
  if (error == std::errc::no_such_file_or_directory)
    return std::string(); // another process was faster
  if (error)
    return failure(error);
  if (!found || found->isAt(place))
    return place;
  // Between reading and moving, a good one took the place of the bad one.
  fs::rename(place, folder, error);
  if (error)
    fs::remove_all(place, ignored); // and now a third one stands there
  return std::string();
}
