//===- EngineTest.cpp - cache, compiler and devices together --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Engine.h"
#include "HostImages.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
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
  EXPECT_EQ(two.cacheCounters().diskHits, 2);
  EXPECT_EQ((*program)->info().specName, "another name");
  EXPECT_EQ(stepThreeRows(**program), kThreeRows);
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

} // namespace
