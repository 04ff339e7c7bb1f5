//===- CAPI.cpp - devices, images and errors in C -------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Runtime/CApi.h"

#include "DurableFile.h"
#include "decant/Runtime/Cuda.h"

#include <fmt/format.h>

using namespace decant;
using namespace decant::capi;

static_assert(DECANT_RUNTIME_VERSION == DECANT_PROJECT_VERSION,
              "decant_runtime.h and CMakeLists.txt state one version");

namespace {

/// The text behind decantLastError(): the only state outside of handles.
std::string &lastError() {
  thread_local std::string text;
  return text;
}

Status makeHandle(Expected<KernelImage> loaded, DecantImage **result) {
  DECANT_TRY(loaded.status());
  auto image = std::make_shared<const KernelImage>(loaded.take());
  *result = new DecantImage{std::move(image)};
  return {};
}

} // namespace

DecantStatus capi::report(const Status &status) noexcept {
  try {
    lastError() = status.message();
  } catch (...) {
    lastError().clear(); // out of memory: the code still tells the kind
  }
  return static_cast<DecantStatus>(status.code());
}

DecantStatus capi::reportException(const char *what) noexcept {
  try {
    lastError() = std::string("exception: ") + what;
  } catch (...) {
    lastError().clear();
  }
  return DECANT_INTERNAL;
}

Status capi::nullArgument(const char *name) {
  return Status::invalid(
      fmt::format("argument \"{}\" is null; a pointer is expected", name));
}

Status capi::wrongSize(const char *name, size_t found, size_t known) {
  return Status::invalid(fmt::format(
      "argument \"{}\": struct_size is {}, and this library (version {}) knows "
      "{}; {}",
      name, found, decantRuntimeVersion(), known,
      found > known ? "the caller was built with a newer header"
                    : "set it to sizeof the struct"));
}

extern "C" {

uint32_t decantRuntimeVersion(void) { return DECANT_RUNTIME_VERSION; }

const char *decantLastError(void) { return lastError().c_str(); }

const char *decantStatusName(int status) {
  switch (status) {
  case DECANT_OK:
    return "ok";
  case DECANT_JOB_FAILED:
    return "job failed";
  case DECANT_INVALID_INPUT:
    return "invalid input";
  case DECANT_UNAVAILABLE:
    return "unavailable";
  case DECANT_INTERNAL:
    return "internal";
  }
  return "unknown status";
}

DecantStatus decantDeviceOpenCuda(int32_t ordinal, DecantDevice **device) {
  return guarded([&]() -> Status {
    if (!device)
      return nullArgument("device");
    *device = nullptr;
    DECANT_ASSIGN(auto driver, loadCudaDriver());
    DECANT_ASSIGN(auto opened, openCudaDevice(std::move(driver), ordinal));
    *device = new DecantDevice{std::move(opened)};
    return {};
  });
}

void decantDeviceClose(DecantDevice *device) { delete device; }

DecantStatus decantDeviceGetInfo(const DecantDevice *device,
                                 DecantDeviceInfo *info) {
  return guarded([&]() -> Status {
    if (!device)
      return nullArgument("device");
    const DeviceInfo &facts = device->device->info();
    DecantDeviceInfo values = {};
    values.name = facts.name.c_str();
    values.is_cuda = facts.kind == TargetKind::Nvidia;
    values.ordinal = facts.ordinal;
    values.compute_major = facts.computeMajor;
    values.compute_minor = facts.computeMinor;
    values.driver_version = facts.driverVersion;
    values.memory_bytes = facts.memoryBytes;
    values.max_shared_bytes = facts.maxSharedBytes;
    return writeSized("info", values, info);
  });
}

DecantStatus decantImageLoadFile(const char *path, DecantImage **image) {
  return guarded([&]() -> Status {
    if (!image)
      return nullArgument("image");
    *image = nullptr;
    if (!path)
      return nullArgument("path");
    Expected<std::string> bytes = readWholeFile(path);
    // A wrong path is a mistake of the caller's, not of the job's.
    if (!bytes)
      return Status::invalid(bytes.status().message());
    return makeHandle(deserialize(*bytes), image).within(path);
  });
}

DecantStatus decantImageLoadBytes(const void *bytes, size_t size,
                                  DecantImage **image) {
  return guarded([&]() -> Status {
    if (!image)
      return nullArgument("image");
    *image = nullptr;
    if (!bytes)
      return nullArgument("bytes");
    std::string copy(static_cast<const char *>(bytes), size);
    return makeHandle(deserialize(copy), image);
  });
}

void decantImageDestroy(DecantImage *image) { delete image; }

DecantStatus decantImageGetInfo(const DecantImage *image,
                                DecantImageInfo *info) {
  return guarded([&]() -> Status {
    if (!image)
      return nullArgument("image");
    const KernelImage &facts = *image->image;
    DecantImageInfo values = {};
    values.spec_name = facts.specName.c_str();
    values.target = facts.target.c_str();
    values.kind = toString(facts.kind);
    values.compiler = facts.compiler.c_str();
    values.ptx_isa = facts.ptxIsa;
    values.slot_bytes = facts.layout.slotBytes;
    values.code_bytes = int64_t(facts.code.size());
    return writeSized("info", values, info);
  });
}

} // extern "C"
