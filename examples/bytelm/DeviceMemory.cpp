//===- DeviceMemory.cpp - memory where the states are ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The NVIDIA driver is opened when a GPU is used, so that the program starts
// without one and is built without the CUDA toolkit. The declarations are those
// of cuda.h (driver API), whose ABI is stable.
//
//===----------------------------------------------------------------------===//

#include "DeviceMemory.h"

#include "Error.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace bytelm;

namespace {

constexpr int64_t kAlignment = 256;

class HostMemory : public DeviceMemory {
public:
  bool isHost() const override { return true; }
  DeviceBuffer allocate(int64_t bytes) override {
    const int64_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    void *data = std::aligned_alloc(kAlignment, whole);
    if (!data)
      throw std::bad_alloc();
    return DeviceBuffer(data, bytes, std::free);
  }
  void upload(void *to, const void *from, int64_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void download(void *to, const void *from, int64_t bytes) override {
    std::memcpy(to, from, bytes);
  }
};

using Result = int;              // CUresult; 0 is success
using Address = uint64_t;        // CUdeviceptr
using Context = struct Opaque *; // CUcontext

struct Driver {
  Result (*init)(unsigned);
  Result (*retain)(Context *, int);
  Result (*setCurrent)(Context);
  Result (*allocate)(Address *, size_t);
  Result (*free)(Address);
  Result (*toDevice)(Address, const void *, size_t);
  Result (*toHost)(void *, Address, size_t);
  Result (*errorName)(Result, const char **);
};

template <typename Function>
void find(void *library, const char *name, Function &function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    throw JobError(fmt::format("libcuda.so.1 has no {}", name));
}

Driver openDriver() {
  // Decant opened it before; it stays open for the whole process.
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw JobError(
        fmt::format("the NVIDIA driver cannot be opened: {}", dlerror()));
  Driver driver;
  find(library, "cuInit", driver.init);
  find(library, "cuDevicePrimaryCtxRetain", driver.retain);
  find(library, "cuCtxSetCurrent", driver.setCurrent);
  find(library, "cuMemAlloc_v2", driver.allocate);
  find(library, "cuMemFree_v2", driver.free);
  find(library, "cuMemcpyHtoD_v2", driver.toDevice);
  find(library, "cuMemcpyDtoH_v2", driver.toHost);
  find(library, "cuGetErrorName", driver.errorName);
  return driver;
}

class CudaMemory : public DeviceMemory {
public:
  explicit CudaMemory(int ordinal) : driver(openDriver()) {
    Context context = nullptr;
    check(driver.init(0), "cuInit");
    check(driver.retain(&context, ordinal), "cuDevicePrimaryCtxRetain");
    check(driver.setCurrent(context), "cuCtxSetCurrent");
  }
  bool isHost() const override { return false; }
  DeviceBuffer allocate(int64_t bytes) override {
    Address address = 0;
    check(driver.allocate(&address, bytes), "cuMemAlloc");
    return DeviceBuffer(reinterpret_cast<void *>(address), bytes,
                        [free = driver.free](void *data) {
                          free(reinterpret_cast<Address>(data));
                        });
  }
  void upload(void *to, const void *from, int64_t bytes) override {
    check(driver.toDevice(reinterpret_cast<Address>(to), from, bytes),
          "cuMemcpyHtoD");
  }
  void download(void *to, const void *from, int64_t bytes) override {
    check(driver.toHost(to, reinterpret_cast<Address>(from), bytes),
          "cuMemcpyDtoH");
  }

private:
  void check(Result result, const char *call) {
    if (result == 0)
      return;
    const char *name = nullptr;
    driver.errorName(result, &name);
    throw JobError(fmt::format("{}: {} ({})", call,
                               name ? name : "an unknown error", result));
  }

  Driver driver;
};

} // namespace

std::unique_ptr<DeviceMemory> bytelm::hostMemory() {
  return std::make_unique<HostMemory>();
}

std::unique_ptr<DeviceMemory> bytelm::cudaMemory(int ordinal) {
  return std::make_unique<CudaMemory>(ordinal);
}
