//===- CudaDevice.h - Device for NVIDIA GPUs ------------------ -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_CUDA_CUDADEVICE_H
#define DECANT_RUNTIME_CUDA_CUDADEVICE_H

#include "CudaContext.h"
#include "decant/Runtime/Cuda.h"

namespace decant {

class CudaDevice final : public Device {
public:
  static Expected<std::shared_ptr<CudaDevice>>
  open(std::shared_ptr<const CudaDriver> driver, int ordinal);

  const CudaContext &cudaContext() const { return *context; }
  std::shared_ptr<CudaContext> sharedContext() const { return context; }

  const DeviceInfo &info() const override { return facts; }
  using Device::load;
  Expected<std::unique_ptr<LoadedImage>>
  load(KernelImage image, const LoadOptions &options) override;
  Expected<KernelImage> link(const KernelImage &image) const override;

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
  Expected<bool> isCapturing(StreamHandle stream) const override;

  Expected<EventHandle> createEvent() override;
  Status destroyEvent(EventHandle event) override;
  Status recordEvent(EventHandle event, StreamHandle stream) override;
  Expected<double> microsecondsBetween(EventHandle begin,
                                       EventHandle end) override;

  Expected<CudaMemory> memory() const;

private:
  CudaDevice(std::shared_ptr<CudaContext> context, DeviceInfo facts)
      : context(std::move(context)), facts(std::move(facts)) {}

  /// Runs one driver call with the context current.
  template <typename Call> Status inContext(const char *name, Call call) const {
    ContextScope scope(*context);
    if (!scope.status().ok())
      return scope.status();
    const CudaDriver &driver = context->driver();
    return driver.check(call(driver), name);
  }

  std::shared_ptr<CudaContext> context;
  DeviceInfo facts;
};

} // namespace decant

#endif // DECANT_RUNTIME_CUDA_CUDADEVICE_H
