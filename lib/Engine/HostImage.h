//===- HostImage.h - a host object, loaded -------------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a KernelImage with a relocatable object. Out: a LoadedImage that calls
// its functions. ORC links the object in memory; libc and libm come from the
// process.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_ENGINE_HOSTIMAGE_H
#define DECANT_ENGINE_HOSTIMAGE_H

#include "BlockPool.h"
#include "decant/Runtime/Device.h"

namespace llvm {
namespace orc {
class LLJIT;
} // namespace orc
} // namespace llvm

namespace decant {

class HostImage final : public LoadedImage {
public:
  static Expected<std::unique_ptr<LoadedImage>>
  load(KernelImage image, std::shared_ptr<BlockPool> pool);
  ~HostImage() override;

  const KernelImage &image() const override { return loaded; }
  const std::vector<KernelResources> &resources() const override {
    return used;
  }
  using LoadedImage::launch;
  Status launch(int entry, int64_t blocks, const ArgValue *args,
                StreamHandle stream) const override;

private:
  using Function = void (*)(void **args, int64_t first, int64_t last);

  HostImage(KernelImage image, std::shared_ptr<BlockPool> pool);
  Status link();
  Status checkProcessor();

  KernelImage loaded;
  std::shared_ptr<BlockPool> pool;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<Function> functions; // one per entry
  std::vector<KernelResources> used;
};

} // namespace decant

#endif // DECANT_ENGINE_HOSTIMAGE_H
