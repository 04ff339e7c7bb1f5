//===- Engine.h - spec in, ready program out ------------------ -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a spec and a device. Out: a Program. The engine ties packs, cache,
// compiler and devices together and decides nothing about kernels itself:
//
//   which schedules    a tuning record, the user's, the site's or a built-in
//                      one (of another build: not where it takes a compile and
//                      a pack has kernels); else the picks of a pack; else,
//                      where that is allowed, what tuning finds now; else the
//                      usual one
//   whose images       a pack that has them; else the cache; else the compiler
//
// Nothing is global: two engines in one process do not meet. One engine may be
// used from several threads at once; of those that ask for the same kernels,
// one compiles, and of processes that share a cache folder too. Devices and
// programs may outlive their engine.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_ENGINE_H
#define DECANT_ENGINE_H

#include "decant/Compiler/Compiler.h"
#include "decant/Runtime/KernelCache.h"
#include "decant/Runtime/Program.h"
#include "decant/Tune/RecordStore.h"

#include <functional>

namespace decant {

/// Where compiled kernels are kept.
enum class CacheMode {
  Disk,   // in memory, and in cacheFolder for other processes
  Memory, // as long as the engine lives
  Off,    // nowhere: every prepare compiles
};

/// Room for the kernels of some thousand layers.
constexpr int64_t kDefaultCacheBytes = int64_t(2) << 30;

/// Which kernels a batch gets. Variants form sums in different orders, so their
/// outputs differ in the last bits.
enum class VariantChoice {
  ByBatch, // the fastest for its size, by a tuning record or a pack
  One,     // one for all sizes: outputs do not depend on the size
  Fixed,   // the usual one, or a pack's one for any size: nor on what was tuned
           // where; no record is looked at
};

/// Whether prepare() may tune where neither a record nor a pack says what to
/// run. It takes a minute, so it is the host's to allow.
enum class TunePolicy {
  Never,
  IfMissing, // once for a spec and a class of devices: of all processes that
             // share the user's records one tunes, and the others take what it
             // has found
};

struct EngineOptions {
  CacheMode cacheMode = CacheMode::Memory;
  std::string cacheFolder; // with CacheMode::Disk
  /// Folders of the same form that are looked into after cacheFolder and never
  /// written, in this order: a site's, and one that came with an installation.
  std::vector<std::string> cacheLayers;
  /// The most that cacheFolder may hold; what was unused for longest goes. 0 is
  /// no limit.
  int64_t cacheBytes = kDefaultCacheBytes;
  /// Threads that run blocks on the CPU device, the caller's among them; 0 is
  /// one per processor, 16 at most. Results do not depend on it.
  int threads = 0;
  std::string cudaLibrary = "libcuda.so.1";
  /// Where prepare() looks for what a tuner found; by default, nowhere but in
  /// the records that are built in.
  RecordFolders records;
  VariantChoice variants = VariantChoice::ByBatch;
  /// Files of `decant compile --pack` that are looked into before the cache, in
  /// this order; create() opens them.
  std::vector<std::string> packs;
  /// IfMissing needs records.user, where what is found is kept.
  TunePolicy tune = TunePolicy::Never;
  double tuneSeconds = 60; // no further candidate is begun after these

  /// The one place where Decant reads the environment:
  ///   DECANT_CACHE_DIR   the cache folder, if set and not empty; else
  ///   XDG_CACHE_HOME     + "/decant", if an absolute path; else
  ///   HOME               + "/.cache/decant", if set and not empty; else
  ///                      kernels are kept in memory only;
  ///   DECANT_CACHE_PATH  cacheLayers, with colons between them;
  ///   DECANT_CACHE_LIMIT cacheBytes, as "512M";
  ///   DECANT_TUNING_DIR  the user's tuning records, if set and not empty; else
  ///   XDG_CONFIG_HOME    + "/decant/tuning", if an absolute path; else
  ///   HOME               + "/.config/decant/tuning", if set and not empty;
  ///   DECANT_SITE_TUNING_DIR  the site's, or /etc/decant/tuning;
  ///   DECANT_VARIANTS    variants: by_batch, one or fixed;
  ///   DECANT_PACKS       packs, with colons between them;
  ///   DECANT_TUNE        tune: never or if_missing.
  static EngineOptions fromEnvironment();
  /// What is wrong with a variable; Engine::create gives it back.
  Status environment;
};

/// The paths of a list with colons between them, without empty ones.
std::vector<std::string> foldersIn(const std::string &list);

/// Where one image came from, and how long that took.
struct ImageReport {
  KernelSet kernels = KernelSet::Decode;
  std::string pack;       // the file that it came from; else empty
  bool compiled = false;  // by the compiler
  bool linked = false;    // PTX to machine code, by the driver
  std::string missReason; // why one of them: what the cache lacked
  double lookupMs = 0;    // waiting for another process's work included
  double compileMs = 0;
  double linkMs = 0;
  CompileTimes stages; // of compileMs
};

/// Where a program's schedules came from.
struct TuningReport {
  bool found = false;                 // a record was there and served
  bool tuned = false;                 // it was made just now, by this engine
  double tuneMs = 0;                  // or waiting for one who makes it
  std::string source;                 // whose record, and its file; or a pack's
  std::vector<std::string> schedules; // of the program's variants
  /// Of a record that served: what differs from here ("driver 580.95 in the
  /// record, 580.159 here"). Else why no record did.
  std::vector<std::string> notes;
};

struct PrepareReport {
  TuningReport tuning;
  std::vector<ImageReport> images; // made at the same time
  double imagesMs = 0;             // until the last of them was there
  double loadMs = 0;               // onto the device
  std::string target;              // that the kernels are for
  /// Why that is not the device's own target, empty where it is: a device that
  /// this build does not know, or a driver that does not read its PTX.
  std::string targetNote;
  /// What a user should know, one line each: why kernels are not kept on disk
  /// (said once), each bad entry of the cache, default kernels that spilled.
  std::vector<std::string> warnings;

  /// Whether everything was in the cache.
  bool warm() const;
  double lookupMs() const { return sum(&ImageReport::lookupMs); }
  double compileMs() const { return sum(&ImageReport::compileMs); }
  double linkMs() const { return sum(&ImageReport::linkMs); }
  double totalMs() const { return imagesMs + loadMs; }

private:
  double sum(double ImageReport::*member) const;
};

/// What an engine has done since it was made. None of it grows while a host
/// that is warm decodes, whatever batches come: that is how it proves it.
struct EngineCounters {
  int64_t compiles = 0; // images that the compiler made, or failed to
  int64_t links = 0;    // images that the driver made machine code of
  int64_t loads = 0;    // programs loaded onto a device
  int64_t packed = 0;   // images read from packs
  int64_t tunings = 0;  // searches for schedules
  CacheCounters cache;
};

/// What makes images: the compiler, or whatever stands in for it.
using ImageSource = std::function<Expected<KernelImage>(
    const DecodeSpec &, const CompileOptions &, CompileTimes *)>;

/// The target that `device` runs best.
Expected<TargetInfo> targetFor(const Device &device);

struct VariantPlan; // TunedSchedules.h

class Engine {
public:
  static Expected<Engine> create(EngineOptions options,
                                 ImageSource source = compile);
  Engine(Engine &&) noexcept;
  Engine &operator=(Engine &&) noexcept;
  ~Engine();

  /// "cpu" or "cuda:N".
  Expected<std::shared_ptr<Device>> openDevice(const std::string &name);

  /// The image that `options` ask for, from the cache or the compiler.
  Expected<KernelImage> image(const DecodeSpec &spec,
                              const CompileOptions &options,
                              ImageReport *report = nullptr);
  /// The same as `device` loads it fastest, which is also what prepare() loads:
  /// its own machine code, made by the driver and kept as well.
  Expected<KernelImage> image(const DecodeSpec &spec,
                              const CompileOptions &options,
                              const Device &device,
                              ImageReport *report = nullptr);

  /// Decode and transfer kernels, loaded on `device`; no transfer kernels where
  /// the rule carries vectors beside its state. What a record, a pack or tuning
  /// said and does not load here gives way to the next, and the report says so.
  /// Default kernels that spill registers give way to those of fewer blocks per
  /// SM. A GPU kernel that spills is refused, and so is the whole call while
  /// `stream`, which the host is going to use, is being captured.
  Expected<std::unique_ptr<Program>> prepare(const DecodeSpec &spec,
                                             std::shared_ptr<Device> device,
                                             PrepareReport *report = nullptr,
                                             StreamHandle stream = nullptr);

  const EngineOptions &options() const;
  EngineCounters counters() const;

  /// The record that prepare() would use, by the folders as they were when the
  /// engine first looked.
  Expected<RecordLookup> tuningOf(const DecodeSpec &spec, const Device &device);

private:
  Expected<std::unique_ptr<Program>>
  prepareTuned(const DecodeSpec &spec, std::shared_ptr<Device> device,
               const TargetInfo &target, PrepareReport &facts);
  Expected<std::unique_ptr<Program>>
  preparePacked(const DecodeSpec &spec, std::shared_ptr<Device> device,
                const TargetInfo &target, PrepareReport &facts);
  Status tune(const DecodeSpec &spec, std::shared_ptr<Device> device,
              const TargetInfo &target, PrepareReport &facts);
  Expected<std::unique_ptr<Program>>
  prepareDefault(const DecodeSpec &spec, std::shared_ptr<Device> device,
                 const TargetInfo &target, PrepareReport &facts);
  Expected<std::unique_ptr<Program>>
  prepareWith(const DecodeSpec &spec, std::shared_ptr<Device> device,
              const TargetInfo &target, const VariantPlan &plan,
              SpillPolicy spills, PrepareReport &facts);

  struct Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace decant

#endif // DECANT_ENGINE_H
