//===- TraceErrors.h - what a format leaves of traces -----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: traces, and formats one after the other. Out: the errors that float64
// arithmetic has when the state goes through a format's codec at every fold,
// and records through their type: no kernel with this format does better, and
// one format takes a fraction of a second, without compiling anything.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_TRACEERRORS_H
#define DECANT_TOOLS_TRACEERRORS_H

#include "Tune/FormatTuner.h"
#include "decant/Reference/ReferenceRun.h"

#include <map>
#include <memory>

namespace decant::tool {

class TraceErrors {
public:
  /// The first `tokens` tokens of each trace. `layer` is the layer that was
  /// traced: its rule, heads and inputs are those of the traces.
  static Expected<TraceErrors> create(const std::vector<std::string> &files,
                                      const DecodeSpec &layer, int64_t tokens);

  /// The errors of the worst trace. Safe from several threads.
  Expected<tune::FormatErrors> of(const DecodeSpec &format) const;

  /// Bits of the traced layer's key rows for several means, from what errors
  /// do in the whole traces, as decant calibrate gives them.
  Expected<tune::Plans> plans(const std::vector<double> &means) const;

  /// Of the shortest trace.
  int64_t leastTokens() const;

  /// "bytelm-gdn.safetensors, 256 tokens".
  const std::vector<std::string> &names() const { return labels; }

private:
  struct Sequence {
    std::unique_ptr<Trace> trace;
    TraceView view;
    int64_t tokens = 0;
    ReferenceRun exact;
  };

  DecodeSpec layer;
  RecordShape record;
  std::optional<RuleProgram> rule;
  /// The rule by the type of its records; records of f32 are exact.
  std::map<ElementType, RuleProgram> stored;
  std::vector<Sequence> sequences;
  std::vector<std::string> labels;
};

} // namespace decant::tool

#endif // DECANT_TOOLS_TRACEERRORS_H
