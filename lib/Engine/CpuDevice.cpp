//===- CpuDevice.cpp - Device for the host --------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CpuDevice.h"

#include "HostImage.h"
#include "Target/EmitObject.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <system_error>
#include <unistd.h>

using namespace decant;

namespace {

using Clock = std::chrono::steady_clock;

struct Event {
  Clock::time_point time;
};

/// Beyond this, blocks wait for memory more than for threads.
constexpr unsigned kMostThreads = 16;

/// Wide enough for any vector load, and a cache line.
constexpr size_t kAlign = 64;

int threadCount(int wanted) {
  if (wanted > 0)
    return wanted;
  const unsigned present = std::thread::hardware_concurrency();
  return static_cast<int>(std::clamp(present, 1u, kMostThreads));
}

Status checkBytes(int64_t bytes) {
  if (bytes >= 0)
    return {};
  return Status::invalid(
      fmt::format("argument \"bytes\" is {}; 0 or more are allowed", bytes));
}

} // namespace

CpuDevice::CpuDevice(DeviceInfo facts, int threads)
    : facts(std::move(facts)), pool(std::make_shared<BlockPool>(threads)) {}

Expected<std::shared_ptr<CpuDevice>> CpuDevice::open(int threads) {
  if (threads < 0)
    return Status::invalid(
        fmt::format("option \"threads\" is {}; 1 or more are allowed, and 0 "
                    "for one per processor",
                    threads));
  DECANT_ASSIGN(const TargetInfo target, lookupTarget("x86-64"));
  DeviceInfo facts;
  facts.kind = TargetKind::Cpu;
  facts.name = hostCpuName();
  facts.memoryBytes = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  facts.maxSharedBytes = target.maxSharedBytes;
  try {
    return std::shared_ptr<CpuDevice>(
        new CpuDevice(std::move(facts), threadCount(threads)));
  } catch (const std::system_error &error) {
    return Status::unavailable(fmt::format("cannot start {} threads: {}",
                                           threadCount(threads), error.what()));
  }
}

Expected<std::unique_ptr<LoadedImage>> CpuDevice::load(KernelImage image,
                                                       const LoadOptions &) {
  return HostImage::load(std::move(image), pool);
}

Expected<void *> CpuDevice::allocate(int64_t bytes) {
  DECANT_TRY(checkBytes(bytes));
  const size_t rounded = (size_t(bytes) + kAlign - 1) / kAlign * kAlign;
  void *memory = std::aligned_alloc(kAlign, std::max(rounded, kAlign));
  if (!memory)
    return Status::failed(
        fmt::format("cannot allocate {} bytes of host memory", bytes));
  return memory;
}

Status CpuDevice::release(void *memory) {
  std::free(memory);
  return {};
}

Status CpuDevice::fill(void *target, uint8_t byte, int64_t bytes,
                       StreamHandle) {
  DECANT_TRY(checkBytes(bytes));
  if (bytes > 0)
    std::memset(target, byte, size_t(bytes));
  return {};
}

Status CpuDevice::copyOnDevice(void *target, const void *source, int64_t bytes,
                               StreamHandle) {
  DECANT_TRY(checkBytes(bytes));
  if (bytes > 0)
    std::memmove(target, source, size_t(bytes));
  return {};
}

Status CpuDevice::copyToDevice(void *target, const void *source, int64_t bytes,
                               StreamHandle stream) {
  return copyOnDevice(target, source, bytes, stream);
}

Status CpuDevice::copyToHost(void *target, const void *source, int64_t bytes,
                             StreamHandle stream) {
  return copyOnDevice(target, source, bytes, stream);
}

Expected<StreamHandle> CpuDevice::createStream() {
  return StreamHandle(nullptr);
}
Status CpuDevice::destroyStream(StreamHandle) { return {}; }
Status CpuDevice::synchronize(StreamHandle) { return {}; }

Expected<EventHandle> CpuDevice::createEvent() {
  return EventHandle(new Event{Clock::now()});
}

Status CpuDevice::destroyEvent(EventHandle event) {
  delete static_cast<Event *>(event);
  return {};
}

Status CpuDevice::recordEvent(EventHandle event, StreamHandle) {
  static_cast<Event *>(event)->time = Clock::now();
  return {};
}

Expected<double> CpuDevice::microsecondsBetween(EventHandle begin,
                                                EventHandle end) {
  return std::chrono::duration<double, std::micro>(
             static_cast<Event *>(end)->time -
             static_cast<Event *>(begin)->time)
      .count();
}
