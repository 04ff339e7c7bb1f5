//===- SpecArguments.h - the SPEC that a command takes ----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_SPECARGUMENTS_H
#define DECANT_TOOLS_SPECARGUMENTS_H

#include "Command.h"
#include "decant/Spec/SpecReader.h"

namespace decant::tool {

enum class SpecNeed { Required, Optional };

/// Adds SPEC, described as `what`, and --set to a command; both go to `source`,
/// which must outlive the parse.
void addSpecArguments(CLI::App &app, SpecSource &source,
                      const std::string &what,
                      SpecNeed need = SpecNeed::Required);

/// --set alone.
void addSpecOverrides(CLI::App &app, std::vector<std::string> &overrides);

} // namespace decant::tool

#endif // DECANT_TOOLS_SPECARGUMENTS_H
