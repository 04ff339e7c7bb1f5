//===- CudaLink.h - PTX to machine code, by the driver -------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_CUDA_CUDALINK_H
#define DECANT_RUNTIME_CUDA_CUDALINK_H

#include "CudaContext.h"
#include "decant/Runtime/Device.h"

#include <array>
#include <string>

namespace decant {

/// What the driver's compiler says when it refuses PTX.
class JitLog {
public:
  JitLog();
  int *options() { return names.data(); }
  void **values() { return pointers.data(); }
  unsigned count() const { return unsigned(names.size()); }

  /// `status` with what the driver has written, if anything.
  Status explain(const Status &status);

private:
  std::string text;
  std::array<int, 2> names;
  std::array<void *, 2> pointers;
};

/// `image` with a cubin for `device` in place of its PTX.
Expected<KernelImage> linkPtx(const CudaContext &context,
                              const DeviceInfo &device,
                              const KernelImage &image);

} // namespace decant

#endif // DECANT_RUNTIME_CUDA_CUDALINK_H
