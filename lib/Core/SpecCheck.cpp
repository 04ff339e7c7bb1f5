//===- SpecCheck.cpp - contradictions of a DecodeSpec ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a DecodeSpec from any maker. Out: what in it cannot be. Nothing here
// knows JSON: the paths in issues are the field names of the spec file because
// that is what users can look up.
//
//===----------------------------------------------------------------------===//
#include "SpecChecker.h"

namespace decant {
namespace {

void checkHeads(const HeadShape &heads, SpecChecker &check) {
  check.range("heads.key", heads.key, 1, kMaxHeads);
  check.range("heads.value", heads.value, 1, kMaxHeads);
  if (heads.key > 0 && heads.value > 0 && heads.value % heads.key != 0)
    check.add("heads.value",
              fmt::format("found {}, with heads.key {}; allowed: a multiple of "
                          "heads.key, since every query/key head serves the "
                          "same number of value heads",
                          heads.value, heads.key));
  check.range("heads.key_dim", heads.keyDim, kMinDim, kMaxDim);
  check.range("heads.value_dim", heads.valueDim, kMinDim, kMaxDim);
}

void checkInputs(const InputSpec &inputs, SpecChecker &check) {
  check.floating("inputs.type", inputs.type);
  check.floating("inputs.output", inputs.output);
  check.floating("inputs.gate_type", inputs.gateType);
  check.floating("inputs.beta_round", inputs.betaRound);
  if (inputs.decay == DecayForm::LowerBound)
    check.real("inputs.lower_bound", inputs.lowerBound, -kMaxReal, -kMinReal);
  else if (inputs.lowerBound != 0)
    check.add("inputs.lower_bound",
              fmt::format("found {} beside inputs.decay {}; allowed: only when "
                          "inputs.decay is lower_bound",
                          inputs.lowerBound, toString(inputs.decay)));
  if (inputs.betaScale != 1 && inputs.betaScale != 2)
    check.add("inputs.beta_scale",
              fmt::format("found {}; allowed: 1, or 2 for negative eigenvalues",
                          inputs.betaScale));
  if (inputs.qkNorm != QkNorm::None)
    check.real("inputs.norm_eps", inputs.normEps, kMinReal, 1);
  check.real("inputs.scale", inputs.scale, kMinReal, kMaxReal);
}

void checkCompensators(const WindowSpec &window, SpecChecker &check) {
  const ElementType type = window.compensatorType;
  if (type != ElementType::F16 && type != ElementType::BF16 &&
      type != ElementType::I8 && type != ElementType::E4M3)
    check.add("window.compensator_type",
              fmt::format("found {}; allowed: f16, bf16, or int8 or e4m3 with "
                          "a scale",
                          toString(type)));
  check.range("window.compensator_rounds", window.compensatorRounds, 1,
              kMaxCompensatorRounds);
}

} // namespace

std::vector<SpecIssue> check(const DecodeSpec &spec) {
  SpecChecker check;
  if (spec.rule.text.empty())
    check.add("rule", "found an empty text; allowed: the MLIR text of one "
                      "decant.rule");
  checkHeads(spec.heads, check);
  checkInputs(spec.inputs, check);
  checkFormat(spec, check);
  check.range("window.length", spec.window.length, 1, kMaxWindow);
  check.range("window.compensators", spec.window.compensators, 0,
              kMaxCompensators);
  check.floating("window.records", spec.window.records);
  checkCompensators(spec.window, check);
  check.range("tokens_per_step", spec.tokensPerStep, 1, kMaxTokensPerStep);
  // Tokens that may be taken back have to be records: a fold cannot be undone.
  if (spec.tokensPerStep > 1 && spec.tokensPerStep > spec.window.length)
    check.add("tokens_per_step",
              fmt::format("found {} with window.length {}; allowed: up to "
                          "window.length, since a step's tokens stay records "
                          "until they are accepted (set window.length to {} or "
                          "more)",
                          spec.tokensPerStep, spec.window.length,
                          spec.tokensPerStep));
  return check.issues;
}

} // namespace decant
