//===- ImageStore.cpp - images, found or made -----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ImageStore.h"

#include "Stopwatch.h"
#include "Target/EmitObject.h"
#include "decant/Core/ImageHeader.h"
#include "decant/Runtime/PackIndex.h"

#include <fmt/format.h>

using namespace decant;

namespace {

const char *nameOf(KernelSet kernels) {
  return kernels == KernelSet::Decode ? "decode" : "transfer";
}

/// Everything that the image's bytes depend on.
std::string cacheKey(const DecodeSpec &spec, const CompileOptions &options) {
  std::string key = canonicalText(spec);
  key += fmt::format("target = {}\nkernels = {}\nschedule = {}\norder = {}\n"
                     "compiler = {}\n",
                     options.target.name, nameOf(options.kernels),
                     options.schedule ? toString(*options.schedule) : "default",
                     options.order ? toString(*options.order) : "default",
                     compilerVersion());
  if (options.target.kind == TargetKind::Cpu)
    key += fmt::format("processor = {}\n", options.target.arch == "native"
                                               ? hostCpuName()
                                               : options.target.arch);
  return key;
}

/// And everything that machine code depends on beside that.
std::string machineKey(const std::string &key, const DeviceInfo &device) {
  return key + fmt::format("driver = {}\ndevice = {}.{}\n",
                           device.driverVersion, device.computeMajor,
                           device.computeMinor);
}

CacheOptions cacheOptions(const EngineOptions &options) {
  CacheOptions result;
  result.compiler = compilerVersion();
  if (options.cacheMode == CacheMode::Disk)
    result.root = options.cacheFolder;
  if (options.cacheMode != CacheMode::Off)
    result.layers = options.cacheLayers;
  result.maxBytes = options.cacheBytes;
  return result;
}

} // namespace

ImageStore::ImageStore(const EngineOptions &options, ImageSource source)
    : cached(options.cacheMode != CacheMode::Off), source(std::move(source)),
      cache(cacheOptions(options)) {}

std::shared_ptr<std::mutex> ImageStore::lockOf(const std::string &key) {
  std::lock_guard<std::mutex> guard(mutex);
  std::weak_ptr<std::mutex> &slot = locks[key];
  std::shared_ptr<std::mutex> lock = slot.lock();
  if (!lock)
    slot = lock = std::make_shared<std::mutex>();
  return lock;
}

Expected<KernelImage> ImageStore::findOrMake(const std::string &key,
                                             const std::string &specName,
                                             ImageReport &report,
                                             const Maker &make) {
  if (!cached) {
    report.missReason = "the cache is off";
    return make();
  }
  const std::shared_ptr<std::mutex> lock = lockOf(key);
  const std::lock_guard<std::mutex> guard(*lock);
  const Stopwatch watch;
  CacheLookup found = cache.lookup(key);
  CacheClaim claim;
  if (!found.image) {
    claim = cache.claim(key);
    if (claim.lookAgain)
      found = cache.lookup(key);
  }
  report.lookupMs += watch.milliseconds();
  std::shared_ptr<const KernelImage> kept = found.image;
  if (!kept) {
    report.missReason = toString(found.reason);
    if (!found.detail.empty())
      report.missReason += ": " + found.detail;
    DECANT_ASSIGN(KernelImage made, make());
    kept = cache.store(key, std::move(made));
  }
  KernelImage image = *kept;
  image.specName = specName; // the key does not tell equal specs apart
  return image;
}

Expected<KernelImage> ImageStore::compiled(const DecodeSpec &spec,
                                           const CompileOptions &options,
                                           ImageReport &report) {
  return findOrMake(cacheKey(spec, options), spec.name, report, [&] {
    report.compiled = true;
    ++compiles;
    const Stopwatch watch;
    Expected<KernelImage> image = source(spec, options, &report.stages);
    report.compileMs = watch.milliseconds();
    return image;
  });
}

Expected<KernelImage> ImageStore::machineCode(const std::string &key,
                                              const std::string &specName,
                                              const Device &device,
                                              ImageReport &report,
                                              const Maker &ptx) {
  Status failure, unlinked;
  Expected<KernelImage> machine =
      findOrMake(machineKey(key, device.info()), specName, report,
                 [&]() -> Expected<KernelImage> {
                   Expected<KernelImage> image = ptx();
                   failure = image.status();
                   if (!image)
                     return image;
                   report.linked = true;
                   ++links;
                   const Stopwatch watch;
                   Expected<KernelImage> linked = device.link(*image);
                   report.linkMs = watch.milliseconds();
                   unlinked = linked.status();
                   return linked;
                 });
  if (unlinked.ok())
    return machine;
  DECANT_TRY(failure);
  {
    std::lock_guard<std::mutex> guard(mutex);
    if (!std::exchange(saidLink, true))
      linkWarning = fmt::format("the driver compiles kernels at each start, "
                                "since its linker failed: {}",
                                unlinked.message());
  }
  return ptx();
}

Expected<KernelImage> ImageStore::loadable(const DecodeSpec &spec,
                                           const CompileOptions &options,
                                           const Device &device,
                                           ImageReport &report) {
  // Without a cache nothing keeps what was linked, and loading links as well.
  if (!cached || device.info().kind == TargetKind::Cpu)
    return compiled(spec, options, report);
  return machineCode(cacheKey(spec, options), spec.name, device, report,
                     [&] { return compiled(spec, options, report); });
}

Expected<KernelImage> ImageStore::loadable(KernelImage image,
                                           const Device &device,
                                           ImageReport &report) {
  if (!cached || image.kind != CodeKind::Ptx)
    return image;
  const std::string key =
      fmt::format("{}\ncode = {} bytes, {:016x}\n", imageHeader(image),
                  image.code.size(), hashSpecText(image.code));
  return machineCode(key, image.specName, device, report,
                     [&]() -> Expected<KernelImage> { return image; });
}

std::vector<std::string> ImageStore::takeWarnings() {
  std::vector<std::string> warnings = cache.takeWarnings();
  std::lock_guard<std::mutex> guard(mutex);
  if (!linkWarning.empty())
    warnings.push_back(std::exchange(linkWarning, {}));
  return warnings;
}

EngineCounters ImageStore::counters() const {
  EngineCounters result;
  result.compiles = compiles;
  result.links = links;
  result.cache = cache.counters();
  return result;
}
