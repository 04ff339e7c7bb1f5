//===- CudaContext.h - a device's primary context ------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps a device's primary context alive, and makes it current for the length
// of a scope.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_CUDA_CUDACONTEXT_H
#define DECANT_RUNTIME_CUDA_CUDACONTEXT_H

#include "CudaDriver.h"

namespace decant {

/// Shared by a device and the images loaded on it, which may outlive it.
class CudaContext {
public:
  static Expected<std::shared_ptr<CudaContext>>
  retain(std::shared_ptr<const CudaDriver> driver, cuda::DeviceId device);
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;
  ~CudaContext();

  const CudaDriver &driver() const { return *table; }
  cuda::Context handle() const { return context; }

private:
  CudaContext(std::shared_ptr<const CudaDriver> driver, cuda::DeviceId device,
              cuda::Context context)
      : table(std::move(driver)), device(device), context(context) {}

  std::shared_ptr<const CudaDriver> table;
  cuda::DeviceId device;
  cuda::Context context;
};

/// Makes a context current on this thread unless it is already, and puts back
/// what was current before.
class ContextScope {
public:
  explicit ContextScope(const CudaContext &context) : driver(context.driver()) {
    cuda::Context current = nullptr;
    if (driver.ctxGetCurrent(&current) == cuda::kSuccess &&
        current == context.handle())
      return;
    error = driver.check(driver.ctxPushCurrent(context.handle()),
                         "cuCtxPushCurrent");
    pushed = error.ok();
  }
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;
  ~ContextScope() {
    cuda::Context popped = nullptr;
    if (pushed)
      driver.ctxPopCurrent(&popped);
  }

  const Status &status() const { return error; }

private:
  const CudaDriver &driver;
  bool pushed = false;
  Status error;
};

} // namespace decant

#endif // DECANT_RUNTIME_CUDA_CUDACONTEXT_H
