//===- Engine.cpp - spec in, ready program out ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Engine.h"

#include "CpuDevice.h"
#include "ImageStore.h"
#include "Stopwatch.h"
#include "decant/Runtime/Cuda.h"
#include "decant/Runtime/DeviceTarget.h"

#include <charconv>
#include <fmt/format.h>
#include <future>

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

/// A capture records launches; what compiles and loads would break it, or be
/// done again with each replay.
Status checkNoCapture(const DecodeSpec &spec, const Device &device,
                      StreamHandle stream) {
  DECANT_ASSIGN(const bool capturing, device.isCapturing(stream));
  if (!capturing)
    return {};
  const HeadShape &heads = spec.heads;
  return Status::invalid(fmt::format(
      "{} ({} value heads of {} x {}, window {}, {} tokens per step): found {} "
      "being captured; allowed: to prepare before a capture, since kernels are "
      "compiled and loaded",
      spec.name, heads.value, heads.keyDim, heads.valueDim, spec.window.length,
      spec.tokensPerStep,
      stream ? fmt::format("stream {}", stream)
             : "a stream that waits for the default one"));
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

struct Engine::Impl {
  Impl(EngineOptions given, ImageSource source)
      : options(std::move(given)), images(options, std::move(source)) {}

  EngineOptions options;
  ImageStore images;
  std::atomic<int64_t> loads{0};

  std::mutex mutex; // of the two below
  std::shared_ptr<CpuDevice> cpu;
  std::shared_ptr<const CudaDriver> driver;
};

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
  return Engine(std::make_unique<Impl>(std::move(options), std::move(source)));
}

const EngineOptions &Engine::options() const { return impl->options; }

EngineCounters Engine::counters() const {
  EngineCounters result = impl->images.counters();
  result.loads = impl->loads;
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

Expected<std::unique_ptr<Program>>
Engine::prepare(const DecodeSpec &spec, std::shared_ptr<Device> device,
                PrepareReport *report, StreamHandle stream) {
  PrepareReport local;
  PrepareReport &facts = report ? *report : local;
  facts = PrepareReport();
  if (!device)
    return Status::invalid("argument \"device\" is null");

  DECANT_TRY(checkNoCapture(spec, *device, stream));

  DECANT_ASSIGN(const DeviceTarget chosen, targetOf(device->info()));
  facts.target = chosen.target.name;
  facts.targetNote = chosen.note;
  CompileOptions options;
  options.target = chosen.target;
  facts.images.resize(2);
  auto make = [&](size_t index, KernelSet kernels) {
    CompileOptions own = options;
    own.kernels = facts.images[index].kernels = kernels;
    return impl->images.loadable(spec, own, *device, facts.images[index]);
  };
  Stopwatch making;
  // By default std::async falls back to this thread where no other is to be
  // had. The future's destructor waits.
  auto other = std::async([&make] { return make(1, KernelSet::Transfer); });
  DECANT_ASSIGN(KernelImage decode, make(0, KernelSet::Decode));
  Expected<KernelImage> moving = other.get();
  // A rule that carries vectors beside its state has no transfer kernels.
  std::optional<KernelImage> transfer;
  if (decode.layout.record.carried > 0) {
    facts.images.pop_back();
  } else {
    DECANT_ASSIGN(transfer, std::move(moving));
  }
  facts.imagesMs = making.milliseconds();
  facts.warnings = impl->images.takeWarnings();

  Stopwatch loading;
  LoadOptions load;
  load.spills = SpillPolicy::Refuse;
  auto program = Program::create(std::move(device), std::move(decode),
                                 std::move(transfer), load);
  facts.loadMs = loading.milliseconds();
  impl->loads += program.ok();
  return program;
}
