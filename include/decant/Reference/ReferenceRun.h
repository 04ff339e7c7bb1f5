//===- ReferenceRun.h - a whole trace in float64 ----------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a rule's program and a trace. Out: outputs and final states, with an
// unquantized state or with the spec's codec in its place, and the measures by
// which a kernel's run is compared with them.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_REFERENCE_REFERENCERUN_H
#define DECANT_REFERENCE_REFERENCERUN_H

#include "decant/Reference/RuleProgram.h"
#include "decant/Reference/TraceView.h"

#include <functional>

namespace decant {

struct ReferenceRun {
  std::vector<double> outputs; // [tokens, value heads, value dim]
  std::vector<double> states;  // [value heads, key dim, value dim], at the end
};

/// Sees a head's state, row-major [key dim, value dim], after token number
/// `token`. Heads come one after the other, each with all of its tokens.
using StateVisitor =
    std::function<void(int64_t token, int head, const double *state)>;

/// The first `tokens` tokens with an exact state. A program input named
/// `decay` is fed from the trace's g, `A_log` and `dt_bias` from its gate
/// parameters, any other from the tensor of its own name.
Expected<ReferenceRun> runReference(const RuleProgram &program,
                                    const TraceView &trace,
                                    const HeadShape &heads, int64_t tokens,
                                    const StateVisitor &visit = nullptr);

/// The same, but after each of `folds` tokens, which ascend, the state is
/// stored and read back (encodeHead, decodeHead). Within a window nothing is
/// rounded, so this is the best that a kernel with this format can do.
Expected<ReferenceRun> runReference(const RuleProgram &program,
                                    const TraceView &trace,
                                    const HeadShape &heads, int64_t tokens,
                                    const SlotLayout &layout,
                                    const std::vector<int64_t> &folds);
/// Stores every layout.window tokens: what one token per step does. The state
/// at the end is a stored one if `tokens` is a multiple of the window.
Expected<ReferenceRun> runReference(const RuleProgram &program,
                                    const TraceView &trace,
                                    const HeadShape &heads, int64_t tokens,
                                    const SlotLayout &layout);

/// ||x - reference|| / ||reference||; 0 for two zeros, infinite if only the
/// reference is zero.
double relativeError(const std::vector<double> &x,
                     const std::vector<double> &reference);

/// mean |x - reference| of each of `heads` equal parts.
std::vector<double> meanErrorPerHead(const std::vector<double> &x,
                                     const std::vector<double> &reference,
                                     int heads);

} // namespace decant

#endif // DECANT_REFERENCE_REFERENCERUN_H
