//===- RecordStore.cpp - the records that a machine has -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Tune/RecordStore.h"

#include "decant/Spec/Presets.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

using namespace decant;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> jsonFilesIn(const std::string &folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".json")
      files.push_back(entry->path().string());
  std::sort(files.begin(), files.end());
  return files;
}

/// Whether two keys differ in what decides about kernels' times first.
bool isForHere(const TuningKey &record, const TuningKey &here) {
  TuningKey same = record;
  same.device.driver = here.device.driver;
  same.compiler = here.compiler;
  return differences(same, here).empty();
}

bool comesNear(const TuningKey &record, const TuningKey &here) {
  return record.specHash == here.specHash ||
         (record.spec == here.spec && record.device.name == here.device.name);
}

} // namespace

RecordStore RecordStore::open(const RecordFolders &folders) {
  RecordStore store;
  auto addFolder = [&](const char *name, const std::string &folder) {
    if (folder.empty())
      return;
    for (const std::string &path : jsonFilesIn(folder)) {
      Expected<TuningFile> file = readTuningFile(path);
      if (file)
        store.sources.push_back({fmt::format("{}, {}", name, path), *file});
      else
        store.notes.push_back(
            fmt::format("tuning records of the {} are left out: {}", name,
                        file.status().message()));
    }
  };
  addFolder("user", folders.user);
  addFolder("site", folders.site);
  if (folders.bundled)
    for (const EmbeddedFile &embedded : embeddedRecords()) {
      const std::string name = fmt::format("bundled, {}", embedded.name);
      Expected<TuningFile> file =
          parseTuningFile(std::string(embedded.text), name);
      if (file)
        store.sources.push_back({name, *file});
      else
        store.notes.push_back(file.status().message());
    }
  return store;
}

RecordLookup RecordStore::find(const TuningKey &key) const {
  RecordLookup result;
  // A record that differs in one field before one that differs in two.
  size_t fewest = SIZE_MAX;
  std::vector<std::string> misses;
  for (const Source &source : sources)
    for (const TuningRecord &record : source.file.records) {
      const std::vector<std::string> found = differences(record.key, key);
      if (!isForHere(record.key, key)) {
        if (comesNear(record.key, key))
          misses.push_back(
              fmt::format("{}: {}", source.name, fmt::join(found, ", ")));
      } else if (found.size() < fewest) {
        fewest = found.size();
        result.record = record;
        result.source = source.name;
        result.differences = found;
      }
    }
  if (!result.record)
    result.differences = misses;
  return result;
}
