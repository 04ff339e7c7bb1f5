//===- TuneOptions.h - what decant tune is asked --------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_TUNEOPTIONS_H
#define DECANT_TOOLS_TUNEOPTIONS_H

#include "Command.h"

#include "SpecArguments.h"

#include <optional>
#include <string>
#include <vector>

namespace decant::tool {

struct TuneOptions {
  SpecSource spec;
  std::string device = "cuda:0", batches = "1,8,32,128,512";
  std::vector<std::string> traces;
  SpecSource traced;
  std::string output, plot, specOutput, formats = "all";
  std::string pack, packOutput, kernels;
  std::optional<double> maxError, maxBits;
  int64_t tokens = 256, candidates = 48;
  double budget = 170;
  int threads = 0;
  bool ptxas = false;
};

/// `options` must outlive `app`.
void addTuneOptions(CLI::App &app, TuneOptions &options);
/// Names the first option that has a value which is not allowed, or that does
/// not go with the others.
Status checkOptions(const TuneOptions &options);

} // namespace decant::tool

#endif // DECANT_TOOLS_TUNEOPTIONS_H
