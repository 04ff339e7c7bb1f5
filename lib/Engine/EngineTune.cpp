//===- EngineTune.cpp - what an engine gives to a tuner ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EngineImpl.h"

#include "Bench/BatchResults.h"
#include "Core/Parallel.h"
#include "Stopwatch.h"

#include <fmt/format.h>
#include <set>

using namespace decant;

Status Engine::tune(const DecodeSpec &spec, std::shared_ptr<Device> device,
                    const TargetInfo &target, PrepareReport &facts) {
  if (spec.tokensPerStep > 1)
    return Status::invalid(
        fmt::format("tokens_per_step is {}; steps of one token are timed",
                    spec.tokensPerStep));
  const Stopwatch watch;
  DECANT_ASSIGN(const std::shared_ptr<Device> host, openDevice("cpu"));
  DECANT_ASSIGN(const TargetInfo hostTarget, targetFor(*host));
  auto make = [&](const TargetInfo &where, const Device &on,
                  const DecodeSpec &what,
                  const tune::ScheduleCandidate *candidate) {
    CompileOptions options;
    options.target = where;
    if (candidate) {
      options.schedule = candidate->schedule;
      options.order = candidate->order;
    }
    ImageReport local;
    return impl->images.loadable(what, options, on, local);
  };
  tune::Setup setup;
  setup.device = device;
  setup.target = target;
  DECANT_ASSIGN(setup.deviceClass, deviceClassOf(*device, target.name));
  setup.compiler = compilerVersion();
  setup.machine = tune::machineOf(target).value_or(tune::Machine());
  setup.machine.name = setup.deviceClass.name;
  setup.budget = impl->options.tuneSeconds;
  setup.effort.threads = allThreads();
  setup.hooks.image = [&](const DecodeSpec &what,
                          const tune::ScheduleCandidate *candidate) {
    return make(target, *device, what, candidate);
  };
  setup.hooks.expect = [&](const DecodeSpec &what,
                           int64_t batch) -> Expected<bench::BatchResults> {
    DECANT_ASSIGN(KernelImage image, make(hostTarget, *host, what, nullptr));
    DECANT_ASSIGN(const auto program, Program::create(host, std::move(image)));
    return bench::expectedBatch(what, host, *program, batch,
                                setup.effort.threads);
  };
  // One that was there before and did not load here is none.
  auto isThere = [&] {
    impl->tuned.refresh();
    const auto found = impl->tuned.find(spec, *device);
    return found && found->record && found->differences.empty() &&
           found->source.rfind("user, ", 0) == 0;
  };
  // All that the record asks for, so that others compile nothing: the usual
  // schedule was made as such and not by its name, and transfers not at all.
  // What fails here is met again, and told.
  auto complete = [&](const TuningRecord &record) {
    std::set<std::string> schedules = {record.schedule};
    for (const TunedRange &range : record.ranges)
      schedules.insert(range.schedule);
    for (const std::string &text : schedules)
      if (const Expected<Schedule> schedule = parseSchedule(text)) {
        const tune::ScheduleCandidate candidate = {*schedule, record.order};
        (void)make(target, *device, spec, &candidate).ok();
      }
    CompileOptions options;
    options.target = target;
    options.order = record.order;
    options.kernels = KernelSet::Transfer;
    ImageReport local;
    (void)impl->images.loadable(spec, options, *device, local).ok();
  };
  DECANT_ASSIGN(facts.tuning.tuned,
                impl->tuner.makeRecord(spec, setup, isThere, complete));
  impl->tuned.refresh();
  facts.tuning.tuneMs = watch.milliseconds();
  return {};
}
