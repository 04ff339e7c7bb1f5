//===- Tune.cpp - decant tune ---------------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the schedules of a spec on a device, and with traces its format as
// well. The search is lib/Tune's, which knows no compiler; here it gets one,
// traces, a journal and a terminal.
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "Core/Parallel.h"
#include "FrontChart.h"
#include "Interrupt.h"
#include "NumberList.h"
#include "OutputFile.h"
#include "Progress.h"
#include "Ptxas.h"
#include "SpecArguments.h"
#include "TraceErrors.h"
#include "Tune/DeviceMachine.h"
#include "Tune/PackTuner.h"
#include "TuneReport.h"
#include "Verify/Verify.h"
#include "decant/Engine.h"

#include <cctype>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <mutex>

using namespace decant;
using namespace decant::tool;

namespace {

constexpr const char *kModel = "model:";

struct TuneOptions {
  SpecSource spec;
  std::string device = "cuda:0", batches = "1,8,32,128,512";
  std::vector<std::string> traces;
  SpecSource traced;
  std::string output, plot, specOutput, formats = "all";
  std::string pack, packOutput, kernels;
  std::optional<double> maxError, maxBits;
  int64_t tokens = 256, candidates = 48;
  double budget = 170;
  int threads = 0;
  bool ptxas = false;
};

/// What outlives the setup that points to it.
struct Workplace {
  std::unique_ptr<Pack> pack;
  tune::PackCandidates packed;
  std::optional<Engine> engine;
  std::unique_ptr<Assembler> assembler; // null: the driver makes machine code
  std::shared_ptr<Device> host;
  TargetInfo hostTarget;
  std::mutex mutex; // of the two below
  std::string what;
  std::unique_ptr<Progress> line;

  std::string verified; // the spec of the verifier
  std::optional<Verifier> verifier;

  /// Rows that join one after the other, against the float64 rule and codec
  /// and, on a GPU with NVRTC, the rule as CUDA C++.
  Status verify(const DecodeSpec &spec, const std::shared_ptr<Device> &device,
                const Program &program, unsigned threads) {
    constexpr int64_t kRows = 2;
    const std::string text = canonicalText(spec);
    if (!verifier || verified != text) {
      verifier.reset();
      VerifyOptions options;
      options.oracle = OraclePolicy::IfPresent;
      options.threads = threads;
      DECANT_ASSIGN(verifier, Verifier::create(spec, device, options));
      verified = text;
    }
    DECANT_ASSIGN(const VerifyResult result,
                  verifier->check(program, {kRows, Fills::Mixed}));
    return result.ok() ? Status() : Status::failed(result.failure);
  }

  void show(const std::string &name, int64_t done, int64_t total) {
    std::lock_guard<std::mutex> guard(mutex);
    if (!line || name != what) {
      line.reset();
      line = std::make_unique<Progress>(what = name, total);
    }
    line->update(done);
  }
};

/// Times of ranges need batches that go up.
Expected<std::vector<int64_t>> parseBatches(const std::string &text,
                                            int64_t maxRows) {
  DECANT_ASSIGN(std::vector<int64_t> batches,
                parseNumberList("--batch", text, maxRows));
  for (size_t i = 1; i < batches.size(); ++i)
    if (batches[i] <= batches[i - 1])
      return Status::invalid(fmt::format(
          "--batch: found \"{}\"; allowed are numbers that go up", text));
  return batches;
}

Status checkOptions(const TuneOptions &options) {
  auto refuse = [](const char *name, auto found, const char *allowed) {
    return Status::invalid(
        fmt::format("{}: found {}; allowed: {}", name, found, allowed));
  };
  if (options.tokens < 1)
    return refuse("--tokens", options.tokens, "a number from 1");
  if (options.candidates < 1)
    return refuse("--candidates", options.candidates, "a number from 1");
  if (options.threads < 0 || options.threads > 1024)
    return refuse("--threads", options.threads, "0 to 1024");
  if (!(options.budget > 0))
    return refuse("--budget", options.budget, "seconds, more than 0");
  if (options.maxError && !(*options.maxError > 0))
    return refuse("--max-error", *options.maxError, "a number above 0");
  if (options.maxBits && !(*options.maxBits > 0))
    return refuse("--max-bits", *options.maxBits, "a number above 0");
  if (options.formats != "all" && options.formats != "methods" &&
      options.formats != "mixtures")
    return refuse("--formats", "\"" + options.formats + "\"",
                  "methods, mixtures or all");
  const bool needsTrace =
      options.maxError || options.maxBits || !options.plot.empty() ||
      !options.specOutput.empty() || !options.traced.spec.empty();
  if (needsTrace && options.traces.empty())
    return Status::invalid(
        "--max-error, --max-bits, --plot, --spec-output and --trace-layer are "
        "about formats, whose errors need a trace; found no --trace");
  if (!options.pack.empty() && !options.traces.empty())
    return Status::invalid("--pack: found beside --trace; allowed is one of "
                           "them, since a pack's formats are what they are");
  if (!options.pack.empty() && options.ptxas)
    return Status::invalid("--ptxas: found beside --pack, whose kernels are "
                           "what they are; allowed is one of them");
  if (options.pack.empty() && !options.packOutput.empty())
    return Status::invalid("--pack-output: found without --pack, whose "
                           "variants it would hold");
  constexpr size_t kEnding = 4;
  const std::string &plot = options.plot;
  if (!plot.empty() && (plot.size() <= kEnding ||
                        plot.compare(plot.size() - kEnding, kEnding, ".svg")))
    return refuse("--plot", "\"" + plot + "\"", "a name that ends in .svg");
  return {};
}

/// Where the result goes: -o, or a file of its own in the user's folder.
std::string outputOf(const TuneOptions &options, const DecodeSpec &spec,
                     const DeviceClass &device) {
  if (!options.output.empty())
    return options.output;
  const std::string &folder = EngineOptions::fromEnvironment().records.user;
  if (folder.empty())
    return "";
  std::string name = spec.name + "-" + device.name;
  for (char &c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-')
      c = '-';
  std::error_code error; // writing will say what is wrong
  std::filesystem::create_directories(folder, error);
  return folder + "/" + name + ".json";
}

/// The kernels of `spec`, from the compiler; as `device` loads them, if one is
/// given.
Expected<KernelImage> makeImage(Engine &engine, const TargetInfo &target,
                                const DecodeSpec &spec,
                                const tune::ScheduleCandidate *candidate,
                                const Device *device = nullptr) {
  CompileOptions options;
  options.target = target;
  if (candidate) {
    options.schedule = candidate->schedule;
    options.order = candidate->order;
  }
  return device ? engine.image(spec, options, *device)
                : engine.image(spec, options);
}

/// What the CPU target computes.
Expected<bench::BatchResults> expectFromHost(Workplace &place,
                                             const DecodeSpec &spec,
                                             int64_t batch, unsigned threads) {
  DECANT_ASSIGN(KernelImage image,
                makeImage(*place.engine, place.hostTarget, spec, nullptr));
  DECANT_ASSIGN(const std::unique_ptr<Program> program,
                Program::create(place.host, std::move(image)));
  return bench::expectedBatch(spec, place.host, *program, batch, threads);
}

/// The device, its class, and what is known of its speed.
Status openMachine(const TuneOptions &options, Workplace &place,
                   tune::Setup &setup) {
  if (options.device.rfind(kModel, 0) == 0) {
    DECANT_ASSIGN(setup.target, lookupTarget(options.device.substr(
                                    std::string(kModel).size())));
    const auto machine = tune::machineOf(setup.target);
    if (!machine)
      return Status::invalid(fmt::format(
          "--device {}: a model of a GPU is needed; cpu can be timed",
          options.device));
    setup.machine = *machine;
    setup.deviceClass = {"model of " + machine->name, setup.target.name,
                         bandwidthClass(machine->bytesPerSecond), "none"};
    return {};
  }
  DECANT_ASSIGN(setup.device, place.engine->openDevice(options.device));
  DECANT_ASSIGN(setup.target, targetFor(*setup.device));
  DECANT_ASSIGN(setup.deviceClass,
                deviceClassOf(*setup.device, setup.target.name));
  DECANT_ASSIGN(setup.machine, tune::machineOf(setup.device, setup.target,
                                               setup.deviceClass.name));
  return {};
}

Expected<tune::FormatQuestion> askFormats(const TuneOptions &options,
                                          const DecodeSpec &spec,
                                          TraceErrors &errors) {
  tune::FormatQuestion question;
  question.set = options.formats == "methods"    ? tune::FormatSet::Methods
                 : options.formats == "mixtures" ? tune::FormatSet::Mixtures
                                                 : tune::FormatSet::All;
  question.bounds = {options.maxError, options.maxBits};
  DecodeSpec layer = spec;
  if (!options.traced.spec.empty()) {
    DECANT_ASSIGN(layer, readSpec(options.traced));
    if (!(layer.rule == spec.rule) || layer.heads.keyDim != spec.heads.keyDim ||
        layer.heads.valueDim != spec.heads.valueDim)
      return Status::invalid(fmt::format(
          "--trace-layer {}: its rule and dims are {}, {} x {}; allowed: those "
          "of {}, {}, {} x {}",
          options.traced.spec, layer.rule.name, layer.heads.keyDim,
          layer.heads.valueDim, spec.name, spec.rule.name, spec.heads.keyDim,
          spec.heads.valueDim));
  }
  DECANT_ASSIGN(errors,
                TraceErrors::create(options.traces, layer, options.tokens));
  // A plan belongs to the heads that were traced.
  if (question.set != tune::FormatSet::Methods &&
      layer.heads.value == spec.heads.value) {
    DECANT_ASSIGN(question.plans, errors.plans(tune::plannedMeans()));
  }
  question.traces = errors.names();
  question.mostWindow = std::max<int64_t>(errors.leastTokens() / 2, 1);
  question.errorsFrom =
      "float64 arithmetic with each format's codec at every "
      "fold, outputs not rounded; plans are calibrated on the "
      "same traces";
  question.errors = [&errors](const DecodeSpec &format) {
    return errors.of(format);
  };
  return question;
}

/// The search itself.
Status search(const TuneOptions &options, const tune::Setup &setup,
              tune::Journal &journal, TuneFindings &findings) {
  if (options.traces.empty()) {
    DECANT_ASSIGN(
        tune::ScheduleFindings found,
        tuneSchedules(findings.spec, setup, journal, tune::Breadth::All));
    findings.schedules.push_back(std::move(found));
  } else {
    TraceErrors errors;
    DECANT_ASSIGN(tune::FormatQuestion question,
                  askFormats(options, findings.spec, errors));
    question.before = findings.chosenBefore;
    DECANT_ASSIGN(findings.formats,
                  tuneFormats(findings.spec, question, setup, journal));
    findings.schedules = findings.formats->tuned;
    findings.file.choices = {findings.formats->choice};
  }
  for (const tune::ScheduleFindings &found : findings.schedules)
    findings.file.records.push_back(found.record);
  return {};
}

Status writeResults(const TuneOptions &options, const Workplace &place,
                    const TuneFindings &findings) {
  if (!findings.output.empty()) {
    TuningFile file;
    if (std::filesystem::exists(findings.output)) {
      DECANT_ASSIGN(file, readTuningFile(findings.output));
    }
    merge(file, findings.file);
    DECANT_TRY(writeOutputFile(findings.output, toJson(file)));
  }
  if (!options.packOutput.empty()) {
    DECANT_ASSIGN(
        const std::string bytes,
        tunedPack(*place.pack, place.packed, findings.file.records.front()));
    DECANT_TRY(writeOutputFile(options.packOutput, bytes, "--pack-output"));
  }
  if (!options.plot.empty())
    DECANT_TRY(writeOutputFile(options.plot,
                               frontChart(findings.formats->choice), "--plot"));
  if (!options.specOutput.empty())
    DECANT_TRY(writeOutputFile(options.specOutput,
                               specToJson(findings.formats->chosen),
                               "--spec-output"));
  return {};
}

/// Kernels come from the compiler, and are compared with those of the CPU
/// target and with the oracles.
void useCompiler(Workplace &place, tune::Setup &setup) {
  setup.compiler = compilerVersion();
  setup.hooks.image = [&](const DecodeSpec &spec,
                          const tune::ScheduleCandidate *candidate) {
    Expected<KernelImage> image =
        makeImage(*place.engine, setup.target, spec, candidate,
                  place.assembler ? nullptr : setup.device.get());
    return image && place.assembler ? place.assembler->assemble(*image)
                                    : std::move(image);
  };
  setup.hooks.warmUp = [&](const DecodeSpec &spec) {
    // A failure will be met again, where it is told.
    if (setup.device) {
      (void)setup.hooks.image(spec, nullptr).ok();
      (void)makeImage(*place.engine, place.hostTarget, spec, nullptr).ok();
    }
  };
  setup.hooks.expect = [&](const DecodeSpec &spec, int64_t batch) {
    return expectFromHost(place, spec, batch, setup.effort.threads);
  };
  if (setup.device)
    setup.hooks.verify = [&](const DecodeSpec &spec, const Program &program) {
      return place.verify(spec, setup.device, program, setup.effort.threads);
    };
}

/// Machine code comes from ptxas.
Status useAssembler(const TuneOptions &options, Workplace &place,
                    const tune::Setup &setup) {
  if (!setup.device || setup.device->info().kind == TargetKind::Cpu)
    return Status::invalid(fmt::format(
        "--ptxas: found beside --device {}; allowed is a GPU", options.device));
  const std::string program = findPtxas();
  if (program.empty())
    return Status::unavailable(
        "--ptxas: there is no ptxas on PATH; without it the driver makes "
        "machine code");
  place.assembler = std::make_unique<Assembler>(program);
  return {};
}

/// Kernels are those of a pack; nothing is compiled.
Status usePack(const TuneOptions &options, const DecodeSpec &spec,
               Workplace &place, tune::Setup &setup) {
  if (!setup.device)
    return Status::invalid(fmt::format(
        "--pack: found beside --device {}; allowed is a device that runs it",
        options.device));
  DECANT_ASSIGN(place.pack, Pack::open(options.pack));
  DECANT_ASSIGN(place.packed,
                tune::packCandidates(*place.pack, spec, setup.device->info()));
  return takeFromPack(*place.pack, place.packed, setup);
}

Expected<Report> runTune(const TuneOptions &options) {
  const auto begin = std::chrono::steady_clock::now();
  DECANT_TRY(checkOptions(options));
  TuneFindings findings;
  DECANT_ASSIGN(findings.spec, readSpec(options.spec));
  if (findings.spec.tokensPerStep > 1)
    return Status::invalid(fmt::format(
        "{}: tokens_per_step is {}; tune times steps of one token (add --set "
        "tokens_per_step=1)",
        findings.spec.name, findings.spec.tokensPerStep));
  // Candidates are many and serve once: they are kept in memory only.
  EngineOptions engineOptions;
  engineOptions.records.bundled = false;
  if (!options.kernels.empty()) {
    engineOptions.cacheMode = CacheMode::Disk;
    engineOptions.cacheFolder = options.kernels;
  }
  Workplace place;
  DECANT_ASSIGN(place.engine, Engine::create(engineOptions));
  tune::Setup setup;
  DECANT_TRY(openMachine(options, place, setup));
  DECANT_ASSIGN(place.host, place.engine->openDevice("cpu"));
  DECANT_ASSIGN(place.hostTarget, targetFor(*place.host));
  findings.device = setup.deviceClass;
  findings.ran = setup.device != nullptr;
  DECANT_ASSIGN(setup.effort.batches,
                parseBatches(options.batches,
                             kMaxGridBlocks / findings.spec.heads.value));
  setup.effort.mostSchedules = size_t(options.candidates);
  setup.effort.threads =
      options.threads > 0 ? unsigned(options.threads) : allThreads();
  setup.begin = begin;
  setup.budget = options.budget;
  if (options.ptxas)
    DECANT_TRY(useAssembler(options, place, setup));
  if (options.pack.empty())
    useCompiler(place, setup);
  else
    DECANT_TRY(usePack(options, findings.spec, place, setup));
  setup.hooks.progress = [&](const std::string &what, int64_t done,
                             int64_t total) { place.show(what, done, total); };
  setup.hooks.stop = [] { return Interrupt::asked(); };

  findings.output = outputOf(options, findings.spec, setup.deviceClass);
  tune::Journal journal;
  const std::string notes = findings.output + ".journal";
  if (!findings.output.empty()) {
    DECANT_ASSIGN(
        journal, tune::Journal::open(notes, setup.deviceClass, setup.compiler));
  }
  findings.resumed = journal.resumed();
  if (std::filesystem::exists(findings.output)) {
    DECANT_ASSIGN(const TuningFile earlier, readTuningFile(findings.output));
    for (const TuningRecord &record : earlier.records)
      if (record.key.device.name == setup.deviceClass.name &&
          record.key.device.target == setup.deviceClass.target)
        setup.before.push_back(record);
    for (const FormatChoice &choice : earlier.choices)
      if (choice.key.device.name == setup.deviceClass.name &&
          choice.key.specHash == specHash(findings.spec))
        findings.chosenBefore = choice.chosen;
  }
  const Interrupt interrupt;
  Status done = search(options, setup, journal, findings);
  place.line.reset();
  if (!done.ok() && Interrupt::asked() && !findings.output.empty())
    return Status::failed(fmt::format(
        "{}; what was measured is in {}, and the same command goes on from "
        "there",
        done.message(), notes));
  DECANT_TRY(done);
  findings.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  findings.spent = *setup.spent;
  DECANT_TRY(writeResults(options, place, findings));
  journal.remove();
  Report report;
  report.json = toJson(findings);
  report.text = toText(findings);
  if (findings.formats && !findings.formats->met)
    report.verdict = Status::failed(
        fmt::format("{}: no format meets the bounds", findings.spec.name));
  return report;
}

} // namespace

Command decant::tool::addTune(CLI::App &root) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App *app = root.add_subcommand(
      "tune", "Time schedules of a spec at several batches and keep the best; "
              "with traces, find its format too");
  addSpecArguments(*app, options->spec, "A spec file or a preset's name");
  app->add_option("--device", options->device,
                  "cuda:N (cuda:0 by default), cpu, or model:TARGET, which "
                  "runs nothing and ranks by a model")
      ->option_text("DEVICE");
  app->add_option("--batch", options->batches,
                  "The batches that are timed; 1,8,32,128,512 by default")
      ->option_text("LIST");
  app->add_option("--trace", options->traces,
                  "A safetensors file with q, k, v, g and beta of one sequence "
                  "of the layer; may be repeated. Formats, windows and "
                  "compensators are then searched too")
      ->option_text("FILE");
  app->add_option("--trace-layer", options->traced.spec,
                  "The layer that was traced, if it is not SPEC: errors are of "
                  "its heads and inputs, times of SPEC's")
      ->option_text("SPEC");
  app->add_option("--tokens", options->tokens,
                  "Use the first N tokens of each trace; 256 by default. "
                  "Windows of more than half of them are not tried")
      ->option_text("N");
  app->add_option("--max-error", options->maxError,
                  "The relative error of the outputs that is allowed; that of "
                  "SPEC's own format when absent")
      ->option_text("X");
  app->add_option("--max-bits", options->maxBits,
                  "The bits per element that are allowed")
      ->option_text("B");
  app->add_option("--formats", options->formats,
                  "What is searched: methods (the presets), mixtures (of "
                  "fields) or all")
      ->option_text("SET");
  app->add_option("-o,--output", options->output,
                  "Add the result to this file; by default to one in the "
                  "folder where programs look for records")
      ->option_text("FILE");
  app->add_option("--plot", options->plot,
                  "Draw the formats' errors over bits and time")
      ->option_text("FILE.svg");
  app->add_option("--spec-output", options->specOutput,
                  "Write the chosen format as a spec")
      ->option_text("FILE");
  app->add_option("--pack", options->pack,
                  "Time the variants of SPEC that this pack holds, and compile "
                  "nothing")
      ->option_text("PACK");
  app->add_option("--pack-output", options->packOutput,
                  "Write the pack with the variants that were chosen as its "
                  "picks")
      ->option_text("PACK");
  app->add_option("--candidates", options->candidates,
                  "Try at most N schedules of a format; 48 by default")
      ->option_text("N");
  app->add_option("--budget", options->budget,
                  "Begin nothing new after so many seconds; 170 by default")
      ->option_text("SECONDS");
  app->add_option(
         "--threads", options->threads,
         "Threads that compile and check; one per processor by default")
      ->option_text("N");
  app->add_flag("--ptxas", options->ptxas,
                "Machine code by the ptxas on PATH, as many kernels at a time "
                "as there are threads, where the driver compiles one after the "
                "other");
  app->add_option("--kernels", options->kernels,
                  "Keep the kernels that are tried in this cache folder, for a "
                  "run to come; by default they are forgotten")
      ->option_text("FOLDER");
  app->footer(
      "Measurements are noted in FILE.journal as they are made; after an "
      "interruption (Ctrl-C) the same command goes on from there. A schedule "
      "replaces the usual one only if it is faster beyond noise, and one that "
      "FILE has from an earlier run stays under the same rule. Programs look "
      "for records in DECANT_TUNING_DIR, DECANT_SITE_TUNING_DIR, then among "
      "those that are built in; see decant records.");
  return {app, [options](const Invocation &) { return runTune(*options); }};
}
