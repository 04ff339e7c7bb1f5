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
#include "TunedSchedules.h"
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

  TunedSchedules tuned{options.records};
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
  const VariantPlan tuned =
      impl->tuned.plan(spec, *device, impl->options.variants, facts.tuning);
  auto program = prepareWith(spec, device, chosen.target, tuned, facts);
  if (program || !facts.tuning.found)
    return program;
  // A record of another driver or build: what was fast there may spill here.
  facts.tuning.found = false;
  facts.tuning.schedules.clear();
  facts.tuning.notes.push_back(
      fmt::format("{}: {}", facts.tuning.source, program.status().message()));
  return prepareWith(spec, std::move(device), chosen.target, VariantPlan(),
                     facts);
}

Expected<std::unique_ptr<Program>>
Engine::prepareWith(const DecodeSpec &spec, std::shared_ptr<Device> device,
                    const TargetInfo &target, const VariantPlan &plan,
                    PrepareReport &facts) {
  // The first variant, transfers, then further variants.
  const size_t variants = plan.schedules.size();
  facts.images.assign(variants + 1, ImageReport());
  auto make = [&](size_t index) {
    CompileOptions own;
    own.target = target;
    own.order = plan.order;
    own.kernels = index == 1 ? KernelSet::Transfer : KernelSet::Decode;
    if (index != 1) // transfers have their own schedules
      own.schedule = plan.schedules[index == 0 ? 0 : index - 1];
    facts.images[index].kernels = own.kernels;
    return impl->images.loadable(spec, own, *device, facts.images[index]);
  };
  Stopwatch making;
  // By default std::async falls back to this thread where no other is to be
  // had. A future's destructor waits.
  std::vector<std::future<Expected<KernelImage>>> others;
  for (size_t index = 1; index <= variants; ++index)
    others.push_back(std::async([&make, index] { return make(index); }));
  std::vector<Expected<KernelImage>> made = {make(0)};
  for (auto &other : others)
    made.push_back(other.get());
  ProgramImages images;
  images.rules = plan.rules;
  for (size_t index = 0; index <= variants; ++index)
    if (index != 1) {
      DECANT_ASSIGN(KernelImage decode, std::move(made[index]));
      images.decode.push_back(std::move(decode));
    }
  // A rule that carries vectors beside its state has no transfer kernels.
  if (images.decode.front().layout.record.carried > 0) {
    facts.images.erase(facts.images.begin() + 1);
  } else {
    DECANT_ASSIGN(images.transfer, std::move(made[1]));
  }
  facts.imagesMs = making.milliseconds();
  facts.warnings = impl->images.takeWarnings();

  Stopwatch loading;
  LoadOptions load;
  load.spills = SpillPolicy::Refuse;
  auto program = Program::create(std::move(device), std::move(images), load);
  facts.loadMs = loading.milliseconds();
  impl->loads += program.ok();
  return program;
}
