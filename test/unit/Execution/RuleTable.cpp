//===- RuleTable.cpp - one table of all rules -----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: decant_rule_table [--device cpu|cuda:N] [RULE]...
//
// In: the rule presets, or those named. Out: a Markdown table on stdout of what
// each costs in a window over int8 codes, and how far a device's kernels are
// from its equation in float64 (PlainRules.cpp), at 128 x 128. A rule that a
// device refuses is a row that says why, and the exit code is 1 then.
//
//===----------------------------------------------------------------------===//

#include "DeviceLayer.h"
#include "Oracle.h"
#include "PlainRules.h"
#include "decant/Compiler/Compiler.h"
#include "decant/Reference/ReferenceRun.h"

#include <CLI/CLI.hpp>
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
                 const std::vector<std::string> &overrides,
                 std::shared_ptr<Device> device) {
  const DecodeSpec spec = specOf(rule, overrides);
  DeviceLayer layer(spec, std::move(device), sharedEngine());
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

void printRow(const PlainRule &rule, std::shared_ptr<Device> device) {
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
  const Measured step = measure(rule, {}, device);
  const Measured window = measure(rule, {"window.length=16"}, device);
  const Measured int8 = measure(rule, kInt8Window, device);
  fmt::print("| {} | {} | {} | {} | {} | {:.3f} | {} | {:.1e} | {:.1e} | "
             "{:.1e} | {:.1e} | {:.2e} | {:.2e} | {:.2e} |\n",
             rule.name, record.writes, decaysOf(record), record.carried,
             recordBytes, layout.bitsPerElement(), tensorCores ? "mma" : "simt",
             step.output, step.state, window.output, window.state, int8.output,
             int8.state, int8.codec);
  std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("One table of all rule presets");
  std::string name = "cpu";
  std::vector<std::string> wanted;
  app.add_option("--device", name, "cpu or cuda:N");
  app.add_option("RULE", wanted, "rule presets; all without one");
  CLI11_PARSE(app, argc, argv);
  const Expected<std::shared_ptr<Device>> device =
      sharedEngine().openDevice(name);
  if (!device) {
    fmt::print(stderr, "{}\n", device.status().message());
    return 1;
  }
  fmt::print(
      "# Every rule: what a window costs, and the error against float64\n\n"
      "{}; 128 x 128, {} tokens, synthetic inputs; made by "
      "`decant_rule_table`. "
      "Every rule runs per step and in windows. *writes* are records of a "
      "token, *record* the bytes of a token's records and decays in f16, "
      "*bits* those of int8 codes, scales, 4 compensators and carried vectors "
      "per element, *GPU* the strategy of the int8 window on sm_90a. Errors "
      "are norms relative to the rule's loops in float64; *codec* is what the "
      "float64 codec alone loses, which leaves out that records' decays per "
      "channel are f16.\n\n"
      "| rule | writes | decay | carried | record | bits | GPU | f32 step: "
      "output | state | f32 window of 16: output | state | int8 window: "
      "output | state | codec |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      (*device)->info().kind == TargetKind::Cpu ? "CPU"
                                                : (*device)->info().name,
      kTokens);
  int refused = 0;
  for (const PlainRule &rule : plainRules()) {
    if (!wanted.empty() &&
        std::find(wanted.begin(), wanted.end(), rule.name) == wanted.end())
      continue;
    try {
      printRow(rule, *device);
    } catch (const std::runtime_error &error) {
      fmt::print("| {} | {} |\n", rule.name, error.what());
      ++refused;
    }
  }
  return refused > 0;
}
