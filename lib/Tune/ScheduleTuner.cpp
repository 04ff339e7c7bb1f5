//===- ScheduleTuner.cpp - the best schedules of one spec -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleTuner.h"

#include "Tune/Finalists.h"
#include "Tune/VariantBench.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace decant;
using namespace decant::tune;

Status decant::tune::interrupted() {
  return Status::failed("interrupted before the choice was made");
}

namespace {

/// Of the budget, for candidates; the rest is the last round's.
constexpr double kCandidatesPart = 0.85;

StepTimes timesOf(const std::vector<double> &list) {
  const bench::Spread spread = bench::spreadOf(list);
  return {spread.median, spread.p10, spread.p90, int(list.size())};
}

/// The search over one spec's schedules.
class Search {
public:
  Search(const DecodeSpec &spec, const Setup &setup, Journal &journal)
      : spec(spec), setup(setup), journal(journal), bench(spec, setup),
        hash(specHash(spec)) {}

  Expected<ScheduleFindings> run(Breadth breadth) {
    DECANT_TRY(collect(breadth));
    if (setup.device) {
      DECANT_TRY(screen());
      DECANT_TRY(finish());
    } else {
      model();
    }
    return conclude();
  }

private:
  struct Entry {
    ScheduleCandidate at;
    std::vector<std::optional<StepTimes>> times; // one for each batch
    std::unique_ptr<Program> program;
    bool refused = false;
  };

  const std::vector<int64_t> &batches() const { return setup.effort.batches; }

  std::string idOf(const char *phase, const ScheduleCandidate &at,
                   int64_t batch) const {
    return fmt::format("{} {} {} <{}> {}", phase, hash, toString(at.order),
                       toString(at.schedule), batch);
  }

  /// The candidates: all that are legal, the most promising of them.
  Status collect(Breadth breadth) {
    DECANT_ASSIGN(usualImage, setup.hooks.image(spec, nullptr));
    DECANT_ASSIGN(const Schedule schedule,
                  parseSchedule(usualImage.scheduleText));
    std::vector<ScheduleCandidate> all = {
        {schedule, usualImage.layout.codeOrder}};
    if (breadth == Breadth::All && setup.hooks.candidates)
      all = setup.hooks.candidates(all.front());
    else if (breadth == Breadth::All)
      all = scheduleCandidates(spec, usualImage.layout.record, setup.target,
                               all.front());
    findings.candidates = all.size();
    std::vector<ScheduleCandidate> tried =
        mostPromising(all, usualImage, spec, setup);
    for (const ScheduleCandidate &candidate : all)
      if (isHeld(candidate) &&
          std::none_of(tried.begin(), tried.end(), [&](const auto &other) {
            return isSame(other, candidate);
          }))
        tried.insert(tried.begin() + 1, candidate);
    for (const ScheduleCandidate &candidate : tried)
      entries.push_back(
          {candidate, std::vector<std::optional<StepTimes>>(batches().size()),
           nullptr, false});
    return {};
  }

  static bool isSame(const ScheduleCandidate &a, const ScheduleCandidate &b) {
    return a.order == b.order && toString(a.schedule) == toString(b.schedule);
  }

  const TuningRecord *before() const {
    for (const TuningRecord &record : setup.before)
      if (record.key.specHash == hash)
        return &record;
    return nullptr;
  }

  bool isHeld(const ScheduleCandidate &candidate) const {
    const TuningRecord *record = before();
    if (!record || record->order != candidate.order)
      return false;
    const std::string text = toString(candidate.schedule);
    return text == record->schedule ||
           std::any_of(
               record->ranges.begin(), record->ranges.end(),
               [&](const auto &range) { return range.schedule == text; });
  }

  void model() {
    for (Entry &entry : entries) {
      const KernelImage shape = shapeOf(usualImage, spec, entry.at);
      for (size_t i = 0; i < batches().size(); ++i) {
        const double us = likelyTime(shape, setup.machine, batches()[i]);
        entry.times[i] = StepTimes{us, us, us, 0};
      }
    }
    findings.tried = 0;
  }

  /// Whether no time that the machine allows could beat the usual schedule.
  bool isHopeless(const Entry &entry) const {
    if (&entry == &entries.front())
      return false;
    const KernelImage shape = shapeOf(usualImage, spec, entry.at);
    for (size_t i = 0; i < batches().size(); ++i) {
      const auto &usual = entries.front().times[i];
      if (!usual || leastTime(shape, setup.machine, batches()[i]) < usual->us)
        return false;
    }
    return true;
  }

  void refuse(Entry &entry, const std::string &why) {
    entry.refused = true;
    entry.program.reset();
    findings.refusals.push_back(
        fmt::format("<{}>: {}", toString(entry.at.schedule), why));
  }

  /// What the journal has of an entry; true if nothing is left to do.
  bool recall(const char *phase, Entry &entry) {
    bool whole = true;
    for (size_t i = 0; i < batches().size(); ++i) {
      const auto known = journal.find(idOf(phase, entry.at, batches()[i]));
      if (known && !known->text.empty()) {
        refuse(entry, known->text);
        return true;
      }
      if (known && !known->numbers.empty())
        entry.times[i] = timesOf(known->numbers);
      else
        whole = false;
    }
    return whole;
  }

  Status note(const char *phase, const Entry &entry, size_t batch,
              const std::vector<double> &list, const std::string &text = "") {
    return journal.add(idOf(phase, entry.at, batches()[batch]), {list, text});
  }

  Status timeOne(Entry &entry) {
    Status sound = bench.check(*entry.program);
    for (size_t i = 0; sound.ok() && i < batches().size(); ++i) {
      if (entry.times[i])
        continue;
      if (setup.hooks.stop())
        return interrupted();
      const auto list = bench.measure(*entry.program, batches()[i],
                                      setup.effort.screenRepeats);
      if (!list) {
        sound = list.status();
        break;
      }
      entry.times[i] = timesOf(*list);
      DECANT_TRY(note("screen", entry, i, *list));
    }
    if (sound.ok()) {
      ++findings.tried;
      return {};
    }
    // The usual schedule has to work; of the others, one less is no harm.
    if (&entry == &entries.front())
      return sound.within(spec.name);
    refuse(entry, sound.message());
    return note("screen", entry, 0, {}, sound.message());
  }

  Status screen() {
    for (size_t begin = 0; begin < entries.size();) {
      std::vector<Entry *> work;
      std::vector<const ScheduleCandidate *> wanted;
      // The usual one alone at first: others are judged by it.
      const size_t most =
          begin == 0 ? 1
                     : setup.pace->atOnce(setup.effort.threads,
                                          setup.secondsLeft(kCandidatesPart));
      for (; begin < entries.size() && work.size() < most; ++begin) {
        Entry &entry = entries[begin];
        if (recall("screen", entry)) {
          findings.tried += !entry.refused;
          continue;
        }
        if (isHopeless(entry))
          continue;
        work.push_back(&entry);
        wanted.push_back(&entry == &entries.front() ? nullptr : &entry.at);
      }
      if (setup.hooks.stop())
        return interrupted();
      if (setup.outOfTime(kCandidatesPart) && !work.empty() &&
          work.front() != &entries.front()) {
        findings.outOfTime = true;
        break;
      }
      std::vector<LoadedVariant> loaded = bench.load(wanted);
      for (size_t i = 0; i < work.size(); ++i) {
        setup.hooks.progress(fmt::format("{}, schedule", spec.name),
                             int64_t(begin - work.size() + i),
                             int64_t(entries.size()));
        Entry &entry = *work[i];
        entry.program = std::move(loaded[i].program);
        if (!entry.program && &entry == &entries.front())
          return Status::failed(
              fmt::format("{}: {}", spec.name, loaded[i].refusal));
        if (!entry.program) {
          refuse(entry, loaded[i].refusal);
          DECANT_TRY(note("screen", entry, 0, {}, loaded[i].refusal));
          continue;
        }
        DECANT_TRY(timeOne(entry));
      }
    }
    return {};
  }

  /// The last round, whose times alone count.
  Status finish() {
    std::vector<Variant> timed;
    for (const Entry &entry : entries)
      timed.push_back({entry.at.schedule, entry.at.order,
                       entry.refused ? decltype(entry.times)() : entry.times});
    std::vector<Entry *> list;
    for (size_t i : finalists(timed))
      list.push_back(&entries[i]);
    bool whole = true;
    for (Entry *entry : list)
      whole &= recall("final", *entry);
    if (!whole) {
      DECANT_TRY(loadAgain(list));
      DECANT_TRY(verify(list));
      std::vector<const Program *> programs;
      for (const Entry *entry : list)
        programs.push_back(entry->program.get());
      for (size_t i = 0; i < batches().size(); ++i) {
        if (setup.hooks.stop())
          return interrupted();
        setup.hooks.progress(fmt::format("{}, last round, batch", spec.name),
                             int64_t(i), int64_t(batches().size()));
        DECANT_ASSIGN(const auto times,
                      bench.measureInTurn(programs, batches()[i],
                                          setup.effort.screenRepeats,
                                          setup.effort.finalRounds));
        for (size_t k = 0; k < list.size(); ++k) {
          list[k]->times[i] = timesOf(times[k]);
          DECANT_TRY(note("final", *list[k], i, times[k]));
        }
      }
    }
    for (const Entry *entry : list)
      findings.variants.push_back(
          {entry->at.schedule, entry->at.order, entry->times});
    return {};
  }

  /// What the oracles refuse takes no part; the usual schedule has to pass.
  Status verify(std::vector<Entry *> &list) {
    if (!setup.hooks.verify)
      return {};
    std::vector<Entry *> passed;
    for (Entry *entry : list) {
      if (setup.hooks.stop())
        return interrupted();
      setup.hooks.progress(fmt::format("{}, oracle", spec.name),
                           int64_t(passed.size()), int64_t(list.size()));
      const Spending spending(setup.spent->oracles);
      const Status sound = setup.hooks.verify(spec, *entry->program);
      if (sound.ok())
        passed.push_back(entry);
      else if (entry == &entries.front())
        return sound.within(spec.name);
      else
        refuse(*entry, sound.message());
    }
    list = std::move(passed);
    return {};
  }

  /// Those whose times came from the journal are not on the device yet.
  Status loadAgain(std::vector<Entry *> &list) {
    std::vector<Entry *> missing;
    std::vector<const ScheduleCandidate *> wanted;
    for (Entry *entry : list)
      if (!entry->program) {
        missing.push_back(entry);
        wanted.push_back(entry == &entries.front() ? nullptr : &entry->at);
      }
    std::vector<LoadedVariant> loaded = bench.load(wanted);
    for (size_t i = 0; i < missing.size(); ++i) {
      if (!loaded[i].program)
        return Status::failed(
            fmt::format("{}: {}", spec.name, loaded[i].refusal));
      missing[i]->program = std::move(loaded[i].program);
    }
    return {};
  }

  Expected<ScheduleFindings> conclude() {
    if (!setup.device)
      for (Entry &entry : entries)
        findings.variants.push_back(
            {entry.at.schedule, entry.at.order, entry.times});
    const TuningRecord *held = before();
    findings.choice =
        held ? choose(findings.variants,
                      heldFrom(*held, findings.variants, batches()))
             : choose(findings.variants);
    TuningRecord &record = findings.record;
    record.key = tuningKey(spec, setup.deviceClass, setup.compiler);
    record.times = setup.device ? TimesFrom::Measured : TimesFrom::Modelled;
    record.order = findings.choice.order;
    record.schedule =
        toString(findings.variants[findings.choice.forAll].schedule);
    record.ranges = rangesOf(findings.variants, batches(), findings.choice);
    record.summary = summaryOf(findings, setup);
    return std::move(findings);
  }

  const DecodeSpec &spec;
  const Setup &setup;
  Journal &journal;
  VariantBench bench;
  std::string hash;
  KernelImage usualImage;
  std::vector<Entry> entries; // in the order of preference
  ScheduleFindings findings;
};

} // namespace

double ScheduleFindings::mean() const {
  double sum = 0;
  for (size_t i = 0; i < choice.batches.size(); ++i)
    sum += std::log(variants[choice.batches[i].variant].times[i]->us);
  return std::exp(sum / double(choice.batches.size()));
}

Expected<ScheduleFindings> decant::tune::tuneSchedules(const DecodeSpec &spec,
                                                       const Setup &setup,
                                                       Journal &journal,
                                                       Breadth breadth) {
  return Search(spec, setup, journal).run(breadth);
}
