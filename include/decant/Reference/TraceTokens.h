//===- TraceTokens.h - what a rule program is given at each token -*- C++
//-*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_REFERENCE_TRACETOKENS_H
#define DECANT_REFERENCE_TRACETOKENS_H

#include "decant/Reference/RuleProgram.h"
#include "decant/Reference/TraceView.h"

#include <vector>

namespace decant {

class TraceTokens {
public:
  /// `trace` and what it is bound to must outlive the result.
  static Expected<TraceTokens> bind(const RuleProgram &program,
                                    const TraceView &trace,
                                    const HeadShape &heads);

  /// The inputs of one token of one value head, valid until the next call.
  const std::vector<std::vector<double>> &at(int head, int64_t token);

  /// Where a program input's elements are in the trace.
  struct Source {
    const TraceTensor *tensor = nullptr;
    int heads = 1;
    int width = 1;
    bool perToken =
        true; // what belongs to the layer is the same for all tokens
    bool perKeyHead = false;
  };

private:
  HeadShape heads;
  std::vector<Source> sources;
  std::vector<std::vector<double>> inputs;
};

} // namespace decant

#endif // DECANT_REFERENCE_TRACETOKENS_H
