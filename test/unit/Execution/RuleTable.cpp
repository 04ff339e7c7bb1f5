//===- RuleTable.cpp - one table of all rules -----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: decant_rule_table [RULE]...
//
// In: the rule presets, or those named. Out: a Markdown table on stdout of what
// each costs in a window over int8 codes, and how far kernels of the CPU are
// from its equation in float64 (PlainRules.cpp), at 128 x 128.
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "PlainRules.h"
#include "decant/Compiler/Compiler.h"
#include "decant/Reference/ReferenceRun.h"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

using namespace decant;
using namespace decant::test;

namespace {

constexpr int kTokens = 40; // two windows and a half

DecodeSpec specOf(const PlainRule &rule, std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), rule.overrides.begin(),
                   rule.overrides.end());
  overrides.insert(
      overrides.end(),
      {"rule=" + rule.preset(), "heads.key_dim=128", "heads.value_dim=128"});
  return makeSpec(overrides);
}

const std::vector<std::string> kInt8Window = {
    R"(state={"codes": "int8", "scale": [)"
    R"({"axis": "key", "fit": "sqrt_mean_abs", "type": "f32"},)"
    R"({"axis": "value", "fit": "absmax", "type": "f32"}]})",
    "window.length=16", "window.compensators=4", "window.records=f16"};

struct Measured {
  double output = 0, state = 0, codec = 0;
};

Measured measure(const PlainRule &rule,
                 const std::vector<std::string> &overrides) {
  const DecodeSpec spec = specOf(rule, overrides);
  Layer layer(spec, inOrder(1));
  Oracle codec(spec, layer.layout(), 1, Stored::Format);
  PlainLayer plain(rule, spec, 1);
  Numbers outputs, expected;
  for (int token = 0; token < kTokens; ++token) {
    const Token now = plain.shaped(makeToken(codec, token));
    const Numbers next = layer.step(now), right = plain.step(now);
    codec.step(now);
    outputs.insert(outputs.end(), next.begin(), next.end());
    expected.insert(expected.end(), right.begin(), right.end());
  }
  return {relativeError(outputs, expected),
          relativeError(layer.states(), plain.states()),
          relativeError(codec.states, plain.states())};
}

std::string decaysOf(const RecordShape &record) {
  std::string text;
  auto add = [&](DecayShape shape, const char *axis) {
    if (shape != DecayShape::None)
      text += fmt::format("{}{}", text.empty() ? "" : ", ",
                          shape == DecayShape::Scalar ? "scalar" : axis);
  };
  add(record.keyDecay, "key");
  add(record.valueDecay, "value");
  return text.empty() ? "none" : text;
}

void printRow(const PlainRule &rule) {
  const DecodeSpec spec = specOf(rule, kInt8Window);
  const RecordShape record = valueOf(describeRule(spec)).record;
  const SlotLayout layout = makeSlotLayout(spec, record);
  const int64_t recordBytes =
      (layout.recordKeys.bytes() + layout.recordValues.bytes() +
       layout.recordKeyDecay.bytes() + layout.recordValueDecay.bytes()) /
      layout.window;
  const bool tensorCores =
      mmaSchedule(makeSlotLayout(spec, record, CodeOrder::Fragments),
                  valueOf(lookupTarget("sm_90a")))
          .has_value();
  const Measured step = measure(rule, {});
  const Measured window = measure(rule, {"window.length=16"});
  const Measured int8 = measure(rule, kInt8Window);
  fmt::print("| {} | {} | {} | {} | {} | {:.3f} | {} | {:.1e} | {:.1e} | "
             "{:.1e} | {:.1e} | {:.2e} | {:.2e} |\n",
             rule.name, record.writes, decaysOf(record), record.carried,
             recordBytes, layout.bitsPerElement(), tensorCores ? "mma" : "simt",
             step.output, step.state, window.output, window.state, int8.state,
             int8.codec);
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  fmt::print(
      "# Every rule: what a window costs, and the CPU's error against "
      "float64\n\n"
      "128 x 128, {} tokens, synthetic inputs; made by `decant_rule_table`. "
      "Every rule runs per step and in windows. *writes* are records of a "
      "token, *record* the bytes of a token's records and decays in f16, "
      "*bits* those of int8 codes, scales, 4 compensators and carried vectors "
      "per element, *GPU* the strategy of the int8 window on sm_90a. Errors "
      "are norms relative to the rule's loops in float64; *codec* is what the "
      "float64 codec alone loses, which leaves out that records' decays per "
      "channel are f16.\n\n"
      "| rule | writes | decay | carried | record | bits | GPU | f32 step: "
      "output | state | f32 window of 16: output | state | int8 window: state "
      "| codec |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      kTokens);
  for (const PlainRule &rule : plainRules())
    if (wanted.empty() ||
        std::find(wanted.begin(), wanted.end(), rule.name) != wanted.end())
      printRow(rule);
  return 0;
}
