//===- CudaDeviceTest.cpp - loading, launching, contexts ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCudaTest.h"
#include "TestImages.h"
#include "decant/Runtime/DeviceTarget.h"

#include <cstring>
#include <thread>

using namespace decant;
using namespace decant::test;

namespace {

class FakeGpu : public FakeCudaTest {
protected:
  /// The message of a failed load.
  std::string refusal(KernelImage image, const LoadOptions &options = {}) {
    auto loaded = openDevice()->load(std::move(image), options);
    EXPECT_FALSE(loaded.ok());
    EXPECT_EQ(fake->modules, 0) << "a refused image stayed loaded";
    return loaded.status().message();
  }
  static void expectHas(const std::string &text, const std::string &part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

TEST_F(FakeGpu, DescribesItself) {
  fake->deviceCount = 2;
  DeviceInfo info = openDevice(1)->info();
  EXPECT_EQ(info.kind, TargetKind::Nvidia);
  EXPECT_EQ(info.ordinal, 1);
  EXPECT_EQ(info.name, "Fake GPU 1");
  EXPECT_EQ(info.computeMajor, 9);
  EXPECT_EQ(info.computeMinor, 0);
  EXPECT_EQ(info.driverVersion, 13000);
  EXPECT_EQ(info.memoryBytes, int64_t(5) << 30);
  EXPECT_EQ(info.maxSharedBytes, 232448);
}

TEST_F(FakeGpu, SaysWhatMemoryIsFree) {
  auto device = openDevice();
  EXPECT_EQ(cudaMemory(*device)->freeBytes, int64_t(5) << 30);
  EXPECT_EQ(cudaMemory(*device)->totalBytes, int64_t(5) << 30);
  EXPECT_EQ(cudaMemory(*device)->l2Bytes, 50 << 20);
  EXPECT_EQ(cudaMemory(*device)->multiprocessors, 132);
  // The fake takes 1 MiB for each allocation.
  void *memory = device->allocate(1).take();
  EXPECT_EQ(cudaMemory(*device)->freeBytes, (int64_t(5) << 30) - (1 << 20));
  EXPECT_TRUE(device->release(memory).ok());
}

TEST_F(FakeGpu, LaunchesWithTheEntrysShapeAndArguments) {
  auto device = openDevice();
  auto image = device->load(decodeImage(8)).take();
  EXPECT_EQ(image->entryIndex("commit"), 1);
  EXPECT_EQ(image->entryIndex("pack_f32"), -1);
  std::vector<ArgValue> args(6);
  for (int i = 0; i < 6; ++i)
    args[size_t(i)].integer = (int64_t(1) << 40) + i;
  int streamObject = 0;
  ASSERT_TRUE(image->launch("commit", 12, args, &streamObject).ok());
  ASSERT_EQ(fake->launchCount, 1);
  EXPECT_STREQ(launch(0).function, "decant_commit");
  EXPECT_EQ(launch(0).grid[0], 12u);
  EXPECT_EQ(launch(0).grid[1] * launch(0).grid[2], 1u);
  EXPECT_EQ(launch(0).block[0], 256u);
  EXPECT_EQ(launch(0).shared, 0u);
  EXPECT_EQ(launch(0).stream, &streamObject);
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(launch(0).args[i], (1ull << 40) + unsigned(i));

  expectHas(image->launch("step", 1, args, nullptr).message(),
            "takes 15 arguments, 6 given");
  expectHas(image->launch("nothing", 1, args, nullptr).message(),
            "no entry \"nothing\"");
  expectHas(image->launch(1, int64_t(1) << 31, args.data(), nullptr).message(),
            "2147483648 blocks; 0 to 2147483647");
  EXPECT_TRUE(image->launch(1, 0, args.data(), nullptr).ok());
  EXPECT_EQ(fake->launchCount, 1);
  fake->launchResult = 1;
  EXPECT_EQ(image->launch(1, 1, args.data(), nullptr).message(),
            "cuLaunchKernel failed: CUDA_ERROR_INVALID_VALUE (1, some "
            "description)");
}

TEST_F(FakeGpu, LaunchesWhatWaitsForItselfEarly) {
  KernelImage both = decodeImage(8);
  both.entries[0].dependentLaunch = true;
  auto image = openDevice()->load(both).take();
  const std::vector<ArgValue> args(15);
  ASSERT_TRUE(image->launch(0, 12, args.data(), nullptr).ok());
  ASSERT_TRUE(image->launch(1, 12, args.data(), nullptr).ok());
  EXPECT_EQ(launch(0).overlaps, 1);
  EXPECT_EQ(launch(0).grid[0], 12u);
  EXPECT_EQ(launch(0).grid[1] * launch(0).grid[2], 1u);
  EXPECT_EQ(launch(0).block[1] * launch(0).block[2], 1u);
  EXPECT_EQ(launch(1).overlaps, 0);
  fake->launchResult = 1;
  EXPECT_EQ(image->launch(0, 1, args.data(), nullptr).message(),
            "cuLaunchKernelEx failed: CUDA_ERROR_INVALID_VALUE (1, some "
            "description)");
}

TEST_F(FakeGpu, ReportsResources) {
  auto image = openDevice()->load(decodeImage(8)).take();
  ASSERT_EQ(image->resources().size(), 2u);
  EXPECT_EQ(image->resources()[0].role, "step");
  EXPECT_EQ(image->resources()[0].registers, 64);
  EXPECT_EQ(image->resources()[0].sharedBytes, 1024);
  EXPECT_EQ(image->resources()[1].symbol, "decant_commit");
  EXPECT_TRUE(image->image().code.empty());
}

TEST_F(FakeGpu, ReportsOrRefusesSpills) {
  KernelImage image = decodeImage(1);
  image.code = "fn decant_step args=15 regs=255 local=48 shared=1024 "
               "threads=1024\n";
  auto loaded = openDevice()->load(image);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ((*loaded)->resources()[0].localBytes, 48);
  loaded = Status::internal("given back");
  expectHas(refusal(image, {SpillPolicy::Refuse}),
            "spills: 48 bytes of local memory per thread, with 255 registers");
}

TEST_F(FakeGpu, AsksForSharedMemoryThatTheCodeDoesNotDeclare) {
  KernelImage image = decodeImage(1);
  image.entries[0].sharedBytes = 100 * 1024;
  auto device = openDevice();
  auto loaded = device->load(image).take();
  EXPECT_EQ(fake->dynamicShared, 99 * 1024); // the code declares 1 KiB
  std::vector<ArgValue> args(15);
  ASSERT_TRUE(loaded->launch("step", 1, args, nullptr).ok());
  EXPECT_EQ(launch(0).shared, 99u * 1024);
  loaded.reset();
  image.entries[0].sharedBytes = 232449;
  expectHas(refusal(image), "needs 232449 bytes of shared memory per block, "
                            "and the device has 232448");
}

TEST_F(FakeGpu, RefusesImagesOfOtherMachines) {
  KernelImage image = decodeImage(1);
  image.target = "sm_100";
  expectHas(refusal(image), "needs compute capability 10.0 or later");
  expectHas(refusal(image), "Fake GPU 0, compute capability 9.0");
  image.target = "sm_80"; // plain PTX runs on what comes later
  EXPECT_TRUE(openDevice()->load(image).ok());
  image.kind = CodeKind::Cubin; // a cubin does not
  expectHas(refusal(image), "needs compute capability 8.0 exactly");
  image.kind = CodeKind::Ptx;
  image.target = "x86-64";
  expectHas(refusal(image), "which is no GPU");
  image.kind = CodeKind::HostObject;
  expectHas(refusal(image), "holds host code");
  image = decodeImage(1);
  image.target = "sm_77";
  expectHas(refusal(image), "sm_77");
  fake->computeMajor = 10; // "a" targets run on their own device alone
  image.target = "sm_90a";
  expectHas(refusal(image), "needs compute capability 9.0 exactly");
}

TEST_F(FakeGpu, RefusesPtxThatTheDriverCannotRead) {
  fake->version = 12040;
  KernelImage image = decodeImage(1);
  image.ptxIsa = 86;
  expectHas(refusal(image), "image \"layer\": the image is PTX ISA 8.6");
  expectHas(refusal(image), "supports CUDA 12.4");
}

TEST_F(FakeGpu, GivesTheJitsLog) {
  KernelImage image = decodeImage(1);
  image.code = "bad\n";
  EXPECT_EQ(refusal(image),
            "image \"layer\" (sm_90) on CUDA device 0: cuModuleLoadDataEx "
            "failed: CUDA_ERROR_INVALID_PTX (218, some description); the JIT "
            "says: fake jit, line 7: unexpected 'bad'");
  image = decodeImage(1);
  image.entries[0].symbol = "elsewhere";
  expectHas(refusal(image), "entry \"step\" (elsewhere): cuModuleGetFunction "
                            "failed: CUDA_ERROR_NOT_FOUND");
  image = decodeImage(1);
  image.entries[0].threads = 2048;
  expectHas(refusal(image), "2048 threads per block, and its 64 registers "
                            "allow 1024");
}

TEST_F(FakeGpu, LinksPtxOnce) {
  auto device = openDevice();
  KernelImage cubin = device->link(decodeImage(8)).take();
  EXPECT_EQ(cubin.kind, CodeKind::Cubin);
  EXPECT_EQ(cubin.target, "sm_90");
  EXPECT_EQ(cubin.code, "cubin 9.0\n" + decodeImage(8).code);
  EXPECT_EQ(cubin.entries.size(), 2u);
  EXPECT_EQ(fake->jits, 1);
  EXPECT_EQ(fake->links, 0) << "the linker's state goes";
  // The file keeps it, and loading it compiles nothing.
  auto loaded = device->load(deserialize(serialize(cubin)).take());
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  std::vector<ArgValue> args(15);
  EXPECT_TRUE((*loaded)->launch("step", 1, args, nullptr).ok());
  EXPECT_EQ(fake->jits, 1);
  EXPECT_EQ(device->link(cubin).status().message(),
            "image \"layer\" holds cubin; ptx is linked");
}

TEST_F(FakeGpu, LinksForTheDeviceThatItIs) {
  auto linkedOn = [&](int major, int minor, const char *target) {
    fake->computeMajor = major;
    fake->computeMinor = minor;
    KernelImage image = decodeImage(1);
    image.target = target;
    auto device = openDevice();
    KernelImage cubin = device->link(image).take();
    EXPECT_TRUE(device->load(cubin).ok()) << cubin.target;
    return cubin.target;
  };
  EXPECT_EQ(linkedOn(9, 0, "sm_90a"), "sm_90a");
  EXPECT_EQ(linkedOn(9, 0, "sm_80"), "sm_90");
  EXPECT_EQ(linkedOn(13, 0, "sm_120"), "sm_130");
  EXPECT_EQ(linkedOn(12, 1, "sm_120"), "sm_121");
  // Not on another device, of course.
  KernelImage cubin = decodeImage(1);
  cubin.kind = CodeKind::Cubin;
  cubin.target = "sm_121";
  fake->computeMinor = 0;
  expectHas(refusal(cubin), "unknown target 'sm_121'");
  cubin.target = "sm_120a";
  cubin.code = "cubin 12.0\n" + cubin.code;
  EXPECT_TRUE(openDevice()->load(cubin).ok());
}

TEST_F(FakeGpu, SaysWhyItDoesNotLink) {
  auto device = openDevice();
  KernelImage image = decodeImage(1);
  image.code = "bad\n";
  EXPECT_EQ(device->link(image).status().message(),
            "image \"layer\" (sm_90) on CUDA device 0: cuLinkAddData failed: "
            "CUDA_ERROR_INVALID_PTX (218, some description); the JIT says: "
            "fake linker, line 7: unexpected 'bad'");
  fake->linkResult = 2;
  expectHas(device->link(decodeImage(1)).status().message(),
            "cuLinkComplete failed: CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(fake->links, 0);
  image.target = "sm_100";
  expectHas(device->link(image).status().message(),
            "needs compute capability 10.0 or later");
}

TEST_F(FakeGpu, KnowsACapture) {
  auto device = openDevice();
  StreamHandle captured = *device->createStream();
  StreamHandle other = *device->createStream();
  EXPECT_FALSE(*device->isCapturing(captured));
  auto graph = CudaGraph::capture(*device, captured, [&]() -> Status {
    EXPECT_TRUE(*device->isCapturing(captured));
    EXPECT_FALSE(*device->isCapturing(other));
    EXPECT_TRUE(*device->isCapturing(nullptr));
    return {};
  });
  EXPECT_TRUE(graph.ok());
  EXPECT_FALSE(*device->isCapturing(nullptr));
  EXPECT_TRUE(device->destroyStream(captured).ok());
  EXPECT_TRUE(device->destroyStream(other).ok());
}

TEST(DeviceTarget, IsTheBestThatDeviceAndDriverTake) {
  auto choose = [](int major, int minor, int driver) {
    DeviceInfo device;
    device.kind = TargetKind::Nvidia;
    device.name = "a GPU";
    device.computeMajor = major;
    device.computeMinor = minor;
    device.driverVersion = driver;
    return targetOf(device);
  };
  struct Case {
    int major, minor, driver;
    const char *target, *note;
  };
  // Which driver reads which PTX: the release table of the PTX ISA manual.
  const Case cases[] = {
      {8, 0, 12000, "sm_80", ""},
      {9, 0, 12000, "sm_90a", ""},
      {12, 1, 12090, "sm_121a", ""},
      {8, 7, 12080, "sm_86", "compute capability 8.7 of a GPU is not one"},
      {13, 0, 13000, "sm_120", "sm_120, the nearest generic target"},
      {11, 0, 13000, "sm_100", "sm_100, the nearest generic target"},
      {12, 1, 12080, "sm_120",
       "target sm_121a: the image is PTX ISA 8.8, which needs the driver of "
       "CUDA 12.9 or newer; the installed driver supports CUDA 12.8; kernels "
       "are those of sm_120 instead"},
      {10, 0, 12060, "sm_90", "target sm_100a: the image is PTX ISA 8.6"},
  };
  for (const Case &c : cases) {
    auto chosen = choose(c.major, c.minor, c.driver);
    ASSERT_TRUE(chosen.ok()) << chosen.status().message();
    EXPECT_EQ(chosen->target.name, c.target);
    EXPECT_NE(chosen->note.find(c.note), std::string::npos) << chosen->note;
    EXPECT_EQ(chosen->note.empty(), *c.note == 0) << chosen->note;
  }
  auto old = choose(7, 5, 13000);
  EXPECT_EQ(old.status().code(), StatusCode::Unavailable);
  EXPECT_EQ(old.status().message(),
            "device 0 (a GPU): compute capability 7.5 is older than 8.0, the "
            "oldest that Decant compiles for");
  auto tooOld = choose(9, 0, 11060);
  EXPECT_EQ(tooOld.status().code(), StatusCode::Unavailable);
  EXPECT_EQ(tooOld.status().message().find("target sm_90a: the image is PTX "
                                           "ISA 8.0, which needs the driver of "
                                           "CUDA 12.0 or newer"),
            0u)
      << tooOld.status().message();
  DeviceInfo host;
  EXPECT_EQ(targetOf(host)->target.name, "x86-64");
}

TEST_F(FakeGpu, LeavesTheCallersContextAlone) {
  fake->deviceCount = 2;
  int engineContext = 0;
  auto push = symbol<int (*)(void *)>("cuCtxPushCurrent_v2");
  ASSERT_EQ(push(&engineContext), 0);
  auto first = openDevice(0), second = openDevice(1);
  auto one = first->load(decodeImage(1)).take();
  auto two = second->load(decodeImage(1)).take();
  EXPECT_EQ(currentContext(), &engineContext);
  std::vector<ArgValue> args(15);
  ASSERT_TRUE(one->launch("step", 1, args, nullptr).ok());
  ASSERT_TRUE(two->launch("step", 1, args, nullptr).ok());
  EXPECT_EQ(currentContext(), &engineContext);
  EXPECT_NE(launch(0).context, launch(1).context);
  EXPECT_NE(launch(0).context, &engineContext);

  // On a thread of its own, where nothing is current at all.
  std::thread([&] {
    EXPECT_TRUE(one->launch("step", 1, args, nullptr).ok());
    EXPECT_EQ(currentContext(), nullptr);
  }).join();
  EXPECT_EQ(launch(2).context, launch(0).context);
}

TEST_F(FakeGpu, TwoEnginesShareNothingAndReleaseEverything) {
  {
    auto first = openDevice(), second = openDevice();
    auto one = first->load(decodeImage(8)).take();
    auto two = second->load(transferImage(8)).take();
    EXPECT_EQ(fake->primaryRetains, 2);
    first.reset(); // an image may outlive its device
    std::vector<ArgValue> args(15);
    EXPECT_TRUE(one->launch("step", 1, args, nullptr).ok());
    EXPECT_EQ(fake->modules, 2);
  }
  EXPECT_EQ(fake->modules, 0);
  EXPECT_EQ(fake->primaryRetains, 0);
}

TEST_F(FakeGpu, MovesMemory) {
  auto device = openDevice();
  {
    auto a = DeviceBuffer::create(device, 64).take();
    auto b = DeviceBuffer::create(device, 64).take();
    char text[64] = "from the host", back[64] = {};
    ASSERT_TRUE(device->copyToDevice(a.data(), text, 64, nullptr).ok());
    ASSERT_TRUE(device->copyOnDevice(b.data(), a.data(), 64, nullptr).ok());
    ASSERT_TRUE(device->fill(b.data(), 'F', 1, nullptr).ok());
    ASSERT_TRUE(device->copyToHost(back, b.data(), 64, nullptr).ok());
    ASSERT_TRUE(device->synchronize(nullptr).ok());
    EXPECT_STREQ(back, "From the host");
    EXPECT_EQ(fake->allocations, 2);
    DeviceBuffer moved = std::move(a);
    EXPECT_EQ(moved.bytes(), 64);
  }
  EXPECT_EQ(fake->allocations, 0);
  EXPECT_TRUE(DeviceBuffer::create(device, 0).ok());
  EXPECT_EQ(device->allocate(-1).status().code(), StatusCode::InvalidInput);
  fake->allocResult = 2;
  EXPECT_EQ(device->allocate(1 << 20).status().message(),
            "1048576 bytes on CUDA device 0: cuMemAlloc failed: "
            "CUDA_ERROR_OUT_OF_MEMORY (2, out of memory)");
}

TEST_F(FakeGpu, TimesAndCaptures) {
  auto device = openDevice();
  auto image = device->load(decodeImage(8)).take();
  StreamHandle stream = *device->createStream();
  EventHandle begin = *device->createEvent(), end = *device->createEvent();
  std::vector<ArgValue> args(15);
  ASSERT_TRUE(device->recordEvent(begin, stream).ok());
  ASSERT_TRUE(image->launch("step", 1, args, stream).ok());
  ASSERT_TRUE(device->recordEvent(end, stream).ok());
  EXPECT_EQ(*device->microsecondsBetween(begin, end), 500); // 0.5 ms a launch
  {
    auto graph = CudaGraph::capture(*device, stream, [&] {
      return image->launch("step", 7, args, stream);
    });
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    ASSERT_TRUE(graph->launch(stream).ok());
    EXPECT_EQ(launch(fake->launchCount - 1).grid[0], 7u);
    // Work that fails ends the capture and keeps its own message.
    auto failed = CudaGraph::capture(
        *device, stream, [] { return Status::failed("the work failed"); });
    EXPECT_EQ(failed.status().message(), "the work failed");
    EXPECT_NE(
        symbol<int (*)(void *, void **)>("cuStreamEndCapture")(stream, nullptr),
        0);
  }
  EXPECT_TRUE(device->destroyEvent(begin).ok());
  EXPECT_TRUE(device->destroyEvent(end).ok());
  EXPECT_TRUE(device->destroyStream(stream).ok());
  EXPECT_EQ(fake->streams, 0);
  EXPECT_EQ(fake->events, 0);
}

} // namespace
