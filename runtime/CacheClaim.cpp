//===- CacheClaim.cpp - one process makes an image, the others wait -------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A claim is a lock that the kernel gives back when its process ends, however
// it ends, so nothing is left to break. It may be of this host alone (many
// network file systems); hosts then make an image once each. Waiting ends when
// the lock is free, when the entry is there, or when patience is.
//
//===----------------------------------------------------------------------===//

#include "CacheEntry.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace decant;
namespace fs = std::filesystem;

namespace {

/// Compiling takes a second; a wait that is a fraction of it is not noticed.
constexpr auto kFirstWait = std::chrono::milliseconds(1);
constexpr auto kLongestWait = std::chrono::milliseconds(20);

int openLock(const std::string &path) {
  // Some network file systems want the right to write for such a lock, which
  // another user's file does not give.
  int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  return file >= 0 ? file : open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

bool exists(const std::string &path) {
  struct stat facts = {};
  return lstat(path.c_str(), &facts) == 0;
}

} // namespace

void CacheClaim::swap(CacheClaim &other) noexcept {
  std::swap(lookAgain, other.lookAgain);
  std::swap(file, other.file);
  std::swap(path, other.path);
}

CacheClaim::~CacheClaim() {
  if (file < 0)
    return;
  // Before it is free. Who waits for this file gets it and looks for the entry;
  // who comes later makes a new one.
  unlink(path.c_str());
  close(file);
}

CacheClaim KernelCache::claim(const std::string &key) {
  CacheClaim claim;
  if (versionFolder.empty())
    return claim;
  const std::string entry = entryFolder(key);
  std::error_code ignored;
  fs::create_directories(versionFolder, ignored);
  claim.path = versionFolder + "/" + cache::kLock + cache::entryName(key);
  const int file = openLock(claim.path);
  if (file < 0)
    return claim;
  using Clock = std::chrono::steady_clock;
  const auto patience =
      Clock::now() + std::chrono::milliseconds(options.claimMs);
  for (auto wait = kFirstWait;; wait = std::min(2 * wait, kLongestWait)) {
    const bool free = flock(file, LOCK_EX | LOCK_NB) == 0;
    const bool taken = !free && (errno == EWOULDBLOCK || errno == EINTR);
    claim.lookAgain = exists(entry);
    if (free) {
      claim.file = file;
      return claim;
    }
    if (!taken || claim.lookAgain || Clock::now() >= patience)
      break;
    std::this_thread::sleep_for(wait);
  }
  close(file);
  return claim;
}
