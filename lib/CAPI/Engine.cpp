//===- Engine.cpp - engines in C ------------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Handles.h"

#include <fmt/format.h>

using namespace decant;
using namespace decant::capi;

const char *DecantEngine::keep(const std::string &text) {
  if (text.empty())
    return nullptr;
  std::lock_guard<std::mutex> guard(mutex);
  return texts.insert(text).first->c_str();
}

namespace {

Status setVariants(int32_t given, EngineOptions &options) {
  switch (given) {
  case DECANT_VARIANTS_DEFAULT:
    return {};
  case DECANT_VARIANTS_BY_BATCH:
    options.variants = VariantChoice::ByBatch;
    return {};
  case DECANT_VARIANTS_ONE:
    options.variants = VariantChoice::One;
    return {};
  case DECANT_VARIANTS_FIXED:
    options.variants = VariantChoice::Fixed;
    return {};
  default:
    return Status::invalid(fmt::format(
        "argument \"options.variants\" is {}; a value of DecantVariants, {} to "
        "{}, is allowed",
        given, int(DECANT_VARIANTS_DEFAULT), int(DECANT_VARIANTS_FIXED)));
  }
}

Status setTune(int32_t given, EngineOptions &options) {
  switch (given) {
  case DECANT_TUNE_DEFAULT:
    return {};
  case DECANT_TUNE_NEVER:
    options.tune = TunePolicy::Never;
    return {};
  case DECANT_TUNE_IF_MISSING:
    options.tune = TunePolicy::IfMissing;
    return {};
  default:
    return Status::invalid(fmt::format(
        "argument \"options.tune\" is {}; a value of DecantTune, {} to {}, is "
        "allowed",
        given, int(DECANT_TUNE_DEFAULT), int(DECANT_TUNE_IF_MISSING)));
  }
}

Expected<EngineOptions> convert(const DecantEngineOptions *given) {
  EngineOptions result = EngineOptions::fromEnvironment();
  if (!given)
    return result;
  DecantEngineOptions options;
  DECANT_TRY(readSized("options", given, options));
  result.threads = options.threads;
  DECANT_TRY(setVariants(options.variants, result));
  DECANT_TRY(setTune(options.tune, result));
  if (options.packs)
    result.packs = foldersIn(options.packs);
  if (options.cache_bytes < -1)
    return Status::invalid(fmt::format(
        "argument \"options.cache_bytes\" is {}; bytes, 0 (the default) and -1 "
        "(no limit) are allowed",
        options.cache_bytes));
  if (options.cache_bytes != 0)
    result.cacheBytes = options.cache_bytes < 0 ? 0 : options.cache_bytes;
  if (options.cache_layers)
    result.cacheLayers = foldersIn(options.cache_layers);
  switch (options.cache_mode) {
  case DECANT_CACHE_DISK:
    if (!options.cache_folder)
      return result;
    result.cacheMode = CacheMode::Disk;
    result.cacheFolder = options.cache_folder;
    return result;
  case DECANT_CACHE_MEMORY:
    result.cacheMode = CacheMode::Memory;
    break;
  case DECANT_CACHE_OFF:
    result.cacheMode = CacheMode::Off;
    break;
  default:
    return Status::invalid(fmt::format(
        "argument \"options.cache_mode\" is {}; DECANT_CACHE_DISK ({}), "
        "DECANT_CACHE_MEMORY ({}) and DECANT_CACHE_OFF ({}) are allowed",
        options.cache_mode, int(DECANT_CACHE_DISK), int(DECANT_CACHE_MEMORY),
        int(DECANT_CACHE_OFF)));
  }
  for (auto [name, value] : {std::pair("cache_folder", options.cache_folder),
                             std::pair("cache_layers", options.cache_layers)})
    if (value)
      return Status::invalid(
          fmt::format("argument \"options.{}\" is \"{}\"; null is expected, "
                      "since cache_mode {} keeps nothing on disk",
                      name, value, options.cache_mode));
  result.cacheLayers.clear();
  result.cacheFolder.clear();
  return result;
}

DecantPrepareReport convert(const PrepareReport &facts, DecantEngine &engine) {
  DecantPrepareReport values = {};
  values.warm = facts.warm();
  values.lookup_ms = facts.lookupMs();
  values.compile_ms = facts.compileMs();
  values.load_ms = facts.loadMs;
  values.link_ms = facts.linkMs();
  values.target = engine.keep(facts.target);
  values.target_note = engine.keep(facts.targetNote);
  values.total_ms = facts.totalMs();
  for (const ImageReport &image : facts.images)
    if (!image.pack.empty() && !values.pack)
      values.pack = engine.keep(image.pack);
  values.schedules_from = engine.keep(facts.tuning.source);
  values.tuned = facts.tuning.tuned;
  for (const ImageReport &image : facts.images)
    if ((image.compiled || image.linked) && !values.miss_reason)
      values.miss_reason = engine.keep(image.missReason);
  values.warning =
      engine.keep(fmt::format("{}", fmt::join(facts.warnings, "\n")));
  return values;
}

} // namespace

extern "C" {

DecantStatus decantEngineCreate(const DecantEngineOptions *options,
                                DecantEngine **engine) {
  return guarded([&]() -> Status {
    if (!engine)
      return nullArgument("engine");
    *engine = nullptr;
    DECANT_ASSIGN(EngineOptions converted, convert(options));
    DECANT_ASSIGN(Engine made, Engine::create(std::move(converted)));
    *engine = new DecantEngine(std::move(made));
    return {};
  });
}

void decantEngineDestroy(DecantEngine *engine) { delete engine; }

DecantStatus decantEngineOpenDevice(DecantEngine *engine, const char *name,
                                    DecantDevice **device) {
  return guarded([&]() -> Status {
    if (!device)
      return nullArgument("device");
    *device = nullptr;
    if (!engine)
      return nullArgument("engine");
    if (!name)
      return nullArgument("name");
    DECANT_ASSIGN(auto opened, engine->engine.openDevice(name));
    *device = new DecantDevice{std::move(opened)};
    return {};
  });
}

DecantStatus decantEnginePrepare(DecantEngine *engine, const DecantSpec *spec,
                                 const DecantDevice *device,
                                 DecantPrepareReport *report,
                                 DecantProgram **program) {
  return decantEnginePrepareForStream(engine, spec, device, nullptr, report,
                                      program);
}

DecantStatus decantEnginePrepareForStream(
    DecantEngine *engine, const DecantSpec *spec, const DecantDevice *device,
    void *stream, DecantPrepareReport *report, DecantProgram **program) {
  return guarded([&]() -> Status {
    if (!program)
      return nullArgument("program");
    *program = nullptr;
    if (!engine)
      return nullArgument("engine");
    if (!spec)
      return nullArgument("spec");
    if (!device)
      return nullArgument("device");
    // Before the work, so that a refused call has done none.
    if (report && !knowsSize<DecantPrepareReport>(report->struct_size))
      return wrongSize("report", report->struct_size, sizeof(*report));
    PrepareReport facts;
    DECANT_ASSIGN(auto made, engine->engine.prepare(spec->spec, device->device,
                                                    &facts, stream));
    // The handle exists before the report says so.
    auto handle = std::make_unique<DecantProgram>();
    handle->program = std::move(made);
    if (report)
      DECANT_TRY(writeSized("report", convert(facts, *engine), report));
    *program = handle.release();
    return {};
  });
}

DecantStatus decantEngineGetCounters(const DecantEngine *engine,
                                     DecantEngineCounters *counters) {
  return guarded([&]() -> Status {
    if (!engine)
      return nullArgument("engine");
    const EngineCounters facts = engine->engine.counters();
    DecantEngineCounters values = {};
    values.compiles = facts.compiles;
    values.links = facts.links;
    values.loads = facts.loads;
    values.memory_hits = facts.cache.memoryHits;
    values.disk_hits = facts.cache.diskHits;
    values.misses = facts.cache.misses;
    values.layer_hits = facts.cache.layerHits;
    values.stores = facts.cache.stores;
    values.adopted = facts.cache.adopted;
    values.quarantined = facts.cache.quarantined;
    values.evicted = facts.cache.evicted;
    values.packed = facts.packed;
    values.tunings = facts.tunings;
    return writeSized("counters", values, counters);
  });
}

} // extern "C"
