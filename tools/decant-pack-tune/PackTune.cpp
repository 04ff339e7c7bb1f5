//===- PackTune.cpp - decant-pack-tune ------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// decant-pack-tune PACK [SPEC...]: times the variants that a pack holds of each
// spec on a GPU, compares what they compute with one another, and keeps the
// best of each range of batches, as a tuning record and as the picks of a new
// pack. Then it launches them. The runtime is all that it needs; `decant
// compile --pack --candidates N` makes packs that have something to pick from.
//
//===----------------------------------------------------------------------===//

#include "Interrupt.h"
#include "NumberList.h"
#include "OutputFile.h"
#include "Progress.h"
#include "Tune/DeviceMachine.h"
#include "Tune/PackTuner.h"
#include "Tune/ScheduleTuner.h"
#include "TuneReport.h"
#include "decant/Runtime/Cuda.h"
#include "decant/Spec/Presets.h"
#include "decant/Spec/SpecReader.h"
#include "decant/Tune/RecordStore.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fmt/format.h>
#include <thread>

using namespace decant;
using namespace decant::tool;

namespace {

struct Options {
  std::string pack;
  std::vector<std::string> specs, overrides;
  std::string device = "cuda:0", batches = "1,8,32,128,512";
  std::string output, packOutput;
  double budget = 170;
  int threads = 0;
  bool json = false;
};

Expected<std::shared_ptr<Device>> openGpu(const std::string &name) {
  const std::string prefix = "cuda:";
  int ordinal = -1;
  const char *end = name.data() + name.size();
  if (name.compare(0, prefix.size(), prefix) != 0 ||
      std::from_chars(name.data() + prefix.size(), end, ordinal).ptr != end ||
      ordinal < 0)
    return Status::invalid(
        fmt::format("--device: found \"{}\"; allowed is cuda:N", name));
  DECANT_ASSIGN(auto driver, loadCudaDriver());
  return openCudaDevice(std::move(driver), ordinal);
}

/// The specs that were named, else the presets that the pack has.
Expected<std::vector<DecodeSpec>> specsOf(const Options &options,
                                          const Pack &pack) {
  std::vector<DecodeSpec> specs;
  for (const std::string &name : options.specs) {
    DECANT_ASSIGN(DecodeSpec spec, readSpec({name, options.overrides}));
    specs.push_back(std::move(spec));
  }
  if (!specs.empty())
    return Expected<std::vector<DecodeSpec>>(std::move(specs));
  std::vector<std::string> names;
  for (const PackSpec &packed : pack.index().specs) {
    names.push_back(packed.name);
    const Expected<DecodeSpec> spec =
        readSpec({packed.name, options.overrides});
    if (spec && hashSpecText(canonicalText(*spec)) == packed.textHash)
      specs.push_back(*spec);
  }
  if (specs.empty())
    return Status::invalid(fmt::format(
        "SPEC: found none, and {} has {}, none of which is a preset of that "
        "name; allowed: the files of its specs",
        pack.path(), fmt::join(names, ", ")));
  return Expected<std::vector<DecodeSpec>>(std::move(specs));
}

/// One spec after the other, each in the pack that the last one left.
class Tuner {
public:
  explicit Tuner(const Options &options) : options(options) {}

  Expected<Report> run() {
    DECANT_ASSIGN(batches,
                  parseNumberList("--batch", options.batches, kMaxGridBlocks));
    if (!std::is_sorted(batches.begin(), batches.end()))
      return Status::invalid(
          fmt::format("--batch: found \"{}\"; allowed are numbers that go up",
                      options.batches));
    if (!(options.budget > 0))
      return Status::invalid(fmt::format(
          "--budget: found {}; allowed: seconds, more than 0", options.budget));
    DECANT_ASSIGN(pack, Pack::open(options.pack));
    DECANT_ASSIGN(const std::vector<DecodeSpec> specs, specsOf(options, *pack));
    DECANT_ASSIGN(device, openGpu(options.device));
    report.json["specs"] = Json::array();
    for (const DecodeSpec &spec : specs)
      DECANT_TRY(tuneOne(spec).within(spec.name));
    return std::move(report);
  }

private:
  Status tuneOne(const DecodeSpec &spec) {
    if (spec.tokensPerStep > 1)
      return Status::invalid(
          fmt::format("tokens_per_step is {}; steps of one token are timed",
                      spec.tokensPerStep));
    DECANT_ASSIGN(const tune::PackCandidates candidates,
                  tune::packCandidates(*pack, spec, device->info()));
    tune::Setup setup;
    setup.device = device;
    setup.effort.batches = batches;
    setup.effort.threads =
        options.threads > 0 ? unsigned(options.threads)
                            : std::max(1u, std::thread::hardware_concurrency());
    setup.budget = options.budget;
    DECANT_ASSIGN(setup.deviceClass, deviceClassOf(*device, candidates.target));
    DECANT_ASSIGN(const TargetInfo target, lookupTarget(candidates.target));
    DECANT_ASSIGN(setup.machine,
                  tune::machineOf(device, target, setup.deviceClass.name));
    std::optional<Progress> line;
    std::string shown;
    setup.hooks.progress = [&](const std::string &what, int64_t done,
                               int64_t total) {
      if (!line || shown != what)
        line.emplace(shown = what, total);
      line->update(done);
    };
    setup.hooks.stop = [] { return Interrupt::asked(); };
    DECANT_TRY(takeFromPack(*pack, candidates, setup));
    tune::Journal journal;
    if (!options.output.empty()) {
      DECANT_ASSIGN(journal,
                    tune::Journal::open(options.output + ".journal",
                                        setup.deviceClass, setup.compiler));
    }
    DECANT_ASSIGN(const tune::ScheduleFindings found,
                  tuneSchedules(spec, setup, journal, tune::Breadth::All));
    line.reset();
    findings.records.push_back(found.record);
    if (!options.output.empty())
      DECANT_TRY(writeRecords());
    journal.remove();
    describe(found, candidates, setup);
    if (options.packOutput.empty())
      return {};
    DECANT_ASSIGN(const std::string bytes,
                  tunedPack(*pack, candidates, found.record));
    DECANT_TRY(writeOutputFile(options.packOutput, bytes, "--pack-output"));
    DECANT_ASSIGN(std::unique_ptr<Pack> tuned, Pack::open(options.packOutput));
    DECANT_ASSIGN(const std::string picks,
                  tune::launchPicks(*tuned, *pack, spec, device, batches));
    report.json["specs"].back()["picks"] = picks;
    report.text += fmt::format("launched from {}: batches {}, outputs as "
                               "before\n\n",
                               options.packOutput, picks);
    pack = std::move(tuned);
    return {};
  }

  void describe(const tune::ScheduleFindings &found,
                const tune::PackCandidates &candidates,
                const tune::Setup &setup) {
    report.text +=
        toText(found.record) +
        fmt::format("\n{:.1f} s, of which kernels {:.1f}, checks "
                    "{:.1f}, times {:.1f}\n",
                    setup.budget - setup.secondsLeft(), setup.spent->kernels,
                    setup.spent->checks, setup.spent->times);
    Json json;
    json["spec"] = found.record.key.spec;
    json["device_name"] = found.record.key.device.name;
    json["target"] = candidates.target;
    json["variants"] = candidates.variants.size();
    json["tried"] = found.tried;
    json["refusals"] = found.refusals;
    json["out_of_time"] = found.outOfTime;
    json["seconds"] = setup.budget - setup.secondsLeft();
    json["record"] =
        Json::parse(toJson(TuningFile{{found.record}, {}}))["records"][0];
    report.json["specs"].push_back(std::move(json));
  }

  Status writeRecords() const {
    TuningFile file;
    if (std::filesystem::exists(options.output)) {
      DECANT_ASSIGN(file, readTuningFile(options.output));
    }
    merge(file, findings);
    return writeOutputFile(options.output, toJson(file));
  }

  const Options &options;
  std::vector<int64_t> batches;
  std::unique_ptr<Pack> pack;
  std::shared_ptr<Device> device;
  TuningFile findings;
  Report report;
};

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Times the variants of a pack on this GPU and keeps the best; "
               "needs no compiler.",
               "decant-pack-tune");
  app.add_option("PACK", options.pack, "A pack")->required();
  app.add_option("SPEC", options.specs,
                 "A spec file or a preset's name; all presets of the pack when "
                 "absent");
  app.add_option("--set", options.overrides, "Override one field of a SPEC")
      ->option_text("PATH=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--device", options.device, "cuda:N; cuda:0 by default")
      ->option_text("DEVICE");
  app.add_option("--batch", options.batches,
                 "The batches that are timed; 1,8,32,128,512 by default")
      ->option_text("LIST");
  app.add_option("-o,--output", options.output,
                 "Add the records to this file, which decant records reads; "
                 "measurements are noted in FILE.journal, from which an "
                 "interrupted run goes on")
      ->option_text("FILE");
  app.add_option("--pack-output", options.packOutput,
                 "Write the pack with what was picked, and launch it")
      ->option_text("PACK");
  app.add_option("--budget", options.budget,
                 "Begin nothing new after so many seconds for a spec; 170 by "
                 "default")
      ->option_text("SECONDS");
  app.add_option("--threads", options.threads,
                 "Threads in which the driver compiles; one per processor by "
                 "default")
      ->option_text("N");
  app.add_flag("--json", options.json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);

  const Interrupt interrupt;
  const Expected<Report> result = Tuner(options).run();
  if (!result) {
    fmt::print(stderr, "decant-pack-tune: error: {}\n",
               result.status().message());
    return result.status().code() == StatusCode::JobFailed ? 1 : 2;
  }
  fmt::print("{}", options.json ? result->json.dump(2) + "\n" : result->text);
  return 0;
}
