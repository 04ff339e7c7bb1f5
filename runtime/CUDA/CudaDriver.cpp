//===- CudaDriver.cpp - the driver's library is opened --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"

#include "decant/Runtime/Cuda.h"

#include <dlfcn.h>
#include <fmt/format.h>

using namespace decant;

namespace {

std::string lastLoaderError() {
  const char *text = dlerror();
  return text ? text : "the loader gives no reason";
}

/// Errors of a machine that cannot run the work at all, whatever the work is.
StatusCode codeOf(cuda::Result result) {
  switch (result) {
  case cuda::kErrorNotInitialized:
  case cuda::kErrorStubLibrary:
  case cuda::kErrorDeviceUnavailable:
  case cuda::kErrorNoDevice:
  case cuda::kErrorJitCompilerNotFound:
  case cuda::kErrorUnsupportedPtxVersion:
  case cuda::kErrorSystemDriverMismatch:
  case cuda::kErrorCompatNotSupported:
    return StatusCode::Unavailable;
  default:
    return StatusCode::JobFailed;
  }
}

} // namespace

Expected<std::shared_ptr<const CudaDriver>>
CudaDriver::load(const std::string &path) {
  // Never unloaded: the driver owns threads and exit handlers, and a host
  // engine in this process may hold the same library.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library)
    return Status::unavailable(fmt::format(
        "no NVIDIA driver: {} cannot be opened ({}); install the driver of "
        "CUDA {} or newer, or use a CPU device",
        path, lastLoaderError(), cudaVersionText(kMinDriverVersion)));

  auto driver = std::make_shared<CudaDriver>();
#define DECANT_CUDA_SYMBOL(member, symbol, types)                              \
  driver->member =                                                             \
      reinterpret_cast<decltype(driver->member)>(dlsym(library, symbol));      \
  if (!driver->member)                                                         \
    return Status::unavailable(fmt::format(                                    \
        "NVIDIA driver {} has no function {}; Decant needs the driver of "     \
        "CUDA {} or newer",                                                    \
        path, symbol, cudaVersionText(kMinDriverVersion)));
#include "DriverSymbols.def"

  // The version first: it answers without a device, and explains more.
  int version = 0;
  DECANT_TRY(
      driver->check(driver->driverGetVersion(&version), "cuDriverGetVersion"));
  if (version < kMinDriverVersion)
    return Status::unavailable(fmt::format(
        "NVIDIA driver {} supports CUDA up to {}; Decant needs the driver of "
        "CUDA {} or newer",
        path, cudaVersionText(version), cudaVersionText(kMinDriverVersion)));
  driver->driverVersion = version;
  DECANT_TRY(driver->check(driver->init(0), "cuInit"));
  return std::shared_ptr<const CudaDriver>(std::move(driver));
}

Status CudaDriver::describe(cuda::Result result, const char *call) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(result, &name) != cuda::kSuccess || !name)
    name = "an error without a name";
  if (getErrorString(result, &text) != cuda::kSuccess || !text)
    text = "no description";
  return {codeOf(result),
          fmt::format("{} failed: {} ({}, {})", call, name, result, text)};
}

Expected<std::shared_ptr<const CudaDriver>>
decant::loadCudaDriver(const std::string &path) {
  return CudaDriver::load(path);
}

int decant::cudaDriverVersion(const CudaDriver &driver) {
  return driver.version();
}

Expected<int> decant::cudaDeviceCount(const CudaDriver &driver) {
  int count = 0;
  DECANT_TRY(driver.check(driver.deviceGetCount(&count), "cuDeviceGetCount"));
  return count;
}
