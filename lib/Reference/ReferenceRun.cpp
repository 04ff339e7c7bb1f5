//===- ReferenceRun.cpp - a whole trace in float64 ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/ReferenceRun.h"

#include "decant/Reference/Codec.h"
#include "decant/Reference/TraceTokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

using namespace decant;

namespace {

/// Runs the tokens of one head after the other. `store` is called after every
/// token with its number, the head and its state.
template <typename Store>
Expected<ReferenceRun> run(RuleProgram program, const TraceView &trace,
                           const HeadShape &heads, int64_t tokens,
                           Store store) {
  if (tokens > trace.tokens)
    return Status::invalid(fmt::format(
        "{} tokens are asked for; the trace has {}", tokens, trace.tokens));
  DECANT_ASSIGN(TraceTokens inputs, TraceTokens::bind(program, trace, heads));
  const size_t stateSize = size_t(program.keyDim()) * program.valueDim();
  ReferenceRun result;
  result.outputs.resize(size_t(tokens) * heads.value * program.valueDim());
  result.states.resize(heads.value * stateSize);
  for (int head = 0; head < heads.value; ++head) {
    double *state = &result.states[head * stateSize];
    std::vector<double> carried(program.carriedSize());
    for (int64_t token = 0; token < tokens; ++token) {
      program.step(
          inputs.at(head, token), state,
          &result.outputs[(token * heads.value + head) * program.valueDim()],
          carried.data());
      store(token, head, state);
    }
  }
  return result;
}

} // namespace

Expected<ReferenceRun> decant::runReference(const RuleProgram &program,
                                            const TraceView &trace,
                                            const HeadShape &heads,
                                            int64_t tokens,
                                            const StateVisitor &visit) {
  return run(program, trace, heads, tokens,
             [&](int64_t token, int head, const double *state) {
               if (visit)
                 visit(token, head, state);
             });
}

Expected<ReferenceRun> decant::runReference(const RuleProgram &program,
                                            const TraceView &trace,
                                            const HeadShape &heads,
                                            int64_t tokens,
                                            const SlotLayout &layout) {
  std::vector<int64_t> folds;
  for (int64_t done = layout.window; done <= tokens; done += layout.window)
    folds.push_back(done);
  return runReference(program, trace, heads, tokens, layout, folds);
}

Expected<ReferenceRun> decant::runReference(const RuleProgram &program,
                                            const TraceView &trace,
                                            const HeadShape &heads,
                                            int64_t tokens,
                                            const SlotLayout &layout,
                                            const std::vector<int64_t> &folds) {
  assert(layout.keyDim == program.keyDim() &&
         layout.valueDim == program.valueDim());
  std::vector<uint8_t> head(layout.headBytes);
  return run(program, trace, heads, tokens,
             [&](int64_t token, int number, double *state) {
               if (!std::binary_search(folds.begin(), folds.end(), token + 1))
                 return;
               const SlotLayout own = layout.ofHead(number);
               encodeHead(own, state, head.data());
               const std::vector<double> stored = decodeHead(own, head.data());
               std::copy(stored.begin(), stored.end(), state);
             });
}

double decant::relativeError(const std::vector<double> &x,
                             const std::vector<double> &reference) {
  assert(x.size() == reference.size());
  double error = 0, size = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    error += (x[i] - reference[i]) * (x[i] - reference[i]);
    size += reference[i] * reference[i];
  }
  if (size == 0)
    return error == 0 ? 0 : std::numeric_limits<double>::infinity();
  return std::sqrt(error / size);
}

std::vector<double>
decant::meanErrorPerHead(const std::vector<double> &x,
                         const std::vector<double> &reference, int heads) {
  assert(x.size() == reference.size() && x.size() % heads == 0);
  const size_t part = x.size() / heads;
  std::vector<double> means(heads);
  for (size_t i = 0; i < x.size(); ++i)
    means[i / part] += std::fabs(x[i] - reference[i]) / part;
  return means;
}
