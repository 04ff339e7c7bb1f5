//===- ImageFile.cpp - an image into a file of the caller's ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ImageFile.h"

#include "DurableFile.h"

#include <filesystem>
#include <fmt/format.h>
#include <random>

using namespace decant;
namespace fs = std::filesystem;

Status capi::saveImage(const KernelImage &image, const std::string &path) {
  std::error_code error;
  fs::path target = path;
  const fs::file_status kind = fs::status(target, error);
  if (fs::exists(kind) && !fs::is_regular_file(kind))
    return Status::invalid(fmt::format(
        "argument \"path\": {} is not a file; the name of a file is expected",
        path));
  if (fs::is_symlink(fs::symlink_status(target, error)))
    target = fs::weakly_canonical(target, error);

  std::random_device random;
  const std::string whole =
      fmt::format("{}.{:08x}{:08x}", target.string(), random(), random());
  Status written = writeDurably(whole, serialize(image));
  if (written.ok()) {
    fs::rename(whole, target, error);
    if (!error)
      return {};
    written = Status::failed(
        fmt::format("{}: cannot rename to it: {}", path, error.message()));
  }
  std::error_code ignored;
  fs::remove(whole, ignored);
  return written;
}
