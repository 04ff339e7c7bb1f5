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

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

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

/// The cache's warnings since the last call, one a line.
inline std::string warningsOf(KernelCache &cache) {
  std::string text;
  for (const std::string &line : cache.takeWarnings())
    text += line + "\n";
  return text;
}

constexpr char kTestCompiler[] = "decant 0.1.0";

/// A test's loop: `quick` rounds, or `thorough` with DECANT_TEST_LONG=1.
inline int rounds(int quick, int thorough) {
  const char *wanted = std::getenv("DECANT_TEST_LONG");
  return wanted && std::string(wanted) == "1" ? thorough : quick;
}

/// What a process of its own found wrong, empty for nothing.
class ChildProcess {
public:
  explicit ChildProcess(const std::function<std::string()> &work) {
    int ends[2];
    if (pipe(ends) != 0)
      return;
    child = fork();
    if (child == 0) {
      close(ends[0]);
      const std::string wrong = work();
      const ssize_t written = write(ends[1], wrong.data(), wrong.size());
      _exit(written == ssize_t(wrong.size()) ? 0 : 1);
    }
    close(ends[1]);
    answer = ends[0];
  }
  std::string wait() {
    std::string text;
    char bytes[512];
    for (ssize_t got; (got = read(answer, bytes, sizeof(bytes))) > 0;)
      text.append(bytes, size_t(got));
    close(answer);
    int status = -1;
    waitpid(child, &status, 0);
    return status == 0 ? text : text + " (it ended by itself)";
  }

private:
  pid_t child = -1;
  int answer = -1;
};

/// Gives this process mounts and a host name of its own; why not, if it cannot.
inline std::string leaveHost(const std::string &name) {
  const int wanted = CLONE_NEWNS | CLONE_NEWUTS;
  if (unshare(wanted) != 0 && unshare(wanted | CLONE_NEWUSER) != 0)
    return std::string("unshare: ") + std::strerror(errno);
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return std::string("mount: ") + std::strerror(errno);
  if (sethostname(name.data(), name.size()) != 0)
    return std::string("sethostname: ") + std::strerror(errno);
  return "";
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

  CacheOptions options() const { return {root, kTestCompiler}; }
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
