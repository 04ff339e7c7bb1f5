//===- EngineTest.cpp - cache, compiler and devices together --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Engine.h"
#include "HostImages.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <mutex>
#include <numeric>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace decant;
using namespace decant::test;
namespace fs = std::filesystem;

namespace {

/// A stand-in for the compiler that counts.
struct CountingSource {
  std::shared_ptr<std::atomic<int>> calls =
      std::make_shared<std::atomic<int>>(0);

  Expected<KernelImage> operator()(const DecodeSpec &spec,
                                   const CompileOptions &options,
                                   CompileTimes *) const {
    ++*calls;
    return options.kernels == KernelSet::Decode ? decodeImage(spec)
                                                : transferImage(spec);
  }
};

class EngineTest : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "decant-engine-" + std::to_string(getpid());
    fs::remove_all(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  EngineOptions onDisk() const {
    EngineOptions options;
    options.cacheMode = CacheMode::Disk;
    options.cacheFolder = folder;
    options.threads = 2;
    return options;
  }
  Engine engine(const EngineOptions &options) const {
    return Engine::create(options, source).take();
  }
  int compiles() const { return *source.calls; }

  std::string folder;
  CountingSource source;
};

/// Decodes three rows and returns the outputs.
std::vector<float> stepThreeRows(const Program &program) {
  std::vector<char> memory(4 * program.info().slotBytes + 64);
  void *base = memory.data();
  size_t space = memory.size();
  std::align(64, 1, base, space);
  const std::vector<int32_t> slots = {2, 0, 3};
  const std::vector<float> decay = {1, 2, 4};
  std::vector<float> out(3);
  StepCall call;
  call.pool = {base, 0, 4};
  call.rows = {slots.data(), 0, 3};
  call.decay.data = decay.data();
  call.out = out.data();
  Status status = program.step(call);
  EXPECT_TRUE(status.ok()) << status.message();
  return out;
}

const std::vector<float> kThreeRows = {3 * 1 + 2, 3 * 2 + 0, 3 * 4 + 3};

TEST_F(EngineTest, ColdThenWarmInOneEngine) {
  Engine one = engine(onDisk());
  auto device = *one.openDevice("cpu");
  PrepareReport cold, warm;
  auto first = one.prepare(smallSpec(), device, &cold);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_FALSE(cold.warm());
  EXPECT_EQ(cold.images[0].missReason, "absent");
  EXPECT_GT(cold.compileMs(), 0);
  EXPECT_EQ(compiles(), 2);

  auto second = one.prepare(smallSpec(), device, &warm);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_TRUE(warm.warm());
  EXPECT_EQ(warm.compileMs(), 0);
  EXPECT_EQ(compiles(), 2);
  EXPECT_EQ(stepThreeRows(**first), kThreeRows);
  EXPECT_EQ(stepThreeRows(**second), kThreeRows);
}

TEST_F(EngineTest, TheNextEngineFindsTheFolder) {
  {
    Engine one = engine(onDisk());
    ASSERT_TRUE(one.prepare(smallSpec(), *one.openDevice("cpu")).ok());
  }
  Engine two = engine(onDisk());
  PrepareReport report;
  DecodeSpec renamed = smallSpec();
  renamed.name = "another name";
  auto program = two.prepare(renamed, *two.openDevice("cpu"), &report);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_TRUE(report.warm());
  EXPECT_EQ(compiles(), 2);
  EXPECT_EQ(two.counters().cache.diskHits, 2);
  EXPECT_EQ((*program)->info().specName, "another name");
  EXPECT_EQ(stepThreeRows(**program), kThreeRows);
}

/// What a tuner would have left for the small spec: one schedule up to batch 2,
/// another beyond.
class EngineRecords : public EngineTest {
protected:
  void SetUp() override {
    EngineTest::SetUp();
    tuning = folder + "-tuning";
    fs::remove_all(tuning);
    fs::create_directories(tuning);
  }
  void TearDown() override {
    fs::remove_all(tuning);
    EngineTest::TearDown();
  }

  static std::string scheduleText(RowLoop rows, Boundary boundary) {
    Schedule schedule;
    schedule.keysPerLane = schedule.valuesPerLane = 16;
    schedule.rows = rows;
    schedule.boundary = boundary;
    return toString(schedule);
  }
  const std::string few = scheduleText(RowLoop::Rolled, Boundary::Step);
  const std::string many = scheduleText(RowLoop::Unrolled, Boundary::Apart);

  TuningRecord recordFor(const Device &device) const {
    TuningRecord record;
    record.key = tuningKey(smallSpec(), deviceClassOf(device, "x86-64").take(),
                           compilerVersion());
    record.schedule = many;
    TunedRange first;
    first.to = 2;
    first.schedule = first.against = few;
    TunedRange second;
    second.from = second.batch = 3;
    second.schedule = second.against = many;
    record.ranges = {first, second};
    return record;
  }
  void write(const TuningRecord &record) const {
    std::ofstream(tuning + "/a.json") << toJson(TuningFile{{record}, {}});
  }
  /// An engine whose compiler notes the schedules that it is asked for, and
  /// fails for `refused`.
  Engine make(VariantChoice variants = VariantChoice::ByBatch) {
    EngineOptions options;
    options.records = {tuning, "", false};
    options.variants = variants;
    options.threads = 1;
    auto compile = [this](const DecodeSpec &spec, const CompileOptions &with,
                          CompileTimes *) -> Expected<KernelImage> {
      std::lock_guard<std::mutex> guard(mutex);
      if (with.kernels == KernelSet::Transfer)
        return transferImage(spec);
      const std::string text =
          with.schedule ? toString(*with.schedule) : "usual";
      asked.push_back(text);
      if (text == refused)
        return Status::invalid("no such schedule here");
      return decodeImage(spec);
    };
    return Engine::create(options, compile).take();
  }

  std::string tuning, refused;
  std::mutex mutex;
  std::vector<std::string> asked;
};

TEST_F(EngineRecords, GiveEachRangeItsVariant) {
  Engine one = make();
  auto device = *one.openDevice("cpu");
  write(recordFor(*device));
  PrepareReport report;
  auto program = one.prepare(smallSpec(), device, &report);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_TRUE(report.tuning.found);
  EXPECT_EQ(report.tuning.source, "user, " + tuning + "/a.json");
  EXPECT_EQ(report.tuning.notes, std::vector<std::string>());
  EXPECT_EQ(report.tuning.schedules, (std::vector<std::string>{few, many}));
  std::sort(asked.begin(), asked.end());
  std::vector<std::string> both = {few, many};
  std::sort(both.begin(), both.end());
  EXPECT_EQ(asked, both);
  ASSERT_EQ((*program)->rules().size(), 2u);
  EXPECT_EQ((*program)->rules()[0].maxRows, 2);
  EXPECT_EQ((*program)->rules()[0].variant, 0);
  EXPECT_EQ((*program)->rules()[1].maxRows, kAnyRows);
  EXPECT_EQ((*program)->rules()[1].variant, 1);
  EXPECT_EQ(report.images.size(), 3u);
  EXPECT_EQ(stepThreeRows(**program), kThreeRows);
}

TEST_F(EngineRecords, GiveOneVariantWhereTheHostWantsOne) {
  Engine one = make(VariantChoice::One);
  auto device = *one.openDevice("cpu");
  write(recordFor(*device));
  auto program = one.prepare(smallSpec(), device);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(asked, std::vector<std::string>{many});
  EXPECT_EQ((*program)->variantCount(), 1);
}

TEST_F(EngineRecords, AreNotLookedAtWhereVariantsAreFixed) {
  Engine one = make(VariantChoice::Fixed);
  auto device = *one.openDevice("cpu");
  write(recordFor(*device));
  PrepareReport report;
  ASSERT_TRUE(one.prepare(smallSpec(), device, &report).ok());
  EXPECT_FALSE(report.tuning.found);
  EXPECT_EQ(asked, std::vector<std::string>{"usual"});
  EXPECT_EQ(
      report.tuning.notes,
      std::vector<std::string>{"variants are fixed: no record was looked at"});
}

TEST_F(EngineRecords, OfAnotherDriverServeAndSaySo) {
  Engine one = make();
  auto device = *one.openDevice("cpu");
  TuningRecord record = recordFor(*device);
  record.key.device.driver = "580.95";
  write(record);
  PrepareReport report;
  ASSERT_TRUE(one.prepare(smallSpec(), device, &report).ok());
  EXPECT_TRUE(report.tuning.found);
  EXPECT_EQ(report.tuning.notes,
            std::vector<std::string>{"driver 580.95 in the record, none here"});
}

TEST_F(EngineRecords, ThatDoNotCompileLeaveTheUsualSchedule) {
  refused = many;
  Engine one = make();
  auto device = *one.openDevice("cpu");
  write(recordFor(*device));
  PrepareReport report;
  auto program = one.prepare(smallSpec(), device, &report);
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_FALSE(report.tuning.found);
  ASSERT_EQ(report.tuning.notes.size(), 1u);
  EXPECT_NE(report.tuning.notes[0].find("no such schedule here"),
            std::string::npos);
  EXPECT_EQ(asked.back(), "usual");
  EXPECT_EQ((*program)->variantCount(), 1);
}

TEST_F(EngineRecords, ThatCannotBeReadAreNamed) {
  std::ofstream(tuning + "/a.json") << "{}";
  Engine one = make();
  PrepareReport report;
  ASSERT_TRUE(one.prepare(smallSpec(), *one.openDevice("cpu"), &report).ok());
  EXPECT_FALSE(report.tuning.found);
  ASSERT_EQ(report.tuning.notes.size(), 1u);
  EXPECT_NE(report.tuning.notes[0].find(tuning + "/a.json: decant_tuning"),
            std::string::npos);
  EXPECT_EQ(asked, std::vector<std::string>{"usual"});
}

TEST_F(EngineTest, AProgramOutlivesItsEngine) {
  std::unique_ptr<Program> program;
  {
    Engine one = engine(onDisk());
    program = one.prepare(smallSpec(), *one.openDevice("cpu")).take();
  }
  EXPECT_EQ(stepThreeRows(*program), kThreeRows);
}

TEST_F(EngineTest, WhatChangesTheCodeChangesTheKey) {
  Engine one = engine(onDisk());
  CompileOptions options;
  options.target = *lookupTarget("x86-64");
  ASSERT_TRUE(one.image(smallSpec(), options).ok());
  int expected = 1;
  auto expectMiss = [&](const DecodeSpec &spec, const CompileOptions &with,
                        const char *what) {
    ASSERT_TRUE(one.image(spec, with).ok());
    EXPECT_EQ(compiles(), ++expected) << what;
  };
  DecodeSpec spec = smallSpec();
  spec.inputs.normEps = 1e-5;
  expectMiss(spec, options, "a field of the spec");
  CompileOptions other = options;
  other.kernels = KernelSet::Transfer;
  expectMiss(smallSpec(), other, "the kernel set");
  other = options;
  other.target = *lookupTarget("sm_90a");
  expectMiss(smallSpec(), other, "the target");
  other = options;
  other.target.arch = "x86-64-v3";
  expectMiss(smallSpec(), other, "the processor");
  other = options;
  other.schedule = Schedule();
  expectMiss(smallSpec(), other, "the schedule");
  ASSERT_TRUE(one.image(smallSpec(), options).ok());
  EXPECT_EQ(compiles(), expected) << "the first one again";
}

TEST_F(EngineTest, WithoutACacheEveryPrepareCompiles) {
  EngineOptions options;
  options.cacheMode = CacheMode::Off;
  Engine one = engine(options);
  auto device = *one.openDevice("cpu");
  for (int i = 1; i <= 2; ++i) {
    PrepareReport report;
    ASSERT_TRUE(one.prepare(smallSpec(), device, &report).ok());
    EXPECT_FALSE(report.warm());
    EXPECT_EQ(compiles(), 2 * i);
  }
}

TEST_F(EngineTest, AFolderThatCannotBeWrittenCostsAWarning) {
  EngineOptions options = onDisk();
  options.cacheFolder = "/proc/decant";
  Engine one = engine(options);
  auto device = *one.openDevice("cpu");
  PrepareReport first, second;
  ASSERT_TRUE(one.prepare(smallSpec(), device, &first).ok());
  ASSERT_EQ(first.warnings.size(), 1u);
  EXPECT_NE(first.warnings[0].find("/proc/decant"), std::string::npos)
      << first.warnings[0];
  ASSERT_TRUE(one.prepare(smallSpec(), device, &second).ok());
  EXPECT_TRUE(second.warm()) << "memory still keeps it";
  EXPECT_TRUE(second.warnings.empty());
}

TEST_F(EngineTest, AnErrorOfTheCompilerIsPassedOnAndNotKept) {
  std::atomic<int> calls = 0; // of both images, at the same time
  auto failing = [&](const DecodeSpec &, const CompileOptions &,
                     CompileTimes *) -> Expected<KernelImage> {
    ++calls;
    return Status::invalid("small.json: no such rule");
  };
  Engine one = Engine::create(onDisk(), failing).take();
  auto device = *one.openDevice("cpu");
  for (int i = 1; i <= 2; ++i) {
    auto program = one.prepare(smallSpec(), device);
    ASSERT_FALSE(program.ok());
    EXPECT_EQ(program.status().message(), "small.json: no such rule");
    EXPECT_EQ(calls, 2 * i);
  }
}

TEST_F(EngineTest, ThreadsOfOneEngineCompileOnce) {
  Engine one = engine(onDisk());
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([&] {
      auto device = one.openDevice("cpu");
      ASSERT_TRUE(device.ok()) << device.status().message();
      auto program = one.prepare(smallSpec(), *device);
      ASSERT_TRUE(program.ok()) << program.status().message();
      for (int step = 0; step < 50; ++step)
        ASSERT_EQ(stepThreeRows(**program), kThreeRows);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(compiles(), 2);
}

/// A host that is warm decodes 10,000 batches of changing size: no compiling,
/// no loading, not even a look into the cache.
TEST_F(EngineTest, ServingCostsNoneOfWhatIsCounted) {
  Engine one = engine(onDisk());
  auto program = one.prepare(smallSpec(), *one.openDevice("cpu")).take();
  const EngineCounters warm = one.counters();
  EXPECT_EQ(warm.compiles, 2);
  EXPECT_EQ(warm.loads, 1);
  constexpr int kMostRows = 64;
  std::vector<char> memory(kMostRows * program->info().slotBytes + 64);
  void *base = memory.data();
  size_t space = memory.size();
  std::align(64, 1, base, space);
  std::vector<int32_t> slots(kMostRows);
  std::iota(slots.begin(), slots.end(), 0);
  const std::vector<float> decay(kMostRows, 2);
  for (int step = 0; step < 10000; ++step) {
    std::vector<float> out(kMostRows, -1);
    StepCall call;
    call.pool = {base, 0, kMostRows};
    call.rows = {slots.data(), 0, 1 + step * 7 % kMostRows};
    call.decay.data = decay.data();
    call.out = out.data();
    ASSERT_TRUE(program->step(call).ok());
    ASSERT_EQ(out[size_t(call.rows.rows) - 1], 3 * 2 + call.rows.rows - 1);
  }
  const EngineCounters after = one.counters();
  EXPECT_EQ(after.compiles, warm.compiles);
  EXPECT_EQ(after.links, warm.links);
  EXPECT_EQ(after.loads, warm.loads);
  EXPECT_EQ(after.cache.misses, warm.cache.misses);
  EXPECT_EQ(after.cache.memoryHits + after.cache.diskHits,
            warm.cache.memoryHits + warm.cache.diskHits);
}

/// 64 processes, a cold cache, one spec: each image is compiled once.
TEST_F(EngineTest, ProcessesCompileOnce) {
  constexpr int kProcesses = 64;
  auto *calls = static_cast<std::atomic<int> *>(
      mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(calls, MAP_FAILED);
  new (calls) std::atomic<int>(0);
  CompileOptions options;
  options.target = *lookupTarget("x86-64");
  const KernelImage made = decodeImage(smallSpec()).take();
  auto source = [&](const DecodeSpec &, const CompileOptions &,
                    CompileTimes *) -> Expected<KernelImage> {
    ++*calls;
    usleep(200000); // as long as compiling something small
    return made;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      Engine one = Engine::create(onDisk(), source).take();
      ImageReport report;
      auto image = one.image(smallSpec(), options, &report);
      const EngineCounters counters = one.counters();
      const bool right = image.ok() && image->code == made.code &&
                         counters.compiles == report.compiled &&
                         counters.cache.adopted == 0;
      _exit(right ? 0 : 1);
    }
    children.push_back(child);
  }
  int succeeded = 0;
  for (pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    succeeded += status == 0;
  }
  EXPECT_EQ(succeeded, kProcesses);
  EXPECT_EQ(calls->load(), 1);
  munmap(calls, sizeof(std::atomic<int>));
}

TEST_F(EngineTest, LayersComeAfterTheFolder) {
  EngineOptions site = onDisk();
  site.cacheFolder = folder + "/site";
  {
    Engine one = engine(site);
    ASSERT_TRUE(one.prepare(smallSpec(), *one.openDevice("cpu")).ok());
  }
  EngineOptions user = onDisk();
  user.cacheFolder = folder + "/user";
  user.cacheLayers = {folder + "/none", site.cacheFolder};
  Engine two = engine(user);
  PrepareReport report;
  ASSERT_TRUE(two.prepare(smallSpec(), *two.openDevice("cpu"), &report).ok());
  EXPECT_TRUE(report.warm());
  EXPECT_EQ(two.counters().cache.layerHits, 2);
  EXPECT_EQ(compiles(), 2);
}

TEST_F(EngineTest, TwoEnginesAtOnce) {
  Engine engines[] = {engine(onDisk()), engine(onDisk())};
  std::vector<std::thread> threads;
  for (Engine &one : engines)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        DecodeSpec spec = smallSpec();
        spec.inputs.normEps = 1e-6 * (i + 1);
        auto program = one.prepare(spec, *one.openDevice("cpu"));
        ASSERT_TRUE(program.ok()) << program.status().message();
        ASSERT_EQ(stepThreeRows(**program), kThreeRows);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_NE(*engines[0].openDevice("cpu"), *engines[1].openDevice("cpu"));
}

TEST_F(EngineTest, DeviceNames) {
  EngineOptions options;
  options.cudaLibrary = "libno-such-driver.so.1";
  Engine one = engine(options);
  for (const char *name : {"", "gpu", "cuda", "cuda:", "cuda:-1", "cuda:1x",
                           "CPU", "cuda:99999999999"}) {
    auto device = one.openDevice(name);
    ASSERT_FALSE(device.ok()) << name;
    EXPECT_EQ(device.status().code(), StatusCode::InvalidInput);
    EXPECT_NE(device.status().message().find("\"cpu\" and \"cuda:N\""),
              std::string::npos)
        << device.status().message();
  }
  auto cuda = one.openDevice("cuda:0");
  ASSERT_FALSE(cuda.ok());
  EXPECT_EQ(cuda.status().code(), StatusCode::Unavailable);
  EXPECT_NE(cuda.status().message().find("libno-such-driver.so.1"),
            std::string::npos)
      << cuda.status().message();
  EXPECT_EQ(*one.openDevice("cpu"), *one.openDevice("cpu"));
}

TEST_F(EngineTest, RefusesContradictoryOptions) {
  EngineOptions options;
  options.cacheMode = CacheMode::Disk;
  auto created = Engine::create(options, source);
  ASSERT_FALSE(created.ok());
  EXPECT_NE(created.status().message().find("cacheFolder"), std::string::npos);
  options = EngineOptions();
  options.cacheBytes = -1;
  EXPECT_FALSE(Engine::create(options, source).ok());
  options = EngineOptions();
  options.threads = -2;
  EXPECT_FALSE(Engine::create(options, source).ok());
}

/// Sets or unsets a variable for the length of a scope.
class Variable {
public:
  Variable(const char *name, const char *value) : name(name) {
    if (const char *old = std::getenv(name))
      before = old;
    value ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Variable() { before ? setenv(name, before->c_str(), 1) : unsetenv(name); }

private:
  const char *name;
  std::optional<std::string> before;
};

TEST(EngineOptions, TheFirstVariableThatIsSetNamesTheFolder) {
  struct Case {
    const char *decant, *xdg, *home, *folder;
  };
  const Case cases[] = {
      {"/a", "/b", "/c", "/a"},
      {"relative", "/b", "/c", "relative"},
      {nullptr, "/b", "/c", "/b/decant"},
      {"", "/b", "/c", "/b/decant"},
      {nullptr, nullptr, "/c", "/c/.cache/decant"},
      {nullptr, "", "/c", "/c/.cache/decant"},
      {nullptr, "relative", "/c", "/c/.cache/decant"},
      {nullptr, nullptr, nullptr, ""},
      {nullptr, nullptr, "", ""},
  };
  for (const Case &c : cases) {
    Variable decant("DECANT_CACHE_DIR", c.decant);
    Variable xdg("XDG_CACHE_HOME", c.xdg);
    Variable home("HOME", c.home);
    const EngineOptions options = EngineOptions::fromEnvironment();
    EXPECT_EQ(options.cacheFolder, c.folder);
    EXPECT_EQ(options.cacheMode,
              *c.folder ? CacheMode::Disk : CacheMode::Memory);
  }
}

TEST(EngineOptions, VariantsAreRead) {
  struct Case {
    const char *text;
    VariantChoice choice;
  };
  for (const Case &c :
       {Case{nullptr, VariantChoice::ByBatch}, Case{"", VariantChoice::ByBatch},
        Case{"by_batch", VariantChoice::ByBatch},
        Case{"one", VariantChoice::One}, Case{"fixed", VariantChoice::Fixed}}) {
    Variable variants("DECANT_VARIANTS", c.text);
    EXPECT_EQ(EngineOptions::fromEnvironment().variants, c.choice);
  }
  Variable variants("DECANT_VARIANTS", "some");
  EXPECT_EQ(Engine::create(EngineOptions::fromEnvironment()).status().message(),
            "DECANT_VARIANTS: found \"some\"; allowed: by_batch, one or fixed");
}

TEST(EngineOptions, LayersAndLimitAreRead) {
  Variable folder("DECANT_CACHE_DIR", "/a");
  struct Case {
    const char *path;
    std::vector<std::string> layers;
  };
  for (const Case &c :
       {Case{nullptr, {}}, Case{"", {}}, Case{"/site", {"/site"}},
        Case{":/site::/bundled:", {"/site", "/bundled"}}}) {
    Variable path("DECANT_CACHE_PATH", c.path);
    EXPECT_EQ(EngineOptions::fromEnvironment().cacheLayers, c.layers);
  }
  {
    Variable limit("DECANT_CACHE_LIMIT", "64M");
    EXPECT_EQ(EngineOptions::fromEnvironment().cacheBytes, 64 << 20);
  }
  Variable limit("DECANT_CACHE_LIMIT", nullptr);
  EXPECT_EQ(EngineOptions::fromEnvironment().cacheBytes, kDefaultCacheBytes);
  Variable wrong("DECANT_CACHE_LIMIT", "much");
  auto created = Engine::create(EngineOptions::fromEnvironment());
  ASSERT_FALSE(created.ok());
  EXPECT_EQ(created.status().message().find("DECANT_CACHE_LIMIT: found"), 0u);
}

} // namespace
