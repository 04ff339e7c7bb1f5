//===- CudaAbiTest.cpp - our numbers against cuda.h -----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled where a CUDA toolkit is installed: the declarations in CudaDriver.h
// are a copy of the driver's ABI, and this is what holds the copy true.
//
//===----------------------------------------------------------------------===//

#include "../../../runtime/CUDA/CudaDriver.h"

#include <cuda.h>
#include <gtest/gtest.h>
#include <type_traits>

using namespace decant;

namespace {

static_assert(cuda::kSuccess == CUDA_SUCCESS);
static_assert(cuda::kErrorNotInitialized == CUDA_ERROR_NOT_INITIALIZED);
static_assert(cuda::kErrorStubLibrary == CUDA_ERROR_STUB_LIBRARY);
static_assert(cuda::kErrorDeviceUnavailable == CUDA_ERROR_DEVICE_UNAVAILABLE);
static_assert(cuda::kErrorNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(cuda::kErrorJitCompilerNotFound ==
              CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
static_assert(cuda::kErrorUnsupportedPtxVersion ==
              CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
static_assert(cuda::kErrorSystemDriverMismatch ==
              CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
static_assert(cuda::kErrorCompatNotSupported ==
              CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE);
static_assert(cuda::kDeviceMultiprocessors ==
              CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(cuda::kDeviceL2Bytes == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(cuda::kDeviceComputeMajor ==
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(cuda::kDeviceComputeMinor ==
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(cuda::kDeviceMaxSharedOptin ==
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(cuda::kFuncMaxThreads == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
static_assert(cuda::kFuncSharedBytes == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
static_assert(cuda::kFuncLocalBytes == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
static_assert(cuda::kFuncRegisters == CU_FUNC_ATTRIBUTE_NUM_REGS);
static_assert(cuda::kFuncMaxDynamicShared ==
              CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(cuda::kJitErrorLog == CU_JIT_ERROR_LOG_BUFFER);
static_assert(cuda::kErrorCaptureImplicit ==
              CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
static_assert(cuda::kJitInputPtx == CU_JIT_INPUT_PTX);
static_assert(cuda::kCaptureNone == CU_STREAM_CAPTURE_STATUS_NONE);
static_assert(cuda::kJitErrorLogBytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
static_assert(cuda::kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(cuda::kEventDefault == CU_EVENT_DEFAULT);
static_assert(cuda::kCaptureThreadLocal == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
static_assert(cuda::kLaunchProgrammaticSerialization ==
              CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
static_assert(sizeof(cuda::LaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(cuda::LaunchAttribute, value) ==
              offsetof(CUlaunchAttribute, value));
static_assert(sizeof(cuda::LaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(cuda::LaunchConfig, block) ==
              offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(cuda::LaunchConfig, stream) ==
              offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(cuda::LaunchConfig, attributeCount) ==
              offsetof(CUlaunchConfig, numAttrs));
static_assert(std::is_same_v<cuda::DeviceId, CUdevice>);
static_assert(std::is_same_v<cuda::DevicePtr, CUdeviceptr>);
static_assert(sizeof(cuda::Result) == sizeof(CUresult));

/// How many bytes each argument of a function takes, and how many there are.
template <typename... Args> std::vector<size_t> argBytes(int (*)(Args...)) {
  return {sizeof(Args)...};
}
template <typename... Args>
std::vector<size_t> argBytes(CUresult (*)(Args...)) {
  return {sizeof(Args)...};
}

// Enumerations and handles have other types there; the sizes are what a call
// passes. The list names members, so cuda.h's own macros pick its version.
TEST(CudaAbi, ArgumentsHaveTheSizesOfCudaH) {
  CudaDriver ours;
#define SAME(member, function)                                                 \
  EXPECT_EQ(argBytes(ours.member),                                             \
            argBytes(static_cast<decltype(&function)>(nullptr)))               \
      << #function
  SAME(getErrorName, cuGetErrorName);
  SAME(getErrorString, cuGetErrorString);
  SAME(driverGetVersion, cuDriverGetVersion);
  SAME(init, cuInit);
  SAME(deviceGetCount, cuDeviceGetCount);
  SAME(deviceGet, cuDeviceGet);
  SAME(deviceGetName, cuDeviceGetName);
  SAME(deviceGetAttribute, cuDeviceGetAttribute);
  SAME(deviceTotalMem, cuDeviceTotalMem);
  SAME(primaryCtxRetain, cuDevicePrimaryCtxRetain);
  SAME(primaryCtxRelease, cuDevicePrimaryCtxRelease);
  SAME(ctxGetCurrent, cuCtxGetCurrent);
  SAME(ctxPushCurrent, cuCtxPushCurrent);
  SAME(ctxPopCurrent, cuCtxPopCurrent);
  SAME(moduleLoadDataEx, cuModuleLoadDataEx);
  SAME(moduleUnload, cuModuleUnload);
  SAME(moduleGetFunction, cuModuleGetFunction);
  SAME(funcGetAttribute, cuFuncGetAttribute);
  SAME(funcSetAttribute, cuFuncSetAttribute);
  SAME(launchKernel, cuLaunchKernel);
  SAME(launchKernelEx, cuLaunchKernelEx);
  SAME(linkCreate, cuLinkCreate);
  SAME(linkAddData, cuLinkAddData);
  SAME(linkComplete, cuLinkComplete);
  SAME(linkDestroy, cuLinkDestroy);
  SAME(streamIsCapturing, cuStreamIsCapturing);
  SAME(memAlloc, cuMemAlloc);
  SAME(memFree, cuMemFree);
  SAME(memGetInfo, cuMemGetInfo);
  SAME(memsetD8Async, cuMemsetD8Async);
  SAME(memcpyHtoDAsync, cuMemcpyHtoDAsync);
  SAME(memcpyDtoHAsync, cuMemcpyDtoHAsync);
  SAME(memcpyDtoDAsync, cuMemcpyDtoDAsync);
  SAME(streamCreate, cuStreamCreate);
  SAME(streamDestroy, cuStreamDestroy);
  SAME(streamSynchronize, cuStreamSynchronize);
  SAME(streamBeginCapture, cuStreamBeginCapture);
  SAME(streamEndCapture, cuStreamEndCapture);
  SAME(graphInstantiate, cuGraphInstantiate);
  SAME(graphLaunch, cuGraphLaunch);
  SAME(graphDestroy, cuGraphDestroy);
  SAME(graphExecDestroy, cuGraphExecDestroy);
  SAME(eventCreate, cuEventCreate);
  SAME(eventDestroy, cuEventDestroy);
  SAME(eventRecord, cuEventRecord);
  SAME(eventSynchronize, cuEventSynchronize);
  SAME(eventElapsedTime, cuEventElapsedTime);
#undef SAME
}

} // namespace
