//===- CudaOracle.h - the plain rule on a GPU ---------------------*- C++
//-*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `--emit cuda` prints of a spec, in double, compiled by NVRTC for a
// device and run there beside the kernels that are tested.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_VERIFY_CUDAORACLE_H
#define DECANT_LIB_VERIFY_CUDAORACLE_H

#include "SyntheticTokens.h"
#include "decant/Compiler/CudaSource.h"
#include "decant/Runtime/Device.h"
#include "decant/Runtime/Nvrtc.h"

namespace decant {

/// The heads of one sequence or of several, one after the other.
struct DenseStates {
  std::vector<double> states;  // [rows, value heads, key dim, value dim]
  std::vector<double> carried; // [rows, value heads, vectors, key dim]
};

class CudaOracle {
public:
  /// `device` is a CUDA device.
  static Expected<CudaOracle> create(const DecodeSpec &spec,
                                     std::shared_ptr<Device> device,
                                     const Nvrtc &nvrtc);
  /// With a text that was compiled, for double, and loaded already.
  CudaOracle(const HeadShape &heads, CudaSource source,
             std::shared_ptr<Device> device,
             std::unique_ptr<LoadedImage> kernel)
      : heads(heads), source(std::move(source)), device(std::move(device)),
        kernel(std::move(kernel)) {}

  /// One token of each row: changes the states and gives the outputs, [rows,
  /// value heads, value dim].
  Expected<std::vector<double>>
  step(const SyntheticTokens &tokens,
       const std::vector<SyntheticTokens::Token> &rows, DenseStates &states);

private:
  Expected<DeviceBuffer> upload(const void *bytes, int64_t count) const;
  Status download(std::vector<double> &values,
                  const DeviceBuffer &buffer) const;

  HeadShape heads;
  CudaSource source;
  std::shared_ptr<Device> device;
  std::unique_ptr<LoadedImage> kernel;
};

} // namespace decant

#endif // DECANT_LIB_VERIFY_CUDAORACLE_H
