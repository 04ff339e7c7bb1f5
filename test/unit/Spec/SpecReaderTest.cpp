//===- SpecReaderTest.cpp - layers, defaults and rules --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: the files of test/Spec/valid and the presets. Checked: which layer wins,
// what is dropped, what is filled in, and that written specs read back.
//
//===----------------------------------------------------------------------===//
#include "TestFiles.h"

#include "decant/Spec/SpecReader.h"

#include <gtest/gtest.h>

namespace decant::test {
namespace {

DecodeSpec mustRead(const std::string &spec,
                    const std::vector<std::string> &overrides = {}) {
  Expected<DecodeSpec> read = readSpec({spec, overrides});
  EXPECT_TRUE(read.ok()) << read.status().message();
  return read.ok() ? *read : DecodeSpec();
}

std::string valid(const std::string &name) {
  return testPath("Spec/valid/" + name + ".json");
}

TEST(SpecReader, ReadsEveryField) {
  DecodeSpec spec = mustRead(valid("every-field"));
  EXPECT_EQ(spec.name, "every-field");
  EXPECT_EQ(spec.rule.name, "delta");
  EXPECT_EQ(spec.rule.text, readFile(testPath("Spec/valid/delta.mlir")));
  EXPECT_EQ(spec.heads.key, 3);
  EXPECT_EQ(spec.heads.value, 24);
  EXPECT_EQ(spec.heads.keyDim, 48);
  EXPECT_EQ(spec.heads.valueDim, 100);
  EXPECT_EQ(spec.heads.map, HeadMap::Modulo);
  EXPECT_EQ(spec.inputs.type, ElementType::F16);
  EXPECT_EQ(spec.inputs.output, ElementType::F32);
  EXPECT_EQ(spec.inputs.layout, InputLayout::PackedQkv);
  EXPECT_EQ(spec.inputs.decay, DecayForm::LowerBound);
  EXPECT_EQ(spec.inputs.gateType, ElementType::F16);
  EXPECT_EQ(spec.inputs.lowerBound, -5);
  EXPECT_EQ(spec.inputs.beta, BetaForm::Sigmoid);
  EXPECT_EQ(spec.inputs.betaScale, 2);
  EXPECT_EQ(spec.inputs.betaRound, ElementType::F16);
  EXPECT_EQ(spec.inputs.qkNorm, QkNorm::L2EpsOutside);
  EXPECT_EQ(spec.inputs.normEps, 1e-5);
  EXPECT_EQ(spec.inputs.scale, 0.25);
  EXPECT_EQ(spec.inputs.pad, PadPolicy::NonPositive);
  EXPECT_EQ(spec.state.codes, ElementType::I8);
  ASSERT_EQ(spec.state.scales.size(), 2u);
  EXPECT_EQ(spec.state.scales[0].axis, Axis::Value);
  EXPECT_EQ(spec.state.scales[0].fit, ScaleFit::SqrtMeanAbs);
  EXPECT_EQ(spec.state.scales[0].type, ElementType::BF16);
  EXPECT_EQ(spec.state.scales[1].axis, Axis::Key);
  EXPECT_EQ(spec.state.scales[1].fit, ScaleFit::AbsMax);
  EXPECT_EQ(spec.state.scales[1].type, ElementType::F16);
  EXPECT_EQ(spec.window.length, 64);
  EXPECT_EQ(spec.window.compensators, 16);
  EXPECT_EQ(spec.window.records, ElementType::BF16);
  EXPECT_EQ(spec.tokensPerStep, 1);
}

TEST(SpecReader, FillsTheDocumentedDefaults) {
  DecodeSpec spec = mustRead(valid("minimal"));
  EXPECT_EQ(spec.name, "minimal"); // the file's name
  EXPECT_EQ(spec.rule.name, "delta.mlir");
  EXPECT_EQ(spec.inputs.output, ElementType::BF16); // as inputs.type
  EXPECT_EQ(spec.inputs.gateType, ElementType::F32);
  EXPECT_EQ(spec.inputs.betaScale, 1);
  EXPECT_EQ(spec.inputs.betaRound, ElementType::F32);
  EXPECT_EQ(spec.inputs.normEps, 1e-6);
  EXPECT_EQ(spec.inputs.scale, 1);
  EXPECT_EQ(spec.window.compensators, 0);
  EXPECT_EQ(spec.window.records, ElementType::F16); // auto beside int8
  EXPECT_EQ(spec.tokensPerStep, 1);
}

TEST(SpecReader, OutputFollowsTheInputType) {
  EXPECT_EQ(mustRead(valid("minimal"), {"inputs.type=f16"}).inputs.output,
            ElementType::F16);
}

TEST(SpecReader, OwnFieldsOverrideTheMethod) {
  DecodeSpec spec = mustRead(valid("method-with-own-window"));
  EXPECT_EQ(spec.window.length, 32);      // the file's
  EXPECT_EQ(spec.window.compensators, 4); // the method's
  EXPECT_EQ(spec.state.scales.size(), 2u);
}

TEST(SpecReader, OwnFloatCodesDropTheMethodsScales) {
  DecodeSpec spec = mustRead(valid("method-with-float-codes"));
  EXPECT_EQ(spec.state.codes, ElementType::BF16);
  EXPECT_TRUE(spec.state.scales.empty());
}

TEST(SpecReader, OverridesDropWhatLosesItsMeaning) {
  DecodeSpec spec =
      mustRead("bytelm-gdn", {"state.codes=f32", "window.compensators=0"});
  EXPECT_EQ(spec.state.codes, ElementType::F32);
  EXPECT_TRUE(spec.state.scales.empty());
  EXPECT_EQ(spec.window.length, 16);
  EXPECT_EQ(spec.window.compensators, 0);
  EXPECT_EQ(spec.window.records, ElementType::F32); // auto beside f32

  EXPECT_EQ(mustRead("bytelm-gdn", {"inputs.qk_norm=none"}).inputs.normEps, 0);
  EXPECT_EQ(mustRead(valid("every-field"), {"inputs.decay=softplus"})
                .inputs.lowerBound,
            0);
  // In either order.
  EXPECT_EQ(mustRead("bytelm-gdn", {"window.length=1", "state.codes=f16",
                                    "window.compensators=0"})
                .window.length,
            1);
}

TEST(SpecReader, ShorterWindowKeepsTheRest) {
  DecodeSpec spec = mustRead("bytelm-gdn", {"window.length=1"});
  EXPECT_EQ(spec.window.length, 1);
  EXPECT_EQ(spec.window.compensators, 4);
  EXPECT_EQ(spec.state.scales.size(), 2u);
}

TEST(SpecReader, LaterOverridesWin) {
  EXPECT_EQ(mustRead("bytelm-gdn", {"window.length=4", "window.length=8"})
                .window.length,
            8);
  DecodeSpec back =
      mustRead("bytelm-gdn", {"state.codes=f32", "state.codes=int8"});
  EXPECT_EQ(back.state.scales.size(), 2u);
}

TEST(SpecReader, OverridesReachIntoArrays) {
  DecodeSpec spec = mustRead(
      "bytelm-gdn", {"state.scale.0.fit=absmax", "state.scale.1.type=f16"});
  EXPECT_EQ(spec.state.scales[0].fit, ScaleFit::AbsMax);
  EXPECT_EQ(spec.state.scales[0].axis, Axis::Key);
  EXPECT_EQ(spec.state.scales[1].type, ElementType::F16);
}

TEST(SpecReader, OverridesReplaceObjectsWhole) {
  DecodeSpec spec = mustRead("bytelm-gdn", {"window={\"length\": 2}"});
  EXPECT_EQ(spec.window.length, 2);
  EXPECT_EQ(spec.window.compensators, 0); // the default, not the method's 4
}

TEST(SpecReader, OverrideOfTheMethodLeavesTheSpecsOwnFields) {
  DecodeSpec spec =
      mustRead(valid("method-with-own-window"), {"preset=dsq-int8"});
  EXPECT_EQ(spec.window.length, 32);
  EXPECT_EQ(spec.window.compensators, 0);
  EXPECT_EQ(spec.state.scales[0].type, ElementType::F16);
}

TEST(SpecReader, MethodIsCompletedByOverrides) {
  DecodeSpec spec = mustRead(
      "step-bf16",
      {"rule=kda", "heads.key=1", "heads.value=1", "heads.key_dim=16",
       "heads.value_dim=32", "heads.map=group", "inputs.type=f32",
       "inputs.layout=separate", "inputs.decay=log", "inputs.beta=value",
       "inputs.qk_norm=none", "inputs.scale=rsqrt_key_dim", "inputs.pad=none"});
  EXPECT_EQ(spec.name, "step-bf16");
  EXPECT_EQ(spec.state.codes, ElementType::BF16);
  EXPECT_EQ(spec.inputs.scale, 0.25); // 1 / sqrt(16), exact
}

TEST(SpecReader, ScaleIsComputedFromTheFinalKeyDim) {
  EXPECT_EQ(mustRead("bytelm-gdn", {"heads.key_dim=64"}).inputs.scale, 0.125);
  EXPECT_EQ(mustRead("bytelm-gdn", {"inputs.scale=0.3"}).inputs.scale, 0.3);
}

TEST(SpecReader, WholeNumbersMayHaveAPoint) {
  EXPECT_EQ(mustRead(valid("inline-rule")).heads.key, 1);
}

TEST(SpecReader, InlineRule) {
  DecodeSpec spec = mustRead(valid("inline-rule"));
  EXPECT_EQ(spec.rule.name, "inline");
  EXPECT_EQ(spec.rule.text, "decant.rule @r() {}\n");
}

TEST(SpecReader, RuleOfAnOverrideIsFoundFromHere) {
  DecodeSpec spec =
      mustRead("bytelm-gdn", {"rule={\"file\": \"" +
                              testPath("Spec/valid/delta.mlir") + "\"}"});
  EXPECT_EQ(spec.rule.text, readFile(testPath("Spec/valid/delta.mlir")));
}

class RoundTrip : public testing::TestWithParam<std::string> {};

TEST_P(RoundTrip, JsonReadsBackAsTheSameSpec) {
  DecodeSpec spec = mustRead(GetParam());
  std::string json = specToJson(spec);
  // Away from the folder of the rule file: the text must be inside.
  Expected<DecodeSpec> again = readSpecText({"again", json, "/"});
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_TRUE(equal(spec, *again)) << json;
  EXPECT_EQ(specToJson(*again), json);
}

std::vector<std::string> roundTripSpecs() {
  std::vector<std::string> specs = {"bytelm-gdn", "bytelm-kda",
                                    "qwen3-next-gdn", "kimi-linear-kda"};
  for (const std::string &name : filesIn("Spec/valid", ".json"))
    specs.push_back(valid(name));
  return specs;
}

INSTANTIATE_TEST_SUITE_P(Specs, RoundTrip, testing::ValuesIn(roundTripSpecs()),
                         [](const auto &info) {
                           std::string name =
                               info.param.substr(info.param.rfind('/') + 1);
                           return testName(name);
                         });

/// Numbers of a spec survive JSON to the last bit.
TEST(SpecReader, RealNumbersRoundTrip) {
  for (double value : {0.1, 1.0 / 3, 1e-30, 1e30, 0x1.fffffffffffffp-2}) {
    DecodeSpec spec = mustRead("bytelm-gdn");
    spec.inputs.scale = value;
    Expected<DecodeSpec> again = readSpecText({"s", specToJson(spec), ""});
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->inputs.scale, value);
  }
}

TEST(SpecReader, ReadingTwiceGivesEqualText) {
  EXPECT_TRUE(equal(mustRead("bytelm-kda"), mustRead("bytelm-kda")));
  EXPECT_FALSE(equal(mustRead("bytelm-kda"), mustRead("bytelm-gdn")));
}

} // namespace
} // namespace decant::test
