//===- CpuDevice.h - Device for the host ---------------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host as a device: memory is the process's own, every call is done when it
// returns, so streams are all the one null stream and events are clock
// readings.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_ENGINE_CPUDEVICE_H
#define DECANT_ENGINE_CPUDEVICE_H

#include "BlockPool.h"
#include "decant/Runtime/Device.h"

namespace decant {

class CpuDevice final : public Device {
public:
  /// `threads` as in EngineOptions.
  static Expected<std::shared_ptr<CpuDevice>> open(int threads);

  const DeviceInfo &info() const override { return facts; }
  using Device::load;
  Expected<std::unique_ptr<LoadedImage>>
  load(KernelImage image, const LoadOptions &options) override;

  Expected<void *> allocate(int64_t bytes) override;
  Status release(void *memory) override;
  Status fill(void *target, uint8_t byte, int64_t bytes,
              StreamHandle stream) override;
  Status copyToDevice(void *target, const void *source, int64_t bytes,
                      StreamHandle stream) override;
  Status copyToHost(void *target, const void *source, int64_t bytes,
                    StreamHandle stream) override;
  Status copyOnDevice(void *target, const void *source, int64_t bytes,
                      StreamHandle stream) override;

  Expected<StreamHandle> createStream() override;
  Status destroyStream(StreamHandle stream) override;
  Status synchronize(StreamHandle stream) override;

  Expected<EventHandle> createEvent() override;
  Status destroyEvent(EventHandle event) override;
  Status recordEvent(EventHandle event, StreamHandle stream) override;
  Expected<double> microsecondsBetween(EventHandle begin,
                                       EventHandle end) override;

private:
  CpuDevice(DeviceInfo facts, int threads);

  DeviceInfo facts;
  std::shared_ptr<BlockPool> pool;
};

} // namespace decant

#endif // DECANT_ENGINE_CPUDEVICE_H
