//===- WarmStart.cpp - from a pack to the first launch --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// decant-warm-start PACK: how long a process takes from its start, and from
// opening the pack, until its first step has run; each measurement is a process
// of its own. Then a process that serves thousands of steps of changing batches
// and shows that nothing is read or loaded once it is warm.
//
// decant-warm-start links the runtime alone and runs on GPUs;
// decant-warm-start-host is the same with the compiler's CPU device.
//
//===----------------------------------------------------------------------===//

#include "WarmStart.h"

#include "Bench/WorkingSet.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace decant;
using namespace decant::bench;

extern char **environ;

namespace {

struct Options {
  WarmStartOptions run;
  int runs = 10;
  int64_t serve = 10000;
  bool driverCache = true, json = false;
  int64_t childOf = 0; // when the parent started this process
};

/// What a child has printed.
Expected<Json> readAll(int pipe) {
  std::string text;
  char part[4096];
  for (ssize_t got; (got = read(pipe, part, sizeof(part))) > 0;)
    text.append(part, size_t(got));
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Status::failed("a run of its own printed no result; it said above "
                          "why");
  return json;
}

/// This program again, as a process of its own.
Expected<Json> runChild(const Options &options, int64_t serve) {
  int pipes[2];
  if (pipe(pipes) != 0)
    return Status::failed("cannot make a pipe");
  const WarmStartOptions &run = options.run;
  std::vector<std::string> words = {"/proc/self/exe",
                                    run.pack,
                                    "--device",
                                    run.device,
                                    "--spec",
                                    run.query.spec,
                                    "--tokens-per-step",
                                    std::to_string(run.query.tokensPerStep),
                                    "--batch",
                                    std::to_string(run.batch),
                                    "--serve",
                                    std::to_string(serve)};
  if (!run.query.transfer)
    words.push_back("--decode-only");
  if (run.graphs)
    words.push_back("--graphs");
  words.push_back("--child-of");
  words.push_back(std::to_string(nowNanoseconds()));
  std::vector<char *> argv;
  for (std::string &word : words)
    argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, pipes[0]);
  pid_t child = 0;
  const int failed = posix_spawn(&child, words[0].c_str(), &actions, nullptr,
                                 argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipes[1]);
  Expected<Json> json =
      failed
          ? Expected<Json>(Status::failed("cannot start a process of its own"))
          : readAll(pipes[0]);
  close(pipes[0]);
  if (!failed)
    waitpid(child, nullptr, 0);
  return json;
}

/// Median and spread of one number of all runs.
Json spreadOver(const std::vector<Json> &runs, const std::string &field) {
  std::vector<double> values;
  for (const Json &run : runs)
    values.push_back(run["ms"][field].get<double>());
  const Spread spread = spreadOf(values);
  return {{"median", spread.median}, {"p10", spread.p10}, {"p90", spread.p90}};
}

std::string toText(const Json &report) {
  std::string text = fmt::format(
      "{} for {} on {}, {} bytes read\n\n{:<28} {:>9} {:>9} {:>9}\n",
      report["spec"].get<std::string>(), report["target"].get<std::string>(),
      report["device_name"].get<std::string>(), report["bytes"].get<int64_t>(),
      "ms", "median", "p10", "p90");
  for (const auto &[name, spread] : report["ms"].items())
    text +=
        fmt::format("{:<28} {:>9.3f} {:>9.3f} {:>9.3f}\n", name,
                    spread["median"].get<double>(), spread["p10"].get<double>(),
                    spread["p90"].get<double>());
  text += "\nloaded one by one\n";
  for (const Json &image : report["images"])
    text += fmt::format("  {:<8} {:<6} {:>2} kernels {:>9.3f} ms\n",
                        image["kernels"].get<std::string>(),
                        image["code_kind"].get<std::string>(),
                        image["count"].get<int>(), image["ms"].get<double>());
  const Json &serve = report["serve"];
  if (!serve.is_null())
    text += fmt::format(
        "\n{} steps{} of 1 to {} rows: {:.1f} us each; since it was warm, {} "
        "images read, {} loaded\n",
        serve["steps"].get<int64_t>(),
        serve["graphs"] == 0 ? "" : " by CUDA graphs",
        serve["batch"].get<int64_t>(), serve["step_us"].get<double>(),
        serve["images_read"].get<int64_t>(),
        serve["images_loaded"].get<int64_t>());
  return text;
}

Expected<Json> measure(const Options &options) {
  if (options.runs < 1 || options.serve < 0 || options.run.batch < 1)
    return Status::invalid(
        fmt::format("--runs {}, --serve {}, --batch {}: 1 or more are needed, "
                    "and 0 or more steps",
                    options.runs, options.serve, options.run.batch));
  if (!options.driverCache)
    setenv("CUDA_CACHE_DISABLE", "1", 1);
  std::vector<Json> runs;
  for (int i = 0; i < options.runs; ++i) {
    DECANT_ASSIGN(Json run, runChild(options, 0));
    runs.push_back(std::move(run));
  }
  Json report = runs.front();
  Json times = Json::object();
  for (const auto &[name, value] : runs.front()["ms"].items())
    times[name] = spreadOver(runs, name);
  report["ms"] = times;
  report["runs"] = options.runs;
  if (options.serve > 0) {
    DECANT_ASSIGN(const Json run, runChild(options, options.serve));
    report["serve"] = run["serve"];
  }
  return report;
}

int fail(const Status &status) {
  fmt::print(stderr, "decant-warm-start: error: {}\n", status.message());
  return status.code() == StatusCode::JobFailed ? 1 : 2;
}

} // namespace

int main(int argc, char **argv) {
  const int64_t started = nowNanoseconds();
  Options options;
  CLI::App app("Times a process from a pack to its first launch.",
               "decant-warm-start");
  app.add_option("PACK", options.run.pack, "A pack")->required();
  app.add_option("--device", options.run.device, "cuda:N, or cpu on the host");
  app.add_option("--spec", options.run.query.spec,
                 "The spec's name, if several");
  app.add_option("--tokens-per-step", options.run.query.tokensPerStep,
                 "Of the spec, if several");
  app.add_option("--batch", options.run.batch,
                 "Rows of the first step, and the most of those served");
  app.add_flag("!--decode-only", options.run.query.transfer,
               "Leave the kernels that pack and unpack out");
  app.add_option("--runs", options.runs, "Processes to measure");
  app.add_option("--serve", options.serve,
                 "Steps of changing batches behind them, 0 for none");
  app.add_flag("--graphs", options.run.graphs,
               "Serve by CUDA graphs, one for each power of two of rows");
  app.add_flag("!--no-driver-cache", options.driverCache,
               "Let the driver compile PTX each time");
  app.add_flag("--json", options.json, "Print one JSON object");
  app.add_option("--child-of", options.childOf)->group("");
  options.run.query.transfer = true;
  CLI11_PARSE(app, argc, argv);

  const Expected<Json> result =
      options.childOf > 0
          ? warmStart(options.run, options.childOf, started, options.serve)
          : measure(options);
  if (!result)
    return fail(result.status());
  fmt::print("{}", options.json || options.childOf > 0 ? result->dump(2) + "\n"
                                                       : toText(*result));
  // Reading or loading while it serves is what packs promise not to do.
  const Json &serve = (*result)["serve"];
  const bool cold = !serve.is_null() &&
                    (serve["images_read"] != 0 || serve["images_loaded"] != 0);
  return cold ? 1 : 0;
}
