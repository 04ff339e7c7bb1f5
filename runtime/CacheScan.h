//===- CacheScan.h - everything below a cache's root ---------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_CACHESCAN_H
#define DECANT_RUNTIME_CACHESCAN_H

#include <cstdint>
#include <string>
#include <vector>

namespace decant {
namespace cache {

enum class ItemKind { Entry, Quarantined, Leftover };

struct Item {
  ItemKind kind;
  std::string path;
  int64_t bytes = 0;   // of the files inside
  int64_t lastUse = 0; // nanoseconds since 1970
};

/// Of all compilers; what vanishes meanwhile is left out. Nothing that a cache
/// did not make is in it.
std::vector<Item> scan(const std::string &root);
/// The folders of compilers below a root.
std::vector<std::string> versionFolders(const std::string &root);

/// A path's modification time in nanoseconds since 1970, 0 where there is none.
int64_t lastChange(const std::string &path);

} // namespace cache
} // namespace decant

#endif // DECANT_RUNTIME_CACHESCAN_H
