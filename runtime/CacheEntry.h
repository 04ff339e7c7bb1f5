//===- CacheEntry.h - one entry of a kernel cache ------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What stands where below a cache's root, and whether an entry is whole. The
// cache looks entries up by key, `decant cache` walks over all of them; both
// read them here.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_CACHEENTRY_H
#define DECANT_RUNTIME_CACHEENTRY_H

#include "DurableFile.h"

#include "decant/Runtime/KernelCache.h"

namespace decant {
namespace cache {

constexpr char kKeyFile[] = "key.txt", kImageFile[] = "image",
               kMetaFile[] = "meta.json";
constexpr char kQuarantine[] = "quarantine";
/// Beginnings of what is no entry: entries being written, entries on their way
/// out, locks.
constexpr char kTemporary[] = ".tmp-", kAttic[] = ".gc-", kLock[] = ".lock-";

std::string hash128(const std::string &bytes);
/// The folder of one compiler's entries, and the name of a key's entry in it.
std::string versionFolderName(const std::string &compiler);
bool isVersionFolderName(const std::string &name);
std::string entryName(const std::string &key);
bool isEntryName(const std::string &name);
/// Random: process ids repeat between hosts and containers that share a folder.
std::string uniqueSuffix();

/// meta.json: derived from the two other files and the compiler alone, so that
/// comparing the whole text leaves no byte of an entry unverified.
std::string metaText(const std::string &compiler, const std::string &key,
                     const std::string &image);

struct Files {
  std::string key, image, meta;
};

/// What was found at an entry's place.
struct Reading {
  std::optional<MissReason> miss; // why there are no files
  std::string detail;             // of a miss other than Absent
  Files files;
  std::optional<OpenFolder> folder; // that they were read from
};
Reading readFiles(const std::string &folder);

/// Moves a bad entry to the quarantine beside it. `found`, if given, is what
/// was seen to be bad: another that has taken its place meanwhile stays. The
/// new place, empty where it stayed or another process was faster.
Expected<std::string> moveToQuarantine(const std::string &folder,
                                       const OpenFolder *found);

} // namespace cache
} // namespace decant

#endif // DECANT_RUNTIME_CACHEENTRY_H
