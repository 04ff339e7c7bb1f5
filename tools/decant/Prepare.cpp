//===- Prepare.cpp - decant prepare ---------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a host's start does, ahead of it: kernels of specs on devices by one
// engine, so that they are tuned, compiled and kept. Says where everything came
// from, and decodes some tokens on each device to show that all have the same
// outputs, to the bit.
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "Bench/BatchResults.h"
#include "Core/Parallel.h"
#include "SpecArguments.h"
#include "decant/Engine.h"

#include <fmt/format.h>
#include <memory>
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace decant;
using namespace decant::tool;

namespace {

/// Enough for rows at both ends of a batch and between them.
constexpr int64_t kCheckedBatch = 5;

struct PrepareOptions {
  std::vector<std::string> specs, overrides, packs;
  std::string devices = "cuda:0";
  bool tune = false;
  double budget = 60;
};

std::vector<std::string> splitAtCommas(const std::string &text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string hashOf(const bench::BatchResults &results) {
  auto hash = [](const std::vector<double> &list, uint64_t seed) {
    return XXH3_64bits_withSeed(list.data(), list.size() * sizeof(double),
                                seed);
  };
  return fmt::format("{:016x}",
                     hash(results.states.values, hash(results.outputs, 0)));
}

Json imagesJson(const PrepareReport &facts) {
  int64_t packed = 0, compiled = 0, linked = 0, cached = 0;
  for (const ImageReport &image : facts.images) {
    packed += !image.pack.empty();
    compiled += image.compiled;
    linked += image.linked;
    cached += image.pack.empty() && !image.compiled;
  }
  return {{"packed", packed},
          {"cached", cached},
          {"compiled", compiled},
          {"linked", linked}};
}

Json countersJson(const EngineCounters &counters) {
  return {{"tunings", counters.tunings},
          {"compiles", counters.compiles},
          {"links", counters.links},
          {"loads", counters.loads},
          {"packed", counters.packed},
          {"memory_hits", counters.cache.memoryHits},
          {"disk_hits", counters.cache.diskHits},
          {"misses", counters.cache.misses},
          {"stores", counters.cache.stores},
          {"adopted", counters.cache.adopted}};
}

Expected<Json> prepareOne(Engine &engine, const DecodeSpec &spec,
                          const std::string &name, Report &report) {
  DECANT_ASSIGN(const auto device, engine.openDevice(name));
  PrepareReport facts;
  DECANT_ASSIGN(const auto program, engine.prepare(spec, device, &facts));
  Json outputs; // null where a step decodes several tokens
  if (spec.tokensPerStep == 1) {
    DECANT_ASSIGN(const bench::BatchResults results,
                  bench::testedBatch(spec, device, *program, kCheckedBatch,
                                     allThreads()));
    outputs = hashOf(results);
  }
  const TuningReport &tuning = facts.tuning;
  Json json = {{"device", name},         {"device_name", device->info().name},
               {"target", facts.target}, {"schedules_from", tuning.source},
               {"tuned", tuning.tuned},  {"tune_ms", tuning.tuneMs},
               {"notes", tuning.notes},  {"rules", toString(program->rules())}};
  json["schedules"] = Json::array();
  for (int i = 0; i < program->variantCount(); ++i)
    json["schedules"].push_back(program->variant(i).scheduleText);
  json["images"] = imagesJson(facts);
  json["images_ms"] = facts.imagesMs;
  json["load_ms"] = facts.loadMs;
  json["outputs"] = std::move(outputs);
  for (const std::string &warning : facts.warnings)
    report.warnings.push_back(warning);
  if (!facts.targetNote.empty())
    report.warnings.push_back(facts.targetNote);
  return json;
}

std::string textOf(const Json &device) {
  const std::string from = device["schedules_from"];
  const Json &images = device["images"];
  std::string text = fmt::format(
      "  {} ({}), {}: schedules {}{}\n", device["device"].get<std::string>(),
      device["device_name"].get<std::string>(),
      device["target"].get<std::string>(),
      from.empty() ? "the usual ones" : "of " + from,
      device["tuned"].get<bool>()
          ? fmt::format(", tuned now in {:.1f} s",
                        device["tune_ms"].get<double>() / 1000)
          : "");
  text += fmt::format(
      "    batches {}; images: {} from packs, {} from the cache, {} compiled, "
      "{} linked, in {:.1f} ms; loaded in {:.1f} ms\n    {}\n",
      device["rules"].get<std::string>(), images["packed"].get<int>(),
      images["cached"].get<int>(), images["compiled"].get<int>(),
      images["linked"].get<int>(), device["images_ms"].get<double>(),
      device["load_ms"].get<double>(),
      device["outputs"].is_null()
          ? "outputs are compared where a step decodes one token"
          : "outputs " + device["outputs"].get<std::string>());
  for (const Json &note : device["notes"])
    text += fmt::format("    note: {}\n", note.get<std::string>());
  return text;
}

Expected<Report> runPrepare(const PrepareOptions &options) {
  EngineOptions engineOptions = EngineOptions::fromEnvironment();
  engineOptions.packs.insert(engineOptions.packs.begin(), options.packs.begin(),
                             options.packs.end());
  if (options.tune)
    engineOptions.tune = TunePolicy::IfMissing;
  if (!(options.budget > 0))
    return Status::invalid(fmt::format(
        "--budget: found {}; allowed: seconds, more than 0", options.budget));
  engineOptions.tuneSeconds = options.budget;
  DECANT_ASSIGN(Engine engine, Engine::create(engineOptions));
  Report report;
  report.json["specs"] = Json::array();
  for (const std::string &name : options.specs) {
    DECANT_ASSIGN(const DecodeSpec spec, readSpec({name, options.overrides}));
    Json json = {{"spec", spec.name}, {"devices", Json::array()}};
    report.text += spec.name + "\n";
    for (const std::string &device : splitAtCommas(options.devices)) {
      DECANT_ASSIGN(Json one, prepareOne(engine, spec, device, report));
      report.text += textOf(one);
      json["devices"].push_back(std::move(one));
    }
    for (const Json &device : json["devices"])
      if (device["outputs"] != json["devices"][0]["outputs"] &&
          report.verdict.ok())
        report.verdict = Status::failed(
            fmt::format("{}: outputs of {} are not those of {}", spec.name,
                        device["device"].get<std::string>(),
                        json["devices"][0]["device"].get<std::string>()));
    report.json["specs"].push_back(std::move(json));
  }
  report.json["counters"] = countersJson(engine.counters());
  std::vector<std::string> words;
  for (const auto &[name, value] : report.json["counters"].items())
    words.push_back(fmt::format("{} {}", name, value.get<int64_t>()));
  report.text += fmt::format("{}\n", fmt::join(words, ", "));
  return report;
}

} // namespace

Command decant::tool::addPrepare(CLI::App &root) {
  auto options = std::make_shared<PrepareOptions>();
  CLI::App *app = root.add_subcommand(
      "prepare", "Tune, compile and keep kernels ahead of a host's start, and "
                 "say where each came from");
  app->add_option("SPEC", options->specs, "Spec files or presets' names")
      ->required()
      ->option_text("...");
  addSpecOverrides(*app, options->overrides);
  app->add_option("--device", options->devices,
                  "cpu and cuda:N, with commas between; cuda:0 by default")
      ->option_text("DEVICE,...");
  app->add_option("--pack", options->packs,
                  "Look into this pack before the cache; may be repeated")
      ->option_text("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_flag("--tune", options->tune,
                "Time schedules where neither a record nor a pack is there; of "
                "processes that start together one does, and all use the "
                "result");
  app->add_option("--budget", options->budget,
                  "With --tune: begin nothing new after so many seconds; 60 by "
                  "default")
      ->option_text("SECONDS");
  app->footer(
      "Schedules come from a tuning record (DECANT_TUNING_DIR, "
      "DECANT_SITE_TUNING_DIR, then those that are built in), else from a "
      "pack, else from --tune, else they are the usual ones; their code from a "
      "pack, the cache or the compiler. DECANT_PACKS names packs, DECANT_TUNE="
      "if_missing allows tuning, in every program that uses an engine.");
  return {app, [options](const Invocation &) { return runPrepare(*options); }};
}
