//===- CompileBench.cpp - how long compiling takes ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// decant-compile-bench: per stage, over many compiles in one process; from a
// cold start, as a process of its own that reads the spec and ends with PTX;
// and from the disk cache, as an engine of its own. Needs no GPU.
//
//===----------------------------------------------------------------------===//

#include "Bench/WorkingSet.h"
#include "decant/Engine.h"
#include "decant/Spec/SpecReader.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace decant;
using bench::Spread;
using bench::spreadOf;
using Json = nlohmann::ordered_json;

extern char **environ;

namespace {

struct Options {
  std::vector<std::string> specs = {"qwen3-next-gdn", "kimi-linear-kda"};
  std::vector<std::string> targets = {"sm_90a"};
  std::vector<std::string> overrides;
  int repeats = 10, coldRepeats = 5;
  bool json = false, once = false;
};

using Clock = std::chrono::steady_clock;
double millisecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin)
      .count();
}

struct Measured {
  std::string spec, target;
  CompileTimes first; // of this process for this spec
  std::vector<std::pair<std::string, Spread>> stages;
  Spread total, coldProcess, cache;
  int64_t codeBytes = 0;
};

Expected<DecodeSpec> specOf(const std::string &name, const Options &options) {
  SpecSource source;
  source.spec = name;
  source.overrides = options.overrides;
  return readSpec(source);
}

Status measureStages(const DecodeSpec &spec, const CompileOptions &compiling,
                     int repeats, Measured &measured) {
  std::vector<std::vector<double>> byStage;
  std::vector<double> totals;
  for (int repeat = 0; repeat <= repeats; ++repeat) {
    CompileTimes times;
    DECANT_ASSIGN(const KernelImage image, compile(spec, compiling, &times));
    if (repeat == 0) {
      measured.first = times;
      measured.codeBytes = int64_t(image.code.size());
      byStage.resize(times.stages.size());
      continue;
    }
    totals.push_back(times.total());
    for (size_t i = 0; i < byStage.size(); ++i)
      byStage[i].push_back(times.stages[i].second);
  }
  for (size_t i = 0; i < byStage.size(); ++i)
    measured.stages.emplace_back(measured.first.stages[i].first,
                                 spreadOf(byStage[i]));
  measured.total = spreadOf(totals);
  return {};
}

/// This program again, to compile one spec and end.
Status runOnce(const std::string &spec, const std::string &target,
               const Options &options) {
  std::vector<std::string> words = {"decant-compile-bench", spec, "--once",
                                    "--target", target};
  for (const std::string &override_ : options.overrides) {
    words.push_back("--set");
    words.push_back(override_);
  }
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  int status = 0;
  if (posix_spawn(&process, "/proc/self/exe", nullptr, nullptr,
                  arguments.data(), environ) != 0 ||
      waitpid(process, &status, 0) != process || !WIFEXITED(status) ||
      WEXITSTATUS(status) != 0)
    return Status::failed(
        fmt::format("{} for {}: a process of its own failed", spec, target));
  return {};
}

Status measureCache(const DecodeSpec &spec, const CompileOptions &compiling,
                    int repeats, Measured &measured) {
  EngineOptions engineOptions;
  engineOptions.cacheMode = CacheMode::Disk;
  engineOptions.cacheFolder =
      (std::filesystem::temp_directory_path() /
       fmt::format("decant-compile-bench-{}", ::getpid()))
          .string();
  std::vector<double> times;
  Status status;
  for (int repeat = 0; repeat <= repeats && status.ok(); ++repeat) {
    const Clock::time_point begin = Clock::now();
    Expected<Engine> engine = Engine::create(engineOptions);
    if (!engine)
      return engine.status();
    ImageReport report;
    status = engine->image(spec, compiling, &report).status();
    const double spent = millisecondsSince(begin);
    if (status.ok() && repeat > 0 && report.compiled)
      status = Status::failed(fmt::format("{}: not found in the cache: {}",
                                          spec.name, report.missReason));
    if (repeat > 0)
      times.push_back(spent);
  }
  std::error_code error;
  std::filesystem::remove_all(engineOptions.cacheFolder, error);
  measured.cache = spreadOf(times);
  return status;
}

Expected<Measured> measure(const std::string &name, const std::string &target,
                           const Options &options) {
  Measured measured;
  measured.spec = name;
  measured.target = target;
  DECANT_ASSIGN(const DecodeSpec spec, specOf(name, options));
  CompileOptions compiling;
  DECANT_ASSIGN(compiling.target, lookupTarget(target));
  DECANT_TRY(measureStages(spec, compiling, options.repeats, measured));
  std::vector<double> cold;
  for (int repeat = 0; repeat < options.coldRepeats; ++repeat) {
    const Clock::time_point begin = Clock::now();
    DECANT_TRY(runOnce(name, target, options));
    cold.push_back(millisecondsSince(begin));
  }
  measured.coldProcess = spreadOf(cold);
  DECANT_TRY(measureCache(spec, compiling, options.repeats, measured));
  return measured;
}

Status compileOnce(const Options &options) {
  DECANT_ASSIGN(const DecodeSpec spec, specOf(options.specs.front(), options));
  CompileOptions compiling;
  DECANT_ASSIGN(compiling.target, lookupTarget(options.targets.front()));
  return compile(spec, compiling).status();
}

Json spreadJson(const Spread &spread) {
  return {{"ms", spread.median}, {"p10", spread.p10}, {"p90", spread.p90}};
}

Json toJson(const Measured &measured, const Options &options) {
  Json json = {
      {"spec", measured.spec},          {"target", measured.target},
      {"overrides", options.overrides}, {"code_bytes", measured.codeBytes},
      {"repeats", options.repeats},     {"cold_repeats", options.coldRepeats}};
  json["stages"] = Json::object();
  for (size_t i = 0; i < measured.stages.size(); ++i) {
    Json stage = spreadJson(measured.stages[i].second);
    stage["first"] = measured.first.stages[i].second;
    json["stages"][measured.stages[i].first] = stage;
  }
  json["total"] = spreadJson(measured.total);
  json["total"]["first"] = measured.first.total();
  json["cold_process"] = spreadJson(measured.coldProcess);
  json["from_cache"] = spreadJson(measured.cache);
  return json;
}

std::string line(const std::string &name, const Spread &spread, double first) {
  return fmt::format("  {:<14} {:>8.2f} {:>8.2f} {:>8.2f} {:>8}\n", name,
                     spread.median, spread.p10, spread.p90,
                     first < 0 ? "" : fmt::format("{:.2f}", first));
}

std::string toText(const Measured &measured) {
  std::string text =
      fmt::format("{} for {}, {} bytes\n  {:<14} {:>8} {:>8} {:>8} {:>8}\n",
                  measured.spec, measured.target, measured.codeBytes, "ms",
                  "median", "p10", "p90", "first");
  for (size_t i = 0; i < measured.stages.size(); ++i)
    text += line(measured.stages[i].first, measured.stages[i].second,
                 measured.first.stages[i].second);
  text += line("all stages", measured.total, measured.first.total());
  text += line("cold process", measured.coldProcess, -1);
  return text + line("from cache", measured.cache, -1) + "\n";
}

int fail(const Status &status) {
  fmt::print(stderr, "decant-compile-bench: error: {}\n", status.message());
  return int(status.code()) >= 2 ? 2 : 1;
}

int runAll(const Options &options) {
  if (options.repeats < 1 || options.coldRepeats < 1)
    return fail(Status::invalid(
        fmt::format("--repeat {}, --cold {}: 1 or more are needed",
                    options.repeats, options.coldRepeats)));
  if (options.once) {
    const Status status = compileOnce(options);
    return status.ok() ? 0 : fail(status);
  }
  Json all = {{"compiler", compilerVersion()}, {"results", Json::array()}};
  for (const std::string &spec : options.specs)
    for (const std::string &target : options.targets) {
      Expected<Measured> measured = measure(spec, target, options);
      if (!measured)
        return fail(measured.status());
      all["results"].push_back(toJson(*measured, options));
      if (!options.json)
        fmt::print("{}", toText(*measured));
      std::fflush(stdout);
    }
  if (options.json)
    fmt::print("{}\n", all.dump(2));
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Times compiling per stage, from a cold start and the cache.");
  app.add_option("SPEC", options.specs, "spec files or presets' names");
  app.add_option("--target", options.targets, "sm_90a by default")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--set", options.overrides, "path=value, for every spec")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--repeat", options.repeats, "compiles and cache loads");
  app.add_option("--cold", options.coldRepeats, "processes of their own");
  app.add_flag("--once", options.once, "compile the first SPEC, say nothing");
  app.add_flag("--json", options.json);
  CLI11_PARSE(app, argc, argv);
  return runAll(options);
}
