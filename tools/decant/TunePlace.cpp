//===- TunePlace.cpp - where a tuner gets its kernels ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TunePlace.h"

#include "Tune/DeviceMachine.h"

#include <fmt/format.h>

using namespace decant;
using namespace decant::tool;

static constexpr const char *kModel = "model:";

Status TunePlace::verify(const DecodeSpec &spec,
                         const std::shared_ptr<Device> &device,
                         const Program &program, unsigned threads) {
  constexpr int64_t kRows = 2;
  const std::string text = canonicalText(spec);
  if (!verifier || verified != text) {
    verifier.reset();
    VerifyOptions options;
    options.oracle = OraclePolicy::IfPresent;
    options.threads = threads;
    DECANT_ASSIGN(verifier, Verifier::create(spec, device, options));
    verified = text;
  }
  DECANT_ASSIGN(const VerifyResult result,
                verifier->check(program, {kRows, Fills::Mixed}));
  return result.ok() ? Status() : Status::failed(result.failure);
}

void TunePlace::show(const std::string &name, int64_t done, int64_t total) {
  std::lock_guard<std::mutex> guard(mutex);
  if (!line || name != what) {
    line.reset();
    line = std::make_unique<Progress>(what = name, total);
  }
  line->update(done);
}

namespace {

/// The kernels of `spec`, from the compiler; as `device` loads them, if one is
/// given.
Expected<KernelImage> makeImage(Engine &engine, const TargetInfo &target,
                                const DecodeSpec &spec,
                                const tune::ScheduleCandidate *candidate,
                                const Device *device = nullptr) {
  CompileOptions options;
  options.target = target;
  if (candidate) {
    options.schedule = candidate->schedule;
    options.order = candidate->order;
  }
  return device ? engine.image(spec, options, *device)
                : engine.image(spec, options);
}

/// What the CPU target computes.
Expected<bench::BatchResults> expectFromHost(TunePlace &place,
                                             const DecodeSpec &spec,
                                             int64_t batch, unsigned threads) {
  DECANT_ASSIGN(KernelImage image,
                makeImage(*place.engine, place.hostTarget, spec, nullptr));
  DECANT_ASSIGN(const std::unique_ptr<Program> program,
                Program::create(place.host, std::move(image)));
  return bench::expectedBatch(spec, place.host, *program, batch, threads);
}

} // namespace

Status decant::tool::openMachine(const TuneOptions &options, TunePlace &place,
                                 tune::Setup &setup) {
  if (options.device.rfind(kModel, 0) == 0) {
    DECANT_ASSIGN(setup.target, lookupTarget(options.device.substr(
                                    std::string(kModel).size())));
    const auto machine = tune::machineOf(setup.target);
    if (!machine)
      return Status::invalid(fmt::format(
          "--device {}: a model of a GPU is needed; cpu can be timed",
          options.device));
    setup.machine = *machine;
    setup.deviceClass = {"model of " + machine->name, setup.target.name,
                         bandwidthClass(machine->bytesPerSecond), "none"};
    return {};
  }
  DECANT_ASSIGN(setup.device, place.engine->openDevice(options.device));
  DECANT_ASSIGN(setup.target, targetFor(*setup.device));
  DECANT_ASSIGN(setup.deviceClass,
                deviceClassOf(*setup.device, setup.target.name));
  DECANT_ASSIGN(setup.machine, tune::machineOf(setup.device, setup.target,
                                               setup.deviceClass.name));
  return {};
}

void decant::tool::useCompiler(TunePlace &place, tune::Setup &setup) {
  setup.compiler = compilerVersion();
  setup.hooks.image = [&](const DecodeSpec &spec,
                          const tune::ScheduleCandidate *candidate) {
    Expected<KernelImage> image =
        makeImage(*place.engine, setup.target, spec, candidate,
                  place.assembler ? nullptr : setup.device.get());
    return image && place.assembler ? place.assembler->assemble(*image)
                                    : std::move(image);
  };
  setup.hooks.warmUp = [&](const DecodeSpec &spec) {
    // A failure will be met again, where it is told.
    if (setup.device) {
      (void)setup.hooks.image(spec, nullptr).ok();
      (void)makeImage(*place.engine, place.hostTarget, spec, nullptr).ok();
    }
  };
  setup.hooks.expect = [&](const DecodeSpec &spec, int64_t batch) {
    return expectFromHost(place, spec, batch, setup.effort.threads);
  };
  if (setup.device)
    setup.hooks.verify = [&](const DecodeSpec &spec, const Program &program) {
      return place.verify(spec, setup.device, program, setup.effort.threads);
    };
}

Status decant::tool::useAssembler(const TuneOptions &options, TunePlace &place,
                                  const tune::Setup &setup) {
  if (!setup.device || setup.device->info().kind == TargetKind::Cpu)
    return Status::invalid(fmt::format(
        "--ptxas: found beside --device {}; allowed is a GPU", options.device));
  const std::string program = findPtxas();
  if (program.empty())
    return Status::unavailable(
        "--ptxas: there is no ptxas on PATH; without it the driver makes "
        "machine code");
  place.assembler = std::make_unique<Assembler>(program);
  return {};
}

Status decant::tool::usePack(const TuneOptions &options, const DecodeSpec &spec,
                             TunePlace &place, tune::Setup &setup) {
  if (!setup.device)
    return Status::invalid(fmt::format(
        "--pack: found beside --device {}; allowed is a device that runs it",
        options.device));
  DECANT_ASSIGN(place.pack, Pack::open(options.pack));
  DECANT_ASSIGN(place.packed,
                tune::packCandidates(*place.pack, spec, setup.device->info()));
  return takeFromPack(*place.pack, place.packed, setup);
}
