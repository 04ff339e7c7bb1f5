//===- Records.cpp - decant records ---------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tuning records as files: shown, merged, compared, and looked up for a spec on
// a device as a program would.
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "OutputFile.h"
#include "TuneReport.h"
#include "decant/Engine.h"
#include "decant/Spec/SpecReader.h"

#include <fmt/format.h>
#include <memory>

using namespace decant;
using namespace decant::tool;

namespace {

struct RecordsOptions {
  std::vector<std::string> files;
  std::string output, spec, device = "cuda:0";
  std::vector<std::string> overrides;
  bool picks = false;
};

Expected<Report> show(const RecordsOptions &options) {
  Report report;
  report.json["files"] = Json::array();
  for (const std::string &path : options.files) {
    DECANT_ASSIGN(const TuningFile file, readTuningFile(path));
    Json json = Json::parse(toJson(file));
    json["file"] = path;
    report.json["files"].push_back(std::move(json));
    for (const TuningRecord &record : file.records)
      report.text += toText(record) + "\n";
    for (const FormatChoice &choice : file.choices)
      report.text += formatText(choice) + "\n";
  }
  return report;
}

Expected<Report> mergeFiles(const RecordsOptions &options) {
  TuningFile merged;
  for (const std::string &path : options.files) {
    DECANT_ASSIGN(const TuningFile file, readTuningFile(path));
    merge(merged, file);
  }
  DECANT_TRY(writeOutputFile(options.output, toJson(merged)));
  Report report;
  report.json = {{"output", options.output},
                 {"records", merged.records.size()},
                 {"choices", merged.choices.size()}};
  report.text =
      fmt::format("{} records and {} choices of formats written to "
                  "{}\n",
                  merged.records.size(), merged.choices.size(), options.output);
  return report;
}

Expected<Report> diffFiles(const RecordsOptions &options) {
  DECANT_ASSIGN(const TuningFile before, readTuningFile(options.files[0]));
  DECANT_ASSIGN(const TuningFile after, readTuningFile(options.files[1]));
  const std::vector<std::string> lines = diff(
      before, after, options.picks ? DiffOf::Picks : DiffOf::PicksAndTimes);
  Report report;
  report.json["differences"] = lines;
  for (const std::string &line : lines)
    report.text += line + "\n";
  if (lines.empty())
    report.text = "no difference\n";
  return report;
}

Expected<Report> find(const RecordsOptions &options) {
  DECANT_ASSIGN(const DecodeSpec spec,
                readSpec({options.spec, options.overrides}));
  DECANT_ASSIGN(Engine engine,
                Engine::create(EngineOptions::fromEnvironment()));
  DECANT_ASSIGN(const std::shared_ptr<Device> device,
                engine.openDevice(options.device));
  DECANT_ASSIGN(const RecordLookup found, engine.tuningOf(spec, *device));
  Report report;
  report.json["found"] = found.record.has_value();
  report.json["differences"] = found.differences;
  if (found.record) {
    report.json["source"] = found.source;
    report.json["record"] =
        Json::parse(toJson(TuningFile{{*found.record}, {}}))["records"][0];
    report.text = fmt::format("{}\n\n{}", found.source, toText(*found.record));
  } else {
    report.text =
        fmt::format("no record of {} for {}\n", spec.name, device->info().name);
  }
  for (const std::string &line : found.differences)
    report.text += "note: " + line + "\n";
  return report;
}

} // namespace

Command decant::tool::addRecords(CLI::App &root) {
  auto options = std::make_shared<RecordsOptions>();
  CLI::App *app = root.add_subcommand(
      "records", "Show, merge, compare and look up what decant tune found");
  app->require_subcommand(1);
  using Work = Expected<Report> (*)(const RecordsOptions &);
  auto works = std::make_shared<std::vector<std::pair<CLI::App *, Work>>>();
  auto add = [&](const char *name, const char *about, Work work) {
    CLI::App *sub = app->add_subcommand(name, about);
    sub->fallthrough(); // for --json
    works->emplace_back(sub, work);
    return sub;
  };
  auto addFiles = [&](CLI::App *sub, const char *about) {
    return sub->add_option("FILE", options->files, about)
        ->required()
        ->option_text("...");
  };
  addFiles(add("show", "Print records as tables", show), "Tuning files");
  CLI::App *merging =
      add("merge",
          "Write the records of several files into one; of two with "
          "one key the later stays",
          mergeFiles);
  addFiles(merging, "Tuning files");
  merging->add_option("-o,--output", options->output, "The file to write")
      ->required()
      ->option_text("FILE");
  CLI::App *comparing =
      add("diff", "Say what changes from one file to another", diffFiles);
  addFiles(comparing, "Two tuning files")->expected(2);
  comparing->add_flag("--picks", options->picks,
                      "Compare what was chosen, and not its times");
  CLI::App *finding = add(
      "find", "Say which record a program would use, and what differs", find);
  finding->add_option("SPEC", options->spec, "A spec file or a preset's name")
      ->required()
      ->option_text(" ");
  finding->add_option("--set", options->overrides, "Override one field")
      ->option_text("PATH=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  finding
      ->add_option("--device", options->device,
                   "cuda:N (cuda:0 by default) or cpu")
      ->option_text("DEVICE");
  return {app, [options, works](const Invocation &) -> Expected<Report> {
            for (const auto &[sub, work] : *works)
              if (sub->parsed())
                return work(*options);
            return Status::internal("records without a subcommand");
          }};
}
