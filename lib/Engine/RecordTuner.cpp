//===- RecordTuner.cpp - a record, made by one of all processes -----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordTuner.h"

#include "DurableFile.h"
#include "Tune/ScheduleTuner.h"

#include <cctype>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

using namespace decant;
namespace fs = std::filesystem;

namespace {

Status failure(const std::string &action, const std::string &path, int error) {
  return Status::failed(fmt::format("cannot {} {}: {}", action, path,
                                    std::generic_category().message(error)));
}

/// Held until it goes out of scope. The file stays: who waits for it has it
/// open, and would wait for another one than who comes later.
class FileLock {
public:
  explicit FileLock(std::string path) : path(std::move(path)) {}
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;
  ~FileLock() {
    if (file >= 0)
      close(file);
  }

  Status wait() {
    file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0)
      return failure("open", path, errno);
    while (flock(file, LOCK_EX) != 0)
      if (errno != EINTR)
        return failure("lock", path, errno);
    return {};
  }

private:
  std::string path;
  int file = -1;
};

std::string fileName(const std::string &text) {
  std::string name = text;
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-')
      c = '-';
  return name;
}

/// The file appears whole or not at all.
Status writeRecord(const std::string &path, const TuningRecord &record) {
  const std::string part = fmt::format("{}.{}.part", path, getpid());
  DECANT_TRY(writeDurably(part, toJson(TuningFile{{record}, {}})));
  if (rename(part.c_str(), path.c_str()) == 0)
    return {};
  const int error = errno;
  unlink(part.c_str());
  return failure("rename to", path, error);
}

} // namespace

Expected<bool> RecordTuner::makeRecord(
    const DecodeSpec &spec, const tune::Setup &setup,
    const std::function<bool()> &isThere,
    const std::function<void(const TuningRecord &)> &complete) {
  std::error_code error; // opening the lock will say what is wrong
  fs::create_directories(folder, error);
  // Equal specs of two names are one; a device's class is a part of the name.
  const std::string name = fileName(fmt::format(
      "{}-{}-{}", spec.name, setup.deviceClass.name, specHash(spec)));
  FileLock lock(
      fmt::format("{}/.{}.lock", folder,
                  fileName(specHash(spec) + "-" + setup.deviceClass.name)));
  DECANT_TRY(lock.wait());
  if (isThere())
    return false;
  ++begun;
  tune::Journal journal;
  DECANT_ASSIGN(const tune::ScheduleFindings found,
                tuneSchedules(spec, setup, journal, tune::Breadth::All));
  complete(found.record);
  DECANT_TRY(
      writeRecord(fmt::format("{}/{}.json", folder, name), found.record));
  return true;
}
