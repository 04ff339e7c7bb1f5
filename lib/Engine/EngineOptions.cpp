//===- EngineOptions.cpp - the environment, read once ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Engine.h"

#include "decant/Runtime/CacheFolder.h"

#include <algorithm>
#include <cstdlib>

using namespace decant;

/// The variable's value, empty when it is unset.
static std::string variable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

static std::string cacheFolderFromEnvironment() {
  if (std::string folder = variable("DECANT_CACHE_DIR"); !folder.empty())
    return folder;
  // The XDG base directory specification: a relative path is to be ignored.
  std::string base = variable("XDG_CACHE_HOME");
  if (!base.empty() && base.front() == '/')
    return base + "/decant";
  if (std::string home = variable("HOME"); !home.empty())
    return home + "/.cache/decant";
  return "";
}

std::vector<std::string> decant::foldersIn(const std::string &list) {
  std::vector<std::string> result;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin)
      result.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

static std::string tuningFolderFromEnvironment() {
  if (std::string folder = variable("DECANT_TUNING_DIR"); !folder.empty())
    return folder;
  std::string base = variable("XDG_CONFIG_HOME");
  if (!base.empty() && base.front() == '/')
    return base + "/decant/tuning";
  if (std::string home = variable("HOME"); !home.empty())
    return home + "/.config/decant/tuning";
  return "";
}

static Status readVariants(VariantChoice &variants) {
  struct Name {
    const char *text;
    VariantChoice choice;
  };
  const std::string found = variable("DECANT_VARIANTS");
  if (found.empty())
    return {};
  for (Name name :
       {Name{"by_batch", VariantChoice::ByBatch},
        Name{"one", VariantChoice::One}, Name{"fixed", VariantChoice::Fixed}})
    if (found == name.text) {
      variants = name.choice;
      return {};
    }
  return Status::invalid("DECANT_VARIANTS: found \"" + found +
                         "\"; allowed: by_batch, one or fixed");
}

static Status readTune(TunePolicy &tune) {
  const std::string found = variable("DECANT_TUNE");
  if (found == "if_missing")
    tune = TunePolicy::IfMissing;
  else if (!found.empty() && found != "never")
    return Status::invalid("DECANT_TUNE: found \"" + found +
                           "\"; allowed: never or if_missing");
  return {};
}

EngineOptions EngineOptions::fromEnvironment() {
  EngineOptions options;
  options.environment = readVariants(options.variants);
  if (options.environment.ok())
    options.environment = readTune(options.tune);
  options.packs = foldersIn(variable("DECANT_PACKS"));
  options.cacheLayers = foldersIn(variable("DECANT_CACHE_PATH"));
  if (std::string limit = variable("DECANT_CACHE_LIMIT"); !limit.empty()) {
    auto bytes = parseByteCount("DECANT_CACHE_LIMIT", limit);
    if (options.environment.ok())
      options.environment = bytes.status();
    options.cacheBytes = bytes ? *bytes : options.cacheBytes;
  }
  options.records.user = tuningFolderFromEnvironment();
  options.records.site = variable("DECANT_SITE_TUNING_DIR");
  if (options.records.site.empty())
    options.records.site = "/etc/decant/tuning";
  options.cacheFolder = cacheFolderFromEnvironment();
  options.cacheMode =
      options.cacheFolder.empty() ? CacheMode::Memory : CacheMode::Disk;
  return options;
}
