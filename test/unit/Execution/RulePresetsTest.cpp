//===- RulePresetsTest.cpp - every rule preset, step by step --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every rule preset against the loops of PlainRules.cpp, after every token: the
// float64 reference, and kernels of the host with an f32 state, with windows of
// f32 and with windows over int8 codes and compensators.
//
//===----------------------------------------------------------------------===//

#include "MmaLayer.h"
#include "PlainRules.h"
#include "decant/Reference/ReferenceRun.h"
#include "decant/Spec/Presets.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <set>

using namespace decant;
using namespace decant::test;

namespace {

constexpr int kRows = 2;
/// Two windows of 16 and a bit.
constexpr int kTokens = 37;
/// float64 against float64: 2^-53 = 1e-16 a rounding, a few hundred of them in
/// a sum over keys and tokens.
constexpr double kF64Bound = 1e-13;

DecodeSpec specOf(const PlainRule &rule, std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), rule.overrides.begin(),
                   rule.overrides.end());
  overrides.push_back("rule=" + rule.preset());
  return makeSpec(overrides);
}

const std::vector<std::string> kWindow = {"window.length=16"};
/// LeapQuant's format; f32 records keep their rounding out of the comparison.
const std::vector<std::string> kInt8Window = {
    R"(state={"codes": "int8", "scale": [)"
    R"({"axis": "key", "fit": "sqrt_mean_abs", "type": "f32"},)"
    R"({"axis": "value", "fit": "absmax", "type": "f32"}]})",
    "window.length=16", "window.compensators=4"};

class RulePresets : public testing::TestWithParam<PlainRule> {
protected:
  /// A kernel's output, state and carried vectors after every token.
  void expectSteps(const std::vector<std::string> &overrides) {
    const DecodeSpec spec = specOf(GetParam(), overrides);
    Placement placement = inOrder(kRows);
    placement.spread = true;
    Layer layer(spec, placement);
    const Oracle inputs(spec, layer.layout(), kRows);
    PlainLayer plain(GetParam(), spec, kRows);
    for (int token = 0; token < kTokens; ++token) {
      const Token now = plain.shaped(makeToken(inputs, token));
      const Numbers expected = plain.step(now);
      ASSERT_LE(relativeError(layer.step(now), expected), kF32Bound)
          << "output of token " << token;
      ASSERT_LE(relativeError(layer.states(), plain.states()), kF32Bound)
          << "state after token " << token;
      if (GetParam().carries()) {
        ASSERT_LE(relativeError(layer.carried(), plain.carried()), kF32Bound)
            << "carried by token " << token;
      }
    }
    EXPECT_TRUE(layer.poolGapsIntact());
  }
};

TEST_P(RulePresets, InTheReference) {
  const DecodeSpec spec = specOf(GetParam(), {});
  SlotLayout layout;
  layout.keyDim = spec.heads.keyDim;
  layout.valueDim = spec.heads.valueDim;
  Oracle reference(spec, layout, kRows);
  PlainLayer plain(GetParam(), spec, kRows);
  for (int token = 0; token < kTokens; ++token) {
    const Token now = plain.shaped(makeToken(reference, token));
    const Numbers expected = plain.step(now);
    ASSERT_TRUE(allFinite(expected));
    ASSERT_LE(relativeError(reference.step(now), expected), kF64Bound)
        << "output of token " << token;
    ASSERT_LE(relativeError(reference.states, plain.states()), kF64Bound)
        << "state after token " << token;
    ASSERT_EQ(reference.carried.empty(), !GetParam().carries());
    if (GetParam().carries()) {
      ASSERT_LE(relativeError(reference.carried, plain.carried()), kF64Bound)
          << "carried by token " << token;
    }
  }
}

TEST_P(RulePresets, InF32AtEveryStep) { expectSteps({}); }
TEST_P(RulePresets, InAWindowOfF32) { expectSteps(kWindow); }

/// What codes lose is the codec's business: the state after two folds and a bit
/// is as far from the loops as the float64 codec's is, within the 2 % that
/// rounding in another place does to a fit (FormatsTest).
TEST_P(RulePresets, InAWindowOverInt8) {
  const DecodeSpec spec = specOf(GetParam(), kInt8Window);
  Layer layer(spec, inOrder(kRows));
  Oracle codec(spec, layer.layout(), kRows, Stored::Format);
  PlainLayer plain(GetParam(), spec, kRows);
  Numbers outputs, expected;
  for (int token = 0; token < kTokens; ++token) {
    const Token now = plain.shaped(makeToken(codec, token));
    const Numbers next = layer.step(now), right = plain.step(now);
    codec.step(now);
    outputs.insert(outputs.end(), next.begin(), next.end());
    expected.insert(expected.end(), right.begin(), right.end());
  }
  EXPECT_TRUE(allFinite(outputs));
  const double kernel = relativeError(layer.states(), plain.states());
  const double stored = relativeError(codec.states, plain.states());
  EXPECT_GT(stored, 1e-5) << "the format rounds";
  EXPECT_LE(kernel, 1.02 * stored + kF32Bound);
  EXPECT_GE(kernel, stored / 1.02 - kF32Bound);
}

INSTANTIATE_TEST_SUITE_P(All, RulePresets, testing::ValuesIn(plainRules()),
                         [](const auto &info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

TEST(RulePresets, AreAllInTheList) {
  std::set<std::string> listed;
  for (const PlainRule &rule : plainRules())
    listed.insert(rule.preset());
  for (const PresetInfo &preset : listPresets())
    if (preset.kind == PresetKind::Rule) {
      EXPECT_TRUE(listed.count(preset.name)) << preset.name;
    }
}

} // namespace
