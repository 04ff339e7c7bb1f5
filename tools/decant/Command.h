//===- Command.h - what a command is ----------------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A command adds its options to the command line and gives back what to do.
// What it did is a value too: main() alone prints and chooses the exit code, so
// that every command has the same --json, the same errors and the same checks
// of its output.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_COMMAND_H
#define DECANT_TOOLS_COMMAND_H

#include "decant/Core/Status.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace decant::tool {

using Json = nlohmann::ordered_json;

/// What a command found out. A job that ran to its end and missed a bound has
/// both results and a verdict.
struct Report {
  Json json = Json::object(); // printed with --json
  std::string text;           // printed without
  std::vector<std::string> warnings;
  Status verdict;
};

struct Invocation {
  bool json = false;
};
using Action = std::function<Expected<Report>(const Invocation &)>;

struct Command {
  CLI::App *app = nullptr;
  Action run;
};
Command addCompile(CLI::App &root);
Command addRun(CLI::App &root);
Command addEval(CLI::App &root);
Command addInspect(CLI::App &root);
Command addBench(CLI::App &root);
Command addCalibrate(CLI::App &root);
Command addTune(CLI::App &root);
Command addRecords(CLI::App &root);
Command addPrepare(CLI::App &root);
Command addCache(CLI::App &root);
Command addEnv(CLI::App &root);
Command addPresets(CLI::App &root);
Command addVerify(CLI::App &root);

} // namespace decant::tool

#endif // DECANT_TOOLS_COMMAND_H
