//===- CompilePack.cpp - decant compile --pack ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In two rounds: first the cut of each layer that decides where codes lie, then
// everything else for slots of that order. The pack's bytes depend on the plan
// alone, not on what is compiled when.
//
//===----------------------------------------------------------------------===//

#include "CompilePack.h"

#include "OutputFile.h"
#include "PackPlan.h"
#include "PackReport.h"
#include "Progress.h"
#include "Ptxas.h"
#include "Tune/Finalists.h"
#include "decant/Runtime/PackBuilder.h"

#include <atomic>
#include <chrono>
#include <deque>
#include <fmt/format.h>
#include <thread>

using namespace decant;
using namespace decant::tool;

namespace {

/// One image to be compiled.
struct Job {
  const PlannedLayer *layer = nullptr;
  const PlannedCut *cut = nullptr; // null: the transfer kernels
  CompileOptions options;
  bool optional = false; // left out where it does not compile
  Status status;
  std::optional<KernelImage> image, cubin;
};

Job jobOf(const PlannedLayer &layer, const PlannedCut *cut) {
  Job job;
  job.layer = &layer;
  job.cut = cut;
  job.options.target = layer.target;
  job.options.kernels = cut ? KernelSet::Decode : KernelSet::Transfer;
  if (cut)
    job.options.schedule = cut->schedule;
  return job;
}

Status runJob(Job &job, const std::string &ptxas) {
  DECANT_ASSIGN(job.image, compile(job.layer->spec, job.options));
  if (!job.layer->cubin)
    return {};
  DECANT_ASSIGN(job.cubin, assembled(ptxas, *job.image));
  return {};
}

/// Runs all jobs, as many at a time as there are processors.
Status runJobs(std::vector<Job *> jobs, const std::string &ptxas,
               const std::string &what) {
  Progress progress(what, int64_t(jobs.size()));
  std::atomic<size_t> next{0}, done{0};
  auto work = [&] {
    for (size_t i = next++; i < jobs.size(); i = next++) {
      jobs[i]->status = runJob(*jobs[i], ptxas);
      ++done;
    }
  };
  std::vector<std::thread> threads;
  const size_t processors = std::max(1u, std::thread::hardware_concurrency());
  for (size_t i = 1; i < std::min(processors, jobs.size()); ++i)
    threads.emplace_back(work);
  for (size_t i = next++; i < jobs.size(); i = next++) {
    progress.update(int64_t(done.load()));
    jobs[i]->status = runJob(*jobs[i], ptxas);
    ++done;
  }
  for (std::thread &thread : threads)
    thread.join();
  for (const Job *job : jobs)
    if (!job->optional)
      DECANT_TRY(job->status.within(fmt::format(
          "{} for {}, {}", job->layer->spec.name, job->layer->target.name,
          job->cut ? job->cut->option : "transfer kernels")));
  return {};
}

/// What a tuner would try first, on slots of the order that `first` has.
std::vector<PlannedCut> likelyCuts(const PlannedLayer &layer,
                                   const KernelImage &first, int64_t most) {
  const Expected<Schedule> usual = parseSchedule(first.scheduleText);
  if (!usual || most == 0)
    return {};
  tune::Setup setup;
  setup.target = layer.target;
  setup.machine = tune::machineOf(layer.target).value_or(tune::Machine());
  setup.effort.mostSchedules = size_t(most) + 1; // and the usual one
  std::vector<tune::ScheduleCandidate> all =
      tune::scheduleCandidates(layer.spec, first.layout.record, layer.target,
                               {*usual, first.layout.codeOrder});
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const tune::ScheduleCandidate &candidate) {
                             return candidate.order != first.layout.codeOrder;
                           }),
            all.end());
  std::vector<PlannedCut> cuts;
  for (const tune::ScheduleCandidate &candidate :
       tune::mostPromising(all, first, layer.spec, setup)) {
    const bool planned = std::any_of(
        layer.cuts.begin(), layer.cuts.end(), [&](const PlannedCut &cut) {
          return toString(cut.schedule.value_or(*usual)) ==
                 toString(candidate.schedule);
        });
    if (!planned)
      cuts.push_back({candidate.schedule, {}, "--candidates"});
  }
  return cuts;
}

/// All jobs of a plan, those of a layer one behind the other, and behind them
/// its further candidates, which `extra` owns.
Expected<std::vector<Job>> compileAll(const std::vector<PlannedLayer> &layers,
                                      int64_t mostCandidates,
                                      const std::string &ptxas,
                                      std::deque<PlannedCut> &extra) {
  std::vector<Job> jobs;
  std::vector<size_t> firstOf;
  for (const PlannedLayer &layer : layers) {
    firstOf.push_back(jobs.size());
    for (const PlannedCut &cut : layer.cuts)
      jobs.push_back(jobOf(layer, &cut));
    jobs.push_back(jobOf(layer, nullptr));
  }
  std::vector<Job *> leading, others;
  for (size_t first : firstOf) {
    jobs[first].options.order = jobs[first].layer->order;
    leading.push_back(&jobs[first]);
  }
  DECANT_TRY(runJobs(leading, ptxas, "first schedules"));

  for (size_t i = 0, layer = 0; i < jobs.size(); ++i) {
    if (layer + 1 < firstOf.size() && i == firstOf[layer + 1])
      ++layer;
    const SlotLayout &layout = jobs[firstOf[layer]].image->layout;
    jobs[i].options.order = layout.codeOrder;
    // A rule that carries vectors beside its state has no transfer kernels.
    const bool exists = jobs[i].cut || layout.record.carried == 0;
    if (i != firstOf[layer] && exists)
      others.push_back(&jobs[i]);
  }
  std::deque<Job> further;
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const KernelImage &first = *jobs[firstOf[layer]].image;
    for (PlannedCut &cut : likelyCuts(layers[layer], first, mostCandidates)) {
      extra.push_back(std::move(cut));
      further.push_back(jobOf(layers[layer], &extra.back()));
      further.back().options.order = first.layout.codeOrder;
      further.back().optional = true;
      others.push_back(&further.back());
    }
  }
  DECANT_TRY(runJobs(others, ptxas, "images"));
  for (Job &job : further)
    jobs.push_back(std::move(job));
  return Expected<std::vector<Job>>(std::move(jobs));
}

Status addJob(const Job &job, PackBuilder &pack) {
  const std::vector<int64_t> maxRows =
      job.cut ? job.cut->maxRows : std::vector<int64_t>();
  if (job.image && job.status.ok())
    DECANT_TRY(pack.add(*job.image, maxRows));
  return job.cubin ? pack.add(*job.cubin, maxRows) : Status();
}

Expected<std::string> findAssembler(const std::vector<PlannedLayer> &layers) {
  bool wanted = false;
  for (const PlannedLayer &layer : layers)
    wanted |= layer.cubin;
  const std::string program = wanted ? findPtxas() : "";
  if (wanted && program.empty())
    return Status::unavailable("--cubin: there is no ptxas on PATH to assemble "
                               "machine code with; without --cubin a pack has "
                               "PTX, which the driver compiles");
  return program;
}

} // namespace

Expected<Report> decant::tool::compilePack(const PackArguments &arguments) {
  DECANT_ASSIGN(const auto layers, planPack(arguments));
  DECANT_ASSIGN(const std::string ptxas, findAssembler(layers));
  const auto start = std::chrono::steady_clock::now();
  std::deque<PlannedCut> extra;
  DECANT_ASSIGN(const std::vector<Job> jobs,
                compileAll(layers, arguments.mostCandidates, ptxas, extra));
  const std::chrono::duration<double, std::milli> spent =
      std::chrono::steady_clock::now() - start;

  PackBuilder pack;
  int64_t leftOut = 0;
  Status why;
  for (const Job &job : jobs) {
    DECANT_TRY(addJob(job, pack));
    if (!job.status.ok() && ++leftOut == 1)
      why = job.status;
  }
  DECANT_ASSIGN(const std::string bytes, pack.bytes());
  DECANT_TRY(writeOutputFile(arguments.output, bytes, "--pack"));

  Report report;
  report.json["pack"] = arguments.output;
  report.text = arguments.output + "\n";
  describePack(pack.index(), report);
  report.json["shared_bytes"] = pack.sharedBytes();
  report.json["compile_ms"] = spent.count();
  report.text += fmt::format("\n{} bytes are stored once that several variants "
                             "have; compiled in {:.1f} s\n",
                             pack.sharedBytes(), spent.count() / 1000);
  if (leftOut > 0)
    report.warnings.push_back(
        fmt::format("--candidates: {} of them did not compile; the first: {}",
                    leftOut, why.message()));
  for (const PlannedLayer &layer : layers)
    if (!layer.note.empty())
      report.warnings.push_back(layer.note);
  for (const PlannedLayer &layer : layers)
    if (layer.target.kind == TargetKind::Cpu) {
      report.warnings.push_back(
          fmt::format("variants for {} run on processors like this one alone",
                      layer.target.name));
      break;
    }
  return report;
}
