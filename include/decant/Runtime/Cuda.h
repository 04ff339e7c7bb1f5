//===- Cuda.h - NVIDIA devices -------------------------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opens NVIDIA devices through the driver alone: no CUDA toolkit, no cudart. A
// CudaDriver is an object that is passed around; nothing here is global, so two
// engines in one process, several devices and a host engine's own use of CUDA
// do not meet. A device uses its primary context, the one that cudart and
// PyTorch use too, and makes it current only for the length of a call: streams
// and memory of those libraries can be passed in as they are.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_CUDA_H
#define DECANT_RUNTIME_CUDA_H

#include "decant/Runtime/Device.h"

#include <functional>

namespace decant {

class CudaDriver;

/// Opens the driver's library and loads its functions; Unavailable when there
/// is no driver, no device, or a driver older than CUDA 12.0.
Expected<std::shared_ptr<const CudaDriver>>
loadCudaDriver(const std::string &path = "libcuda.so.1");

/// 13000 for CUDA 13.0: the newest CUDA that the driver supports.
int cudaDriverVersion(const CudaDriver &driver);
Expected<int> cudaDeviceCount(const CudaDriver &driver);

Expected<std::shared_ptr<Device>>
openCudaDevice(std::shared_ptr<const CudaDriver> driver, int ordinal);

/// What a working set is to be compared with.
struct CudaMemory {
  int64_t freeBytes = 0, totalBytes = 0; // now, of all processes
  int64_t l2Bytes = 0;
  int multiprocessors = 0;
  double bytesPerSecond = 0; // by its clock and bus; 0 where it does not say
};
/// `device` must be a CUDA device.
Expected<CudaMemory> cudaMemory(const Device &device);

/// Whether a driver can read PTX of an ISA version (80 is 8.0), by the release
/// table of the PTX ISA manual; names both versions when it cannot.
Status checkPtxIsa(int ptxIsa, int driverVersion);

/// "12.8" for 12080.
std::string cudaVersionText(int version);

/// Work of one stream, captured once and replayed.
class CudaGraph {
public:
  /// Runs `work` while `stream` is captured; `device` must be a CUDA device.
  static Expected<CudaGraph> capture(Device &device, StreamHandle stream,
                                     const std::function<Status()> &work);
  CudaGraph(CudaGraph &&other) noexcept;
  CudaGraph &operator=(CudaGraph &&other) noexcept;
  ~CudaGraph();
  Status launch(StreamHandle stream) const;

private:
  struct Impl;
  explicit CudaGraph(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace decant

#endif // DECANT_RUNTIME_CUDA_H
