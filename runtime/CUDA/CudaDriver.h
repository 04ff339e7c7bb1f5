//===- CudaDriver.h - the driver's functions as one object ---- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Declares as much of the driver API as the runtime calls, so that cuda.h is
// not needed to build. The numbers are a part of the driver's ABI;
// CudaAbiTest.cpp compares them with cuda.h where a toolkit is installed.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_CUDA_CUDADRIVER_H
#define DECANT_RUNTIME_CUDA_CUDADRIVER_H

#include "decant/Core/Status.h"

#include <cstddef>
#include <memory>

namespace decant {
namespace cuda {

using Result = int;
using DeviceId = int;
using DevicePtr = unsigned long long;
using Context = struct OpaqueContext *;
using Module = struct OpaqueModule *;
using Function = struct OpaqueFunction *;
using Stream = struct OpaqueStream *;
using Event = struct OpaqueEvent *;
using Graph = struct OpaqueGraph *;
using GraphExec = struct OpaqueGraphExec *;
using LinkState = struct OpaqueLinkState *;

constexpr Result kSuccess = 0;
constexpr Result kErrorNotInitialized = 3;
constexpr Result kErrorStubLibrary = 34;
constexpr Result kErrorDeviceUnavailable = 46;
constexpr Result kErrorNoDevice = 100;
constexpr Result kErrorUnsupportedPtxVersion = 222;
constexpr Result kErrorJitCompilerNotFound = 221;
constexpr Result kErrorSystemDriverMismatch = 803;
constexpr Result kErrorCompatNotSupported = 804;
/// Of a query of the null stream while a stream that waits for it is captured.
constexpr Result kErrorCaptureImplicit = 906;

constexpr int kDeviceMultiprocessors = 16;
constexpr int kDeviceMemoryClock = 36; // kHz
constexpr int kDeviceMemoryBus = 37;   // bits
constexpr int kDeviceL2Bytes = 38;
constexpr int kDeviceComputeMajor = 75;
constexpr int kDeviceComputeMinor = 76;
constexpr int kDeviceMaxSharedOptin = 97;

constexpr int kFuncMaxThreads = 0;
constexpr int kFuncSharedBytes = 1;
constexpr int kFuncLocalBytes = 3;
constexpr int kFuncRegisters = 4;
constexpr int kFuncMaxDynamicShared = 8;

constexpr int kJitErrorLog = 5;
constexpr int kJitErrorLogBytes = 6;
constexpr int kJitInputPtx = 1;

constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDefault = 0;
/// Only calls of the capturing thread may break a capture.
constexpr int kCaptureThreadLocal = 1;
constexpr int kCaptureNone = 0;

constexpr int kLaunchProgrammaticSerialization = 6;
struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int allowed; // of programmatic serialization
  } value;
};
struct LaunchConfig {
  unsigned grid[3], block[3], sharedBytes;
  Stream stream;
  const LaunchAttribute *attributes;
  unsigned attributeCount;
};

} // namespace cuda

/// The oldest driver that is accepted, CUDA 12.0: Decant emits no PTX ISA below
/// 8.0, which that release brought, and it exports every symbol in use.
constexpr int kMinDriverVersion = 12000;

class CudaDriver {
public:
  static Expected<std::shared_ptr<const CudaDriver>>
  load(const std::string &path);

  int version() const { return driverVersion; }

  /// Ok, or the error's name and text behind the name of the call.
  Status check(cuda::Result result, const char *call) const {
    return result == cuda::kSuccess ? Status() : describe(result, call);
  }

#define DECANT_CUDA_SYMBOL(member, symbol, types)                              \
  cuda::Result(*member) types = nullptr;
  // The types in the list are those of namespace cuda.
  using Result = cuda::Result;
  using DeviceId = cuda::DeviceId;
  using DevicePtr = cuda::DevicePtr;
  using Context = cuda::Context;
  using Module = cuda::Module;
  using Function = cuda::Function;
  using Stream = cuda::Stream;
  using Event = cuda::Event;
  using Graph = cuda::Graph;
  using GraphExec = cuda::GraphExec;
  using LinkState = cuda::LinkState;
  using LaunchConfig = cuda::LaunchConfig;
#include "DriverSymbols.def"

private:
  Status describe(cuda::Result result, const char *call) const;

  int driverVersion = 0;
};

} // namespace decant

#endif // DECANT_RUNTIME_CUDA_CUDADRIVER_H
