//===- CacheFolder.h - all entries of a cache folder ---------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: the root of kernel caches, of whatever compilers. Out: what is in it,
// what of that is bad, and room. Removing is safe beside processes that read
// and write: an entry is first renamed out of the way, so that others see all
// of it or nothing.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_CACHEFOLDER_H
#define DECANT_RUNTIME_CACHEFOLDER_H

#include "decant/Core/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace decant {

struct CacheEntryInfo {
  std::string folder;
  std::string compiler; // empty where meta.json cannot be read
  int64_t bytes = 0;
  int64_t lastUse = 0; // seconds since 1970, as the file system has it
  /// The lines "field = value" of key.txt, in their order.
  std::vector<std::pair<std::string, std::string>> key;

  /// A field's value, empty without one.
  std::string field(const std::string &name) const;
};

struct CacheProblem {
  std::string folder, what;
  std::string movedTo; // the quarantine, empty if it stayed
};

struct CacheRemoval {
  int64_t entries = 0;     // good ones, as far as anyone looked
  int64_t quarantined = 0; // bad ones
  int64_t leftovers = 0;   // of writers that died
  int64_t bytes = 0;
};

struct CacheTotals {
  int64_t entries = 0, quarantined = 0, leftovers = 0, bytes = 0;
};

enum class BadEntries { Report, Quarantine };

class CacheFolder {
public:
  /// Refuses what is no folder, and a folder with other things than caches.
  static Expected<CacheFolder> open(const std::string &root);

  CacheTotals totals() const;
  /// Those used last first.
  std::vector<CacheEntryInfo> list() const;
  /// Reads every byte of every entry. Images of other compilers than `compiler`
  /// may be of another version, and are judged by their hash alone.
  Expected<std::vector<CacheProblem>> verify(const std::string &compiler,
                                             BadEntries bad) const;
  /// Removes what writers that died have left, then bad entries and entries
  /// from the longest unused on until no more than `maxBytes` are left. The
  /// entry that was used last stays.
  Expected<CacheRemoval> collect(int64_t maxBytes) const;
  /// Removes all that a cache has put there, and nothing else.
  Expected<CacheRemoval> clear() const;

  const std::string &path() const { return root; }

private:
  explicit CacheFolder(std::string root) : root(std::move(root)) {}

  std::string root;
};

/// "512M", "2G", "1048576": a number of bytes, with K, M, G or T for powers of
/// 1024. `what` names the option for the message.
Expected<int64_t> parseByteCount(const std::string &what,
                                 const std::string &text);

} // namespace decant

#endif // DECANT_RUNTIME_CACHEFOLDER_H
