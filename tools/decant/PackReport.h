//===- PackReport.h - a pack's contents, for people -------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_PACKREPORT_H
#define DECANT_TOOLS_PACKREPORT_H

#include "Command.h"
#include "decant/Runtime/PackIndex.h"

namespace decant::tool {

/// Whether `path` is a file that begins as a pack does.
bool isPackFile(const std::string &path);

/// Adds what the index lists to both forms of the report.
void describePack(const PackIndex &index, Report &report);

/// The whole of `decant inspect PACK`: every image is read and verified.
Expected<Report> inspectPack(const std::string &path);

} // namespace decant::tool

#endif // DECANT_TOOLS_PACKREPORT_H
