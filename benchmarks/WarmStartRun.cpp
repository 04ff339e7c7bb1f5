//===- WarmStartRun.cpp - one process, from a pack to a launch ------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarmStart.h"

#include "ZeroLayer.h"
#include "decant/Runtime/Cuda.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

using namespace decant;
using namespace decant::bench;

namespace {

/// How often a serving host waits for its device here.
constexpr int64_t kStepsPerWait = 64;
constexpr uint64_t kSeed = 1;

class Laps {
public:
  explicit Laps(int64_t start) : last(start) {}
  double milliseconds() {
    const int64_t now = nowNanoseconds();
    const double lap = double(now - last) / 1e6;
    last = now;
    return lap;
  }

private:
  int64_t last;
};

/// Each image of the choice on its own, behind the measurement.
Expected<Json> loadOneByOne(const Pack &pack, const PackChoice &choice,
                            Device &device) {
  std::vector<int> variants = choice.decode;
  if (choice.transfer >= 0)
    variants.push_back(choice.transfer);
  Json list = Json::array();
  for (int variant : variants) {
    const PackVariant &facts = pack.index().variants[size_t(variant)];
    DECANT_ASSIGN(KernelImage image, pack.image(variant));
    const size_t count = image.entries.size();
    Laps laps(nowNanoseconds());
    DECANT_ASSIGN(const auto loaded, device.load(std::move(image)));
    list.push_back({{"kernels", toString(facts.kernels)},
                    {"code_kind", toString(facts.kind)},
                    {"schedule", facts.schedule},
                    {"bytes", pack.index().bytesOf(variant)},
                    {"count", count},
                    {"ms", laps.milliseconds()}});
  }
  return list;
}

/// A graph for each power of two of rows up to `batch`, as engines keep them.
Expected<std::vector<CudaGraph>> captureSteps(const Program &program,
                                              const ZeroLayer &layer,
                                              StreamHandle stream,
                                              int64_t batch) {
  std::vector<CudaGraph> graphs;
  for (int64_t rows = 1; rows <= batch; rows *= 2) {
    DECANT_ASSIGN(CudaGraph graph,
                  CudaGraph::capture(program.device(), stream, [&] {
                    return layer.step(program, rows, stream);
                  }));
    graphs.push_back(std::move(graph));
  }
  return Expected<std::vector<CudaGraph>>(std::move(graphs));
}

/// Batches as they come and go: every power of two is as likely as the next.
Expected<Json> serveSteps(const Pack &pack, const Program &program,
                          const ZeroLayer &layer,
                          const WarmStartOptions &options, int64_t steps) {
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<double> exponent(
      0, std::log2(double(options.batch) + 1));
  Device &device = program.device();
  DECANT_ASSIGN(const StreamHandle stream, device.createStream());
  const PackCounters before = pack.counters();
  std::vector<CudaGraph> graphs;
  if (options.graphs) {
    DECANT_ASSIGN(graphs, captureSteps(program, layer, stream, options.batch));
  }
  std::vector<int64_t> used(size_t(program.variantCount()));
  Laps laps(nowNanoseconds());
  for (int64_t i = 0; i < steps; ++i) {
    const double power = exponent(random);
    int64_t rows =
        std::clamp(int64_t(std::exp2(power)), int64_t(1), options.batch);
    if (options.graphs) {
      DECANT_TRY(graphs[size_t(power)].launch(stream));
      rows = int64_t(1) << int(power);
    } else {
      DECANT_TRY(layer.step(program, rows, stream));
    }
    ++used[size_t(variantForRows(program.rules(), rows))];
    if (i % kStepsPerWait == 0)
      DECANT_TRY(device.synchronize(stream));
  }
  DECANT_TRY(device.synchronize(stream));
  const double us = laps.milliseconds() * 1e3 / double(steps);
  DECANT_TRY(device.destroyStream(stream));
  const PackCounters after = pack.counters();
  return Json{{"steps", steps},
              {"batch", options.batch},
              {"graphs", graphs.size()},
              {"step_us", us},
              {"rules", toString(program.rules())},
              {"steps_by_variant", used},
              {"images_read", after.images - before.images},
              {"bytes_read", after.bytes - before.bytes},
              {"images_loaded", after.loads - before.loads}};
}

} // namespace

int64_t decant::bench::nowNanoseconds() {
  // Linux's monotonic clock: of the machine, not of the process.
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Expected<Json> decant::bench::warmStart(const WarmStartOptions &options,
                                        int64_t asked, int64_t started,
                                        int64_t serve) {
  Json ms = Json::object();
  ms["process"] = double(started - asked) / 1e6;
  Laps laps(started);
  DECANT_ASSIGN(const auto device, openWarmDevice(options.device));
  ms["device"] = laps.milliseconds();
  DECANT_ASSIGN(const auto pack, Pack::open(options.pack));
  ms["open"] = laps.milliseconds();
  PackQuery query = options.query;
  PackReport facts;
  DECANT_ASSIGN(const auto program,
                programFromPack(*pack, device, query, LoadOptions(), &facts));
  const double made = laps.milliseconds();
  ms["read"] = facts.readMs;
  ms["load"] = facts.loadMs;
  DECANT_ASSIGN(const ZeroLayer layer,
                ZeroLayer::create(device, *program, options.batch));
  ms["memory"] = laps.milliseconds();
  DECANT_TRY(layer.step(*program, options.batch, nullptr));
  DECANT_TRY(device->synchronize(nullptr));
  const double first = laps.milliseconds();
  ms["first step"] = first;
  DECANT_TRY(layer.step(*program, options.batch, nullptr));
  DECANT_TRY(device->synchronize(nullptr));
  ms["second step"] = laps.milliseconds();
  // A host has its device and its memory already.
  ms["pack to first step"] = ms["open"].get<double>() + made + first;

  Json report = {
      {"pack", options.pack},          {"spec", program->info().specName},
      {"device", options.device},      {"device_name", device->info().name},
      {"target", facts.choice.target}, {"note", facts.choice.note},
      {"bytes", facts.bytes},          {"batch", options.batch}};
  report["ms"] = std::move(ms);
  if (serve > 0) {
    DECANT_ASSIGN(report["serve"],
                  serveSteps(*pack, *program, layer, options, serve));
  } else {
    report["serve"] = nullptr;
    DECANT_ASSIGN(report["images"], loadOneByOne(*pack, facts.choice, *device));
  }
  return report;
}
