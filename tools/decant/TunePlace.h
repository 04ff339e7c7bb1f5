//===- TunePlace.h - where a tuner gets its kernels -----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tuner of lib/Tune knows no compiler, pack or oracle: these are what its
// setup's functions call.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_TUNEPLACE_H
#define DECANT_TOOLS_TUNEPLACE_H

#include "Progress.h"
#include "Ptxas.h"
#include "Tune/PackTuner.h"
#include "TuneOptions.h"
#include "Verify/Verify.h"
#include "decant/Engine.h"

#include <memory>
#include <mutex>

namespace decant::tool {

/// What outlives the setup that points to it.
struct TunePlace {
  std::unique_ptr<Pack> pack;
  tune::PackCandidates packed;
  std::optional<Engine> engine;
  std::unique_ptr<Assembler> assembler; // null: the driver makes machine code
  std::shared_ptr<Device> host;
  TargetInfo hostTarget;
  std::mutex mutex; // of the two below
  std::string what;
  std::unique_ptr<Progress> line;

  std::string verified; // the spec of the verifier
  std::optional<Verifier> verifier;

  /// Rows that join one after the other, against the float64 rule and codec
  /// and, on a GPU with NVRTC, the rule as CUDA C++.
  Status verify(const DecodeSpec &spec, const std::shared_ptr<Device> &device,
                const Program &program, unsigned threads);
  void show(const std::string &name, int64_t done, int64_t total);
};

/// The device, its class, and what is known of its speed.
Status openMachine(const TuneOptions &options, TunePlace &place,
                   tune::Setup &setup);
/// Kernels come from the compiler, and are compared with those of the CPU
/// target and with the oracles.
void useCompiler(TunePlace &place, tune::Setup &setup);
/// Machine code comes from ptxas.
Status useAssembler(const TuneOptions &options, TunePlace &place,
                    const tune::Setup &setup);
/// Kernels are those of a pack; nothing is compiled.
Status usePack(const TuneOptions &options, const DecodeSpec &spec,
               TunePlace &place, tune::Setup &setup);

} // namespace decant::tool

#endif // DECANT_TOOLS_TUNEPLACE_H
