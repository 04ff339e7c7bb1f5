//===- PackPlan.h - what goes into a pack -----------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: the words of a command line. Out: every image that the pack will hold, or
// which word is wrong. Nothing is compiled here.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_PACKPLAN_H
#define DECANT_TOOLS_PACKPLAN_H

#include "CompilePack.h"
#include "decant/Compiler/Compiler.h"

namespace decant::tool {

/// One schedule of decode kernels, and the batches that it is for.
struct PlannedCut {
  std::optional<Schedule> schedule; // the default one when absent
  std::vector<int64_t> maxRows;     // none: a candidate
  std::string option;               // that asked for it, for messages
};

/// The kernels of one spec for one target: decode kernels in several cuts, the
/// first of which decides where codes lie, and transfer kernels.
struct PlannedLayer {
  DecodeSpec spec;
  TargetInfo target;
  std::vector<PlannedCut> cuts;
  std::optional<CodeOrder> order; // absent: what the first cut reads best
  bool cubin = false;
  std::string note; // what a user should know of the plan, or empty
};

Expected<std::vector<PlannedLayer>> planPack(const PackArguments &arguments);

} // namespace decant::tool

#endif // DECANT_TOOLS_PACKPLAN_H
