//===- DurableFile.h - files that survive a crash whole ------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few POSIX calls behind the disk cache that std::filesystem lacks: write
// and sync, and reading from a folder that may be moved meanwhile. Every error
// names the path.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_DURABLEFILE_H
#define DECANT_RUNTIME_DURABLEFILE_H

#include "decant/Core/Status.h"

namespace decant {

/// The whole file. `*missing` says whether the error is that there is none.
Expected<std::string> readWholeFile(const std::string &path,
                                    bool *missing = nullptr);
/// Creates the file, writes all bytes and syncs them.
Status writeDurably(const std::string &path, const std::string &bytes);
/// Makes renames inside a folder durable.
Status syncFolder(const std::string &path);

/// A folder held open. What is read through it is of this one folder, wherever
/// it is moved to and whatever takes its place.
class OpenFolder {
public:
  /// `found` of a failed call is an errno.
  static Expected<OpenFolder> open(const std::string &path, int &found);
  OpenFolder(OpenFolder &&other) noexcept;
  OpenFolder &operator=(OpenFolder &&other) noexcept;
  ~OpenFolder();

  Expected<std::string> read(const char *name, int &found) const;
  /// Whether `path` is this folder now.
  bool isAt(const std::string &path) const;

private:
  OpenFolder(int number, std::string path)
      : number(number), path(std::move(path)) {}

  int number = -1;
  std::string path; // where it was opened
};

} // namespace decant

#endif // DECANT_RUNTIME_DURABLEFILE_H
