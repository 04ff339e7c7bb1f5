//===- CudaImage.h - an image loaded on an NVIDIA device ------ -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_CUDA_CUDAIMAGE_H
#define DECANT_RUNTIME_CUDA_CUDAIMAGE_H

#include "CudaContext.h"
#include "decant/Runtime/Device.h"

namespace decant {

/// Whether `device` and its driver can run `image`, and if not, why; asked
/// before the driver, whose errors name neither.
Status checkRunsOn(const KernelImage &image, const DeviceInfo &device);

class CudaImage final : public LoadedImage {
public:
  /// Refuses an image that `device` cannot run before the driver sees it.
  static Expected<std::unique_ptr<LoadedImage>>
  load(std::shared_ptr<CudaContext> context, const DeviceInfo &device,
       KernelImage image, const LoadOptions &options);
  ~CudaImage() override;

  const KernelImage &image() const override { return loaded; }
  const std::vector<KernelResources> &resources() const override {
    return used;
  }
  using LoadedImage::launch;
  Status launch(int entry, int64_t blocks, const ArgValue *args,
                StreamHandle stream) const override;

private:
  struct Kernel {
    cuda::Function function = nullptr;
    unsigned threads = 1, dynamicShared = 0;
    int argCount = 0;
    bool dependent = false;
  };

  explicit CudaImage(std::shared_ptr<CudaContext> context)
      : context(std::move(context)) {}
  Status loadModule(const std::string &code);
  Status loadKernel(const KernelEntry &entry, const DeviceInfo &device,
                    const LoadOptions &options);

  std::shared_ptr<CudaContext> context;
  KernelImage loaded;
  cuda::Module module = nullptr;
  std::vector<Kernel> kernels;
  std::vector<KernelResources> used;
};

} // namespace decant

#endif // DECANT_RUNTIME_CUDA_CUDAIMAGE_H
