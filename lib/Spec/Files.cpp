//===- Files.cpp - text files that a spec names ---------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Files.h"

#include "JsonText.h"

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace decant::spec {

Expected<std::string> readTextFile(const std::string &path) {
  auto fail = [&](const std::string &message) {
    return Status::invalid(printable(path) + ": " + message);
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    return fail("found a folder; allowed: a file");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return fail(fmt::format("the file cannot be read ({}); allowed: a readable "
                            "file",
                            std::generic_category().message(errno)));
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), std::streamsize(text.size()));
  if (file.bad())
    return fail(fmt::format("reading stopped ({}); allowed: a readable file",
                            std::generic_category().message(errno)));
  text.resize(size_t(file.gcount()));
  if (text.size() > kMaxFileBytes)
    return fail(
        fmt::format("found more than {0} bytes; allowed: {0}", kMaxFileBytes));
  return text;
}

} // namespace decant::spec
