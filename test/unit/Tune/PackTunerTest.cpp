//===- PackTunerTest.cpp - a pack, tuned by what it holds -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As ScheduleTunerTest: by the fake driver's events a step whose fold is apart
// takes twice as long as one that folds itself. The pack's pick is the slow
// one.
//
//===----------------------------------------------------------------------===//

#include "Tune/PackTuner.h"
#include "FakeCudaTest.h"
#include "TestPack.h"
#include "Tune/ScheduleTuner.h"
#include "decant/Tune/RecordStore.h"

#include <atomic>

using namespace decant;
using namespace decant::test;
using namespace decant::tune;

namespace {

constexpr int kWindow = 4;

Schedule cut(Boundary boundary, int keyLanes = 8) {
  Schedule schedule;
  schedule.keyLanes = keyLanes;
  schedule.keysPerLane = kKeyDim / keyLanes;
  schedule.valuesPerLane = 8;
  schedule.valueLanes = kValueDim / 8;
  schedule.boundary = boundary;
  return schedule;
}

class PackTunerOnFake : public FakeCudaTest {
protected:
  void SetUp() override {
    FakeCudaTest::SetUp();
    spec.name = "layer";
    spec.rule = {"test", "a rule"};
    spec.heads = {kKeyHeads, kValueHeads, kKeyDim, kValueDim, HeadMap::Group};
    spec.window.length = kWindow;
    device = openDevice();
  }

  KernelImage variant(const Schedule &schedule) const {
    KernelImage image = decodeImage(kWindow);
    image.specText = canonicalText(spec);
    image.scheduleText = toString(schedule);
    return image;
  }
  std::unique_ptr<Pack> open(const std::string &bytes,
                             const std::string &name = "a.pack") const {
    return Pack::open(folder.write(name, bytes)).take();
  }
  /// The slow cut is the pick; the fast one, and another slow one, are
  /// candidates.
  std::unique_ptr<Pack> packOfThree() const {
    PackBuilder pack;
    require(pack.add(variant(cut(Boundary::Apart)), {kAnyRows}));
    require(pack.add(variant(cut(Boundary::Apart, 16))));
    require(pack.add(variant(cut(Boundary::Step))));
    return open(pack.bytes().take());
  }
  Expected<ScheduleFindings> tune(const Pack &pack,
                                  const PackCandidates &candidates) {
    setup = tune::Setup();
    setup.device = device;
    setup.deviceClass = deviceClassOf(*device, candidates.target).take();
    setup.effort.batches = {1, 8};
    setup.hooks.progress = [this](const std::string &, int64_t, int64_t) {
      ++shown;
    };
    const Status taken = takeFromPack(pack, candidates, setup);
    if (!taken.ok())
      return taken;
    Journal journal;
    return tuneSchedules(spec, setup, journal, Breadth::All);
  }

  DecodeSpec spec;
  std::shared_ptr<Device> device;
  tune::Setup setup;
  TemporaryFolder folder;
  std::atomic<int> shown{0};
};

TEST_F(PackTunerOnFake, TheFastOneIsPickedWrittenAndLaunched) {
  const auto pack = packOfThree();
  const auto candidates = packCandidates(*pack, spec, device->info());
  ASSERT_TRUE(candidates.ok()) << candidates.status().message();
  EXPECT_EQ(candidates->target, "sm_90");
  EXPECT_EQ(candidates->compiler, "decant 0.1.0, test");
  ASSERT_EQ(candidates->variants.size(), 3u);
  EXPECT_EQ(candidates->variants[0].first, 0) << "the pick comes first";

  const auto found = tune(*pack, *candidates);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->tried, 3u);
  EXPECT_EQ(found->refusals, std::vector<std::string>());
  EXPECT_GT(shown, 0);
  EXPECT_EQ(found->record.key.compiler, "decant 0.1.0, test");
  for (const TunedRange &range : found->record.ranges) {
    EXPECT_EQ(range.schedule, toString(cut(Boundary::Step)));
    EXPECT_EQ(range.against, toString(cut(Boundary::Apart)));
    EXPECT_DOUBLE_EQ(range.time.us, 500);
  }
  // What `decant records` reads.
  const std::string text = toJson(TuningFile{{found->record}, {}});
  const auto again = parseTuningFile(text, "a.json");
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(toJson(*again), text);

  const auto bytes = tunedPack(*pack, *candidates, found->record);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  const auto tuned = open(*bytes, "b.pack");
  ASSERT_TRUE(tuned->verify().ok());
  const std::vector<PackVariant> &all = tuned->index().variants;
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].maxRows, std::vector<int64_t>());
  EXPECT_EQ(all[1].maxRows, std::vector<int64_t>());
  EXPECT_EQ(all[2].maxRows, std::vector<int64_t>{kAnyRows});
  const auto picks = launchPicks(*tuned, *pack, spec, device, {1, 8});
  ASSERT_TRUE(picks.ok()) << picks.status().message();
  EXPECT_EQ(*picks, "1..: 0");
  EXPECT_EQ(tuned->counters().images, 4) << "three to verify, one to launch";
}

TEST_F(PackTunerOnFake, ATunedPackKeepsItsPick) {
  const auto pack = packOfThree();
  const auto candidates = packCandidates(*pack, spec, device->info());
  const auto first = tune(*pack, *candidates);
  ASSERT_TRUE(first.ok()) << first.status().message();
  const std::string bytes = tunedPack(*pack, *candidates, first->record).take();
  const auto tuned = open(bytes, "b.pack");
  const auto again = packCandidates(*tuned, spec, device->info());
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->variants[0].first, 2) << "it is the incumbent now";
  const auto second = tune(*tuned, *again);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(tunedPack(*tuned, *again, second->record).take(), bytes);
}

TEST_F(PackTunerOnFake, PicksOfFewRowsStayWithinNoiseToo) {
  // All fold in the step and are equally fast; up to eight rows the pack has
  // another one than beyond, and keeps it.
  PackBuilder builder;
  require(builder.add(variant(cut(Boundary::Step)), {kAnyRows}));
  require(builder.add(variant(cut(Boundary::Step, 16)), {4}));
  require(builder.add(variant(cut(Boundary::Step, 32))));
  const auto pack = open(builder.bytes().take());
  const auto candidates = packCandidates(*pack, spec, device->info());
  ASSERT_TRUE(candidates.ok()) << candidates.status().message();
  ASSERT_EQ(candidates->picks.ranges.size(), 2u);
  EXPECT_EQ(candidates->picks.ranges[0].to, 4);
  const auto found = tune(*pack, *candidates);
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found->record.ranges.size(), 2u);
  EXPECT_EQ(found->record.ranges[0].schedule,
            toString(cut(Boundary::Step, 16)));
  EXPECT_EQ(found->record.ranges[1].schedule, toString(cut(Boundary::Step)));
}

TEST_F(PackTunerOnFake, OtherSpecsAndTargetsStayAsTheyAre) {
  PackBuilder builder;
  require(builder.add(variant(cut(Boundary::Apart)), {kAnyRows}));
  require(builder.add(variant(cut(Boundary::Step))));
  require(builder.add(variantFor("sm_80", 8, "other"), {4}));
  require(builder.add(variantFor("sm_80", 16, "other"), {kAnyRows}));
  const auto pack = open(builder.bytes().take());
  const auto candidates = packCandidates(*pack, spec, device->info());
  ASSERT_EQ(candidates->variants.size(), 2u);
  const auto found = tune(*pack, *candidates);
  ASSERT_TRUE(found.ok()) << found.status().message();
  const auto tuned =
      open(tunedPack(*pack, *candidates, found->record).take(), "b.pack");
  EXPECT_EQ(tuned->index().variants[2].maxRows, std::vector<int64_t>{4});
  EXPECT_EQ(tuned->index().variants[3].maxRows, std::vector<int64_t>{kAnyRows});
}

TEST_F(PackTunerOnFake, ASpecThatThePackLacksIsNamed) {
  const auto pack = packOfThree();
  DecodeSpec other = spec;
  other.window.length = 8;
  const auto found = packCandidates(*pack, other, device->info());
  ASSERT_FALSE(found.ok());
  EXPECT_NE(found.status().message().find("\"layer\" with 1 token per step"),
            std::string::npos)
      << found.status().message();
}

} // namespace
