//===- CompilePack.h - decant compile --pack --------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_COMPILEPACK_H
#define DECANT_TOOLS_COMPILEPACK_H

#include "Command.h"
#include "decant/Spec/SpecReader.h"

namespace decant::tool {

/// The words of the command line; lists are as they were given, with commas.
struct PackArguments {
  std::vector<SpecSource> specs;
  std::string targets;                // "sm_80,sm_90a"
  std::string tokensPerStep;          // "1,4"; empty: what each spec says
  std::vector<std::string> schedules; // "TEXT", or "ROWS:TEXT"
  std::vector<std::string> candidates;
  int64_t mostCandidates = 0; // that are chosen here, for each spec and target
  std::vector<std::string> records; // files of a tuner's
  std::string cubins; // targets that get machine code too, or "all"
  std::string output;
};

/// Compiles every combination, on all processors, into one file.
Expected<Report> compilePack(const PackArguments &arguments);

} // namespace decant::tool

#endif // DECANT_TOOLS_COMPILEPACK_H
