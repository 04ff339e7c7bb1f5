//===- DurableFile.cpp - files that survive a crash whole -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DurableFile.h"

#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

using namespace decant;

namespace {

class FileDescriptor {
public:
  explicit FileDescriptor(int number) : number(number) {}
  FileDescriptor(const FileDescriptor &) = delete;
  FileDescriptor &operator=(const FileDescriptor &) = delete;
  ~FileDescriptor() {
    if (number >= 0)
      close(number);
  }
  int get() const { return number; }

private:
  int number;
};

Status failure(const char *action, const std::string &path, int error) {
  return Status::failed(fmt::format("{}: cannot {}: {}", path, action,
                                    std::generic_category().message(error)));
}

Expected<std::string> readAll(const FileDescriptor &file,
                              const std::string &path, int &found) {
  auto refuse = [&] {
    found = errno;
    return failure("read", path, found);
  };
  struct stat facts = {};
  if (fstat(file.get(), &facts) != 0)
    return refuse();
  std::string bytes(size_t(facts.st_size), '\0');
  size_t filled = 0;
  while (filled < bytes.size()) {
    ssize_t got = read(file.get(), &bytes[filled], bytes.size() - filled);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return refuse();
    if (got == 0)
      break; // shorter than it was: the content checks will say so
    filled += size_t(got);
  }
  bytes.resize(filled);
  return bytes;
}

} // namespace

Expected<std::string> decant::readWholeFile(const std::string &path,
                                            bool *missing) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (missing)
    *missing = file.get() < 0 && errno == ENOENT;
  if (file.get() < 0)
    return failure("open", path, errno);
  int ignored = 0;
  return readAll(file, path, ignored);
}

Status decant::writeDurably(const std::string &path, const std::string &bytes) {
  FileDescriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file.get() < 0)
    return failure("create", path, errno);
  size_t written = 0;
  while (written < bytes.size()) {
    ssize_t put = write(file.get(), &bytes[written], bytes.size() - written);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return failure("write", path, errno);
    written += size_t(put);
  }
  if (fsync(file.get()) != 0)
    return failure("sync", path, errno);
  return {};
}

Status decant::syncFolder(const std::string &path) {
  FileDescriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0)
    return failure("open", path, errno);
  // Some network file systems have no such sync; the rename still holds.
  if (fsync(folder.get()) != 0 && errno != EINVAL && errno != ENOTSUP)
    return failure("sync", path, errno);
  return {};
}

Expected<OpenFolder> OpenFolder::open(const std::string &path, int &found) {
  const int number =
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (number >= 0)
    return OpenFolder(number, path);
  found = errno;
  return failure("open", path, found);
}

OpenFolder::OpenFolder(OpenFolder &&other) noexcept
    : number(std::exchange(other.number, -1)), path(std::move(other.path)) {}

OpenFolder &OpenFolder::operator=(OpenFolder &&other) noexcept {
  std::swap(number, other.number);
  std::swap(path, other.path);
  return *this;
}

OpenFolder::~OpenFolder() {
  if (number >= 0)
    close(number);
}

Expected<std::string> OpenFolder::read(const char *name, int &found) const {
  FileDescriptor file(openat(number, name, O_RDONLY | O_CLOEXEC));
  if (file.get() >= 0)
    return readAll(file, path + "/" + name, found);
  found = errno;
  return failure("open", path + "/" + name, found);
}

bool OpenFolder::isAt(const std::string &place) const {
  struct stat mine = {}, there = {};
  return fstat(number, &mine) == 0 && lstat(place.c_str(), &there) == 0 &&
         mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}
