//===- DurableFile.h - files that survive a crash whole ------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few POSIX calls behind the disk cache that std::filesystem lacks: write
// and sync. Every error names the path.
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

} // namespace decant

#endif // DECANT_RUNTIME_DURABLEFILE_H
