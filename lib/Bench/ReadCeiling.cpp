//===- ReadCeiling.cpp - how fast a device reads memory -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReadCeiling.h"

#include <algorithm>
#include <fmt/format.h>

using namespace decant;
using namespace decant::bench;

namespace {

constexpr int64_t kThreads = 256;
constexpr int64_t kVectorBytes = 16;
constexpr int kLoads = 8; // of a thread that are on their way together
constexpr uint8_t kFill = 0x5A;

/// From a wave of the largest GPUs to blocks that go through their loop once.
/// All divide the buffer evenly, which the kernel relies on.
constexpr int64_t kGrids[] = {1024, 2048, 4096, 16384, 65536};
static_assert(kGrids[4] * kThreads * kVectorBytes * kLoads == kReadBytes);

constexpr int kWarmUp = 3, kRepeats = 15;

KernelImage readImage() {
  auto pointer = [](const char *name, bool writable) {
    KernelArg arg;
    arg.name = name;
    arg.align = int(kVectorBytes);
    arg.writable = writable;
    return arg;
  };
  KernelArg bytes;
  bytes.name = "bytes";
  bytes.kind = ArgKind::Int64;
  KernelEntry entry;
  entry.role = "read";
  entry.symbol = "decant_read";
  entry.args = {pointer("data", false), bytes, pointer("sink", true)};
  entry.threads = int(kThreads);
  KernelImage image;
  image.specName = "read ceiling";
  image.target = "sm_80"; // every later device reads its PTX too
  image.ptxIsa = 80;
  image.entries = {entry};
  image.code = readKernelPtx();
  return image;
}

} // namespace

// Each thread reads kLoads vectors that lie a grid apart, then the next ones.
// The xor of everything is stored where it equals a number that it never is, so
// that no load is dead: the buffer holds one byte all over, whose xor over an
// even number of words is 0.
std::string decant::bench::readKernelPtx() {
  std::string loads;
  for (int i = 0; i < kLoads; ++i) {
    loads += fmt::format(
        "  ld.global.nc.L1::no_allocate.v4.u32 {{%x{}, %x{}, %x{}, %x{}}}, "
        "[%p];\n  add.u64 %p, %p, %stride;\n",
        4 * i, 4 * i + 1, 4 * i + 2, 4 * i + 3);
  }
  for (int i = 0; i < 4 * kLoads; ++i)
    loads += fmt::format("  xor.b32 %sum, %sum, %x{};\n", i);
  return fmt::format(R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry decant_read(.param .u64 data, .param .u64 bytes, .param .u64 sink)
.reqntid {threads}, 1, 1
{{
  .reg .pred %more, %hit;
  .reg .b32 %sum, %block, %thread, %blocks, %x<{registers}>;
  .reg .b64 %p, %end, %stride, %first, %sink;
  ld.param.u64 %p, [data];
  ld.param.u64 %end, [bytes];
  ld.param.u64 %sink, [sink];
  cvta.to.global.u64 %p, %p;
  cvta.to.global.u64 %sink, %sink;
  add.u64 %end, %p, %end;
  mov.u32 %block, %ctaid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  mad.lo.u32 %thread, %block, {threads}, %thread;
  mul.wide.u32 %first, %thread, {vector};
  add.u64 %p, %p, %first;
  mul.wide.u32 %stride, %blocks, {block_bytes};
  mov.u32 %sum, 0;
loop:
{loads}  setp.lt.u64 %more, %p, %end;
  @%more bra loop;
  setp.eq.u32 %hit, %sum, 1;
  @%hit st.global.u32 [%sink], %sum;
  ret;
}}
)",
                     fmt::arg("threads", kThreads),
                     fmt::arg("registers", 4 * kLoads),
                     fmt::arg("vector", kVectorBytes),
                     fmt::arg("block_bytes", kThreads * kVectorBytes),
                     fmt::arg("loads", loads));
}

Expected<ReadCeiling>
decant::bench::measureReadCeiling(std::shared_ptr<Device> device) {
  DECANT_ASSIGN(const std::unique_ptr<LoadedImage> kernel,
                device->load(readImage()));
  DECANT_ASSIGN(const DeviceBuffer data,
                DeviceBuffer::create(device, kReadBytes));
  DECANT_ASSIGN(const DeviceBuffer sink,
                DeviceBuffer::create(device, kVectorBytes));
  DECANT_TRY(device->fill(data.data(), kFill, kReadBytes, nullptr));
  std::vector<ArgValue> args(3);
  args[0].pointer = data.data();
  args[1].integer = kReadBytes;
  args[2].pointer = sink.data();
  DECANT_ASSIGN(const EventHandle begin, device->createEvent());
  DECANT_ASSIGN(const EventHandle end, device->createEvent());
  ReadCeiling ceiling;
  ceiling.bytes = kReadBytes;
  for (int64_t blocks : kGrids) {
    std::vector<double> times;
    for (int repeat = 0; repeat < kWarmUp + kRepeats; ++repeat) {
      DECANT_TRY(device->recordEvent(begin, nullptr));
      DECANT_TRY(kernel->launch("read", blocks, args, nullptr));
      DECANT_TRY(device->recordEvent(end, nullptr));
      DECANT_ASSIGN(const double us, device->microsecondsBetween(begin, end));
      if (repeat >= kWarmUp)
        times.push_back(us);
    }
    // Bytes per microsecond are millionths of terabytes per second.
    const double speed = double(kReadBytes) / spreadOf(times).median * 1e-6;
    if (speed > ceiling.terabytesPerSecond) {
      ceiling.terabytesPerSecond = speed;
      ceiling.blocks = blocks;
    }
  }
  DECANT_TRY(device->destroyEvent(begin));
  DECANT_TRY(device->destroyEvent(end));
  return ceiling;
}
