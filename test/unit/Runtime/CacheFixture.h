//===- CacheFixture.h - a cache folder for each test ---------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_RUNTIME_CACHEFIXTURE_H
#define DECANT_TEST_UNIT_RUNTIME_CACHEFIXTURE_H

#include "TestImages.h"
#include "decant/Runtime/KernelCache.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace decant {
namespace test {

namespace fs = std::filesystem;

inline std::string readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
inline void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

/// An image that can be told from others by `mark`.
inline KernelImage markedImage(const std::string &mark, size_t codeBytes = 64) {
  KernelImage image = decodeImage(8);
  image.specName = mark;
  image.code = std::string(codeBytes, mark.empty() ? '?' : mark[0]);
  return image;
}

class CacheFixture : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (fs::temp_directory_path() / "decant-cache-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    root = folder + "/cache";
  }
  void TearDown() override { fs::remove_all(folder); }

  CacheOptions options() const { return {root, "decant 0.1.0"}; }
  KernelCache makeCache() const { return KernelCache(options()); }
  std::string entry(const std::string &key) const {
    return KernelCache(options()).entryFolder(key);
  }
  /// Folders beside the entries that were left behind, by how they begin.
  int count(const std::string &place, const std::string &prefix) const {
    int found = 0;
    std::error_code error;
    for (const auto &item : fs::directory_iterator(place, error))
      found += item.path().filename().string().rfind(prefix, 0) == 0;
    return found;
  }
  std::string versionFolder() const {
    return fs::path(entry("any")).parent_path().string();
  }

  std::string folder, root;
};

} // namespace test
} // namespace decant

#endif // DECANT_TEST_UNIT_RUNTIME_CACHEFIXTURE_H
