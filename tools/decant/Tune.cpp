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

#include "TunePlace.h"

#include "Core/Parallel.h"
#include "FrontChart.h"
#include "Interrupt.h"
#include "NumberList.h"
#include "OutputFile.h"
#include "TraceErrors.h"
#include "TuneReport.h"

#include <cctype>
#include <filesystem>
#include <fmt/format.h>

using namespace decant;
using namespace decant::tool;

namespace {

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

Status writeResults(const TuneOptions &options, const TunePlace &place,
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
  TunePlace place;
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
  addTuneOptions(*app, *options);
  return {app, [options](const Invocation &) { return runTune(*options); }};
}
