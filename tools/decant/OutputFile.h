//===- OutputFile.h - where results go --------------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_OUTPUTFILE_H
#define DECANT_TOOLS_OUTPUTFILE_H

#include "decant/Core/Status.h"

#include <string>

namespace decant::tool {

/// Writes `bytes` as the whole of `path`: to a file of its own first, which is
/// renamed into place, so that nobody sees half of it and a failure leaves what
/// was there. A device or pipe is written to directly.
/// `option` is the one that named it, for messages.
Status writeOutputFile(const std::string &path, const std::string &bytes,
                       const char *option = "-o");

/// Writes to stdout and checks that it arrived.
Status writeStdout(const std::string &bytes);

bool stdoutIsTerminal();

} // namespace decant::tool

#endif // DECANT_TOOLS_OUTPUTFILE_H
