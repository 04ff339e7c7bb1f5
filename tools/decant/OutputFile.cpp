//===- OutputFile.cpp - where results go ----------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OutputFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace decant;
using namespace decant::tool;

namespace {

Status writeError(const std::string &path, int error) {
  return Status::failed(
      fmt::format("{}: cannot write: {}", path, std::strerror(error)));
}

/// A path that cannot be opened is a wrong argument; a write that fails later
/// is not.
Status openError(const char *option, const std::string &path, int error) {
  return Status::invalid(fmt::format(
      "{} {}: cannot write there: {}; allowed: a file in a folder that can be "
      "written",
      option, path, std::strerror(error)));
}

Status writeAll(int file, const std::string &path, const std::string &bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t count =
        ::write(file, bytes.data() + done, bytes.size() - done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return writeError(path, errno);
    done += size_t(count);
  }
  return {};
}

Status writeAndClose(int file, const std::string &path,
                     const std::string &bytes) {
  Status status = writeAll(file, path, bytes);
  // Network file systems report a full disk only here.
  if (::close(file) != 0 && status.ok())
    status = writeError(path, errno);
  return status;
}

} // namespace

Status decant::tool::writeOutputFile(const std::string &path,
                                     const std::string &bytes,
                                     const char *option) {
  struct stat found = {};
  const bool exists = ::stat(path.c_str(), &found) == 0;
  if (exists && S_ISDIR(found.st_mode))
    return openError(option, path, EISDIR);
  if (exists && ::access(path.c_str(), W_OK) != 0)
    return openError(option, path, errno);
  if (exists && !S_ISREG(found.st_mode)) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0)
      return openError(option, path, errno);
    return writeAndClose(file, path, bytes);
  }
  // Through a link to its file, which the rename would replace otherwise.
  std::error_code error;
  std::string target = path;
  if (exists)
    if (auto real = std::filesystem::canonical(path, error); !error)
      target = real.string();
  const std::string temporary = fmt::format("{}.{}.tmp", target, ::getpid());
  const mode_t mode = exists ? found.st_mode & 0777 : 0666;
  const int file =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file < 0)
    return openError(option, path, errno);
  Status status = writeAndClose(file, path, bytes);
  if (status.ok() && std::rename(temporary.c_str(), target.c_str()) != 0)
    status = openError(option, path, errno);
  if (!status.ok())
    ::unlink(temporary.c_str());
  return status;
}

Status decant::tool::writeStdout(const std::string &bytes) {
  const bool written =
      std::fwrite(bytes.data(), 1, bytes.size(), stdout) == bytes.size();
  if (!written || std::fflush(stdout) != 0)
    return writeError("stdout", errno);
  return {};
}

bool decant::tool::stdoutIsTerminal() { return ::isatty(STDOUT_FILENO) == 1; }
