//===- ReferenceRun.cpp - a whole trace in float64 ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/ReferenceRun.h"

#include "decant/Reference/Codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

using namespace decant;

namespace {

/// Where a program input's elements are in the trace.
struct Source {
  const TraceTensor *tensor = nullptr;
  int heads = 1;
  int width = 1;
  bool perToken = true; // what belongs to the layer is the same for all tokens
  bool perKeyHead = false;
};

Expected<Source> findSource(const RuleProgram &program, const RuleInput &input,
                            const TraceView &trace, const HeadShape &heads) {
  const int width = input.kind == RuleInput::Scalar      ? 1
                    : input.kind == RuleInput::KeyVector ? program.keyDim()
                                                         : program.valueDim();
  Source source;
  source.width = width;
  if (const TraceInput *found =
          trace.find(input.name == "decay" ? "g" : input.name)) {
    source.tensor = found->tensor;
    source.heads = found->heads;
    source.perToken = input.source != RuleInput::Layer;
    source.perKeyHead = hasKeyHeads(input.name);
  } else if (isGateParameter(input.name)) {
    source.tensor = input.name == "A_log" ? trace.aLog : trace.dtBias;
    source.heads = heads.value;
    source.perToken = false;
  }
  if (!source.tensor)
    return Status::internal(fmt::format(
        "the rule's program takes an input '{}' that the trace is not bound to",
        input.name));
  const int64_t perRow = int64_t(source.heads) * width;
  if (source.tensor->elements() !=
      perRow * (source.perToken ? trace.tokens : 1))
    return Status::internal(fmt::format(
        "the rule's program takes {} elements of input '{}' per head, the "
        "bound tensor has shape {}",
        width, input.name, shapeText(source.tensor->shape)));
  return source;
}

/// Runs the tokens of one head after the other. `store` is called after every
/// token with its number, the head and its state.
template <typename Store>
Expected<ReferenceRun> run(RuleProgram program, const TraceView &trace,
                           const HeadShape &heads, int64_t tokens,
                           Store store) {
  if (tokens > trace.tokens)
    return Status::invalid(fmt::format(
        "{} tokens are asked for; the trace has {}", tokens, trace.tokens));
  std::vector<Source> sources;
  std::vector<std::vector<double>> inputs;
  for (const RuleInput &input : program.inputs()) {
    DECANT_ASSIGN(const Source source,
                  findSource(program, input, trace, heads));
    sources.push_back(source);
    inputs.emplace_back(source.width);
  }

  const size_t stateSize = size_t(program.keyDim()) * program.valueDim();
  ReferenceRun result;
  result.outputs.resize(size_t(tokens) * heads.value * program.valueDim());
  result.states.resize(heads.value * stateSize);
  for (int head = 0; head < heads.value; ++head) {
    double *state = &result.states[head * stateSize];
    std::vector<double> carried(program.carriedSize());
    for (int64_t token = 0; token < tokens; ++token) {
      for (size_t i = 0; i < sources.size(); ++i) {
        const Source &source = sources[i];
        const int row = source.perKeyHead ? keyHeadOf(heads, head) : head;
        const int64_t first =
            ((source.perToken ? token : 0) * source.heads + row) * source.width;
        for (int element = 0; element < source.width; ++element)
          inputs[i][element] = source.tensor->element(first + element);
      }
      program.step(
          inputs, state,
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
  return run(
      program, trace, heads, tokens, [&](int64_t token, int, double *state) {
        if (!std::binary_search(folds.begin(), folds.end(), token + 1))
          return;
        encodeHead(layout, state, head.data());
        const std::vector<double> stored = decodeHead(layout, head.data());
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
