//===- CudaDevice.cpp - Device for NVIDIA GPUs ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDevice.h"

#include "CudaImage.h"
#include "CudaLink.h"
#include "decant/Runtime/Cuda.h"

#include <fmt/format.h>

using namespace decant;

namespace {

cuda::DevicePtr deviceAddress(const void *memory) {
  return reinterpret_cast<cuda::DevicePtr>(memory);
}
cuda::Stream cudaStream(StreamHandle stream) {
  return static_cast<cuda::Stream>(stream);
}
cuda::Event cudaEvent(EventHandle event) {
  return static_cast<cuda::Event>(event);
}

Expected<DeviceInfo> describeDevice(const CudaDriver &driver, int ordinal,
                                    cuda::DeviceId device) {
  DeviceInfo info;
  info.kind = TargetKind::Nvidia;
  info.ordinal = ordinal;
  info.driverVersion = driver.version();
  char name[256] = {};
  DECANT_TRY(driver.check(driver.deviceGetName(name, sizeof(name) - 1, device),
                          "cuDeviceGetName"));
  info.name = name;
  size_t memory = 0;
  DECANT_TRY(
      driver.check(driver.deviceTotalMem(&memory, device), "cuDeviceTotalMem"));
  info.memoryBytes = int64_t(memory);
  int shared = 0;
  struct Query {
    int attribute;
    int *result;
  };
  for (Query query : {Query{cuda::kDeviceComputeMajor, &info.computeMajor},
                      Query{cuda::kDeviceComputeMinor, &info.computeMinor},
                      Query{cuda::kDeviceMaxSharedOptin, &shared}})
    DECANT_TRY(driver.check(
        driver.deviceGetAttribute(query.result, query.attribute, device),
        "cuDeviceGetAttribute"));
  info.maxSharedBytes = shared;
  return info;
}

} // namespace

Expected<std::shared_ptr<CudaContext>>
CudaContext::retain(std::shared_ptr<const CudaDriver> driver,
                    cuda::DeviceId device) {
  cuda::Context context = nullptr;
  DECANT_TRY(driver->check(driver->primaryCtxRetain(&context, device),
                           "cuDevicePrimaryCtxRetain"));
  return std::shared_ptr<CudaContext>(
      new CudaContext(std::move(driver), device, context));
}

CudaContext::~CudaContext() { table->primaryCtxRelease(device); }

Expected<std::shared_ptr<Device>>
decant::openCudaDevice(std::shared_ptr<const CudaDriver> driver, int ordinal) {
  DECANT_ASSIGN(std::shared_ptr<CudaDevice> device,
                CudaDevice::open(std::move(driver), ordinal));
  return std::shared_ptr<Device>(std::move(device));
}

Expected<std::shared_ptr<CudaDevice>>
CudaDevice::open(std::shared_ptr<const CudaDriver> driver, int ordinal) {
  DECANT_ASSIGN(int count, cudaDeviceCount(*driver));
  if (ordinal < 0 || ordinal >= count)
    return Status(
        count == 0 ? StatusCode::Unavailable : StatusCode::InvalidInput,
        count == 0 ? std::string("the NVIDIA driver sees no device; is "
                                 "CUDA_VISIBLE_DEVICES empty?")
                   : fmt::format("no CUDA device {}; the driver sees {}, "
                                 "numbered from 0",
                                 ordinal, count));
  cuda::DeviceId id = 0;
  DECANT_TRY(driver->check(driver->deviceGet(&id, ordinal), "cuDeviceGet"));
  std::string name = fmt::format("CUDA device {}", ordinal);
  Expected<DeviceInfo> info = describeDevice(*driver, ordinal, id);
  DECANT_TRY(info.status().within(name));
  Expected<std::shared_ptr<CudaContext>> context =
      CudaContext::retain(std::move(driver), id);
  DECANT_TRY(context.status().within(name));
  return std::shared_ptr<CudaDevice>(
      new CudaDevice(context.take(), info.take()));
}

Expected<std::unique_ptr<LoadedImage>>
CudaDevice::load(KernelImage image, const LoadOptions &options) {
  return CudaImage::load(context, facts, std::move(image), options);
}

Expected<KernelImage> CudaDevice::link(const KernelImage &image) const {
  DECANT_ASSIGN(KernelImage linked, linkPtx(*context, facts, image));
  LoadOptions whole;
  whole.spills = SpillPolicy::Refuse;
  return CudaImage::load(context, facts, linked, whole) ? linked : image;
}

Expected<void *> CudaDevice::allocate(int64_t bytes) {
  if (bytes < 0)
    return Status::invalid(fmt::format("bytes is {}; 0 or more", bytes));
  cuda::DevicePtr memory = 0;
  // The driver refuses 0 bytes; a pointer that may be released is wanted.
  size_t size = bytes == 0 ? 1 : size_t(bytes);
  DECANT_TRY(inContext("cuMemAlloc",
                       [&](const CudaDriver &driver) {
                         return driver.memAlloc(&memory, size);
                       })
                 .within(fmt::format("{} bytes on CUDA device {}", bytes,
                                     facts.ordinal)));
  return reinterpret_cast<void *>(memory);
}

Status CudaDevice::release(void *memory) {
  return inContext("cuMemFree", [&](const CudaDriver &driver) {
    return driver.memFree(deviceAddress(memory));
  });
}

Status CudaDevice::fill(void *target, uint8_t byte, int64_t bytes,
                        StreamHandle stream) {
  return inContext("cuMemsetD8Async", [&](const CudaDriver &driver) {
    return driver.memsetD8Async(deviceAddress(target), byte, size_t(bytes),
                                cudaStream(stream));
  });
}

Status CudaDevice::copyToDevice(void *target, const void *source, int64_t bytes,
                                StreamHandle stream) {
  return inContext("cuMemcpyHtoDAsync", [&](const CudaDriver &driver) {
    return driver.memcpyHtoDAsync(deviceAddress(target), source, size_t(bytes),
                                  cudaStream(stream));
  });
}

Status CudaDevice::copyToHost(void *target, const void *source, int64_t bytes,
                              StreamHandle stream) {
  return inContext("cuMemcpyDtoHAsync", [&](const CudaDriver &driver) {
    return driver.memcpyDtoHAsync(target, deviceAddress(source), size_t(bytes),
                                  cudaStream(stream));
  });
}

Status CudaDevice::copyOnDevice(void *target, const void *source, int64_t bytes,
                                StreamHandle stream) {
  return inContext("cuMemcpyDtoDAsync", [&](const CudaDriver &driver) {
    return driver.memcpyDtoDAsync(deviceAddress(target), deviceAddress(source),
                                  size_t(bytes), cudaStream(stream));
  });
}

Expected<StreamHandle> CudaDevice::createStream() {
  cuda::Stream stream = nullptr;
  DECANT_TRY(inContext("cuStreamCreate", [&](const CudaDriver &driver) {
    return driver.streamCreate(&stream, cuda::kStreamNonBlocking);
  }));
  return static_cast<StreamHandle>(stream);
}

Status CudaDevice::destroyStream(StreamHandle stream) {
  return inContext("cuStreamDestroy", [&](const CudaDriver &driver) {
    return driver.streamDestroy(cudaStream(stream));
  });
}

Status CudaDevice::synchronize(StreamHandle stream) {
  return inContext("cuStreamSynchronize", [&](const CudaDriver &driver) {
    return driver.streamSynchronize(cudaStream(stream));
  });
}

Expected<bool> CudaDevice::isCapturing(StreamHandle stream) const {
  bool implicit = false;
  int state = cuda::kCaptureNone;
  DECANT_TRY(inContext("cuStreamIsCapturing", [&](const CudaDriver &driver) {
    const cuda::Result result =
        driver.streamIsCapturing(cudaStream(stream), &state);
    implicit = result == cuda::kErrorCaptureImplicit;
    return implicit ? cuda::kSuccess : result;
  }));
  return implicit || state != cuda::kCaptureNone;
}

Expected<EventHandle> CudaDevice::createEvent() {
  cuda::Event event = nullptr;
  DECANT_TRY(inContext("cuEventCreate", [&](const CudaDriver &driver) {
    return driver.eventCreate(&event, cuda::kEventDefault);
  }));
  return static_cast<EventHandle>(event);
}

Status CudaDevice::destroyEvent(EventHandle event) {
  return inContext("cuEventDestroy", [&](const CudaDriver &driver) {
    return driver.eventDestroy(cudaEvent(event));
  });
}

Status CudaDevice::recordEvent(EventHandle event, StreamHandle stream) {
  return inContext("cuEventRecord", [&](const CudaDriver &driver) {
    return driver.eventRecord(cudaEvent(event), cudaStream(stream));
  });
}

Expected<double> CudaDevice::microsecondsBetween(EventHandle begin,
                                                 EventHandle end) {
  DECANT_TRY(inContext("cuEventSynchronize", [&](const CudaDriver &driver) {
    return driver.eventSynchronize(cudaEvent(end));
  }));
  float milliseconds = 0;
  DECANT_TRY(inContext("cuEventElapsedTime", [&](const CudaDriver &driver) {
    return driver.eventElapsedTime(&milliseconds, cudaEvent(begin),
                                   cudaEvent(end));
  }));
  return double(milliseconds) * 1000;
}

Expected<CudaMemory> CudaDevice::memory() const {
  CudaMemory memory;
  size_t unused = 0, total = 0;
  DECANT_TRY(inContext("cuMemGetInfo", [&](const CudaDriver &driver) {
    return driver.memGetInfo(&unused, &total);
  }));
  memory.freeBytes = int64_t(unused);
  memory.totalBytes = int64_t(total);
  cuda::DeviceId id = 0;
  DECANT_TRY(inContext("cuDeviceGet", [&](const CudaDriver &driver) {
    return driver.deviceGet(&id, facts.ordinal);
  }));
  int l2 = 0, clock = 0, bus = 0;
  struct Query {
    int attribute;
    int *result;
  };
  for (Query query :
       {Query{cuda::kDeviceL2Bytes, &l2},
        Query{cuda::kDeviceMemoryClock, &clock},
        Query{cuda::kDeviceMemoryBus, &bus},
        Query{cuda::kDeviceMultiprocessors, &memory.multiprocessors}})
    DECANT_TRY(inContext("cuDeviceGetAttribute", [&](const CudaDriver &driver) {
      return driver.deviceGetAttribute(query.result, query.attribute, id);
    }));
  memory.l2Bytes = l2;
  constexpr double kPerClock = 2, kBitsOfByte = 8; // double data rate
  if (clock > 0 && bus > 0)
    memory.bytesPerSecond = kPerClock * clock * 1e3 * bus / kBitsOfByte;
  return memory;
}

Expected<CudaMemory> decant::cudaMemory(const Device &device) {
  auto *cudaDevice = dynamic_cast<const CudaDevice *>(&device);
  if (!cudaDevice)
    return Status::invalid("device " + device.info().name +
                           " is no CUDA device");
  return cudaDevice->memory();
}
