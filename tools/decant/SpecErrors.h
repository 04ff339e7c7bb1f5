//===- SpecErrors.h - a spec's errors over a trace --------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a spec and a trace. Out: how far the compiled kernel's outputs and states
// are from the rule in float64 with an unquantized state, at some tokens and
// over all of them.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_SPECERRORS_H
#define DECANT_TOOLS_SPECERRORS_H

#include "decant/Engine.h"
#include "decant/Reference/Trace.h"

namespace decant::tool {

/// After `token` tokens.
struct ErrorPoint {
  int64_t token = 0;
  double output = 0; // of the outputs since the point before
  double state = 0;
};

struct SpecErrors {
  DecodeSpec spec;
  ProgramInfo program;
  std::vector<ErrorPoint> points;
  double output = 0;    // of all outputs
  double state = 0;     // at the end
  double meanState = 0; // of the points
};

/// Decodes the first `tokens` tokens and looks at the state every `every` of
/// them, and at the end.
Expected<SpecErrors> measureErrors(const DecodeSpec &spec, const Trace &trace,
                                   int64_t tokens, int64_t every,
                                   Engine &engine,
                                   const std::shared_ptr<Device> &device);

} // namespace decant::tool

#endif // DECANT_TOOLS_SPECERRORS_H
