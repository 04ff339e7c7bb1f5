//===- TokenTable.cpp - several tokens per step, on any device ------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: decant_token_table [--device cpu|cuda:N] [RULE]...
//
// In: the rule presets, or those named. Out: a Markdown table on stdout of how
// far steps of up to 2, 4 and 8 tokens are from the same tokens one by one,
// over int8 codes with compensators at 128 x 128: "equal" where all outputs and
// the state at the end are equal to the bit, else the larger relative error.
// Exit code 1 where one of them is beyond what f16 terms may differ by.
//
//===----------------------------------------------------------------------===//

#include "DeviceLayer.h"
#include "Oracle.h"
#include "PlainRules.h"
#include "decant/Reference/ReferenceRun.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

using namespace decant;
using namespace decant::test;

namespace {

constexpr int kTokens = 70; // some windows
/// The number of a token that is never accepted.
constexpr int kWrong = 1000;
/// Sums in another order may round a record in f16 to its neighbour: 2^-11 of
/// one term of a window.
constexpr double kBound = 1.0 / 2048;

DecodeSpec specOf(const PlainRule &rule, int tokens) {
  std::vector<std::string> overrides = {
      R"(state={"codes": "int8", "scale": [)"
      R"({"axis": "key", "fit": "sqrt_mean_abs", "type": "f32"},)"
      R"({"axis": "value", "fit": "absmax", "type": "f32"}]})",
      "window.length=16",
      "window.compensators=4",
      "window.records=f16",
      "rule=" + rule.preset(),
      "heads.key_dim=128",
      "heads.value_dim=128",
      fmt::format("tokens_per_step={}", tokens)};
  overrides.insert(overrides.end(), rule.overrides.begin(),
                   rule.overrides.end());
  return makeSpec(overrides);
}

/// Offers T, T - 1, ... 1 tokens and again T; every other time the second half
/// of them is wrong and not accepted.
double worstError(const PlainRule &rule, int tokens,
                  std::shared_ptr<Device> device) {
  const DecodeSpec spec = specOf(rule, tokens), single = specOf(rule, 1);
  DeviceLayer several(spec, device, sharedEngine());
  DeviceLayer oneByOne(single, device, sharedEngine());
  const Oracle inputs(single, oneByOne.layout(), 1);
  const PlainLayer plain(rule, single, 1);
  auto tokenOf = [&](int number) {
    return plain.shaped(makeToken(inputs, number));
  };
  const int window = spec.window.length;
  Numbers outputs, expected;
  int position = 0, fill = 0;
  for (int step = 0; position < kTokens; ++step) {
    const int count = tokens - step % tokens;
    const int accepted = step % 2 == 1 ? (count + 1) / 2 : count;
    if (fill + count > window) {
      if (fill < window) // a full one was folded at once
        oneByOne.flush();
      fill = 0;
    }
    std::vector<Token> offered;
    for (int i = 0; i < count; ++i)
      offered.push_back(
          tokenOf(i < accepted ? position + i : kWrong + step * tokens + i));
    Numbers next = several.draft(offered);
    several.commit(accepted);
    next.resize(next.size() / count * accepted);
    outputs.insert(outputs.end(), next.begin(), next.end());
    for (int i = 0; i < accepted; ++i) {
      const Numbers right = oneByOne.step(offered[i]);
      expected.insert(expected.end(), right.begin(), right.end());
    }
    position += accepted;
    fill += accepted;
  }
  several.flush();
  oneByOne.flush();
  return std::max(relativeError(outputs, expected),
                  relativeError(several.states(), oneByOne.states()));
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("Steps of several tokens against the same tokens one by one");
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
  fmt::print("# Every rule: several tokens per step\n\n"
             "{}; int8 codes, 4 compensators, a window of 16, 128 x 128, {} "
             "tokens, synthetic inputs; made by `decant_token_table`. Steps of "
             "mixed counts up to T, of which every other one is half taken "
             "back, against the same tokens one by one.\n\n"
             "| rule | T = 2 | T = 4 | T = 8 |\n|---|---|---|---|\n",
             (*device)->info().kind == TargetKind::Cpu ? "CPU"
                                                       : (*device)->info().name,
             kTokens);
  int bad = 0;
  for (const PlainRule &rule : plainRules()) {
    if (!wanted.empty() &&
        std::find(wanted.begin(), wanted.end(), rule.name) == wanted.end())
      continue;
    std::string row = fmt::format("| {} |", rule.name);
    for (int tokens : {2, 4, 8})
      try {
        const double error = worstError(rule, tokens, *device);
        bad += !(error <= kBound);
        row += error == 0 ? " equal |" : fmt::format(" {:.1e} |", error);
      } catch (const std::runtime_error &error) {
        row += fmt::format(" {} |", error.what());
        ++bad;
      }
    fmt::print("{}\n", row);
    std::fflush(stdout);
  }
  return bad > 0;
}
