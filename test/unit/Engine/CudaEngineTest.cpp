//===- CudaEngineTest.cpp - PTX, machine code and captures ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine over a driver without a GPU (FakeCuda.h), which counts how often
// it compiles PTX.
//
//===----------------------------------------------------------------------===//

#include "../Runtime/FakeCudaTest.h"
#include "../Runtime/TestImages.h"
#include "HostImages.h"
#include "decant/Engine.h"

#include <atomic>
#include <filesystem>
#include <unistd.h>

using namespace decant;
using namespace decant::test;
namespace fs = std::filesystem;

namespace {

class CudaEngine : public FakeCudaTest {
protected:
  void SetUp() override {
    FakeCudaTest::SetUp();
    folder = testing::TempDir() + "decant-cuda-" + std::to_string(getpid());
    fs::remove_all(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  Engine engine(CacheMode mode = CacheMode::Disk) {
    EngineOptions options;
    options.cacheMode = mode;
    options.cacheFolder = mode == CacheMode::Disk ? folder : "";
    options.cudaLibrary = FAKE_CUDA_PATH;
    auto source = [this](const DecodeSpec &, const CompileOptions &options,
                         CompileTimes *) -> Expected<KernelImage> {
      ++compiles;
      KernelImage image = options.kernels == KernelSet::Decode
                              ? decodeImage(8)
                              : transferImage(8);
      image.target = options.target.name;
      image.ptxIsa = options.target.ptxIsa;
      if (options.kernels == KernelSet::Decode && fitBlocks >= 0) {
        const Schedule schedule =
            options.schedule ? *options.schedule : usualSchedule();
        image.scheduleText = toString(schedule);
        if (schedule.blocksPerSm > fitBlocks)
          image.code = spilling(image.code);
      }
      if (badPtx)
        image.code = "bad\n";
      return image;
    };
    return Engine::create(options, source).take();
  }
  /// Prepares in a new engine, as a process that starts.
  PrepareReport start(CacheMode mode = CacheMode::Disk) {
    Engine one = engine(mode);
    PrepareReport report;
    auto program = one.prepare(smallSpec(), *one.openDevice("cuda:0"), &report);
    EXPECT_TRUE(program.ok()) << program.status().message();
    counters = one.counters();
    return report;
  }

  static Schedule usualSchedule() {
    Schedule usual;
    usual.keyLanes = usual.valueLanes = 1;
    usual.keysPerLane = usual.valuesPerLane = 16;
    usual.blocksPerSm = 6;
    return usual;
  }
  static std::string spilling(std::string code) {
    for (size_t at; (at = code.find("local=0")) != std::string::npos;)
      code.replace(at, 7, "local=8");
    return code;
  }

  std::string folder;
  std::atomic<int> compiles{0}; // of both images, at the same time
  int fitBlocks = -1; // the most per SM that do not spill; -1: any number
  bool badPtx = false;
  EngineCounters counters;
};

TEST_F(CudaEngine, TheSecondStartCompilesNeitherCodeNorPtx) {
  PrepareReport cold = start();
  EXPECT_FALSE(cold.warm());
  EXPECT_EQ(compiles, 2);
  EXPECT_EQ(fake->jits, 2);
  EXPECT_TRUE(cold.images[0].compiled && cold.images[0].linked);
  EXPECT_EQ(cold.target, "sm_90a");
  EXPECT_EQ(cold.targetNote, "");
  EXPECT_EQ(counters.compiles, 2);
  EXPECT_EQ(counters.links, 2);
  EXPECT_EQ(counters.loads, 1);
  EXPECT_EQ(counters.cache.stores, 4) << "PTX and machine code of two images";

  PrepareReport warm = start();
  EXPECT_TRUE(warm.warm());
  EXPECT_EQ(warm.linkMs() + warm.compileMs(), 0);
  EXPECT_EQ(compiles, 2);
  EXPECT_EQ(fake->jits, 2);
  EXPECT_EQ(counters.compiles + counters.links, 0);
  EXPECT_EQ(counters.cache.diskHits, 2) << "the PTX is not even read";
  EXPECT_TRUE(warm.warnings.empty());
}

TEST_F(CudaEngine, AnotherDriverOrDeviceLinksAgain) {
  start();
  fake->version = 12080;
  PrepareReport updated = start();
  EXPECT_FALSE(updated.warm());
  EXPECT_TRUE(updated.images[0].linked && !updated.images[0].compiled);
  EXPECT_EQ(updated.images[0].missReason, "absent");
  EXPECT_EQ(fake->jits, 4);
  EXPECT_EQ(compiles, 2);
  fake->version = 13000;
  EXPECT_TRUE(start().warm()) << "the first driver's is still there";
}

TEST_F(CudaEngine, WhereNothingIsKeptThePtxIsLoaded) {
  PrepareReport report = start(CacheMode::Off);
  EXPECT_FALSE(report.images[0].linked);
  EXPECT_EQ(fake->jits, 2);
  start(CacheMode::Memory);
  EXPECT_EQ(counters.links, 2);
  EXPECT_EQ(fake->jits, 4);
}

TEST_F(CudaEngine, ALinkerThatFailsCostsAWarning) {
  fake->linkResult = 2;
  PrepareReport first = start();
  ASSERT_EQ(first.warnings.size(), 1u);
  EXPECT_EQ(first.warnings[0].find("the driver compiles kernels at each start, "
                                   "since its linker failed: image \"small\""),
            0u)
      << first.warnings[0];
  EXPECT_EQ(compiles, 2);
  fake->linkResult = 0;
  PrepareReport next = start();
  EXPECT_TRUE(next.images[0].linked && !next.images[0].compiled);
  EXPECT_TRUE(start().warm());
}

// The linker compiles functions without their callers; then PTX is what is
// kept.
TEST_F(CudaEngine, LinkedCodeThatSpillsIsNotUsed) {
  fake->linkedLocal = 160;
  PrepareReport cold = start();
  EXPECT_TRUE(cold.images[0].compiled && cold.images[0].linked);
  EXPECT_TRUE(cold.warnings.empty());
  EXPECT_EQ(fake->jits, 4) << "linked, then loaded as PTX";
  PrepareReport warm = start();
  EXPECT_TRUE(warm.warm()) << "it is not linked again";
  EXPECT_EQ(counters.links, 0);
  EXPECT_EQ(fake->jits, 6) << "PTX is compiled by the driver";
}

// Of 6 blocks, 4, 2 and 1 are tried.
TEST_F(CudaEngine, DefaultKernelsThatSpillGiveWayToFewerBlocks) {
  fitBlocks = 3;
  PrepareReport report = start();
  EXPECT_EQ(report.warnings,
            std::vector<std::string>{
                "kernels spill registers on this device with the default, "
                "blocks_per_sm = 6; they are those of blocks_per_sm = 2"});
  EXPECT_EQ(compiles, 5) << "6, 4 and 2 blocks; transfers for whatever order "
                            "the default has, then for that one";
  EXPECT_EQ(counters.loads, 2) << "6 blocks, to see what they take, and 2";
  PrepareReport warm = start();
  EXPECT_TRUE(warm.warm());
  EXPECT_EQ(warm.warnings, report.warnings);
  EXPECT_EQ(compiles, 5);
  fitBlocks = 6;
  EXPECT_TRUE(start(CacheMode::Off).warnings.empty());
}

TEST_F(CudaEngine, KernelsThatAlwaysSpillAreRefusedWithTheNumbers) {
  fitBlocks = 0;
  Engine one = engine(CacheMode::Off);
  auto program = one.prepare(smallSpec(), *one.openDevice("cuda:0"));
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.status().message().find("8 bytes of local memory"),
            std::string::npos)
      << program.status().message();
}

TEST_F(CudaEngine, PtxThatTheDriverRefusesIsRefused) {
  badPtx = true;
  Engine one = engine();
  auto program = one.prepare(smallSpec(), *one.openDevice("cuda:0"));
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.status().message().find("fake jit, line 7"),
            std::string::npos)
      << program.status().message();
  EXPECT_EQ(one.counters().loads, 0);
}

TEST_F(CudaEngine, AnUnknownDeviceGetsTheNearestGenericTarget) {
  fake->computeMajor = 13;
  PrepareReport report = start();
  EXPECT_EQ(report.target, "sm_120");
  EXPECT_EQ(report.targetNote,
            "compute capability 13.0 of Fake GPU 0 is not one that this build "
            "knows; kernels are those of sm_120, the nearest generic target");
  EXPECT_TRUE(start().warm());
}

TEST_F(CudaEngine, ADriverThatIsTooOldForTheDeviceIsSaid) {
  fake->computeMajor = 12;
  fake->computeMinor = 1;
  fake->version = 12080;
  PrepareReport report = start();
  EXPECT_EQ(report.target, "sm_120");
  EXPECT_NE(
      report.targetNote.find("needs the driver of CUDA 12.9 or newer; the "
                             "installed driver supports CUDA 12.8"),
      std::string::npos)
      << report.targetNote;
}

TEST_F(CudaEngine, PreparingInsideACaptureIsRefusedWithTheShape) {
  Engine one = engine();
  auto device = *one.openDevice("cuda:0");
  StreamHandle stream = *device->createStream();
  for (StreamHandle given : {stream, StreamHandle(nullptr)}) {
    auto graph = CudaGraph::capture(*device, stream, [&]() -> Status {
      return one.prepare(smallSpec(), device, nullptr, given).status();
    });
    ASSERT_FALSE(graph.ok());
    EXPECT_EQ(graph.status().code(), StatusCode::InvalidInput);
    EXPECT_EQ(graph.status().message().find(
                  "small (1 value heads of 16 x 16, window 1, 1 tokens per "
                  "step): found " +
                  std::string(given ? "stream 0x" : "a stream that waits")),
              0u)
        << graph.status().message();
  }
  EXPECT_EQ(compiles, 0) << "nothing was done";
  EXPECT_TRUE(one.prepare(smallSpec(), device, nullptr, stream).ok());
  EXPECT_TRUE(device->destroyStream(stream).ok());
}

} // namespace
