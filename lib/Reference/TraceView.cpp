//===- TraceView.cpp - a trace as the inputs of a rule --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/TraceView.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace decant;

namespace {

TraceType traceType(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return TraceType::F32;
  case ElementType::F16:
    return TraceType::F16;
  case ElementType::BF16:
    return TraceType::BF16;
  case ElementType::I8:
    return TraceType::I8;
  default: // check() allows narrower integers for codes only
    return TraceType::F32;
  }
}

bool isGate(const RuleInput &input) {
  return input.name == "g" || isBeta(input.name) ||
         input.source == RuleInput::Gate;
}

/// What a tensor must be. A shape's first size is the token count, -1 while it
/// is not known.
struct Wanted {
  std::string name;
  TraceType type;
  std::string typeField; // where the spec says so
  std::vector<int64_t> shape;
  std::string axes; // the shape in words
};

Expected<const TraceTensor *> findTensor(const Trace &trace,
                                         const Wanted &wanted) {
  const auto found = trace.tensors.find(wanted.name);
  if (found == trace.tensors.end()) {
    std::vector<std::string> names;
    for (const auto &[name, tensor] : trace.tensors)
      names.push_back(name);
    return Status::invalid(
        fmt::format("{}: tensor '{}' ({}) is missing; the file has {}",
                    trace.file, wanted.name, wanted.axes,
                    names.empty() ? "no tensors"
                                  : fmt::format("{}", fmt::join(names, ", "))));
  }
  const TraceTensor &tensor = found->second;
  if (tensor.type != wanted.type)
    return Status::invalid(fmt::format(
        "{}: tensor '{}' is {}; {} asks for {}", trace.file, wanted.name,
        toString(tensor.type), wanted.typeField, toString(wanted.type)));
  bool fits = tensor.shape.size() == wanted.shape.size();
  for (size_t i = 0; fits && i < tensor.shape.size(); ++i)
    fits = wanted.shape[i] < 0 ? tensor.shape[i] > 0
                               : tensor.shape[i] == wanted.shape[i];
  if (!fits) {
    std::vector<std::string> sizes;
    for (int64_t size : wanted.shape)
      sizes.push_back(size < 0 ? "1 or more" : fmt::format("{}", size));
    return Status::invalid(
        fmt::format("{}: tensor '{}' has shape {}; the spec asks for [{}] ({})",
                    trace.file, wanted.name, shapeText(tensor.shape),
                    fmt::join(sizes, ", "), wanted.axes));
  }
  return &tensor;
}

Wanted wantedInput(const DecodeSpec &spec, const TraceInput &input,
                   int64_t tokens) {
  const std::string &name = input.input.name;
  const bool gate = isGate(input.input);
  const bool ofLayer = input.input.source == RuleInput::Layer;
  Wanted wanted;
  wanted.name = name;
  wanted.type = traceType(gate ? spec.inputs.gateType : spec.inputs.type);
  wanted.typeField = gate ? "inputs.gate_type" : "inputs.type";
  wanted.shape = {tokens, input.heads};
  wanted.axes = hasKeyHeads(name) ? "tokens, key heads" : "tokens, value heads";
  if (ofLayer) {
    wanted.type = TraceType::F32;
    wanted.typeField = "the rule, which takes one per layer,";
    wanted.shape = {input.heads};
    wanted.axes = "value heads";
  }
  if (input.input.kind != RuleInput::Scalar) {
    wanted.shape.push_back(input.width);
    wanted.axes +=
        input.input.kind == RuleInput::KeyVector ? ", key dim" : ", value dim";
  }
  return wanted;
}

int widthOf(const DecodeSpec &spec, RuleInput::Kind kind) {
  switch (kind) {
  case RuleInput::Scalar:
    return 1;
  case RuleInput::KeyVector:
    return spec.heads.keyDim;
  case RuleInput::ValueVector:
    return spec.heads.valueDim;
  }
  return 1;
}

/// A_log and dt_bias, for the decay forms that are computed from them.
Status bindGateParameters(const Trace &trace, const DecodeSpec &spec,
                          TraceView &view) {
  const TraceInput *decay = view.find("g");
  if (!decay || (spec.inputs.decay != DecayForm::Softplus &&
                 spec.inputs.decay != DecayForm::LowerBound))
    return {};
  const std::string reason =
      fmt::format("inputs.decay = {}", toString(spec.inputs.decay));
  DECANT_ASSIGN(view.aLog, findTensor(trace, {"A_log",
                                              TraceType::F32,
                                              reason,
                                              {spec.heads.value},
                                              "value heads"}));
  const bool vector = decay->width > 1;
  DECANT_ASSIGN(view.dtBias,
                findTensor(trace, {"dt_bias",
                                   TraceType::F32,
                                   reason,
                                   {int64_t(spec.heads.value) * decay->width},
                                   vector ? "value heads * elements of g"
                                          : "value heads"}));
  return {};
}

} // namespace

const TraceInput *TraceView::find(const std::string &name) const {
  for (const TraceInput &input : inputs)
    if (input.input.name == name)
      return &input;
  return nullptr;
}

Expected<TraceView> decant::bindTrace(const Trace &trace,
                                      const DecodeSpec &spec,
                                      const std::vector<RuleInput> &inputs) {
  TraceView view;
  int64_t tokens = -1;
  for (const RuleInput &rule : inputs) {
    TraceInput input;
    input.input = rule;
    input.heads = hasKeyHeads(rule.name) ? spec.heads.key : spec.heads.value;
    input.width = widthOf(spec, rule.kind);
    DECANT_ASSIGN(input.tensor,
                  findTensor(trace, wantedInput(spec, input, tokens)));
    if (rule.source != RuleInput::Layer)
      tokens = input.tensor->shape[0];
    view.inputs.push_back(input);
  }
  view.tokens = std::max<int64_t>(tokens, 0);
  DECANT_TRY(bindGateParameters(trace, spec, view));
  return view;
}
