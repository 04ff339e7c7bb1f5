//===- TraceTokens.cpp - what a rule program is given at each token -------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/TraceTokens.h"

#include "decant/Core/RuleInfo.h"

#include <fmt/format.h>

using namespace decant;

namespace {

Expected<TraceTokens::Source> findSource(const RuleProgram &program,
                                         const RuleInput &input,
                                         const TraceView &trace,
                                         const HeadShape &heads) {
  const int width = input.kind == RuleInput::Scalar      ? 1
                    : input.kind == RuleInput::KeyVector ? program.keyDim()
                                                         : program.valueDim();
  TraceTokens::Source source;
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

} // namespace

Expected<TraceTokens> TraceTokens::bind(const RuleProgram &program,
                                        const TraceView &trace,
                                        const HeadShape &heads) {
  TraceTokens tokens;
  tokens.heads = heads;
  for (const RuleInput &input : program.inputs()) {
    DECANT_ASSIGN(const Source source,
                  findSource(program, input, trace, heads));
    tokens.sources.push_back(source);
    tokens.inputs.emplace_back(source.width);
  }
  return tokens;
}

const std::vector<std::vector<double>> &TraceTokens::at(int head,
                                                        int64_t token) {
  for (size_t i = 0; i < sources.size(); ++i) {
    const Source &source = sources[i];
    const int row = source.perKeyHead ? keyHeadOf(heads, head) : head;
    const int64_t first =
        ((source.perToken ? token : 0) * source.heads + row) * source.width;
    for (int element = 0; element < source.width; ++element)
      inputs[i][element] = source.tensor->element(first + element);
  }
  return inputs;
}
