//===- TraceView.h - a trace as the inputs of a rule ------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a trace, a spec and the arguments of the spec's rule. Out: for each
// argument the tensor that feeds it, of the shape and type that the spec says.
// The values stay raw: what a decay or beta means is the reader's business.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_REFERENCE_TRACEVIEW_H
#define DECANT_REFERENCE_TRACEVIEW_H

#include "decant/Core/RuleInfo.h"
#include "decant/Reference/Trace.h"

namespace decant {

/// One rule argument: a tensor [tokens, heads, width], without the last axis
/// for a scalar.
struct TraceInput {
  RuleInput input;
  const TraceTensor *tensor = nullptr;
  int heads = 0; // key heads for q and k, value heads otherwise
  int width = 1; // elements per token and head

  /// Position of the first of the `width` elements. `head` counts this input's
  /// own heads.
  int64_t position(int64_t token, int head) const {
    return (token * heads + head) * width;
  }
};

/// Borrows from the Trace, which must outlive it.
struct TraceView {
  int64_t tokens = 0;
  std::vector<TraceInput> inputs; // in the order of the rule's arguments
  /// Learned gate parameters; null unless the spec's decay form uses them.
  const TraceTensor *aLog = nullptr;   // [value heads]
  const TraceTensor *dtBias = nullptr; // [value heads], times key dim or value
                                       // dim if g is a vector

  const TraceInput *find(const std::string &name) const;
};

/// q and k are [T, key heads, key dim]; v is [T, value heads, value dim]; any
/// other argument is [T, value heads], with key dim or value dim behind it for
/// a vector, and without T where it belongs to the layer. Gates have the spec's
/// gate type, tensors of the layer are f32, the rest has the input type.
Expected<TraceView> bindTrace(const Trace &trace, const DecodeSpec &spec,
                              const std::vector<RuleInput> &inputs);

} // namespace decant

#endif // DECANT_REFERENCE_TRACEVIEW_H
