//===- CacheCollect.cpp - room in a cache folder --------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What goes is renamed into an attic, a folder of this collector alone, and
// deleted there. A reader that has opened an entry finds its files or finds
// that the entry has moved; either is a whole entry or none. Of two collectors,
// one gets an entry; the other counts it as gone, so that both together remove
// no more than one would.
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/CacheFolder.h"

#include "CacheEntry.h"
#include "CacheScan.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <tuple>

using namespace decant;
using namespace decant::cache;
namespace fs = std::filesystem;

namespace {

/// Writing an entry takes milliseconds. A writer that was held up for longer
/// than this and lost its folder keeps its kernels in memory.
constexpr int64_t kAbandonedAfter = int64_t(600) * 1000000000;

class Attic {
public:
  static Expected<Attic> create(const std::string &root) {
    std::string path = root + "/" + kAttic + uniqueSuffix();
    std::error_code error;
    if (!fs::create_directory(path, error) || error)
      return Status::failed(fmt::format(
          "cache folder {}: cannot be written: {}", root, error.message()));
    return Attic(std::move(path));
  }
  Attic(Attic &&other) noexcept
      : path(std::exchange(other.path, {})), count(other.count) {}
  Attic &operator=(Attic &&) = delete;
  ~Attic() {
    std::error_code ignored;
    if (!path.empty())
      fs::remove_all(path, ignored);
  }

  /// Now, by the clock of the file system: that of this host may differ.
  int64_t made() const { return lastChange(path); }
  const std::string &place() const { return path; }

  /// False where another was faster.
  Expected<bool> take(const Item &item) {
    std::error_code error;
    fs::rename(item.path, fmt::format("{}/{}", path, count++), error);
    if (error == std::errc::no_such_file_or_directory)
      return false;
    if (error)
      return Status::failed(
          fmt::format("{}: cannot be removed: {}", item.path, error.message()));
    return true;
  }

private:
  explicit Attic(std::string path) : path(std::move(path)) {}
  std::string path;
  int count = 0;
};

/// Removes one item and counts it, unless another has. An item that may not be
/// removed (another user's) does not stop the others.
class Remover {
public:
  explicit Remover(Attic &attic) : attic(attic) {}

  bool remove(const Item &item) {
    const Expected<bool> taken = attic.take(item);
    if (!taken) {
      if (failure.ok())
        failure = taken.status();
      return false;
    }
    if (!*taken)
      return true;
    done.bytes += item.bytes;
    ++(item.kind == ItemKind::Entry         ? done.entries
       : item.kind == ItemKind::Quarantined ? done.quarantined
                                            : done.leftovers);
    return true;
  }

  CacheRemoval done;
  Status failure;

private:
  Attic &attic;
};

} // namespace

Expected<CacheRemoval> CacheFolder::collect(int64_t maxBytes) const {
  DECANT_ASSIGN(Attic attic, Attic::create(root));
  const int64_t now = attic.made();
  Remover remover(attic);
  std::vector<Item> candidates;
  int64_t bytes = 0;
  for (Item &item : scan(root)) {
    if (item.path == attic.place())
      continue;
    if (item.kind == ItemKind::Leftover) {
      if (now - item.lastUse > kAbandonedAfter)
        remover.remove(item);
      continue;
    }
    bytes += item.bytes;
    candidates.push_back(std::move(item));
  }
  // Bad entries are of no use to anyone but a person who looks for the cause.
  auto rank = [](const Item &item) {
    return std::make_tuple(item.kind != ItemKind::Quarantined, item.lastUse,
                           item.path);
  };
  std::sort(candidates.begin(), candidates.end(),
            [&](const Item &a, const Item &b) { return rank(a) < rank(b); });
  for (size_t i = 0; i < candidates.size() && bytes > maxBytes; ++i) {
    const bool last = i + 1 == candidates.size();
    if (last && candidates[i].kind == ItemKind::Entry)
      break;
    if (remover.remove(candidates[i]))
      bytes -= candidates[i].bytes;
  }
  if (bytes > maxBytes)
    DECANT_TRY(remover.failure);
  return remover.done;
}

Expected<CacheRemoval> CacheFolder::clear() const {
  DECANT_ASSIGN(Attic attic, Attic::create(root));
  Remover remover(attic);
  for (const Item &item : scan(root))
    if (item.path != attic.place())
      remover.remove(item);
  std::error_code ignored;
  for (const std::string &version : versionFolders(root)) {
    fs::remove(version + "/" + kQuarantine, ignored);
    fs::remove(version, ignored); // only where nobody has written meanwhile
  }
  DECANT_TRY(remover.failure);
  return remover.done;
}
