//===- DeviceCheck.cpp - does a device compute what the CPU target computes?
//===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// decant-device-check: for GDN and KDA, state formats, windows and batches,
// runs the same tokens on the CPU target and on a device, and compares outputs,
// decoded states, unpacked states, untouched bytes and graph replays. Prints a
// table; exits 1 when a bound (agreementBound) is not met. `decant bench`
// tells how long steps take.
//
//===----------------------------------------------------------------------===//

#include "Bench/Agreement.h"
#include "decant/Engine.h"
#include "decant/Runtime/Cuda.h"
#include "decant/Spec/SpecReader.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>

using namespace decant;
using namespace decant::bench;

namespace {

/// Rows whose states are decoded.
constexpr int kStates = 16;
constexpr int64_t kBeyondInt32 = int64_t(1) << 31;

struct Format {
  std::string name;
  std::vector<std::string> overrides;
};

const std::vector<Format> kFormats = {
    {"f32", {"state.codes=f32", "window.compensators=0"}},
    {"bf16", {"state.codes=bf16", "window.compensators=0"}},
    {"leap8", {}},
    {"leap6", {"preset=leapquant-int6"}},
    {"leap4", {"preset=leapquant-int4"}},
    {"leap2", {"preset=leapquant-int4", "state.codes=int2"}},
};

struct Options {
  std::string device = "cuda:0";
  std::vector<int64_t> batches = {1, 7, 64, 512};
  std::vector<std::string> models = {"gdn", "kda"},
                           formats = {"f32", "bf16", "leap8"};
  std::vector<int> windows = {1, 16};
  std::vector<std::string> overrides; // of every spec, after the format's
  int tokens = 20, repeats = 0;
  int keyHeads = 16, valueHeads = 32;
  std::string order; // of codes; the default when empty
  bool check = false, graph = false;
};

struct Case {
  std::string model, format;
  int window;
  int64_t batch;
};

struct Result {
  double output = 0, state = 0, unpacked = 0, flushed = 0;
  std::string graph = "-", repeats = "-", verdict = "ok";
};

Expected<DecodeSpec> specOf(const Case &c, const Options &options) {
  SpecSource source;
  source.spec = "bytelm-" + c.model;
  source.overrides = {"preset=" + c.format}; // a method's own name
  for (const Format &format : kFormats)
    if (format.name == c.format)
      source.overrides = format.overrides;
  source.overrides.push_back("window.length=" + std::to_string(c.window));
  source.overrides.push_back(
      fmt::format("heads.key={}",
                  c.model == "gdn" ? options.keyHeads : options.valueHeads));
  source.overrides.push_back(fmt::format("heads.value={}", options.valueHeads));
  source.overrides.insert(source.overrides.end(), options.overrides.begin(),
                          options.overrides.end());
  return readSpec(source);
}

class Checker {
public:
  Checker(Engine &engine, std::shared_ptr<Device> cpu,
          std::shared_ptr<Device> device, const Options &options)
      : engine(engine), cpu(cpu), device(device), options(options) {}

  Expected<Result> run(const Case &c) {
    DECANT_ASSIGN(DecodeSpec spec, specOf(c, options));
    Result result;
    DECANT_ASSIGN(std::unique_ptr<Program> tested, prepare(spec, device));
    resources = tested->resources();
    if (options.check) {
      DECANT_ASSIGN(std::unique_ptr<Program> expected, prepare(spec, cpu));
      DECANT_TRY(compare(c, spec, *expected, *tested, result));
    }
    if (options.graph)
      DECANT_TRY(checkGraph(c, spec, *tested, result));
    if (options.repeats > 0)
      DECANT_TRY(checkRepeats(c, spec, *tested, result));
    return result;
  }

  std::vector<KernelResources> resources;

private:
  Expected<std::unique_ptr<Program>> prepare(const DecodeSpec &spec,
                                             std::shared_ptr<Device> device) {
    if (options.order.empty())
      return engine.prepare(spec, device);
    CompileOptions compile;
    DECANT_ASSIGN(compile.target, targetFor(*device));
    for (CodeOrder order :
         {CodeOrder::Rows, CodeOrder::Fragments, CodeOrder::Columns})
      if (options.order == toString(order))
        compile.order = order;
    DECANT_ASSIGN(KernelImage decode, engine.image(spec, compile));
    compile.kernels = KernelSet::Transfer;
    DECANT_ASSIGN(KernelImage transfer, engine.image(spec, compile));
    return Program::create(std::move(device), std::move(decode),
                           std::move(transfer));
  }

  Status compare(const Case &c, const DecodeSpec &spec, const Program &expected,
                 const Program &tested, Result &result) {
    const int64_t slotBytes = tested.info().slotBytes;
    const SlotPlan plan = SlotPlan::shuffled(c.batch, slotBytes, kBeyondInt32);
    DECANT_ASSIGN(LayerRun reference,
                  LayerRun::create(spec, cpu, expected, plan));
    DECANT_ASSIGN(LayerRun run, LayerRun::create(spec, device, tested, plan));
    std::vector<double> x, ref;
    for (int token = 0; token < options.tokens; ++token) {
      const TokenInputs inputs =
          makeToken(spec, tested.stepArguments(), c.batch, token);
      for (LayerRun *layer : {&reference, &run}) {
        DECANT_TRY(layer->upload(inputs));
        DECANT_TRY(layer->step());
        DECANT_ASSIGN(std::vector<float> outputs, layer->outputs());
        auto &all = layer == &run ? x : ref;
        all.insert(all.end(), outputs.begin(), outputs.end());
      }
    }
    result.output = relativeError(x, ref);
    const int64_t rowWidth = int64_t(spec.heads.value) * spec.heads.valueDim;
    for (size_t i = 0; i < x.size(); ++i)
      if (plan.slots[i / rowWidth % c.batch] < 0 && x[i] != 0)
        result.verdict = "a padding row's output is not 0";
    DECANT_TRY(run.checkPoison());
    DECANT_ASSIGN(result.state,
                  compareStates(reference, expected, run, tested));
    DECANT_ASSIGN(result.unpacked, compareUnpacked(run, spec, tested));

    FlushCall flush;
    for (auto [layer, program] :
         {std::pair(&reference, &expected), std::pair(&run, &tested)}) {
      flush.pool = layer->pool();
      flush.rows = {layer->deviceSlots(), 1, c.batch};
      DECANT_TRY(program->flush(flush));
      DECANT_TRY(program->device().synchronize(nullptr));
    }
    DECANT_ASSIGN(result.flushed,
                  compareStates(reference, expected, run, tested));
    DECANT_TRY(run.checkPoison());
    DECANT_ASSIGN(const double bound,
                  boundOf(reference, expected, tested.info().tensorCores));
    for (double error :
         {result.output, result.state, result.unpacked, result.flushed})
      if (!(error <= bound))
        result.verdict = "an error is above the bound";
    return {};
  }

  static Expected<std::vector<double>> someStates(const LayerRun &run,
                                                  const Program &program) {
    DECANT_ASSIGN(StoredStates states,
                  decodeStates(run, program, run.slotPlan().slots, kStates));
    return std::move(states.values);
  }

  /// For errors over all heads, after the flush behind the last token.
  Expected<double> boundOf(const LayerRun &reference, const Program &expected,
                           bool tensorCores) {
    DECANT_ASSIGN(
        const StoredStates states,
        decodeStates(reference, expected, reference.slotPlan().slots, kStates));
    RoundingCost cost;
    cost.codes = norm(states.rounding) / norm(states.values);
    cost.records = recordRounding(expected.layout());
    const int64_t flush = expected.info().window > 1;
    cost.roundings = roundingsOf(expected.layout(), options.tokens) + flush;
    return agreementBound(cost, tensorCores);
  }
  static double norm(const std::vector<double> &x) {
    return relativeError(x, std::vector<double>(x.size()));
  }

  Expected<double> compareStates(const LayerRun &reference,
                                 const Program &expected, const LayerRun &run,
                                 const Program &tested) {
    DECANT_ASSIGN(const std::vector<double> x, someStates(run, tested));
    DECANT_ASSIGN(const std::vector<double> ref,
                  someStates(reference, expected));
    return relativeError(x, ref);
  }

  /// unpack against the host's decoding of the same bytes.
  Expected<double> compareUnpacked(const LayerRun &run, const DecodeSpec &spec,
                                   const Program &tested) {
    const auto &slots = run.slotPlan().slots;
    const int64_t rows = std::min<int64_t>(slots.size(), kStates);
    const int64_t elements = rows * spec.heads.value * spec.heads.keyDim *
                             int64_t(spec.heads.valueDim);
    DECANT_ASSIGN(DeviceBuffer dense,
                  DeviceBuffer::create(device, elements * 4));
    DECANT_TRY(device->fill(dense.data(), 0, elements * 4, nullptr));
    DenseCall call;
    call.pool = run.pool();
    call.rows = {run.deviceSlots(), 1, rows};
    call.dense = dense.data();
    DECANT_TRY(tested.unpack(call));
    std::vector<float> host(elements);
    DECANT_TRY(
        device->copyToHost(host.data(), dense.data(), elements * 4, nullptr));
    DECANT_TRY(device->synchronize(nullptr));
    std::vector<double> x;
    const int64_t perRow = elements / rows;
    for (int64_t row = 0; row < rows; ++row)
      if (slots[row] >= 0)
        x.insert(x.end(), host.begin() + row * perRow,
                 host.begin() + (row + 1) * perRow);
    DECANT_ASSIGN(std::vector<double> ref, someStates(run, tested));
    ref.resize(x.size());
    return relativeError(x, ref);
  }

  /// Captures a step of all rows, then replays it with fewer: rows beyond the
  /// batch become padding, and results must be bit-equal to eager calls.
  Status checkGraph(const Case &c, const DecodeSpec &spec,
                    const Program &program, Result &result) {
    SlotPlan plan = SlotPlan::shuffled(c.batch, program.info().slotBytes, 0);
    const std::vector<int32_t> all = plan.slots;
    for (size_t row = (all.size() + 1) / 2; row < all.size(); ++row)
      plan.slots[row] = -1;
    DECANT_ASSIGN(LayerRun eager,
                  LayerRun::create(spec, device, program, plan));
    DECANT_ASSIGN(LayerRun replayed,
                  LayerRun::create(spec, device, program, plan));
    // A captured step has the addresses of its inputs.
    DECANT_TRY(
        replayed.upload(makeToken(spec, program.stepArguments(), c.batch, 0)));
    DECANT_ASSIGN(StreamHandle stream, device->createStream());
    DECANT_ASSIGN(CudaGraph graph,
                  CudaGraph::capture(*device, stream, [&]() -> Status {
                    return replayed.step(stream);
                  }));
    result.graph = "equal";
    for (int token = 0; token < options.tokens; ++token) {
      const TokenInputs inputs =
          makeToken(spec, program.stepArguments(), c.batch, token);
      DECANT_TRY(eager.upload(inputs));
      DECANT_TRY(replayed.upload(inputs));
      DECANT_TRY(eager.step());
      DECANT_TRY(graph.launch(stream));
      DECANT_TRY(device->synchronize(stream));
      DECANT_ASSIGN(std::vector<float> x, replayed.outputs());
      DECANT_ASSIGN(std::vector<float> ref, eager.outputs());
      if (x != ref)
        result.graph = "DIFFERS";
    }
    for (int32_t slot : plan.slots) {
      if (slot < 0)
        continue;
      DECANT_ASSIGN(std::vector<uint8_t> x, replayed.slot(slot));
      DECANT_ASSIGN(std::vector<uint8_t> ref, eager.slot(slot));
      if (x != ref)
        result.graph = "DIFFERS";
    }
    DECANT_TRY(replayed.checkPoison());
    if (result.graph != "equal")
      result.verdict = "a replayed graph differs from eager calls";
    return device->destroyStream(stream);
  }

  /// The same tokens from empty sequences, again and again: all bits of outputs
  /// and slots must be those of the first time.
  Status checkRepeats(const Case &c, const DecodeSpec &spec,
                      const Program &program, Result &result) {
    const SlotPlan plan =
        SlotPlan::shuffled(c.batch, program.info().slotBytes, 0);
    DECANT_ASSIGN(LayerRun run, LayerRun::create(spec, device, program, plan));
    std::vector<TokenInputs> tokens;
    for (int token = 0; token < options.tokens; ++token)
      tokens.push_back(
          makeToken(spec, program.stepArguments(), c.batch, token));
    std::vector<std::vector<float>> outputs;
    std::vector<std::vector<uint8_t>> slots;
    result.repeats = std::to_string(options.repeats);
    for (int repeat = 0; repeat <= options.repeats; ++repeat) {
      DECANT_TRY(run.zeroSlots());
      std::vector<std::vector<float>> again;
      for (const TokenInputs &inputs : tokens) {
        DECANT_TRY(run.upload(inputs));
        DECANT_TRY(run.step());
        DECANT_ASSIGN(std::vector<float> output, run.outputs());
        again.push_back(std::move(output));
      }
      std::vector<std::vector<uint8_t>> bytes;
      for (int32_t slot : plan.slots)
        if (slot >= 0) {
          DECANT_ASSIGN(std::vector<uint8_t> all, run.slot(slot));
          bytes.push_back(std::move(all));
        }
      if (repeat == 0) {
        outputs = std::move(again);
        slots = std::move(bytes);
      } else if (again != outputs || bytes != slots) {
        result.repeats = result.verdict =
            fmt::format("repeat {} differs from the first", repeat);
        break;
      }
    }
    return {};
  }

  Engine &engine;
  std::shared_ptr<Device> cpu, device;
  const Options &options;
};

int fail(const Status &status) {
  fmt::print(stderr, "decant-device-check: error: {}\n", status.message());
  return int(status.code()) >= 2 ? 2 : 1;
}

int runAll(const Options &options) {
  Expected<Engine> engine = Engine::create(EngineOptions());
  if (!engine)
    return fail(engine.status());
  auto cpu = engine->openDevice("cpu");
  auto device = engine->openDevice(options.device);
  for (const auto *opened : {&cpu, &device})
    if (!*opened)
      return fail(opened->status());
  const DeviceInfo &info = (*device)->info();
  fmt::print("device {}, driver {}\n", info.name, info.driverVersion);
  fmt::print("{:<5}{:<7}{:>6}{:>6}{:>10}{:>10}{:>10}{:>10} {:<8}{:>8}  {}\n",
             "rule", "state", "window", "batch", "output", "state", "unpack",
             "flush", "graph", "repeats", "verdict");
  Checker checker(*engine, *cpu, *device, options);
  int failures = 0;
  for (const std::string &model : options.models)
    for (const std::string &format : options.formats)
      for (int window : options.windows) {
        for (int64_t batch : options.batches) {
          const Case c = {model, format, window, batch};
          Expected<Result> result = checker.run(c);
          if (!result) {
            ++failures;
            fmt::print("{:<5}{:<7}{:>6}{:>6} FAILED: {}\n", model, format,
                       window, batch, result.status().message());
            continue;
          }
          failures += result->verdict != "ok";
          fmt::print("{:<5}{:<7}{:>6}{:>6}{:>10.1e}{:>10.1e}{:>10.1e}{:>10.1e} "
                     "{:<8}{:>8}  {}\n",
                     model, format, window, batch, result->output,
                     result->state, result->unpacked, result->flushed,
                     result->graph, result->repeats, result->verdict);
          std::fflush(stdout);
        }
        for (const KernelResources &kernel : checker.resources)
          if (kernel.role == "step" || kernel.role == "commit")
            fmt::print("  @{}: {} registers, {} B shared, {} B local\n",
                       kernel.role, kernel.registers, kernel.sharedBytes,
                       kernel.localBytes);
      }
  fmt::print("{} cases failed\n", failures);
  return failures == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Compares a device with the CPU target.");
  app.add_option("--device", options.device,
                 "cuda:N, or cpu to test the check");
  app.add_option("--batch", options.batches)->delimiter(',');
  app.add_option("--model", options.models, "gdn, kda")->delimiter(',');
  app.add_option("--format", options.formats,
                 "f32, bf16, leap8, leap6, leap4, leap2, or a method preset")
      ->delimiter(',');
  app.add_option("--window", options.windows)->delimiter(',');
  app.add_option("--tokens", options.tokens);
  app.add_option("--order", options.order, "of codes: rows, fragments, columns")
      ->check(CLI::IsMember({"rows", "fragments", "columns"}));
  app.add_option("--set", options.overrides, "path=value, for every spec");
  app.add_option("--key-heads", options.keyHeads, "of GDN");
  app.add_option("--value-heads", options.valueHeads);
  app.add_option("--repeats", options.repeats,
                 "times that the same tokens must give the same bits");
  app.add_flag("--check", options.check, "compare with the CPU target");
  app.add_flag("--graph", options.graph, "replay a captured graph");
  CLI11_PARSE(app, argc, argv);
  return runAll(options);
}
