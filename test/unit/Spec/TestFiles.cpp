//===- TestFiles.cpp - spec files that the tests read ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "TestFiles.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace decant::test {

std::string testPath(const std::string &relative) {
  return std::string(DECANT_TEST_FOLDER) + "/" + relative;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> filesIn(const std::string &folder,
                                 const std::string &ending) {
  std::vector<std::string> names;
  for (const auto &entry :
       std::filesystem::directory_iterator(testPath(folder)))
    if (entry.path().extension() == ending)
      names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string testName(const std::string &name) {
  std::string result = name;
  for (char &c : result)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '_';
  return result;
}

bool equal(const DecodeSpec &a, const DecodeSpec &b) {
  return a.name == b.name && a.rule == b.rule &&
         canonicalText(a) == canonicalText(b);
}

} // namespace decant::test
