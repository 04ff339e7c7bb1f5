//===- CudaImage.cpp - loading and launching through the driver -----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaImage.h"

#include "CudaLink.h"
#include "decant/Runtime/Cuda.h"

#include <charconv>
#include <fmt/format.h>
#include <optional>

using namespace decant;

namespace {

/// The capability that a cubin's target names. It may be of a device that the
/// table of targets does not have, since the driver has linked it.
std::optional<std::pair<int, int>> cubinCapability(const std::string &target) {
  constexpr char kPrefix[] = "sm_";
  constexpr size_t kLength = sizeof(kPrefix) - 1;
  int number = 0;
  const char *end = target.data() + target.size();
  if (target.compare(0, kLength, kPrefix) == 0 &&
      std::from_chars(target.data() + kLength, end, number).ec == std::errc())
    return std::pair(number / 10, number % 10);
  return std::nullopt;
}

/// PTX of a plain target runs on the same device and on later ones; cubins and
/// targets with an "a" suffix run on one compute capability.
Status checkTarget(const KernelImage &image, const DeviceInfo &device) {
  std::string where = fmt::format(
      "CUDA device {} ({}, compute capability {}.{})", device.ordinal,
      device.name, device.computeMajor, device.computeMinor);
  if (image.kind == CodeKind::HostObject)
    return Status::invalid(fmt::format(
        "image \"{}\" holds host code for {}; {} takes ptx or cubin",
        image.specName, image.target, where));
  auto present = std::pair(device.computeMajor, device.computeMinor);
  if (image.kind == CodeKind::Cubin && cubinCapability(image.target) == present)
    return {};
  DECANT_ASSIGN(TargetInfo target, lookupTarget(image.target));
  if (target.kind != TargetKind::Nvidia)
    return Status::invalid(
        fmt::format("image \"{}\" is for target {}, which is no GPU; {} takes "
                    "sm_* targets",
                    image.specName, image.target, where));
  auto wanted = std::pair(target.computeMajor, target.computeMinor);
  bool later = target.forwardCompatible && image.kind == CodeKind::Ptx;
  if (present == wanted || (later && present > wanted))
    return {};
  return Status::invalid(fmt::format(
      "image \"{}\" is {} for {}, which needs compute capability {}.{}{}; it "
      "cannot run on {}",
      image.specName, toString(image.kind), image.target, target.computeMajor,
      target.computeMinor, later ? " or later" : " exactly", where));
}

} // namespace

Status decant::checkRunsOn(const KernelImage &image, const DeviceInfo &device) {
  DECANT_TRY(checkTarget(image, device));
  if (image.kind != CodeKind::Ptx)
    return {};
  return checkPtxIsa(image.ptxIsa, device.driverVersion)
      .within(fmt::format("image \"{}\"", image.specName));
}

Expected<std::unique_ptr<LoadedImage>>
CudaImage::load(std::shared_ptr<CudaContext> context, const DeviceInfo &device,
                KernelImage image, const LoadOptions &options) {
  DECANT_TRY(checkRunsOn(image, device));
  std::string name = fmt::format("image \"{}\" ({}) on CUDA device {}",
                                 image.specName, image.target, device.ordinal);
  std::unique_ptr<CudaImage> result(new CudaImage(std::move(context)));
  ContextScope scope(*result->context);
  DECANT_TRY(scope.status());
  DECANT_TRY(result->loadModule(image.code).within(name));
  for (const KernelEntry &entry : image.entries)
    DECANT_TRY(result->loadKernel(entry, device, options).within(name));
  image.code = std::string();
  result->loaded = std::move(image);
  return std::unique_ptr<LoadedImage>(std::move(result));
}

CudaImage::~CudaImage() {
  if (!module)
    return;
  ContextScope scope(*context);
  if (scope.status().ok())
    context->driver().moduleUnload(module);
}

Status CudaImage::loadModule(const std::string &code) {
  JitLog log;
  const CudaDriver &driver = context->driver();
  return log.explain(
      driver.check(driver.moduleLoadDataEx(&module, code.c_str(), log.count(),
                                           log.options(), log.values()),
                   "cuModuleLoadDataEx"));
}

Status CudaImage::loadKernel(const KernelEntry &entry, const DeviceInfo &device,
                             const LoadOptions &options) {
  const CudaDriver &driver = context->driver();
  std::string where =
      fmt::format("entry \"{}\" ({})", entry.role, entry.symbol);
  if (entry.args.size() > size_t(kMaxKernelArgs))
    return Status::invalid(fmt::format("{} has {} arguments, {} are allowed",
                                       where, entry.args.size(),
                                       kMaxKernelArgs));
  Kernel kernel;
  kernel.threads = unsigned(entry.threads);
  kernel.argCount = int(entry.args.size());
  kernel.dependent = entry.dependentLaunch;
  DECANT_TRY(driver
                 .check(driver.moduleGetFunction(&kernel.function, module,
                                                 entry.symbol.c_str()),
                        "cuModuleGetFunction")
                 .within(where));

  KernelResources resources;
  resources.role = entry.role;
  resources.symbol = entry.symbol;
  // Asking also makes a lazily loading driver load the function now, and not at
  // its first launch, which may be inside a capture.
  struct Query {
    int attribute;
    int KernelResources::*member;
  };
  for (Query query :
       {Query{cuda::kFuncRegisters, &KernelResources::registers},
        Query{cuda::kFuncLocalBytes, &KernelResources::localBytes},
        Query{cuda::kFuncSharedBytes, &KernelResources::sharedBytes},
        Query{cuda::kFuncMaxThreads, &KernelResources::maxThreads}})
    DECANT_TRY(
        driver
            .check(driver.funcGetAttribute(&(resources.*query.member),
                                           query.attribute, kernel.function),
                   "cuFuncGetAttribute")
            .within(where));

  if (resources.localBytes > 0 && options.spills == SpillPolicy::Refuse)
    return Status::failed(fmt::format(
        "{} spills: {} bytes of local memory per thread, with {} registers; "
        "none is allowed",
        where, resources.localBytes, resources.registers));
  if (entry.threads > resources.maxThreads)
    return Status::failed(fmt::format(
        "{} has {} threads per block, and its {} registers allow {}", where,
        entry.threads, resources.registers, resources.maxThreads));
  if (entry.sharedBytes > device.maxSharedBytes)
    return Status::failed(fmt::format(
        "{} needs {} bytes of shared memory per block, and the device has {}",
        where, entry.sharedBytes, device.maxSharedBytes));
  // What the code does not declare itself is given at launch. Beyond 48 KiB
  // that is the only way, and the driver wants to be told.
  if (entry.sharedBytes > resources.sharedBytes) {
    kernel.dynamicShared = unsigned(entry.sharedBytes - resources.sharedBytes);
    resources.sharedBytes = entry.sharedBytes;
    DECANT_TRY(driver
                   .check(driver.funcSetAttribute(kernel.function,
                                                  cuda::kFuncMaxDynamicShared,
                                                  int(kernel.dynamicShared)),
                          "cuFuncSetAttribute")
                   .within(where));
  }
  kernels.push_back(kernel);
  used.push_back(std::move(resources));
  return {};
}

Status CudaImage::launch(int entry, int64_t blocks, const ArgValue *args,
                         StreamHandle stream) const {
  if (entry < 0 || size_t(entry) >= kernels.size())
    return Status::internal(
        fmt::format("launch of entry {} of {}", entry, kernels.size()));
  if (blocks < 0 || blocks > kMaxGridBlocks)
    return Status::invalid(fmt::format(
        "a grid of {} blocks; 0 to {} are allowed", blocks, kMaxGridBlocks));
  if (blocks == 0)
    return {};
  const Kernel &kernel = kernels[entry];
  void *pointers[kMaxKernelArgs];
  for (int i = 0; i < kernel.argCount; ++i)
    pointers[i] = const_cast<ArgValue *>(&args[i]);
  ContextScope scope(*context);
  DECANT_TRY(scope.status());
  const CudaDriver &driver = context->driver();
  if (kernel.dependent) {
    cuda::LaunchAttribute overlaps = {};
    overlaps.id = cuda::kLaunchProgrammaticSerialization;
    overlaps.value.allowed = 1;
    const cuda::LaunchConfig config = {{unsigned(blocks), 1, 1},
                                       {kernel.threads, 1, 1},
                                       kernel.dynamicShared,
                                       static_cast<cuda::Stream>(stream),
                                       &overlaps,
                                       1};
    return driver.check(
        driver.launchKernelEx(&config, kernel.function, pointers, nullptr),
        "cuLaunchKernelEx");
  }
  return driver.check(
      driver.launchKernel(kernel.function, unsigned(blocks), 1, 1,
                          kernel.threads, 1, 1, kernel.dynamicShared,
                          static_cast<cuda::Stream>(stream), pointers, nullptr),
      "cuLaunchKernel");
}
