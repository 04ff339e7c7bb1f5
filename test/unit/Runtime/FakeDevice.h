//===- FakeDevice.h - a device that writes things down -------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_RUNTIME_FAKEDEVICE_H
#define DECANT_TEST_UNIT_RUNTIME_FAKEDEVICE_H

#include "decant/Runtime/Device.h"

namespace decant {
namespace test {

struct Launch {
  int entry = 0;
  int64_t blocks = 0;
  StreamHandle stream = nullptr;
  ArgValue args[kMaxKernelArgs];
};

/// Launches of all images of one FakeDevice, without an allocation while it
/// writes: the room is fixed, and the last entry is overwritten when it is
/// full.
struct LaunchLog {
  Launch launches[16];
  int count = 0;
  Launch &next() { return launches[count < 15 ? count++ : 15]; }
};

class FakeImage final : public LoadedImage {
public:
  FakeImage(KernelImage held, std::shared_ptr<LaunchLog> log)
      : held(std::move(held)), log(std::move(log)) {
    for (const KernelEntry &entry : this->held.entries)
      used.push_back({entry.role, entry.symbol, 32, 0, 0, 1024});
  }
  const KernelImage &image() const override { return held; }
  const std::vector<KernelResources> &resources() const override {
    return used;
  }
  using LoadedImage::launch;
  Status launch(int entry, int64_t blocks, const ArgValue *args,
                StreamHandle stream) const override {
    Launch &launch = log->next();
    launch.entry = entry;
    launch.blocks = blocks;
    launch.stream = stream;
    for (size_t i = 0; i < held.entries[size_t(entry)].args.size(); ++i)
      launch.args[i] = args[i];
    return {};
  }

private:
  KernelImage held;
  std::shared_ptr<LaunchLog> log;
  std::vector<KernelResources> used;
};

struct MemoryWork {
  char kind = ' '; // 'f' fill, 'c' copy on the device
  char *target = nullptr;
  const char *source = nullptr;
  int64_t bytes = 0;
  uint8_t byte = 0; // of a fill
};

/// Memory work is recorded, not done: tests give addresses that do not exist.
class FakeDevice final : public Device {
public:
  std::shared_ptr<LaunchLog> log = std::make_shared<LaunchLog>();
  std::vector<MemoryWork> work;
  DeviceInfo facts;

  const DeviceInfo &info() const override { return facts; }
  using Device::load;
  Expected<std::unique_ptr<LoadedImage>> load(KernelImage image,
                                              const LoadOptions &) override {
    return std::unique_ptr<LoadedImage>(new FakeImage(std::move(image), log));
  }

  Expected<void *> allocate(int64_t) override { return none(); }
  Status release(void *) override { return none(); }
  Status fill(void *target, uint8_t byte, int64_t bytes,
              StreamHandle) override {
    work.push_back({'f', static_cast<char *>(target), nullptr, bytes, byte});
    return {};
  }
  Status copyToDevice(void *, const void *, int64_t, StreamHandle) override {
    return none();
  }
  Status copyToHost(void *, const void *, int64_t, StreamHandle) override {
    return none();
  }
  Status copyOnDevice(void *target, const void *source, int64_t bytes,
                      StreamHandle) override {
    work.push_back({'c', static_cast<char *>(target),
                    static_cast<const char *>(source), bytes});
    return {};
  }
  Expected<StreamHandle> createStream() override { return none(); }
  Status destroyStream(StreamHandle) override { return none(); }
  Status synchronize(StreamHandle) override { return none(); }
  Expected<EventHandle> createEvent() override { return none(); }
  Status destroyEvent(EventHandle) override { return none(); }
  Status recordEvent(EventHandle, StreamHandle) override { return none(); }
  Expected<double> microsecondsBetween(EventHandle, EventHandle) override {
    return none();
  }

private:
  /// No call of a Program needs these, and one that did would be a mistake.
  static Status none() { return Status::internal("unexpected device call"); }
};

} // namespace test
} // namespace decant

#endif // DECANT_TEST_UNIT_RUNTIME_FAKEDEVICE_H
