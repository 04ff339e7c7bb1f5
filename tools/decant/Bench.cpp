//===- Bench.cpp - decant bench -------------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How long a step takes: mean over whole windows, boundary included, beside the
// bytes that it has to move and what the device can read. Nothing is timed
// whose outputs are not those of the CPU target.
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "Bench/Agreement.h"
#include "Bench/CallCost.h"
#include "BenchReport.h"
#include "Core/Parallel.h"
#include "NumberList.h"
#include "Progress.h"
#include "SpecArguments.h"
#include "decant/Engine.h"

#include <fmt/format.h>
#include <memory>

using namespace decant;
using namespace decant::tool;

namespace {

constexpr int64_t kMostSteps = 100'000'000;

struct BenchArguments {
  SpecSource spec;
  std::string device = "cuda:0", schedule;
  std::string batches = "1,8,64,512";
  int64_t steps = 1000;
};

Status checkSteps(int64_t steps) {
  if (steps >= 1 && steps <= kMostSteps)
    return {};
  return Status::invalid(
      fmt::format("--steps: found {}; allowed are 1 to {}", steps, kMostSteps));
}

/// The device's program and what it is compared with.
struct Kernels {
  std::shared_ptr<Device> device, host;
  std::unique_ptr<Program> tested, expected;
};

Expected<Kernels> prepare(const BenchArguments &arguments, Engine &engine,
                          const DecodeSpec &spec, BenchFindings &findings) {
  Kernels kernels;
  DECANT_ASSIGN(kernels.device, engine.openDevice(arguments.device));
  DECANT_ASSIGN(kernels.host, engine.openDevice("cpu"));
  CompileOptions options;
  DECANT_ASSIGN(options.target, targetFor(*kernels.device));
  if (!arguments.schedule.empty()) {
    DECANT_ASSIGN(options.schedule, parseSchedule(arguments.schedule));
  }
  DECANT_ASSIGN(findings.image, engine.image(spec, options));
  LoadOptions load;
  load.spills = SpillPolicy::Refuse;
  DECANT_ASSIGN(kernels.tested,
                Program::create(kernels.device, findings.image, {}, load));
  findings.image.code.clear();
  DECANT_ASSIGN(kernels.expected, engine.prepare(spec, kernels.host));
  return kernels;
}

Status benchBatch(const DecodeSpec &spec, const Kernels &kernels, int64_t batch,
                  int64_t steps, BenchFindings &findings) {
  Progress progress(fmt::format("batch {}, %", batch), 100);
  progress.update(0);
  const bench::StepBench timer(spec, kernels.device, *kernels.tested, steps);
  DECANT_ASSIGN(const bench::BatchPlan plan, timer.plan(batch));
  DECANT_ASSIGN(const bench::Agreement check,
                bench::compareBatch(spec, kernels.device, *kernels.tested,
                                    kernels.host, *kernels.expected, batch,
                                    allThreads()));
  findings.batches.push_back({batch, check, {}});
  if (!check.good())
    return Status::failed(fmt::format(
        "--batch {}: {} on {} is not what the CPU target computes, so it is "
        "not timed: {}",
        batch, spec.name, kernels.device->info().name, describe(check)));
  DECANT_ASSIGN(findings.batches.back().times,
                timer.measure(plan, [&](double part) {
                  progress.update(int64_t(10 + 90 * part));
                }));
  return {};
}

Expected<Report> runBench(const BenchArguments &arguments) {
  BenchFindings findings;
  DECANT_ASSIGN(const DecodeSpec spec, readSpec(arguments.spec));
  findings.spec = spec;
  findings.deviceName = arguments.device;
  if (spec.tokensPerStep > 1)
    return Status::invalid(fmt::format(
        "{}: tokens_per_step is {}; bench times steps of one token (add --set "
        "tokens_per_step=1), decant run those of several",
        spec.name, spec.tokensPerStep));
  DECANT_TRY(checkSteps(arguments.steps));
  DECANT_ASSIGN(const std::vector<int64_t> batches,
                parseNumberList("--batch", arguments.batches,
                                kMaxGridBlocks / spec.heads.value));
  DECANT_ASSIGN(Engine engine,
                Engine::create(EngineOptions::fromEnvironment()));
  DECANT_ASSIGN(Kernels kernels, prepare(arguments, engine, spec, findings));
  findings.device = kernels.device->info();
  findings.resources = kernels.tested->resources();
  findings.program = kernels.tested->info();
  if (kernels.device->info().kind != TargetKind::Cpu) {
    DECANT_ASSIGN(findings.memory, cudaMemory(*kernels.device));
    DECANT_ASSIGN(findings.ceiling, bench::measureReadCeiling(kernels.device));
  }
  DECANT_ASSIGN(findings.call,
                bench::measureStepCall(spec, kernels.device, kernels.tested));
  Status verdict;
  for (int64_t batch : batches) {
    const Status status =
        benchBatch(spec, kernels, batch, arguments.steps, findings);
    // Later batches are not better off, and what was found stays worth saying.
    if (!status.ok()) {
      verdict = status;
      break;
    }
  }
  if (findings.batches.empty())
    return verdict;
  Report report;
  report.json = toJson(findings);
  report.text = toText(findings);
  report.verdict = verdict;
  return report;
}

} // namespace

Command decant::tool::addBench(CLI::App &root) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App *app = root.add_subcommand(
      "bench", "Time a step on random inputs: staggered and synchronized "
               "windows, at every fill, beside the bytes that move");
  addSpecArguments(*app, arguments->spec, "A spec file or a preset's name");
  app->add_option("--batch", arguments->batches,
                  "Rows of a step, several with commas; 1,8,64,512 by default")
      ->option_text("LIST");
  app->add_option("--device", arguments->device,
                  "cuda:N (cuda:0 by default), or cpu, by wall clock")
      ->option_text("DEVICE");
  app->add_option("--schedule", arguments->schedule,
                  "A schedule as inspect prints it, in place of the default")
      ->option_text("TEXT");
  app->add_option("--steps", arguments->steps,
                  "Time at least this many steps, rounded up to whole windows "
                  "of all sets; 1000 by default")
      ->option_text("N");
  return {app,
          [arguments](const Invocation &) { return runBench(*arguments); }};
}
