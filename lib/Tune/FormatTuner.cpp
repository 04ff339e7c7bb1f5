//===- FormatTuner.cpp - the best format within bounds --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormatTuner.h"

#include "Core/Parallel.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <tuple>

using namespace decant;
using namespace decant::tune;

namespace {

/// Parts of the budget: until when errors are begun, the kernels of formats,
/// and their times. What is left is for schedules.
constexpr double kErrorsPart = 0.4;
constexpr double kKernelsPart = 0.6;
constexpr double kTimesPart = 0.75;

class Search {
public:
  Search(const DecodeSpec &layer, const FormatQuestion &question,
         const Setup &setup, Journal &journal)
      : layer(layer), question(question), setup(setup), journal(journal) {}

  Expected<FormatFindings> run() {
    DECANT_TRY(measureErrors());
    DECANT_TRY(shorten());
    DECANT_TRY(time());
    DECANT_TRY(tune());
    return conclude();
  }

private:
  struct Entry {
    FormatCandidate format;
    FormatErrors errors;
    Place place; // its time is a guess until it is measured
    std::vector<StepTimes> times;
    bool tuned = false;
  };

  std::string idOf(const DecodeSpec &spec) const {
    return fmt::format("errors {} {}", specHash(spec),
                       fmt::join(question.traces, "; "));
  }

  /// Formats whose errors are finite. The layer's own has to be among them.
  Status measureErrors() {
    const Spending spending(setup.spent->errors);
    std::vector<FormatCandidate> formats = formatCandidates(
        layer, question.set, question.bounds.bits.value_or(INFINITY),
        question.plans, question.mostWindow);
    findings.formats = formats.size();
    std::vector<std::optional<FormatErrors>> errors(formats.size());
    std::vector<Status> failures(formats.size());
    std::atomic<int64_t> done{0};
    parallelFor(formats.size(), setup.effort.threads, [&](size_t i) {
      // Times are to have their turn, too.
      if (setup.hooks.stop() || (i > 0 && setup.outOfTime(kErrorsPart)))
        return;
      const DecodeSpec &spec = formats[i].spec;
      const std::string id = idOf(spec);
      if (const auto known = journal.find(id);
          known && known->numbers.size() == 2) {
        errors[i] = FormatErrors{known->numbers[0], known->numbers[1]};
      } else if (const auto found = question.errors(spec)) {
        errors[i] = *found;
        failures[i] = journal.add(id, {{found->output, found->state}, ""});
      } else {
        failures[i] = found.status();
      }
      setup.hooks.progress("errors of formats", done++,
                           int64_t(formats.size()));
    });
    if (setup.hooks.stop())
      return interrupted();
    DECANT_TRY(failures.front());
    for (size_t i = 0; i < formats.size(); ++i) {
      if (!errors[i] || !std::isfinite(errors[i]->output) ||
          !std::isfinite(errors[i]->state)) {
        if (i == 0)
          return Status::failed(fmt::format(
              "{}: float64 arithmetic with its own format gives no finite "
              "outputs on {}",
              layer.name, fmt::join(question.traces, ", ")));
        continue;
      }
      Entry entry;
      entry.format = std::move(formats[i]);
      entry.errors = *errors[i];
      entries.push_back(std::move(entry));
    }
    findings.withErrors = entries.size();
    bounds = question.bounds;
    if (!bounds.error)
      bounds.error = entries.front().errors.output;
    return {};
  }

  /// The model's front, as far as there is time for it.
  Status shorten() {
    DECANT_ASSIGN(const KernelImage usual, setup.hooks.image(layer, nullptr));
    std::vector<Place> places;
    for (Entry &entry : entries) {
      const DecodeSpec &spec = entry.format.spec;
      const KernelImage shape = shapeOf(
          usual, spec, usualGuess(spec, usual.layout.record, setup.target));
      entry.place = {entry.errors.output, shape.layout.bitsPerElement(),
                     likelyMean(shape, setup.machine, setup.effort.batches)};
      places.push_back(entry.place);
    }
    std::vector<Entry> list;
    for (size_t i : worthTiming(places, bounds, setup.effort.mostFormats))
      list.push_back(std::move(entries[i]));
    entries = std::move(list);
    warmUp();
    return setup.hooks.stop() ? interrupted() : Status();
  }

  /// What comes next asks for one kernel after the other; here they are made
  /// several at a time, the layer's own alone at first, to see how long it
  /// takes.
  void warmUp() {
    const Spending spending(setup.spent->kernels);
    for (size_t begin = 0; begin < entries.size();) {
      if (setup.hooks.stop() || (begin > 0 && setup.outOfTime(kKernelsPart)))
        return;
      const size_t most =
          begin == 0 ? 1
                     : setup.pace->atOnce(setup.effort.threads,
                                          setup.secondsLeft(kKernelsPart));
      const size_t count = std::min(most, entries.size() - begin);
      double seconds = 0;
      {
        const Spending chunk(seconds);
        parallelFor(count, setup.effort.threads, [&](size_t i) {
          if (!setup.hooks.stop())
            setup.hooks.warmUp(entries[begin + i].format.spec);
        });
      }
      setup.pace->note(count, seconds);
      begin += count;
      setup.hooks.progress("kernels of formats", int64_t(begin),
                           int64_t(entries.size()));
    }
  }

  static std::vector<StepTimes> timesOf(const ScheduleFindings &found) {
    std::vector<StepTimes> times;
    for (const TunedRange &range : found.record.ranges)
      times.push_back(range.time);
    return times;
  }

  /// Times with usual schedules. A format that has no kernel on this target
  /// leaves the list.
  Status time() {
    std::vector<Entry> list;
    for (Entry &entry : entries) {
      if (setup.outOfTime(kTimesPart) && !list.empty())
        break;
      Expected<ScheduleFindings> found =
          tuneSchedules(entry.format.spec, setup, journal, Breadth::UsualOnly);
      if (setup.hooks.stop())
        return interrupted();
      if (!found && list.empty())
        return found.status();
      if (!found)
        continue;
      entry.times = timesOf(*found);
      entry.place.time = found->mean();
      list.push_back(std::move(entry));
    }
    entries = std::move(list);
    return {};
  }

  /// Schedules of the layer's own format and of the fastest within the bounds.
  Status tune() {
    std::vector<size_t> order;
    for (size_t i = 1; i < entries.size(); ++i)
      if (bounds.met(entries[i].place))
        order.push_back(i);
    // Those that an earlier run searched go first: its picks are to be compared
    // with, and not left out because another is faster by a hair today.
    auto isNew = [&](size_t i) {
      const std::string hash = specHash(entries[i].format.spec);
      return std::none_of(
          setup.before.begin(), setup.before.end(),
          [&](const auto &record) { return record.key.specHash == hash; });
    };
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::tuple(isNew(a), entries[a].place.time, a) <
             std::tuple(isNew(b), entries[b].place.time, b);
    });
    order.resize(std::min(order.size(), setup.effort.mostTuned));
    // The layer's own last: it has its usual time already.
    order.push_back(0);
    for (size_t place = 0; place < order.size(); ++place) {
      const size_t i = order[place];
      if (setup.outOfTime())
        break;
      // What is left is shared: one format's slow compiles are not to take the
      // others' turns.
      Setup share = setup;
      share.budget -= setup.secondsLeft() * double(order.size() - place - 1) /
                      double(order.size() - place);
      DECANT_ASSIGN(
          ScheduleFindings found,
          tuneSchedules(entries[i].format.spec, share, journal, Breadth::All));
      entries[i].times = timesOf(found);
      entries[i].place.time = found.mean();
      entries[i].tuned = true;
      findings.tuned.push_back(std::move(found));
    }
    return {};
  }

  Expected<FormatFindings> conclude() {
    std::vector<Place> places;
    for (const Entry &entry : entries)
      places.push_back(entry.place);
    const std::vector<bool> front = frontOf(places);
    std::optional<size_t> held;
    for (size_t i = 0; i < entries.size(); ++i)
      if (entries[i].format.name == question.before)
        held = i;
    const auto best = fastestWithin(places, bounds, kLeastGain, held);
    const size_t chosen = best.value_or(0);
    findings.met = best.has_value();
    findings.chosen = entries[chosen].format.spec;
    FormatChoice &choice = findings.choice;
    choice.key = tuningKey(layer, setup.deviceClass, setup.compiler);
    choice.timesFrom = setup.device ? TimesFrom::Measured : TimesFrom::Modelled;
    choice.traces = question.traces;
    choice.errorsFrom = question.errorsFrom;
    choice.maxError = question.bounds.error;
    choice.maxBits = question.bounds.bits;
    choice.batches = setup.effort.batches;
    choice.chosen = entries[chosen].format.name;
    for (size_t i = 0; i < entries.size(); ++i) {
      const Entry &entry = entries[i];
      choice.points.push_back({entry.format.name, stateJson(entry.format.spec),
                               windowJson(entry.format.spec),
                               entry.errors.output, entry.errors.state,
                               entry.place.bits, entry.times, front[i]});
    }
    choice.summary = summary(entries[chosen]);
    return std::move(findings);
  }

  std::string summary(const Entry &chosen) const {
    const Entry &own = entries.front();
    std::string text = fmt::format(
        "Errors of {} of {} formats were computed ({}); {} of them, the front "
        "of error, bits and modelled time, {}. ",
        findings.withErrors, findings.formats, question.errorsFrom,
        entries.size(),
        setup.device ? "got kernels, which were checked and timed"
                     : "were taken on; nothing was run, and times are a "
                       "model's");
    if (!findings.met)
      return text +
             fmt::format("None of them meets the bounds (error {:.2e}{}); the "
                         "spec's own format stays.",
                         *bounds.error,
                         bounds.bits ? fmt::format(", {:g} bits", *bounds.bits)
                                     : "");
    text += fmt::format(
        "{} is the fastest with an output error of at most {:.2e}{}: {:.4g} "
        "bits per element, output error {:.2e}, state error {:.2e}",
        chosen.format.name, *bounds.error,
        bounds.bits ? fmt::format(" and {:g} bits", *bounds.bits) : "",
        chosen.place.bits, chosen.errors.output, chosen.errors.state);
    if (&chosen == &own)
      return text + ".";
    text += fmt::format(
        ". Against the spec's own format ({:.4g} bits, {:.2e}, {:.2e}) outputs "
        "are {:.2g} times and states {:.2g} times as accurate, and a step "
        "takes",
        own.place.bits, own.errors.output, own.errors.state,
        own.errors.output / chosen.errors.output,
        own.errors.state / chosen.errors.state);
    for (size_t i = 0; i < setup.effort.batches.size(); ++i)
      text += fmt::format("{} {:.2f} us instead of {:.2f} at batch {}",
                          i == 0 ? "" : ",", chosen.times[i].us,
                          own.times[i].us, setup.effort.batches[i]);
    return text + ".";
  }

  const DecodeSpec &layer;
  const FormatQuestion &question;
  const Setup &setup;
  Journal &journal;
  Bounds bounds;
  std::vector<Entry> entries; // the layer's own first
  FormatFindings findings;
};

} // namespace

Expected<FormatFindings>
decant::tune::tuneFormats(const DecodeSpec &layer,
                          const FormatQuestion &question, const Setup &setup,
                          Journal &journal) {
  return Search(layer, question, setup, journal).run();
}
