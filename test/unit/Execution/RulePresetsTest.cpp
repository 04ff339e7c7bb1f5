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
#include "decant/Compiler/Compiler.h"
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
    expectSteps(layer, spec);
  }
  void expectSteps(Layer &layer, const DecodeSpec &spec) {
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

  /// What the layer's format costs, against the loops.
  FormatErrors formatErrors(Layer &layer, const DecodeSpec &spec) {
    Oracle codec(spec, layer.layout(), kRows, Stored::Format);
    PlainLayer plain(GetParam(), spec, kRows);
    Numbers outputs, stored, expected;
    const auto append = [](Numbers &to, const Numbers &from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    for (int token = 0; token < kTokens; ++token) {
      const Token now = plain.shaped(makeToken(codec, token));
      append(outputs, layer.step(now));
      append(stored, codec.step(now));
      append(expected, plain.step(now));
    }
    FormatErrors errors;
    errors.finite = allFinite(outputs) && allFinite(layer.states());
    errors.kernel = relativeError(layer.states(), plain.states());
    errors.codec = relativeError(codec.states, plain.states());
    errors.output = relativeError(outputs, expected);
    errors.codecOutput = relativeError(stored, expected);
    return errors;
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
/// is as far from the loops as the float64 codec's is, within what
/// expectFormatCosts says of rounding in another place.
TEST_P(RulePresets, InAWindowOverInt8) {
  const DecodeSpec spec = specOf(GetParam(), kInt8Window);
  Layer layer(spec, inOrder(kRows));
  expectFormatCosts(formatErrors(layer, spec), spec, kTokens);
}

/// The lanes of a GPU's default schedules, run in turn: those that hold an f32
/// state, and tensor cores, or many lanes where a rule has none.
using RulePresetsOnLanes = RulePresets;

TEST_P(RulePresetsOnLanes, OfAGpu) {
  const std::vector<std::string> dims = {"heads.key_dim=32",
                                         "heads.value_dim=64"};
  const DecodeSpec step = specOf(GetParam(), dims);
  const RecordShape record = valueOf(describeRule(step)).record;
  const TargetInfo target = valueOf(lookupTarget("sm_90a"));
  const SlotLayout held = makeSlotLayout(step, record);
  const Schedule schedule =
      defaultSchedule(held, target, GetParam().needsWholeHeads());
  ASSERT_GT(schedule.threads(), 1);
  Layer layer(step, inOrder(kRows), schedule, CodeOrder::Rows, Kernels::Decode);
  expectSteps(layer, step);

  std::vector<std::string> overrides = kInt8Window;
  overrides.insert(overrides.end(), dims.begin(), dims.end());
  overrides.push_back("window.records=f16");
  const DecodeSpec spec = specOf(GetParam(), overrides);
  const bool tensorCores = record.valueDecay == DecayShape::None;
  const CodeOrder order = tensorCores ? CodeOrder::Fragments : CodeOrder::Rows;
  Layer windowed(
      spec, inOrder(kRows),
      tensorCores ? mmaScheduleOf(spec, record)
                  : defaultSchedule(makeSlotLayout(spec, record), target, true),
      order, Kernels::Decode);
  expectFormatCosts(formatErrors(windowed, spec), spec, kTokens);
}

/// Those with something of their own below the windowed stage: compiling for so
/// many lanes takes seconds.
const std::set<std::string> kOnLanes = {"linear_attention_normalized",
                                        "mamba2",
                                        "gated_oja",
                                        "precond_kda",
                                        "rwkv7",
                                        "gated_delta_product3"};

std::vector<PlainRule> rulesOnLanes() {
  std::vector<PlainRule> rules;
  for (const PlainRule &rule : plainRules())
    if (kOnLanes.count(rule.name))
      rules.push_back(rule);
  return rules;
}

INSTANTIATE_TEST_SUITE_P(All, RulePresetsOnLanes,
                         testing::ValuesIn(rulesOnLanes()),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

INSTANTIATE_TEST_SUITE_P(All, RulePresets, testing::ValuesIn(plainRules()),
                         [](const auto &info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

// Through the engine: a program without pack and unpack, which says so.
TEST(CarriedVectors, AreMovedWithWholeSlotsOnly) {
  const DecodeSpec spec = makeSpec({"rule=linear_attention_normalized"});
  std::shared_ptr<Device> device = valueOf(sharedEngine().openDevice("cpu"));
  PrepareReport report;
  const auto program = valueOf(sharedEngine().prepare(spec, device, &report));
  EXPECT_FALSE(program->info().canTransfer);
  EXPECT_EQ(report.images.size(), 1u);
  EXPECT_NE(program->pack({}).message().find("without a transfer image"),
            std::string::npos);
  CompileOptions options;
  options.target = valueOf(targetFor(*device));
  options.kernels = KernelSet::Transfer;
  EXPECT_NE(sharedEngine()
                .image(spec, options)
                .status()
                .message()
                .find("carries 1 key vector(s) beside its state"),
            std::string::npos);
  // Codes, and 128 bytes of the vector: 32 keys, padded to none.
  EXPECT_EQ(program->layout().carried.bytes(), 32 * 4);
  EXPECT_EQ(program->info().stateBytesPerHead, 32 * 32 * 4 + 32 * 4);
}

// Kernels that move states have no reads, and take the layout from the rule.
TEST(TransferKernels, HaveTheLayoutOfTheStep) {
  for (const char *rule : {"gated_oja", "gated_delta", "gla_value"}) {
    const DecodeSpec spec =
        makeSpec({std::string("rule=") + rule, "heads.key_dim=128",
                  "heads.value_dim=128"});
    CompileOptions options;
    options.target = valueOf(lookupTarget("sm_90a"));
    const SlotLayout step = valueOf(sharedEngine().image(spec, options)).layout;
    options.kernels = KernelSet::Transfer;
    const SlotLayout moved =
        valueOf(sharedEngine().image(spec, options)).layout;
    EXPECT_EQ(toString(step.codeOrder), std::string(toString(moved.codeOrder)))
        << rule;
  }
}

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
