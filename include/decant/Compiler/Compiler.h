//===- Compiler.h - spec in, image out --------------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiling is a pure function of its arguments: no environment, no clock, no
// device. Each call makes its own MLIR context.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_COMPILER_COMPILER_H
#define DECANT_COMPILER_COMPILER_H

#include "decant/Core/KernelImage.h"
#include "decant/Core/RuleInfo.h"

#include <optional>

namespace decant {

/// The nine stages, in order. Their names are --emit= values, dump suffixes and
/// the headings of ARCHITECTURE.md.
enum class Stage {
  Spec,
  Rule,
  Windowed,
  Formatted,
  Scheduled,
  Tiled,
  Mapped,
  LLVM,
  Image
};
const char *toString(Stage stage);
const std::vector<Stage> &allStages();

/// Decode holds the kernels of a step, Transfer those that pack and unpack
/// dense states.
enum class KernelSet { Decode, Transfer };

struct CompileOptions {
  TargetInfo target;
  KernelSet kernels = KernelSet::Decode;
  std::optional<Schedule> schedule; // the default schedule when absent
  /// When absent: what the schedule reads best.
  std::optional<CodeOrder> order;
};

/// Milliseconds of one compile() by stage, in order.
struct CompileTimes {
  std::vector<std::pair<std::string, double>> stages;
  double total() const;
};

/// The image of the kernels that `spec` asks for. `times`, when given, receives
/// how long each stage took.
Expected<KernelImage> compile(const DecodeSpec &spec,
                              const CompileOptions &options,
                              CompileTimes *times = nullptr);

/// The IR after `stage` as text: JSON for spec, MLIR up to llvm, PTX or host
/// assembly for image.
Expected<std::string> emit(const DecodeSpec &spec,
                           const CompileOptions &options, Stage stage);

/// The inputs that the spec's rule takes and the records that a token adds.
Expected<RuleInfo> describeRule(const DecodeSpec &spec);

/// Version of Decant and of the LLVM inside, and a hash of the sources that
/// kernels come from; part of every cache key.
std::string compilerVersion();

} // namespace decant

#endif // DECANT_COMPILER_COMPILER_H
