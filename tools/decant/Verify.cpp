//===- Verify.cpp - decant verify -----------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decodes with the compiled kernels, over a grid of batches, fills of windows
// and tokens per step, and compares every step with the float64 reference and,
// on a GPU, with the rule as CUDA C++ under NVRTC.
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "NumberList.h"
#include "Progress.h"
#include "Spec/Suggest.h"
#include "SpecArguments.h"
#include "Verify/PresetLayers.h"
#include "Verify/Verify.h"
#include "decant/Engine.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

using namespace decant;
using namespace decant::tool;

namespace {

/// Rows of a batch: more tell nothing new, since rows of one sequence agree.
constexpr int64_t kMostRows = 4096;
/// Each holds the states of a few sequences several times over.
constexpr int64_t kMostJobs = 16;

struct VerifyArguments {
  SpecSource spec;
  std::string presets, device = "cpu", schedule, nvrtc;
  std::string batches = "1,7,64", tokens;
  int64_t jobs = 0;
  bool referenceOnly = false;
};

/// One line of the table, or why a spec could not be run.
struct Line {
  std::string spec;
  int tokensPerStep = 1;
  std::optional<VerifyResult> result;
  std::string failure;
};

struct Findings {
  DeviceInfo device;
  std::string oracle; // NVRTC's library and version; empty without
  std::vector<Line> lines;
  size_t failed() const {
    size_t count = 0;
    for (const Line &line : lines)
      count += !line.failure.empty();
    return count;
  }
};

Expected<std::vector<SpecSource>> layersOf(const VerifyArguments &arguments) {
  if (arguments.presets.empty() == arguments.spec.spec.empty())
    return Status::invalid(
        arguments.presets.empty()
            ? "found neither a SPEC nor --presets; allowed: one of them"
            : fmt::format("found SPEC \"{}\" beside --presets; allowed: one of "
                          "them",
                          arguments.spec.spec));
  if (arguments.presets.empty())
    return std::vector<SpecSource>{arguments.spec};
  std::vector<SpecSource> layers;
  std::vector<std::string> names = {"all"};
  for (PresetKind kind :
       {PresetKind::Model, PresetKind::Method, PresetKind::Rule}) {
    names.emplace_back(toString(kind));
    if (arguments.presets == "all" || arguments.presets == toString(kind))
      for (SpecSource &source : presetLayers(kind)) {
        source.overrides.insert(source.overrides.end(),
                                arguments.spec.overrides.begin(),
                                arguments.spec.overrides.end());
        layers.push_back(std::move(source));
      }
  }
  if (layers.empty())
    return Status::invalid(fmt::format(
        "--presets: found \"{}\"{}; allowed: {}", arguments.presets,
        spec::didYouMean(arguments.presets, names), spec::join(names)));
  return layers;
}

Expected<int64_t> jobsOf(const VerifyArguments &arguments) {
  if (arguments.jobs < 0 || arguments.jobs > kMostJobs)
    return Status::invalid(fmt::format(
        "--jobs: found {}; allowed are 1 to {}, or 0 for one per processor",
        arguments.jobs, kMostJobs));
  return arguments.jobs > 0
             ? arguments.jobs
             : std::clamp<int64_t>(std::thread::hardware_concurrency(), 1,
                                   kMostJobs);
}

/// Every layer with each of the numbers of tokens per step.
Expected<std::vector<DecodeSpec>>
specsOf(const VerifyArguments &arguments,
        const std::vector<SpecSource> &layers) {
  std::vector<int64_t> tokens = {0}; // what the spec says
  if (!arguments.tokens.empty()) {
    DECANT_ASSIGN(tokens, parseNumberList("--tokens", arguments.tokens,
                                          kMaxTokensPerStep));
  }
  std::vector<DecodeSpec> specs;
  for (const SpecSource &layer : layers)
    for (int64_t count : tokens) {
      SpecSource source = layer;
      if (count > 0)
        source.overrides.push_back(fmt::format("tokens_per_step={}", count));
      Expected<DecodeSpec> spec = readSpec(source);
      // Presets whose windows are too short for so many tokens are no case.
      if (!spec && count > 1 && !arguments.presets.empty() && readSpec(layer))
        continue;
      if (!spec)
        return spec.status();
      specs.push_back(spec.take());
    }

  if (specs.empty())
    return Status::invalid(fmt::format(
        "--tokens: found \"{}\", and no preset has a window for that; allowed: "
        "1 among the numbers, or --set window.length=N",
        arguments.tokens));
  return specs;
}

class VerifyJob {
public:
  VerifyJob(const VerifyArguments &arguments, Engine &engine,
            std::shared_ptr<Device> device, std::vector<int64_t> batches)
      : arguments(arguments), engine(engine), device(std::move(device)),
        batches(std::move(batches)) {}

  /// All cases of every spec, several specs at a time, as lines in their order.
  Findings run(const std::vector<DecodeSpec> &specs, int64_t jobs) {
    Progress progress("specs", int64_t(specs.size()));
    std::vector<Findings> parts(specs.size());
    std::atomic<size_t> next = 0;
    std::mutex mutex;
    int64_t done = 0;
    const auto work = [&] {
      for (size_t i = next++; i < specs.size(); i = next++) {
        parts[i] = runSpec(specs[i]);
        const std::lock_guard<std::mutex> lock(mutex);
        progress.update(++done);
      }
    };
    std::vector<std::future<void>> others;
    for (int64_t job = 1; job < std::min<int64_t>(jobs, specs.size()); ++job)
      others.push_back(std::async(std::launch::async, work));
    work();
    for (std::future<void> &other : others)
      other.get();
    Findings all;
    all.device = device->info();
    for (Findings &part : parts) {
      all.oracle = std::max(all.oracle, part.oracle); // one, or none yet
      for (Line &line : part.lines)
        all.lines.push_back(std::move(line));
    }
    return all;
  }

private:
  /// What cannot be compiled or run is a line, too.
  Findings runSpec(const DecodeSpec &spec) {
    Findings findings;
    const Status status = runCases(spec, findings);
    if (!status.ok())
      findings.lines.push_back(
          {spec.name, spec.tokensPerStep, std::nullopt, status.message()});
    return findings;
  }

  Status runCases(const DecodeSpec &spec, Findings &findings) {
    CompileOptions options;
    DECANT_ASSIGN(options.target, targetFor(*device));
    if (!arguments.schedule.empty()) {
      DECANT_ASSIGN(options.schedule, parseSchedule(arguments.schedule));
    }
    DECANT_ASSIGN(KernelImage image, engine.image(spec, options));
    LoadOptions load;
    load.spills = SpillPolicy::Refuse;
    DECANT_ASSIGN(
        const std::unique_ptr<Program> program,
        Program::create(device, std::move(image), std::nullopt, load));
    VerifyOptions verify;
    verify.nvrtc = arguments.nvrtc;
    verify.oracle =
        arguments.referenceOnly ? OraclePolicy::None : OraclePolicy::Require;
    DECANT_ASSIGN(Verifier verifier, Verifier::create(spec, device, verify));
    findings.oracle = verifier.oracleName();
    for (const VerifyCase &situation : verifyGrid(spec, batches)) {
      DECANT_ASSIGN(VerifyResult result, verifier.check(*program, situation));
      const std::string failure = result.failure;
      findings.lines.push_back(
          {spec.name, spec.tokensPerStep, std::move(result), failure});
    }
    return {};
  }

  const VerifyArguments &arguments;
  Engine &engine;
  std::shared_ptr<Device> device;
  std::vector<int64_t> batches;
};

Json toJson(const Findings &findings, const VerifyArguments &arguments) {
  Json json;
  json["device"] = arguments.device;
  json["device_name"] = findings.device.name;
  json["cuda_oracle"] =
      findings.oracle.empty() ? Json() : Json(findings.oracle);
  json["cases"] = Json::array();
  for (const Line &line : findings.lines) {
    Json entry = {{"spec", line.spec}, {"tokens_per_step", line.tokensPerStep}};
    if (line.result) {
      const VerifyResult &r = *line.result;
      auto of = [&](double VerifyResult::Oracle::*member) {
        return r.oracle ? Json((*r.oracle).*member) : Json();
      };
      entry["batch"] = r.situation.batch;
      entry["fills"] = toString(r.situation.fills);
      entry["steps"] = r.steps;
      entry["tokens"] = r.tokens;
      entry["states"] = r.states;
      entry["folds"] = r.folds;
      entry["output"] = {{"error", r.output},
                         {"cuda_error", of(&VerifyResult::Oracle::output)},
                         {"bound", r.bounds.output}};
      entry["state"] = {{"error", r.state},
                        {"cuda_error", of(&VerifyResult::Oracle::state)},
                        {"bound", r.bounds.state},
                        {"cuda_bound", r.bounds.plainState}};
      entry["fold"] = {{"error", r.fold},
                       {"codec_error", r.codec},
                       {"bound", r.bounds.fold(r.codec)}};
      entry["oracles_disagree"] = of(&VerifyResult::Oracle::disagreement);
    }
    entry["verdict"] = line.failure.empty() ? "ok" : line.failure;
    json["cases"].push_back(std::move(entry));
  }
  json["failed"] = findings.failed();
  return json;
}

std::string toText(const Findings &findings, const VerifyArguments &arguments) {
  std::string text = fmt::format("{} ({}) against the float64 rule and codec",
                                 arguments.device, findings.device.name);
  text += findings.oracle.empty()
              ? "\n"
              : fmt::format(",\nand against the rule as CUDA C++ under {}\n",
                            findings.oracle);
  size_t width = 4;
  for (const Line &line : findings.lines)
    width = std::max(width, line.spec.size());
  text += fmt::format("\n{:<{}}                       {:^26}  {:^26}  {:^26}\n",
                      "", width, "outputs", "states within windows", "folds");
  text += fmt::format(
      "{:<{}} {:>6} {:>5} {:<6}  {:>8} {:>8} {:>8}  {:>8} {:>8} "
      "{:>8}  {:>8} {:>8} {:>8}  {}\n",
      "spec", width, "tokens", "batch", "fills", "error", "CUDA", "bound",
      "error", "CUDA", "bound", "error", "codec", "bound", "verdict");
  auto number = [](double value) { return fmt::format("{:.1e}", value); };
  for (const Line &line : findings.lines) {
    text += fmt::format("{:<{}} {:>6} ", line.spec, width, line.tokensPerStep);
    if (line.result) {
      const VerifyResult &r = *line.result;
      text += fmt::format(
          "{:>5} {:<6}  {:>8} {:>8} {:>8}  {:>8} {:>8} {:>8}  {:>8} {:>8} "
          "{:>8}  ",
          r.situation.batch, toString(r.situation.fills), number(r.output),
          r.oracle ? number(r.oracle->output) : "-", number(r.bounds.output),
          r.states ? number(r.state) : "-",
          r.states && r.oracle ? number(r.oracle->state) : "-",
          r.states ? number(r.bounds.state) : "-", number(r.fold),
          number(r.codec), number(r.bounds.fold(r.codec)));
    }
    text += line.failure.empty() ? "ok\n" : "FAILED: " + line.failure + "\n";
  }
  return text + fmt::format("\n{} of {} cases failed\n", findings.failed(),
                            findings.lines.size());
}

Expected<Report> runVerify(const VerifyArguments &arguments) {
  DECANT_ASSIGN(const std::vector<SpecSource> layers, layersOf(arguments));
  DECANT_ASSIGN(const std::vector<int64_t> batches,
                parseNumberList("--batch", arguments.batches, kMostRows));
  DECANT_ASSIGN(const int64_t jobs, jobsOf(arguments));
  DECANT_ASSIGN(const std::vector<DecodeSpec> specs,
                specsOf(arguments, layers));

  DECANT_ASSIGN(Engine engine,
                Engine::create(EngineOptions::fromEnvironment()));
  DECANT_ASSIGN(const std::shared_ptr<Device> device,
                engine.openDevice(arguments.device));
  if (!arguments.schedule.empty())
    DECANT_TRY(parseSchedule(arguments.schedule).status());
  if (device->info().kind == TargetKind::Nvidia && !arguments.referenceOnly)
    DECANT_TRY(Nvrtc::load(arguments.nvrtc).status());
  const Findings findings =
      VerifyJob(arguments, engine, device, batches).run(specs, jobs);
  Report report;
  report.json = toJson(findings, arguments);
  report.text = toText(findings, arguments);
  if (const size_t failed = findings.failed())
    report.verdict = Status::failed(
        fmt::format("{} of {} cases failed", failed, findings.lines.size()));
  return report;
}

} // namespace

Command decant::tool::addVerify(CLI::App &root) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App *app = root.add_subcommand(
      "verify", "Compare the kernels with the rule in float64 and, on a GPU, "
                "with the rule as CUDA C++");
  addSpecArguments(*app, arguments->spec, "A spec file or a preset's name",
                   SpecNeed::Optional);
  app->add_option("--presets", arguments->presets,
                  "In the place of a SPEC: every preset of a kind (model, "
                  "method or rule), or all")
      ->option_text("KIND");
  app->add_option("--device", arguments->device, "cpu (the default) or cuda:N")
      ->option_text("DEVICE");
  app->add_option("--batch", arguments->batches,
                  "Rows of a step, several with commas; 1,7,64 by default")
      ->option_text("LIST");
  app->add_option("--tokens", arguments->tokens,
                  "Tokens per step, several with commas; the spec's by default")
      ->option_text("LIST");
  app->add_option("--schedule", arguments->schedule,
                  "A schedule as inspect prints it, in place of the default")
      ->option_text("TEXT");
  app->add_option("--nvrtc", arguments->nvrtc,
                  "NVIDIA's runtime compiler, where the loader does not find "
                  "libnvrtc.so")
      ->option_text("FILE");
  app->add_option("--jobs", arguments->jobs,
                  "Specs that are verified at a time; by default one per "
                  "processor")
      ->option_text("N");
  app->add_flag("--reference-only", arguments->referenceOnly,
                "Leave the CUDA C++ out; a GPU then needs no NVRTC");
  return {app,
          [arguments](const Invocation &) { return runVerify(*arguments); }};
}
