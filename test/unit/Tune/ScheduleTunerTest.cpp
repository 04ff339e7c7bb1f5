//===- ScheduleTunerTest.cpp - a search on a driver that only counts ------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fake driver's events say that each kernel takes half a millisecond, so a
// step whose fold is apart takes twice as long as one that folds itself; all
// outputs are zeros, so every candidate computes the right ones.
//
//===----------------------------------------------------------------------===//

#include "Tune/ScheduleTuner.h"
#include "FakeCudaTest.h"
#include "TestImages.h"

#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace decant;
using namespace decant::test;
using namespace decant::tune;

namespace {

constexpr int kWindow = 4;

class ScheduleTunerOnFake : public FakeCudaTest {
protected:
  void SetUp() override {
    FakeCudaTest::SetUp();
    path = testing::TempDir() + "decant-tuner-" + std::to_string(getpid());
    std::filesystem::remove(path);
    spec.name = "layer";
    spec.rule = {"test", "a rule"};
    spec.heads = {kKeyHeads, kValueHeads, kKeyDim, kValueDim, HeadMap::Group};
    spec.window.length = kWindow;
    spec.window.records = ElementType::F32; // which tensor cores have not
    setup.device = openDevice();
    setup.target = lookupTarget("sm_90").take();
    setup.deviceClass = {"Fake GPU 0", "sm_90", "other", "1.0"};
    setup.compiler = "test";
    setup.machine = *machineOf(setup.target);
    setup.effort.batches = {1, 8};
    setup.effort.mostSchedules = 10;
    setup.effort.threads = 2;
    setup.hooks.image =
        [this](const DecodeSpec &,
               const ScheduleCandidate *candidate) -> Expected<KernelImage> {
      return make(candidate);
    };
  }
  void TearDown() override { std::filesystem::remove(path); }

  Schedule usual() const {
    Schedule schedule;
    schedule.keyLanes = 8;
    schedule.keysPerLane = kKeyDim / 8;
    schedule.valuesPerLane = 8;
    schedule.valueLanes = kValueDim / 8;
    return schedule;
  }

  Expected<KernelImage> make(const ScheduleCandidate *candidate) {
    ++made;
    const Schedule schedule = candidate ? candidate->schedule : usual();
    if (refuse && refuse(candidate))
      return Status::invalid("no code for this one");
    KernelImage image = decodeImage(kWindow);
    image.scheduleText = toString(schedule);
    image.layout =
        makeSlotLayout(spec, image.layout.record,
                       candidate ? candidate->order : CodeOrder::Rows);
    if (spills && spills(candidate))
      image.code.replace(image.code.find("local=0"), 7, "local=8");
    return image;
  }

  Expected<ScheduleFindings> tune(Journal &journal) {
    return tuneSchedules(spec, setup, journal, Breadth::All);
  }
  Journal openJournal() const {
    return Journal::open(path, setup.deviceClass, setup.compiler).take();
  }

  DecodeSpec spec;
  tune::Setup setup;
  std::string path;
  std::atomic<int> made{0};
  std::function<bool(const ScheduleCandidate *)> refuse, spills;
};

TEST_F(ScheduleTunerOnFake, FindsTheFoldInTheStep) {
  Journal journal;
  const auto found = tune(journal);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_GT(found->candidates, 10u);
  EXPECT_EQ(found->tried, 10u);
  EXPECT_EQ(found->refusals, std::vector<std::string>());
  const TuningRecord &record = found->record;
  EXPECT_EQ(record.key.spec, "layer");
  EXPECT_EQ(record.key.device.driver, "1.0");
  EXPECT_EQ(record.times, TimesFrom::Measured);
  ASSERT_EQ(record.ranges.size(), 2u);
  for (const TunedRange &range : record.ranges) {
    EXPECT_EQ(parseSchedule(range.schedule)->boundary, Boundary::Step);
    EXPECT_DOUBLE_EQ(range.time.us, 500);
    EXPECT_DOUBLE_EQ(range.againstTime.us, 1000);
    EXPECT_EQ(range.time.repeats, 9);
    EXPECT_EQ(range.against, toString(usual()));
  }
  EXPECT_EQ(record.schedule, record.ranges[0].schedule);
  EXPECT_NE(record.summary.find("boundary step instead of apart"),
            std::string::npos)
      << record.summary;
  // What it made for itself is gone.
  EXPECT_EQ(fake->allocations, 0);
  EXPECT_EQ(fake->streams, 0);
  EXPECT_EQ(fake->events, 0);
}

TEST_F(ScheduleTunerOnFake, TheSamePicksTwice) {
  Journal one, two;
  EXPECT_EQ(toJson(TuningFile{{tune(one)->record}, {}}),
            toJson(TuningFile{{tune(two)->record}, {}}));
}

TEST_F(ScheduleTunerOnFake, AnEarlierPickIsTriedAndStays) {
  // All that fold in the step are equally fast here; an earlier run has picked
  // one that would not be tried among so few.
  setup.effort.mostSchedules = 60;
  Journal one;
  const auto many = tune(one);
  ASSERT_TRUE(many.ok()) << many.status().message();
  const Variant *last = nullptr;
  for (const Variant &variant : many->variants)
    if (variant.schedule.boundary == Boundary::Step)
      last = &variant;
  ASSERT_NE(last, nullptr);
  TuningRecord earlier = many->record;
  earlier.schedule = toString(last->schedule);
  for (TunedRange &range : earlier.ranges)
    range.schedule = earlier.schedule;
  ASSERT_NE(earlier.schedule, many->record.schedule);
  setup.before = {earlier};
  setup.effort.mostSchedules = 2;
  Journal two;
  const auto again = tune(two);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(diff(TuningFile{{earlier}, {}}, TuningFile{{again->record}, {}},
                 DiffOf::Picks),
            std::vector<std::string>());
  EXPECT_EQ(again->record.ranges[0].why.find("as before, since nothing is "
                                             "faster beyond noise"),
            0u)
      << again->record.ranges[0].why;
}

TEST_F(ScheduleTunerOnFake, WhatIsRefusedIsCountedAndNamed) {
  refuse = [](const ScheduleCandidate *candidate) {
    return candidate && candidate->schedule.boundary == Boundary::Step;
  };
  Journal journal;
  const auto found = tune(journal);
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_GE(found->refusals.size(), 1u);
  EXPECT_EQ(found->tried + found->refusals.size(), 10u);
  EXPECT_NE(found->refusals[0].find("no code for this one"), std::string::npos);
  // All others take as long as the usual one, which stays.
  for (const TunedRange &range : found->record.ranges)
    EXPECT_EQ(range.schedule, toString(usual()));
}

TEST_F(ScheduleTunerOnFake, TheUsualScheduleHasToWork) {
  int calls = 0;
  refuse = [&](const ScheduleCandidate *) { return ++calls > 1; };
  Journal journal;
  const auto found = tune(journal);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().message(), "layer: no code for this one");
}

// A rule of a user's may take more registers than the usual schedule leaves.
TEST_F(ScheduleTunerOnFake, TheUsualScheduleMaySpillAndOthersMayNot) {
  spills = [&](const ScheduleCandidate *candidate) {
    return !candidate || candidate->schedule.boundary == Boundary::Step;
  };
  Journal journal;
  const auto found = tune(journal);
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_GE(found->refusals.size(), 1u);
  EXPECT_NE(found->refusals[0].find("8 bytes of local memory"),
            std::string::npos)
      << found->refusals[0];
}

TEST_F(ScheduleTunerOnFake, AnOracleHasTheLastWord) {
  setup.hooks.verify = [](const DecodeSpec &, const Program &program) {
    return program.info().stepFolds ? Status::failed("it is wrong") : Status();
  };
  Journal journal;
  const auto found = tune(journal);
  ASSERT_TRUE(found.ok()) << found.status().message();
  for (const TunedRange &range : found->record.ranges)
    EXPECT_EQ(parseSchedule(range.schedule)->boundary, Boundary::Apart);
  ASSERT_GE(found->refusals.size(), 1u);
  EXPECT_NE(found->refusals[0].find("it is wrong"), std::string::npos);
}

TEST_F(ScheduleTunerOnFake, StopsAndGoesOnFromItsJournal) {
  std::atomic<int> questions{0};
  setup.hooks.stop = [&] { return ++questions > 9; };
  {
    Journal journal = openJournal();
    const auto found = tune(journal);
    ASSERT_FALSE(found.ok());
    EXPECT_NE(found.status().message().find("interrupted"), std::string::npos);
  }
  const int madeBefore = made;
  setup.hooks.stop = [] { return false; };
  Journal journal = openJournal();
  EXPECT_GE(journal.resumed(), 4u);
  const auto found = tune(journal);
  ASSERT_TRUE(found.ok()) << found.status().message();
  Journal whole;
  made = 0;
  EXPECT_EQ(toJson(TuningFile{{found->record}, {}}),
            toJson(TuningFile{{tune(whole)->record}, {}}));
  EXPECT_GT(madeBefore, 0);
  // A run that finds everything in its journal makes nothing but the usual
  // image, whose schedule it has to know.
  made = 0;
  Journal again = openJournal();
  ASSERT_TRUE(tune(again).ok());
  EXPECT_EQ(made, 1);
}

TEST_F(ScheduleTunerOnFake, WithoutTimeTheUsualScheduleAlone) {
  setup.budget = 0;
  Journal journal;
  const auto found = tune(journal);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_TRUE(found->outOfTime);
  EXPECT_EQ(found->tried, 1u);
  EXPECT_EQ(found->record.schedule, toString(usual()));
  EXPECT_NE(found->record.summary.find("until the time that was allowed"),
            std::string::npos);
}

TEST_F(ScheduleTunerOnFake, ASlowDriverGetsNoMoreThanTheBudgetHolds) {
  // It compiles one kernel at a time, whatever threads ask for it. Sixteen
  // threads that all begin one would take sixteen times as long.
  constexpr std::chrono::milliseconds kEach(40);
  constexpr int kFitting = 6;
  std::mutex driver;
  const auto plain = setup.hooks.image;
  setup.hooks.image = [&](const DecodeSpec &layer,
                          const ScheduleCandidate *candidate) {
    std::lock_guard<std::mutex> guard(driver);
    std::this_thread::sleep_for(kEach);
    return plain(layer, candidate);
  };
  setup.effort.threads = 16;
  setup.effort.mostSchedules = 40;
  setup.budget = std::chrono::duration<double>(kEach).count() * kFitting;
  setup.begin = std::chrono::steady_clock::now();
  Journal journal;
  const auto found = tune(journal);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_TRUE(found->outOfTime);
  // Those that fit, and the one that is begun when hardly anything is left.
  EXPECT_LE(made, kFitting + 1);
  EXPECT_GT(setup.spent->kernels, 0);
}

TEST(Pace, FollowsWhatWasSeen) {
  Pace pace;
  EXPECT_EQ(pace.atOnce(16, 100), 16u); // nothing is known
  EXPECT_EQ(pace.atOnce(0, 100), 1u);
  pace.note(1, 30);
  EXPECT_EQ(pace.atOnce(16, 100), 3u); // perhaps one behind the other
  pace.note(3, 30);                    // no: side by side, 10 s for each
  EXPECT_EQ(pace.atOnce(16, 70), 4u);  // but 15 s are still remembered
  pace.note(4, 30);
  EXPECT_EQ(pace.atOnce(16, 40), 5u); // 7.5 s
  EXPECT_EQ(pace.atOnce(16, -5), 1u); // whether to go on is not asked here
  pace.note(0, 1000);
  EXPECT_EQ(pace.atOnce(16, 40), 5u);
}

TEST_F(ScheduleTunerOnFake, WithoutADeviceAModelRanksAndSaysSo) {
  setup.device = nullptr;
  Journal journal;
  const auto found = tune(journal);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->record.times, TimesFrom::Modelled);
  EXPECT_EQ(found->tried, 0u);
  EXPECT_EQ(made, 1); // the usual image, for its bytes
  for (const TunedRange &range : found->record.ranges)
    EXPECT_EQ(range.time.repeats, 0);
  EXPECT_EQ(found->record.summary.find("Nothing was run: a model of H200"), 0u);
}

TEST_F(ScheduleTunerOnFake, TheUsualScheduleOnly) {
  Journal journal;
  const auto found = tuneSchedules(spec, setup, journal, Breadth::UsualOnly);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->variants.size(), 1u);
  EXPECT_DOUBLE_EQ(found->mean(), 1000);
}

} // namespace
