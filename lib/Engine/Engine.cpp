//===- Engine.cpp - spec in, ready program out ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Engine.h"

#include "CpuDevice.h"
#include "Target/EmitObject.h"
#include "decant/Runtime/Cuda.h"

#include <charconv>
#include <chrono>
#include <fmt/format.h>
#include <future>

using namespace decant;

namespace {

class Stopwatch {
public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start)
        .count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

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

/// One lock per key, so that of several threads that want the same image one
/// compiles it and the others find it.
class KeyLocks {
public:
  std::shared_ptr<std::mutex> of(const std::string &key) {
    std::lock_guard<std::mutex> guard(mutex);
    std::weak_ptr<std::mutex> &slot = locks[key];
    std::shared_ptr<std::mutex> lock = slot.lock();
    if (!lock)
      slot = lock = std::make_shared<std::mutex>();
    return lock;
  }

private:
  std::mutex mutex;
  std::unordered_map<std::string, std::weak_ptr<std::mutex>> locks;
};

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
    if (image.compiled)
      return false;
  return true;
}

double PrepareReport::lookupMs() const {
  double sum = 0;
  for (const ImageReport &image : images)
    sum += image.lookupMs;
  return sum;
}

double PrepareReport::compileMs() const {
  double sum = 0;
  for (const ImageReport &image : images)
    sum += image.compileMs;
  return sum;
}

Expected<TargetInfo> decant::targetFor(const Device &device) {
  const DeviceInfo &info = device.info();
  if (info.kind == TargetKind::Cpu)
    return lookupTarget("x86-64");
  return targetForDevice(info.computeMajor, info.computeMinor);
}

struct Engine::Impl {
  Impl(EngineOptions given, ImageSource source)
      : options(std::move(given)), source(std::move(source)),
        cache(cacheOptions(options)) {}

  static CacheOptions cacheOptions(const EngineOptions &options) {
    CacheOptions result;
    result.compiler = compilerVersion();
    if (options.cacheMode == CacheMode::Disk)
      result.root = options.cacheFolder;
    if (options.cacheMode != CacheMode::Off)
      result.layers = options.cacheLayers;
    result.maxBytes = options.cacheBytes;
    return result;
  }

  EngineOptions options;
  ImageSource source;
  KernelCache cache;
  KeyLocks locks;

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
CacheCounters Engine::cacheCounters() const { return impl->cache.counters(); }

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

  const bool cached = impl->options.cacheMode != CacheMode::Off;
  const std::string key = cacheKey(spec, options);
  std::shared_ptr<std::mutex> lock = impl->locks.of(key);
  std::unique_lock<std::mutex> guard(*lock, std::defer_lock);
  CacheClaim claim;
  facts.missReason = "the cache is off";
  if (cached) {
    guard.lock();
    Stopwatch lookup;
    CacheLookup found = impl->cache.lookup(key);
    if (!found.image) {
      claim = impl->cache.claim(key);
      if (claim.lookAgain)
        found = impl->cache.lookup(key);
    }
    facts.lookupMs = lookup.milliseconds();
    if (found.image) {
      facts.missReason.clear();
      KernelImage image = *found.image;
      image.specName = spec.name; // the key does not tell equal specs apart
      return image;
    }
    facts.missReason = toString(found.reason);
    if (!found.detail.empty())
      facts.missReason += ": " + found.detail;
  }
  facts.compiled = true;
  Stopwatch compiling;
  Expected<KernelImage> image = impl->source(spec, options, &facts.stages);
  facts.compileMs = compiling.milliseconds();
  if (image && cached) {
    KernelImage kept = *impl->cache.store(key, *image);
    kept.specName = spec.name;
    return kept;
  }
  return image;
}

Expected<std::unique_ptr<Program>>
Engine::prepare(const DecodeSpec &spec, std::shared_ptr<Device> device,
                PrepareReport *report) {
  PrepareReport local;
  PrepareReport &facts = report ? *report : local;
  facts = PrepareReport();
  if (!device)
    return Status::invalid("argument \"device\" is null");

  CompileOptions options;
  DECANT_ASSIGN(options.target, targetFor(*device));
  facts.images.resize(2);
  Stopwatch making;
  // By default std::async falls back to this thread where no other is to be
  // had. The future's destructor waits.
  options.kernels = KernelSet::Transfer;
  auto other = std::async([this, &spec, &facts, options] {
    return image(spec, options, &facts.images[1]);
  });
  options.kernels = KernelSet::Decode;
  DECANT_ASSIGN(KernelImage decode, image(spec, options, &facts.images[0]));
  Expected<KernelImage> moving = other.get();
  // A rule that carries vectors beside its state has no transfer kernels.
  std::optional<KernelImage> transfer;
  if (decode.layout.record.carried > 0) {
    facts.images.pop_back();
  } else {
    DECANT_ASSIGN(transfer, std::move(moving));
  }
  facts.imagesMs = making.milliseconds();
  facts.warnings = impl->cache.takeWarnings();

  Stopwatch loading;
  LoadOptions load;
  load.spills = SpillPolicy::Refuse;
  auto program = Program::create(std::move(device), std::move(decode),
                                 std::move(transfer), load);
  facts.loadMs = loading.milliseconds();
  return program;
}
