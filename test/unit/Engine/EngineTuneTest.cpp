//===- EngineTuneTest.cpp - one tunes, and all use it ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Engines that begin together on a folder without records, as ranks do; each
// has everything of its own but folders. Kernels are the compiler's, on the CPU
// device, and a search is cut short by its budget.
//
//===----------------------------------------------------------------------===//

#include "../Runtime/TestPack.h"
#include "Bench/Agreement.h"
#include "decant/Engine.h"
#include "decant/Spec/SpecReader.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <thread>

using namespace decant;
namespace fs = std::filesystem;

namespace {

DecodeSpec smallSpec() {
  SpecSource source;
  source.spec = "bytelm-gdn";
  source.overrides = {"heads.key=1",      "heads.value=1",
                      "heads.key_dim=16", "heads.value_dim=16",
                      "window.length=2",  "window.compensators=0"};
  return readSpec(source).take();
}

class EngineTune : public testing::Test {
protected:
  EngineOptions options() const {
    EngineOptions options;
    options.cacheMode = CacheMode::Disk;
    options.cacheFolder = base + "-cache";
    options.records = {base + "-records", "", false};
    options.tune = TunePolicy::IfMissing;
    options.tuneSeconds = 0.2;
    options.threads = 1;
    return options;
  }

  /// What a process of its own would do and say.
  struct Start {
    PrepareReport report;
    EngineCounters counters;
    std::string rules, schedules;
    std::vector<double> outputs;
  };
  static Start start(const EngineOptions &options) {
    Start result;
    Engine engine = Engine::create(options).take();
    const DecodeSpec spec = smallSpec();
    const auto device = engine.openDevice("cpu").take();
    const auto program = engine.prepare(spec, device, &result.report);
    EXPECT_TRUE(program.ok()) << program.status().message();
    if (!program)
      return result;
    result.counters = engine.counters();
    result.rules = toString((*program)->rules());
    for (int i = 0; i < (*program)->variantCount(); ++i)
      result.schedules += (*program)->variant(i).scheduleText + "\n";
    result.outputs =
        bench::testedBatch(spec, device, **program, 3, 2).take().outputs;
    return result;
  }

  test::TemporaryFolder folder;
  const std::string base = folder.write("base", "");
};

TEST_F(EngineTune, OfSeveralThatBeginTogetherOneSearches) {
  constexpr size_t kRanks = 4;
  std::vector<Start> starts(kRanks);
  std::vector<std::thread> ranks;
  for (Start &mine : starts)
    ranks.emplace_back([&] { mine = start(options()); });
  for (std::thread &rank : ranks)
    rank.join();
  int64_t searches = 0, tuned = 0, compilers = 0;
  for (const Start &mine : starts) {
    searches += mine.counters.tunings;
    tuned += mine.report.tuning.tuned;
    compilers += mine.counters.compiles > 0;
    EXPECT_TRUE(mine.report.tuning.found);
    EXPECT_EQ(mine.report.tuning.source.find("user, "), 0u);
    EXPECT_EQ(mine.rules, starts[0].rules);
    EXPECT_EQ(mine.schedules, starts[0].schedules);
    EXPECT_EQ(mine.outputs, starts[0].outputs);
  }
  EXPECT_EQ(searches, 1);
  EXPECT_EQ(tuned, 1);
  EXPECT_EQ(compilers, 1);

  const Start later = start(options());
  EXPECT_EQ(later.counters.tunings, 0);
  EXPECT_EQ(later.counters.compiles, 0);
  EXPECT_FALSE(later.report.tuning.tuned);
  EXPECT_EQ(later.schedules, starts[0].schedules);
  EXPECT_EQ(later.outputs, starts[0].outputs);
}

TEST_F(EngineTune, TheSecondDeviceOfAClassRunsWhatTheFirstFound) {
  Engine engine = Engine::create(options()).take();
  const auto device = engine.openDevice("cpu").take();
  PrepareReport first, second;
  const auto one = engine.prepare(smallSpec(), device, &first);
  const auto two = engine.prepare(smallSpec(), device, &second);
  ASSERT_TRUE(one.ok() && two.ok());
  EXPECT_TRUE(first.tuning.tuned);
  EXPECT_GT(first.tuning.tuneMs, 0);
  EXPECT_FALSE(second.tuning.tuned);
  EXPECT_TRUE(second.tuning.found);
  EXPECT_EQ(engine.counters().tunings, 1);
  EXPECT_TRUE(second.warm());
  EXPECT_EQ(toString((*one)->rules()), toString((*two)->rules()));
}

TEST_F(EngineTune, WhereNothingCanBeKeptTheUsualScheduleRuns) {
  EngineOptions noFolder = options();
  noFolder.records.user = base + "/records"; // below a file
  const Start found = start(noFolder);
  EXPECT_EQ(found.counters.tunings, 0);
  EXPECT_FALSE(found.report.tuning.found);
  EXPECT_EQ(found.rules, "1..: 0");
  ASSERT_EQ(found.report.tuning.notes.size(), 1u);
  EXPECT_EQ(found.report.tuning.notes[0].find("tuning: cannot open "), 0u)
      << found.report.tuning.notes[0];
}

TEST_F(EngineTune, NeedsAFolderForWhatItFinds) {
  EngineOptions nowhere = options();
  nowhere.records.user.clear();
  const auto engine = Engine::create(nowhere);
  ASSERT_FALSE(engine.ok());
  EXPECT_NE(engine.status().message().find("DECANT_TUNING_DIR"),
            std::string::npos);
}

TEST_F(EngineTune, FixedVariantsAreNotTuned) {
  EngineOptions fixed = options();
  fixed.variants = VariantChoice::Fixed;
  const Start found = start(fixed);
  EXPECT_EQ(found.counters.tunings, 0);
  EXPECT_EQ(found.rules, "1..: 0");
}

TEST(EngineEnvironment, AllowsTuningAndNamesPacks) {
  setenv("DECANT_TUNE", "if_missing", 1);
  setenv("DECANT_PACKS", "/a.pack::/b.pack", 1);
  EngineOptions options = EngineOptions::fromEnvironment();
  EXPECT_TRUE(options.environment.ok());
  EXPECT_EQ(options.tune, TunePolicy::IfMissing);
  EXPECT_EQ(options.packs, (std::vector<std::string>{"/a.pack", "/b.pack"}));
  setenv("DECANT_TUNE", "always", 1);
  EXPECT_EQ(EngineOptions::fromEnvironment().environment.message(),
            "DECANT_TUNE: found \"always\"; allowed: never or if_missing");
  unsetenv("DECANT_TUNE");
  unsetenv("DECANT_PACKS");
}

} // namespace
