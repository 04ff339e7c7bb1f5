//===- Main.cpp - the decant command line ---------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: arguments. Out: one command's report on stdout, errors and warnings on
// stderr, and an exit code: 0 ok, 1 the job failed, 2 the input is wrong.
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "OutputFile.h"
#include "Spec/Suggest.h"
#include "decant/Compiler/Compiler.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fmt/format.h>

using namespace decant;
using namespace decant::tool;

namespace {

constexpr int kOk = 0, kJobFailed = 1, kWrongInput = 2;

int exitCode(const Status &status) {
  switch (status.code()) {
  case StatusCode::Ok:
    return kOk;
  case StatusCode::InvalidInput:
  case StatusCode::Unavailable: // a device was asked for that is not there
    return kWrongInput;
  case StatusCode::JobFailed:
  case StatusCode::Internal:
    return kJobFailed;
  }
  return kJobFailed;
}

void printError(const Status &status) {
  fmt::print(stderr, "decant: error: {}{}\n",
             status.code() == StatusCode::Internal ? "a mistake of Decant: "
                                                   : "",
             status.message());
}

std::string jsonText(const Json &json) {
  // File names and rule texts may hold any bytes.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// Prints an error that stands in place of a report.
int fail(const Status &status, const Invocation &invocation) {
  printError(status);
  if (invocation.json)
    if (Status written =
            writeStdout(jsonText(Json{{"error", status.message()}}));
        !written.ok())
      printError(written);
  return exitCode(status);
}

int print(Report report, const Invocation &invocation) {
  for (const std::string &warning : report.warnings)
    fmt::print(stderr, "decant: warning: {}\n", warning);
  if (!report.warnings.empty())
    report.json["warnings"] = report.warnings;
  if (!report.verdict.ok())
    report.json["error"] = report.verdict.message();
  const Status written =
      writeStdout(invocation.json ? jsonText(report.json) : report.text);
  if (!report.verdict.ok())
    printError(report.verdict);
  if (!written.ok())
    printError(written);
  return std::max(exitCode(report.verdict), exitCode(written));
}

std::vector<std::string> namesOf(const CLI::App &root) {
  std::vector<std::string> names;
  for (const CLI::App *command : root.get_subcommands({}))
    names.push_back(command->get_name());
  return names;
}

Status noCommand(const CLI::App &root) {
  return Status::invalid(
      fmt::format("found no command; allowed: {}; see decant --help",
                  spec::join(namesOf(root))));
}

/// What is wrong with the first word, before the parser complains about all the
/// words behind it.
Status checkCommand(const CLI::App &root, int argc, char **argv) {
  const std::vector<std::string> names = namesOf(root);
  if (argc < 2)
    return noCommand(root);
  const std::string word = argv[1];
  if (word.empty() || word[0] == '-' ||
      std::find(names.begin(), names.end(), word) != names.end())
    return {};
  return Status::invalid(
      fmt::format("found command \"{}\"{}; allowed: {}; see decant --help",
                  word, spec::didYouMean(word, names), spec::join(names)));
}

/// Help and version are errors to CLI11.
int answer(const CLI::ParseError &error, const CLI::App &root,
           const Invocation &invocation) {
  Report report;
  if (error.get_name() == "CallForHelp" ||
      error.get_name() == "CallForAllHelp") {
    report.text = root.help();
    report.json["help"] = report.text;
    return print(report, invocation);
  }
  if (error.get_name() == "CallForVersion") {
    report.text = compilerVersion() + "\n";
    report.json["version"] = compilerVersion();
    return print(report, invocation);
  }
  std::string command;
  for (const CLI::App *chosen : root.get_subcommands())
    command = chosen->get_name();
  if (command.empty() && error.get_name() == "RequiredError")
    return fail(noCommand(root), invocation);
  std::string what = error.what();
  std::replace(what.begin(), what.end(), '\n', ' ');
  return fail(
      Status::invalid(fmt::format("{}{}; see decant {}{}--help",
                                  command.empty() ? "" : command + ": ", what,
                                  command, command.empty() ? "" : " ")),
      invocation);
}

int runTool(int argc, char **argv) {
  Invocation invocation;
  for (int i = 1; i < argc; ++i)
    invocation.json |= std::strcmp(argv[i], "--json") == 0;

  CLI::App root("Decant compiles one spec file into kernels that decode a "
                "linear-attention layer with a quantized recurrent state.",
                "decant");
  root.set_version_flag("--version", compilerVersion());
  root.require_subcommand(1);
  const std::vector<Command> commands = {
      addCompile(root), addRun(root),     addEval(root),      addInspect(root),
      addVerify(root),  addBench(root),   addCalibrate(root), addTune(root),
      addRecords(root), addPrepare(root), addCache(root),     addEnv(root),
      addPresets(root)};
  for (const Command &command : commands)
    command.app->add_flag("--json", "Print one JSON object on stdout");

  if (Status status = checkCommand(root, argc, argv); !status.ok())
    return fail(status, invocation);
  try {
    root.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return answer(error, root, invocation);
  }
  for (const Command &command : commands)
    if (command.app->parsed()) {
      Expected<Report> report = command.run(invocation);
      return report ? print(report.take(), invocation)
                    : fail(report.status(), invocation);
    }
  return kWrongInput;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return runTool(argc, argv);
  } catch (const std::exception &error) {
    printError(Status::internal(error.what()));
    return kJobFailed;
  }
}
