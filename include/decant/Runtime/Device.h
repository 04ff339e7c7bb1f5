//===- Device.h - what a machine does for the runtime --------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a KernelImage. Out: a LoadedImage whose entries can be launched. The CUDA
// device lives in runtime/CUDA, the CPU device beside the compiler (it needs a
// JIT). Handles are plain pointers so that a host engine's own streams pass
// through unchanged; a null stream is the device's default one. Everything that
// takes a stream is asynchronous where the device has streams.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_DEVICE_H
#define DECANT_RUNTIME_DEVICE_H

#include "decant/Core/KernelImage.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace decant {

using StreamHandle = void *; // a CUstream
using EventHandle = void *;  // a CUevent

struct DeviceInfo {
  TargetKind kind = TargetKind::Cpu;
  int ordinal = 0;
  std::string name;
  int computeMajor = 0, computeMinor = 0; // 0 for the host
  int driverVersion = 0;                  // 13000 for CUDA 13.0, 0 for the host
  int64_t memoryBytes = 0;
  int64_t maxSharedBytes = 0; // opt-in shared memory per block
};

/// What one entry uses once it is loaded.
struct KernelResources {
  std::string role, symbol;
  int registers = 0;  // per thread
  int localBytes = 0; // per thread; more than 0 is a spill or a local array
  int sharedBytes = 0;
  int maxThreads = 0; // per block that the registers leave room for
};

/// What to do with an entry that keeps values in local memory.
enum class SpillPolicy { Report, Refuse };

struct LoadOptions {
  SpillPolicy spills = SpillPolicy::Report;
};

/// One argument's value; both members have the 8 bytes that a kernel takes.
union ArgValue {
  const void *pointer;
  int64_t integer;
};
static_assert(sizeof(ArgValue) == 8, "kernels take 8-byte arguments");

/// The most arguments that an entry may have.
constexpr int kMaxKernelArgs = 64;
/// The most blocks of one launch: a grid's x extent on every GPU since sm_30.
constexpr int64_t kMaxGridBlocks = 2147483647;

/// An image on a device. Destroy it only after the work and the captured graphs
/// that use it are done.
class LoadedImage {
public:
  virtual ~LoadedImage();

  /// All but the code, which the device has taken.
  virtual const KernelImage &image() const = 0;
  /// One per entry of the image, in its order.
  virtual const std::vector<KernelResources> &resources() const = 0;

  /// The number of the entry with this role, -1 without one.
  int entryIndex(const std::string &role) const;

  /// Runs blocks 0 .. blocks - 1 of an entry; args[i] is the value of its i-th
  /// argument. Never allocates, compiles or waits. On the host, the entry is a
  /// function of (void **pointersToValues, int64_t first, int64_t last).
  virtual Status launch(int entry, int64_t blocks, const ArgValue *args,
                        StreamHandle stream) const = 0;

  /// The same by role, for tools and tests.
  Status launch(const std::string &role, int64_t blocks,
                const std::vector<ArgValue> &args, StreamHandle stream) const;
};

class Device {
public:
  virtual ~Device();

  virtual const DeviceInfo &info() const = 0;
  virtual Expected<std::unique_ptr<LoadedImage>>
  load(KernelImage image, const LoadOptions &options) = 0;
  Expected<std::unique_ptr<LoadedImage>> load(KernelImage image) {
    return load(std::move(image), LoadOptions());
  }

  /// `image`'s PTX as machine code for this device, which loads faster and can
  /// be kept; by the driver's linker, in the time that loading the PTX takes.
  /// The linker compiles functions without their callers, and may keep
  /// registers in memory at calls, as loading the PTX does not: `image` itself,
  /// then.
  virtual Expected<KernelImage> link(const KernelImage &image) const;

  virtual Expected<void *> allocate(int64_t bytes) = 0;
  virtual Status release(void *memory) = 0;
  virtual Status fill(void *target, uint8_t byte, int64_t bytes,
                      StreamHandle stream) = 0;
  virtual Status copyToDevice(void *target, const void *source, int64_t bytes,
                              StreamHandle stream) = 0;
  virtual Status copyToHost(void *target, const void *source, int64_t bytes,
                            StreamHandle stream) = 0;
  virtual Status copyOnDevice(void *target, const void *source, int64_t bytes,
                              StreamHandle stream) = 0;

  virtual Expected<StreamHandle> createStream() = 0;
  virtual Status destroyStream(StreamHandle stream) = 0;
  virtual Status synchronize(StreamHandle stream) = 0;
  /// Whether work on `stream` is being recorded rather than done. Of the null
  /// stream: whether that is so of a stream that waits for it.
  virtual Expected<bool> isCapturing(StreamHandle stream) const;

  virtual Expected<EventHandle> createEvent() = 0;
  virtual Status destroyEvent(EventHandle event) = 0;
  virtual Status recordEvent(EventHandle event, StreamHandle stream) = 0;
  /// Waits for `end` and returns the time since `begin`.
  virtual Expected<double> microsecondsBetween(EventHandle begin,
                                               EventHandle end) = 0;
};

/// Device memory with an owner.
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  static Expected<DeviceBuffer> create(std::shared_ptr<Device> device,
                                       int64_t bytes);
  DeviceBuffer(DeviceBuffer &&other) noexcept { swap(other); }
  DeviceBuffer &operator=(DeviceBuffer &&other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer();

  void *data() const { return memory; }
  int64_t bytes() const { return size; }

private:
  void swap(DeviceBuffer &other) noexcept {
    std::swap(device, other.device);
    std::swap(memory, other.memory);
    std::swap(size, other.size);
  }

  std::shared_ptr<Device> device;
  void *memory = nullptr;
  int64_t size = 0;
};

} // namespace decant

#endif // DECANT_RUNTIME_DEVICE_H
