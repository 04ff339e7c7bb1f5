//===- Journal.cpp - measurements that outlive an interruption ------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Journal.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unistd.h>

using namespace decant;
using namespace decant::tune;

using Json = nlohmann::ordered_json;

namespace {

constexpr int kJournalVersion = 1;

std::string headerOf(const DeviceClass &device, const std::string &compiler) {
  return Json{{"decant_tuning_journal", kJournalVersion},
              {"device", device.name},
              {"target", device.target},
              {"memory", device.memory},
              {"driver", device.driver},
              {"compiler", compiler}}
             .dump() +
         "\n";
}

std::string lineOf(const std::string &id, const JournalEntry &entry) {
  return Json{{"id", id}, {"numbers", entry.numbers}, {"text", entry.text}}
             .dump(-1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

} // namespace

struct Journal::Impl {
  mutable std::mutex mutex;
  std::map<std::string, JournalEntry> entries;
  std::string path; // empty: memory only
  int file = -1;

  ~Impl() {
    if (file >= 0)
      ::close(file);
  }

  Status error(const char *what) const {
    return Status::failed(
        fmt::format("{}: cannot {}: {}", path, what, std::strerror(errno)));
  }

  Status write(const std::string &text) const {
    for (size_t done = 0; done < text.size();) {
      const ssize_t count =
          ::write(file, text.data() + done, text.size() - done);
      if (count < 0 && errno == EINTR)
        continue;
      if (count < 0)
        return error("write");
      done += size_t(count);
    }
    return {};
  }

  /// Takes the lines that are whole and returns how many bytes those are.
  size_t read(const std::string &text, size_t begin) {
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      const Json json =
          Json::parse(text.begin() + begin, text.begin() + end, nullptr, false);
      const bool whole = json.is_object() && json.contains("id") &&
                         json["id"].is_string() && json.contains("numbers") &&
                         json["numbers"].is_array() && json.contains("text") &&
                         json["text"].is_string();
      if (!whole)
        break;
      JournalEntry entry;
      entry.text = json["text"];
      for (const Json &number : json["numbers"])
        entry.numbers.push_back(number.is_number() ? number.get<double>() : 0);
      entries[json["id"]] = std::move(entry);
    }
    return begin;
  }
};

Journal::Journal() : impl(std::make_unique<Impl>()) {}
Journal::Journal(Journal &&) noexcept = default;
Journal &Journal::operator=(Journal &&) noexcept = default;
Journal::~Journal() = default;

Expected<Journal> Journal::open(const std::string &path,
                                const DeviceClass &device,
                                const std::string &compiler) {
  Journal journal;
  Impl &impl = *journal.impl;
  impl.path = path;
  const std::string header = headerOf(device, compiler);
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  const std::string bytes = text.str();
  size_t kept = 0;
  if (bytes.compare(0, header.size(), header) == 0)
    kept = impl.read(bytes, header.size());
  impl.file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (impl.file < 0)
    return Status::invalid(
        fmt::format("{}: cannot write there: {}; allowed: a file in a folder "
                    "that can be written, since measurements are kept beside "
                    "the result until it is whole",
                    path, std::strerror(errno)));
  if (::ftruncate(impl.file, off_t(kept)) != 0 ||
      ::lseek(impl.file, 0, SEEK_END) < 0)
    return impl.error("shorten");
  if (kept == 0)
    DECANT_TRY(impl.write(header));
  journal.found = impl.entries.size();
  return journal;
}

std::optional<JournalEntry> Journal::find(const std::string &id) const {
  std::lock_guard<std::mutex> guard(impl->mutex);
  const auto found = impl->entries.find(id);
  if (found == impl->entries.end())
    return std::nullopt;
  return found->second;
}

Status Journal::add(const std::string &id, const JournalEntry &entry) {
  std::lock_guard<std::mutex> guard(impl->mutex);
  impl->entries[id] = entry;
  return impl->file >= 0 ? impl->write(lineOf(id, entry)) : Status();
}

void Journal::remove() {
  if (impl->file >= 0)
    ::unlink(impl->path.c_str());
}
