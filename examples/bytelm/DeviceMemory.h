//===- DeviceMemory.h - memory where the states are -------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decant allocates nothing: slots and tensors are the host engine's. A real
// engine has an allocator of its own; this one asks the driver directly, in the
// primary context, which is also Decant's.
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_DEVICEMEMORY_H
#define BYTELM_DEVICEMEMORY_H

#include <cstdint>
#include <functional>
#include <memory>

namespace bytelm {

/// Frees itself; aligned for any slot (256 bytes).
class DeviceBuffer {
public:
  DeviceBuffer() = default;
  DeviceBuffer(void *data, int64_t bytes, std::function<void(void *)> free)
      : memory(data, std::move(free)), size(bytes) {}
  void *data() const { return memory.get(); }
  int64_t bytes() const { return size; }

private:
  std::unique_ptr<void, std::function<void(void *)>> memory{nullptr,
                                                            [](void *) {}};
  int64_t size = 0;
};

/// Copies are in order with kernels on the default stream, and done when they
/// return.
class DeviceMemory {
public:
  virtual ~DeviceMemory() = default;
  /// Whether the host's own pointers are the device's.
  virtual bool isHost() const = 0;
  virtual DeviceBuffer allocate(int64_t bytes) = 0;
  virtual void upload(void *to, const void *from, int64_t bytes) = 0;
  virtual void download(void *to, const void *from, int64_t bytes) = 0;
};

std::unique_ptr<DeviceMemory> hostMemory();
/// Throws JobError.
std::unique_ptr<DeviceMemory> cudaMemory(int ordinal);

} // namespace bytelm

#endif // BYTELM_DEVICEMEMORY_H
