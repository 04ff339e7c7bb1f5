//===- VariantBench.cpp - candidates loaded, checked and timed ------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VariantBench.h"

#include "Core/Parallel.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;
using namespace decant::tune;

/// Enough for rows at both ends of a batch and between them.
static constexpr int64_t kCheckedBatch = 5;

std::vector<LoadedVariant> VariantBench::load(
    const std::vector<const ScheduleCandidate *> &candidates) const {
  std::vector<LoadedVariant> loaded(candidates.size());
  const Spending spending(setup.spent->kernels);
  parallelFor(candidates.size(), setup.effort.threads, [&](size_t i) {
    const Expected<KernelImage> image = setup.hooks.image(spec, candidates[i]);
    if (!image) {
      loaded[i].refusal = image.status().message();
      return;
    }
    LoadOptions options;
    // The usual one is what others are measured by, even where it spills.
    options.spills = candidates[i] ? SpillPolicy::Refuse : SpillPolicy::Report;
    auto program = Program::create(setup.device, *image, {}, options);
    if (program)
      loaded[i].program = program.take();
    else
      loaded[i].refusal = program.status().message();
  });
  setup.pace->note(candidates.size(), spending.seconds());
  return loaded;
}

Status VariantBench::check(const Program &program) {
  const Spending spending(setup.spent->checks);
  DECANT_ASSIGN(const bench::BatchResults results,
                bench::testedBatch(spec, setup.device, program, kCheckedBatch,
                                   setup.effort.threads));
  if (!expected && setup.hooks.expect) {
    DECANT_ASSIGN(expected, setup.hooks.expect(spec, kCheckedBatch));
  }
  if (!expected)
    expected = results;
  const bench::Agreement agreement = bench::compare(results, *expected);
  if (!agreement.good())
    return Status::failed("it computes something else: " + describe(agreement));
  return {};
}

Expected<bench::VariantTimer *> VariantBench::timerFor(const Program &program,
                                                       int64_t batch) {
  const auto key = std::make_pair(int(program.layout().codeOrder), batch);
  auto found = timers.find(key);
  if (found == timers.end()) {
    const int most = std::max(setup.effort.screenRepeats, 1);
    DECANT_ASSIGN(
        bench::VariantTimer timer,
        bench::VariantTimer::create(spec, setup.device, program, batch, most));
    found = timers.emplace(key, std::move(timer)).first;
  }
  return &found->second;
}

Expected<std::vector<double>>
VariantBench::measure(const Program &program, int64_t batch, int repeats) {
  const Spending spending(setup.spent->times);
  DECANT_ASSIGN(bench::VariantTimer *const timer, timerFor(program, batch));
  DECANT_ASSIGN(const bench::Replay replay, timer->prepare(program));
  return timer->measure(replay, repeats);
}

Expected<std::vector<std::vector<double>>>
VariantBench::measureInTurn(const std::vector<const Program *> &programs,
                            int64_t batch, int repeats, int rounds) {
  const Spending spending(setup.spent->times);
  std::vector<bench::Replay> replays;
  std::vector<bench::VariantTimer *> owners;
  for (const Program *program : programs) {
    DECANT_ASSIGN(bench::VariantTimer *const timer, timerFor(*program, batch));
    DECANT_ASSIGN(bench::Replay replay, timer->prepare(*program));
    replays.push_back(std::move(replay));
    owners.push_back(timer);
  }
  std::vector<std::vector<double>> times(programs.size());
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < programs.size(); ++i) {
      DECANT_ASSIGN(const std::vector<double> list,
                    owners[i]->measure(replays[i], repeats));
      times[i].insert(times[i].end(), list.begin(), list.end());
    }
  return times;
}
