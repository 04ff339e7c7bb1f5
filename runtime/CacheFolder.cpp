//===- CacheFolder.cpp - all entries of a cache folder --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/CacheFolder.h"

#include "CacheEntry.h"
#include "CacheScan.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <tuple>

using namespace decant;
using namespace decant::cache;
namespace fs = std::filesystem;

namespace {

constexpr int64_t kNanoseconds = 1000000000;

bool beginsWith(const std::string &text, const std::string &prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

/// The names in a folder; none where it cannot be read.
std::vector<std::string> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    names.push_back(it->path().filename().string());
  return names;
}

int64_t bytesIn(const std::string &path) {
  int64_t bytes = 0;
  std::error_code error;
  for (const std::string &name : namesIn(path)) {
    const uintmax_t size = fs::file_size(path + "/" + name, error);
    bytes += error ? 0 : int64_t(size);
  }
  return bytes;
}

void addItem(std::vector<Item> &items, ItemKind kind, const std::string &path) {
  items.push_back({kind, path, bytesIn(path), lastChange(path)});
}

/// The name of meta.json's compiler, empty where there is none.
std::string compilerOf(const std::string &meta) {
  const auto json = nlohmann::json::parse(meta, nullptr, false);
  if (!json.is_object() || !json.contains("compiler") ||
      !json["compiler"].is_string())
    return "";
  return json["compiler"];
}

std::vector<std::pair<std::string, std::string>>
keyFields(const std::string &key) {
  constexpr char kEquals[] = " = ";
  std::vector<std::pair<std::string, std::string>> fields;
  for (size_t begin = 0; begin < key.size();) {
    const size_t end = std::min(key.find('\n', begin), key.size());
    const std::string line = key.substr(begin, end - begin);
    if (const size_t at = line.find(kEquals); at != std::string::npos)
      fields.emplace_back(line.substr(0, at),
                          line.substr(at + sizeof(kEquals) - 1));
    begin = end + 1;
  }
  return fields;
}

/// What is wrong with an entry, empty for nothing.
std::string problemOf(const std::string &folder, const Reading &reading,
                      const std::string &compiler) {
  if (reading.miss)
    return reading.detail; // empty if it was absent: it has gone meanwhile
  const Files &files = reading.files;
  const std::string made = compilerOf(files.meta);
  if (files.meta != metaText(made, files.key, files.image))
    return "key.txt and image are not those that meta.json describes";
  const fs::path path = folder;
  if (path.filename() != entryName(files.key) ||
      path.parent_path().filename() != versionFolderName(made))
    return "it is not where its key and compiler belong";
  if (made != compiler)
    return "";
  const Expected<KernelImage> image = deserialize(files.image);
  return image ? "" : "image: " + image.status().message();
}

} // namespace

int64_t cache::lastChange(const std::string &path) {
  struct stat facts = {};
  if (lstat(path.c_str(), &facts) != 0)
    return 0;
  return facts.st_mtim.tv_sec * kNanoseconds + facts.st_mtim.tv_nsec;
}

std::vector<std::string> cache::versionFolders(const std::string &root) {
  std::vector<std::string> folders;
  for (const std::string &name : namesIn(root))
    if (isVersionFolderName(name))
      folders.push_back(root + "/" + name);
  return folders;
}

std::vector<Item> cache::scan(const std::string &root) {
  std::vector<Item> items;
  for (const std::string &name : namesIn(root))
    if (beginsWith(name, kAttic))
      addItem(items, ItemKind::Leftover, root + "/" + name);
  for (const std::string &version : versionFolders(root))
    for (const std::string &name : namesIn(version)) {
      const std::string path = version + "/" + name;
      if (isEntryName(name))
        addItem(items, ItemKind::Entry, path);
      else if (beginsWith(name, kTemporary) || beginsWith(name, kLock))
        addItem(items, ItemKind::Leftover, path);
      else if (name == kQuarantine)
        for (const std::string &bad : namesIn(path))
          addItem(items, ItemKind::Quarantined, path + "/" + bad);
    }
  return items;
}

std::string CacheEntryInfo::field(const std::string &name) const {
  for (const auto &[field, value] : key)
    if (field == name)
      return value;
  return "";
}

Expected<CacheFolder> CacheFolder::open(const std::string &root) {
  auto refuse = [&](const std::string &what) {
    return Status::invalid(fmt::format("cache folder {}: {}", root, what));
  };
  std::error_code error;
  const fs::file_status status = fs::status(root, error);
  if (status.type() == fs::file_type::not_found)
    return refuse("not there; it is made when the first kernels are kept");
  if (error)
    return refuse(error.message());
  if (status.type() != fs::file_type::directory)
    return refuse("not a folder");
  fs::directory_iterator first(root, error);
  if (error)
    return refuse(error.message());
  if (first == fs::directory_iterator() || !versionFolders(root).empty())
    return CacheFolder(root);
  return refuse(fmt::format(
      "not a cache: it holds {} and no folder named v, a number, a dash and 16 "
      "hexadecimal digits",
      first->path().filename().string()));
}

CacheTotals CacheFolder::totals() const {
  CacheTotals totals;
  for (const Item &item : scan(root)) {
    totals.bytes += item.bytes;
    ++(item.kind == ItemKind::Entry         ? totals.entries
       : item.kind == ItemKind::Quarantined ? totals.quarantined
                                            : totals.leftovers);
  }
  return totals;
}

std::vector<CacheEntryInfo> CacheFolder::list() const {
  std::vector<Item> items = scan(root);
  std::sort(items.begin(), items.end(), [](const Item &a, const Item &b) {
    return std::tie(b.lastUse, a.path) < std::tie(a.lastUse, b.path);
  });
  std::vector<CacheEntryInfo> entries;
  for (const Item &item : items) {
    if (item.kind != ItemKind::Entry)
      continue;
    CacheEntryInfo info;
    info.folder = item.path;
    info.bytes = item.bytes;
    info.lastUse = item.lastUse / kNanoseconds;
    auto read = [&](const char *name) {
      const auto bytes = readWholeFile(item.path + "/" + name);
      return bytes ? *bytes : std::string();
    };
    info.compiler = compilerOf(read(kMetaFile));
    info.key = keyFields(read(kKeyFile));
    entries.push_back(std::move(info));
  }
  return entries;
}

Expected<std::vector<CacheProblem>>
CacheFolder::verify(const std::string &compiler, BadEntries bad) const {
  std::vector<CacheProblem> problems;
  for (const Item &item : scan(root)) {
    if (item.kind != ItemKind::Entry)
      continue;
    const Reading reading = readFiles(item.path);
    CacheProblem problem;
    problem.folder = item.path;
    problem.what = problemOf(item.path, reading, compiler);
    if (problem.what.empty())
      continue;
    if (bad == BadEntries::Quarantine) {
      DECANT_ASSIGN(problem.movedTo,
                    moveToQuarantine(item.path, reading.folder
                                                    ? &*reading.folder
                                                    : nullptr));
    }
    problems.push_back(std::move(problem));
  }
  return problems;
}

Expected<int64_t> decant::parseByteCount(const std::string &what,
                                         const std::string &text) {
  constexpr char kUnits[] = "KMGT";
  constexpr int kShift = 10;
  int64_t count = -1;
  const char *begin = text.data(), *end = begin + text.size();
  auto [rest, error] = std::from_chars(begin, end, count);
  int shift = 0;
  if (error == std::errc() && end - rest == 1)
    if (const char *unit = std::find(kUnits, kUnits + 4, *rest);
        unit != kUnits + 4) {
      shift = kShift * int(unit - kUnits + 1);
      ++rest;
    }
  const int64_t most = INT64_MAX >> shift;
  if (error == std::errc() && rest == end && count >= 0 && count <= most)
    return count << shift;
  return Status::invalid(fmt::format(
      "{}: found \"{}\"; allowed: a number of bytes from 0, also with K, M, G "
      "or T behind it for powers of 1024 (512M)",
      what, text));
}
