//===- CudaHardwareTest.cpp - the same on a real GPU ----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Needs a GPU; a part of the tests with -DDECANT_TEST_CUDA=ON. The kernels are
// written by hand: thread 0 of each block counts in its row's slot, one word
// per head, so that every launch, row and slot can be told from the bytes.
//
//===----------------------------------------------------------------------===//

#include "TestPack.h"
#include "decant/Runtime/Cuda.h"
#include "decant/Runtime/Pack.h"

#include <chrono>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

// Registers of both kernels: rd1 = slots, rd2 = slots_stride, rd3 = state,
// rd4 = state_stride, r9 = what is added, rd9 = at which offset of the slot.
constexpr const char *kCountInSlot = R"(
  mov.u32 %r1, %ctaid.x;
  shr.u32 %r2, %r1, 2;                 // row: four blocks each
  and.b32 %r3, %r1, 3;                 // head
  mov.u32 %r4, %tid.x;
  setp.ne.u32 %p1, %r4, 0;
  @%p1 ret;
  cvt.u64.u32 %rd5, %r2;
  mul.lo.s64 %rd5, %rd5, %rd2;
  shl.b64 %rd5, %rd5, 2;
  add.s64 %rd5, %rd5, %rd1;
  ld.global.s32 %r5, [%rd5];           // slot
  setp.lt.s32 %p2, %r5, 0;
  @%p2 ret;
  cvt.s64.s32 %rd6, %r5;
  mul.lo.s64 %rd6, %rd6, %rd4;
  add.s64 %rd6, %rd6, %rd3;
  mul.wide.u32 %rd7, %r3, 4;
  add.s64 %rd6, %rd6, %rd7;
  add.s64 %rd6, %rd6, %rd9;
  atom.global.add.u32 %r6, [%rd6], %r9;
  ret;
}
)";

KernelImage countingImage() {
  KernelImage image = decodeImage(8);
  image.target = "sm_80"; // and, being PTX, whatever is newer
  std::string code = ".version 8.0\n.target sm_80\n.address_size 64\n";
  for (const KernelEntry &entry : image.entries) {
    code += ".visible .entry " + entry.symbol + "(\n";
    for (size_t i = 0; i < entry.args.size(); ++i)
      code +=
          std::string(i ? ",\n" : "") + "  .param .u64 p_" + entry.args[i].name;
    code += ")\n{\n  .reg .pred %p<4>;\n  .reg .b32 %r<16>;\n"
            "  .reg .b64 %rd<16>;\n"
            "  ld.param.u64 %rd1, [p_slots];\n"
            "  ld.param.u64 %rd2, [p_slots_stride];\n"
            "  ld.param.u64 %rd3, [p_state];\n"
            "  ld.param.u64 %rd4, [p_state_stride];\n";
    code += entry.role == "step"
                ? "  mov.u32 %r9, 1;\n  mov.u64 %rd9, 0;\n"
                : "  ld.param.u32 %r9, [p_min_fill];\n  mov.u64 %rd9, 64;\n";
    code += kCountInSlot;
  }
  image.entries[0].sharedBytes = 0;
  image.code = code;
  return image;
}

/// Another cut of it, whose step adds `weight`.
KernelImage countingVariant(int keyLanes, const std::string &weight) {
  KernelImage image = countingImage();
  image.scheduleText = testSchedule(keyLanes);
  const std::string one = "mov.u32 %r9, 1;";
  image.code.replace(image.code.find(one), one.size(),
                     "mov.u32 %r9, " + weight + ";");
  return image;
}

class Gpu : public ::testing::Test {
protected:
  void SetUp() override {
    auto driver = loadCudaDriver();
    ASSERT_TRUE(driver.ok()) << driver.status().message();
    auto opened = openCudaDevice(*driver, 0);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    device = opened.take();
    auto made = Program::create(device, countingImage());
    ASSERT_TRUE(made.ok()) << made.status().message();
    program = made.take();
    stream = *device->createStream();
  }
  void TearDown() override {
    if (stream) {
      EXPECT_TRUE(device->destroyStream(stream).ok());
    }
  }

  DeviceBuffer buffer(int64_t bytes) {
    auto made = DeviceBuffer::create(device, bytes);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.take();
  }
  void setSlots(const DeviceBuffer &target, std::vector<int32_t> slots) {
    ASSERT_TRUE(device
                    ->copyToDevice(target.data(), slots.data(),
                                   int64_t(slots.size()) * 4, stream)
                    .ok());
    ASSERT_TRUE(device->synchronize(stream).ok());
  }
  /// The first 20 words of a slot: step counts at 0..3, commits at 16..19.
  std::vector<uint32_t> words(const SlotPool &pool, int slot) {
    std::vector<uint32_t> found(20);
    const char *from = static_cast<char *>(pool.base) + slot * pool.strideBytes;
    EXPECT_TRUE(device->copyToHost(found.data(), from, 80, stream).ok());
    EXPECT_TRUE(device->synchronize(stream).ok());
    return found;
  }
  StepCall makeCall(const SlotPool &pool, const DeviceBuffer &slots,
                    const DeviceBuffer &rows, int64_t count) {
    StepCall call;
    call.pool = pool;
    call.rows = {static_cast<int32_t *>(slots.data()), 0, count};
    call.qkv = {rows.data(), 0};
    call.decay = {rows.data(), 0};
    call.beta = {rows.data(), 0};
    call.aLog = call.dtBias = rows.data();
    call.out = rows.data();
    call.stream = stream;
    return call;
  }

  std::shared_ptr<Device> device;
  std::unique_ptr<Program> program;
  StreamHandle stream = nullptr;
};

TEST_F(Gpu, StepsFlushesZeroesAndCopiesSlotsBeyondFourGigabytes) {
  SlotPool pool{nullptr, int64_t(3) << 30, 3}; // slot 2 begins at 6 GiB
  DeviceBuffer memory = buffer(2 * pool.strideBytes + (1 << 20));
  pool.base = memory.data();
  DeviceBuffer slots = buffer(64), rows = buffer(4096);
  for (int slot = 0; slot < 3; ++slot)
    ASSERT_TRUE(
        device
            ->fill(static_cast<char *>(pool.base) + slot * pool.strideBytes, 0,
                   program->info().slotBytes, stream)
            .ok());
  setSlots(slots, {2, -1, 0});
  StepCall call = makeCall(pool, slots, rows, 3);
  for (int i = 0; i < 5; ++i) {
    Status status = program->step(call);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  ASSERT_TRUE(program->flush({call.pool, call.rows, stream}).ok());
  std::vector<uint32_t> used(20, 0);
  for (int head = 0; head < 4; ++head) {
    used[size_t(head)] = 5;              // steps
    used[size_t(16 + head)] = 5 * 8 + 1; // min_fill: windows, then a flush
  }
  EXPECT_EQ(words(pool, 0), used);
  EXPECT_EQ(words(pool, 1), std::vector<uint32_t>(20, 0));
  EXPECT_EQ(words(pool, 2), used);

  int32_t two[] = {2}, one[] = {1};
  ASSERT_TRUE(program->copy({pool, pool, two, one, 1, stream}).ok());
  ASSERT_TRUE(program->zero({pool, two, 1, stream}).ok());
  EXPECT_EQ(words(pool, 1), used);
  EXPECT_EQ(words(pool, 2), std::vector<uint32_t>(20, 0));
}

TEST_F(Gpu, ACapturedStepReplays) {
  SlotPool pool{nullptr, program->info().slotBytes, 8};
  DeviceBuffer memory = buffer(8 * program->info().slotBytes);
  pool.base = memory.data();
  DeviceBuffer slots = buffer(64), rows = buffer(4096);
  ASSERT_TRUE(device->fill(memory.data(), 0, memory.bytes(), stream).ok());
  setSlots(slots, {0, 1, 2, 3});
  StepCall call = makeCall(pool, slots, rows, 4);
  auto graph =
      CudaGraph::capture(*device, stream, [&] { return program->step(call); });
  ASSERT_TRUE(graph.ok()) << graph.status().message();
  EXPECT_EQ(words(pool, 0)[0], 0u) << "capturing ran the work";
  ASSERT_TRUE(graph->launch(stream).ok());
  setSlots(slots, {5, -1, 1, -1}); // fewer rows than were captured
  ASSERT_TRUE(graph->launch(stream).ok());
  const uint32_t expected[] = {1, 2, 1, 1, 0, 1, 0, 0};
  for (int slot = 0; slot < 8; ++slot) {
    EXPECT_EQ(words(pool, slot)[3], expected[slot]) << slot;
    EXPECT_EQ(words(pool, slot)[19], 8 * expected[slot]) << slot;
  }
}

// From a pack, by rules over batches; nothing is read or loaded in a capture.
TEST_F(Gpu, ACapturedStepKeepsTheVariantOfItsBatch) {
  PackBuilder builder;
  ASSERT_TRUE(builder.add(countingVariant(1, "1"), {2}).ok());
  ASSERT_TRUE(builder.add(countingVariant(2, "1000"), {kAnyRows}).ok());
  Expected<std::string> bytes = builder.bytes();
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  TemporaryFolder folder;
  auto pack = Pack::open(folder.write("counting.pack", *bytes));
  ASSERT_TRUE(pack.ok()) << pack.status().message();
  auto packed = programFromPack(**pack, device, PackQuery());
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_EQ((*pack)->counters().loads, 2);

  SlotPool pool{nullptr, (*packed)->info().slotBytes, 4};
  DeviceBuffer memory = buffer(4 * pool.strideBytes);
  pool.base = memory.data();
  DeviceBuffer slots = buffer(64), rows = buffer(4096);
  ASSERT_TRUE(device->fill(memory.data(), 0, memory.bytes(), stream).ok());
  setSlots(slots, {0, 1, 2});
  std::vector<CudaGraph> graphs;
  for (int64_t count : {2, 3}) {
    auto graph = CudaGraph::capture(*device, stream, [&] {
      return (*packed)->step(makeCall(pool, slots, rows, count));
    });
    ASSERT_TRUE(graph.ok()) << graph.status().message();
    graphs.push_back(graph.take());
  }
  for (const CudaGraph &graph : graphs)
    ASSERT_TRUE(graph.launch(stream).ok());
  ASSERT_TRUE((*packed)->step(makeCall(pool, slots, rows, 1)).ok());
  const uint32_t expected[] = {1002, 1001, 1000, 0};
  for (int slot = 0; slot < 4; ++slot)
    EXPECT_EQ(words(pool, slot)[3], expected[slot]) << slot;
  EXPECT_EQ((*pack)->counters().images, 2);
  EXPECT_EQ((*pack)->counters().loads, 2);
}

/// What the driver's linker makes of PTX counts as the PTX does, and loads in
/// less than the 5 ms per kernel that a warm start may take.
TEST_F(Gpu, LinkedCodeIsTheSame) {
  auto cubin = device->link(countingImage());
  ASSERT_TRUE(cubin.ok()) << cubin.status().message();
  EXPECT_EQ(cubin->kind, CodeKind::Cubin);
  EXPECT_EQ(cubin->code.substr(1, 3), "ELF");
  const auto begin = std::chrono::steady_clock::now();
  auto linked = Program::create(device, *cubin);
  const std::chrono::duration<double, std::milli> taken =
      std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(linked.ok()) << linked.status().message();
  EXPECT_LT(taken.count(), 5.0 * double(cubin->entries.size()));
  RecordProperty("load_ms", std::to_string(taken.count()));

  SlotPool pool{nullptr, program->info().slotBytes, 2};
  DeviceBuffer memory = buffer(2 * program->info().slotBytes);
  pool.base = memory.data();
  DeviceBuffer slots = buffer(64), rows = buffer(4096);
  ASSERT_TRUE(device->fill(memory.data(), 0, memory.bytes(), stream).ok());
  setSlots(slots, {1});
  StepCall call = makeCall(pool, slots, rows, 1);
  ASSERT_TRUE(program->step(call).ok());
  ASSERT_TRUE((*linked)->step(call).ok());
  EXPECT_EQ(words(pool, 1)[0], 2u) << "one step of each";
  EXPECT_EQ(words(pool, 1)[16], 16u);
}

TEST_F(Gpu, ACaptureIsKnown) {
  EXPECT_FALSE(*device->isCapturing(stream));
  auto graph = CudaGraph::capture(*device, stream, [&]() -> Status {
    EXPECT_TRUE(*device->isCapturing(stream));
    return {};
  });
  EXPECT_TRUE(graph.ok()) << "asking has not ended it";
  EXPECT_FALSE(*device->isCapturing(stream));
}

TEST_F(Gpu, TheJitSaysWhatIsWrong) {
  KernelImage image = countingImage();
  image.code.replace(image.code.find("atom.global"), 4, "atum");
  auto loaded = device->load(image);
  ASSERT_FALSE(loaded.ok());
  const std::string &text = loaded.status().message();
  EXPECT_NE(text.find("CUDA_ERROR_INVALID_PTX"), std::string::npos) << text;
  EXPECT_NE(text.find("the JIT says: "), std::string::npos) << text;
  EXPECT_NE(text.find("line "), std::string::npos) << text;
}

TEST_F(Gpu, MissingDevicesAreNamed) {
  auto driver = loadCudaDriver().take();
  EXPECT_EQ(openCudaDevice(driver, 99).status().code(),
            StatusCode::InvalidInput);
  EXPECT_NE(device->info().name, "");
  EXPECT_GT(device->info().memoryBytes, int64_t(1) << 30);
}

} // namespace
