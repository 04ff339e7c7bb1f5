//===- Engine.cpp - spec in, ready program out ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Engine.h"

#include "EngineImpl.h"
#include "decant/Runtime/DeviceTarget.h"

#include <charconv>
#include <fmt/format.h>

using namespace decant;

namespace {

/// The N of "cuda:N".
Expected<int> cudaOrdinal(const std::string &name) {
  constexpr char kPrefix[] = "cuda:";
  constexpr size_t kLength = sizeof(kPrefix) - 1;
  int ordinal = -1;
  if (name.compare(0, kLength, kPrefix) == 0) {
    const char *begin = name.data() + kLength, *end = name.data() + name.size();
    auto [rest, error] = std::from_chars(begin, end, ordinal);
    if (error == std::errc() && rest == end && ordinal >= 0)
      return ordinal;
  }
  return Status::invalid(fmt::format(
      "device: found \"{}\"; allowed are \"cpu\" and \"cuda:N\" with a device "
      "number N from 0",
      name));
}

} // namespace

bool PrepareReport::warm() const {
  for (const ImageReport &image : images)
    if (image.compiled || image.linked)
      return false;
  return true;
}

double PrepareReport::sum(double ImageReport::*member) const {
  double total = 0;
  for (const ImageReport &image : images)
    total += image.*member;
  return total;
}

Expected<TargetInfo> decant::targetFor(const Device &device) {
  DECANT_ASSIGN(DeviceTarget chosen, targetOf(device.info()));
  return chosen.target;
}

Engine::Engine(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Engine::Engine(Engine &&) noexcept = default;
Engine &Engine::operator=(Engine &&) noexcept = default;
Engine::~Engine() = default;

Expected<Engine> Engine::create(EngineOptions options, ImageSource source) {
  DECANT_TRY(options.environment);
  if (options.cacheMode == CacheMode::Disk && options.cacheFolder.empty())
    return Status::invalid("option \"cacheFolder\" is empty; a disk cache "
                           "needs a folder");
  if (options.threads < 0)
    return Status::invalid(fmt::format(
        "option \"threads\" is {}; 0 or more are allowed", options.threads));
  if (options.cacheBytes < 0)
    return Status::invalid(
        fmt::format("option \"cacheBytes\" is {}; 0 (no limit) or more are "
                    "allowed",
                    options.cacheBytes));
  if (options.tune == TunePolicy::IfMissing && options.records.user.empty())
    return Status::invalid("option \"tune\" is if_missing, and the folder of "
                           "the user's tuning records (DECANT_TUNING_DIR) is "
                           "empty; what is found is kept there");
  DECANT_ASSIGN(PackShelf packs, PackShelf::open(options.packs));
  return Engine(std::make_unique<Impl>(std::move(options), std::move(source),
                                       std::move(packs)));
}

const EngineOptions &Engine::options() const { return impl->options; }

EngineCounters Engine::counters() const {
  EngineCounters result = impl->images.counters();
  result.loads = impl->loads;
  result.packed = impl->packs.imagesRead();
  result.tunings = impl->tuner.searches();
  return result;
}

Expected<std::shared_ptr<Device>> Engine::openDevice(const std::string &name) {
  if (name == "cpu") {
    std::lock_guard<std::mutex> guard(impl->mutex);
    if (!impl->cpu) {
      DECANT_ASSIGN(impl->cpu, CpuDevice::open(impl->options.threads));
    }
    return std::shared_ptr<Device>(impl->cpu);
  }
  DECANT_ASSIGN(const int ordinal, cudaOrdinal(name));
  std::lock_guard<std::mutex> guard(impl->mutex);
  if (!impl->driver) {
    DECANT_ASSIGN(impl->driver, loadCudaDriver(impl->options.cudaLibrary));
  }
  return openCudaDevice(impl->driver, ordinal);
}

Expected<KernelImage> Engine::image(const DecodeSpec &spec,
                                    const CompileOptions &options,
                                    ImageReport *report) {
  ImageReport local;
  ImageReport &facts = report ? *report : local;
  facts = ImageReport();
  facts.kernels = options.kernels;
  return impl->images.compiled(spec, options, facts);
}

Expected<KernelImage> Engine::image(const DecodeSpec &spec,
                                    const CompileOptions &options,
                                    const Device &device, ImageReport *report) {
  ImageReport local;
  ImageReport &facts = report ? *report : local;
  facts = ImageReport();
  facts.kernels = options.kernels;
  return impl->images.loadable(spec, options, device, facts);
}

Expected<RecordLookup> Engine::tuningOf(const DecodeSpec &spec,
                                        const Device &device) {
  return impl->tuned.find(spec, device);
}
