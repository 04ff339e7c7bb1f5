//===- DecodeSpecTest.cpp - contradictions and the text form --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One sound spec; every test changes one thing of it.
//
//===----------------------------------------------------------------------===//
#include "decant/Core/DecodeSpec.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <set>

namespace decant {
namespace {

DecodeSpec soundSpec() {
  DecodeSpec spec;
  spec.name = "sound";
  spec.rule = {"r", "decant.rule @r"};
  spec.heads = {2, 4, 128, 128, HeadMap::Group};
  spec.state.codes = ElementType::I8;
  spec.state.scales = {{Axis::Key, ScaleFit::SqrtMeanAbs, ElementType::F32},
                       {Axis::Value, ScaleFit::AbsMax, ElementType::F32}};
  spec.window = {16, 4, ElementType::F16};
  return spec;
}

using Change = std::function<void(DecodeSpec &)>;

DecodeSpec changed(const Change &change) {
  DecodeSpec spec = soundSpec();
  change(spec);
  return spec;
}

TEST(DecodeSpec, BytesPerElement) {
  EXPECT_EQ(elementBytes(ElementType::F32), 4);
  EXPECT_EQ(elementBytes(ElementType::F16), 2);
  EXPECT_EQ(elementBytes(ElementType::BF16), 2);
  EXPECT_EQ(elementBytes(ElementType::I8), 1);
}

TEST(DecodeSpec, IntegerCodesAreSymmetric) {
  const std::pair<ElementType, int> limits[] = {{ElementType::I8, 127},
                                                {ElementType::I6, 31},
                                                {ElementType::I4, 7},
                                                {ElementType::I3, 3},
                                                {ElementType::I2, 1}};
  for (const auto &[type, limit] : limits) {
    EXPECT_TRUE(isInteger(type));
    EXPECT_EQ(maxCode(type), limit);
    EXPECT_EQ(2 * limit + 2, 1 << elementBits(type));
    DecodeSpec spec = soundSpec();
    spec.state.codes = type;
    EXPECT_TRUE(check(spec).empty()) << toString(type);
    spec.window.records = type;
    EXPECT_EQ(check(spec).size(), 1u) << toString(type);
  }
  EXPECT_FALSE(isInteger(ElementType::BF16));
}

TEST(DecodeSpec, SoundSpecsPass) {
  EXPECT_TRUE(check(soundSpec()).empty());
  for (int dim = kMinDim; dim <= kMaxDim; ++dim)
    EXPECT_TRUE(check(changed([dim](DecodeSpec &spec) {
                  spec.heads.keyDim = dim;
                  spec.heads.valueDim = kMinDim + kMaxDim - dim;
                })).empty())
        << dim;
  for (int ratio : {1, 2, 3, 4, 8})
    EXPECT_TRUE(check(changed([ratio](DecodeSpec &spec) {
                  spec.heads.value = spec.heads.key * ratio;
                })).empty())
        << ratio;
  for (ElementType codes :
       {ElementType::F32, ElementType::F16, ElementType::BF16})
    EXPECT_TRUE(check(changed([codes](DecodeSpec &spec) {
                  spec.state = {codes, {}, {}};
                })).empty())
        << toString(codes);
  for (int length = 1; length <= kMaxWindow; ++length)
    EXPECT_TRUE(check(changed([length](DecodeSpec &spec) {
                  spec.window.length = length;
                })).empty())
        << length;
}

struct Wrong {
  const char *path, *text;
  Change change;
};

/// Each change breaks one rule, so it must give that issue and no other.
TEST(DecodeSpec, EachContradictionIsFoundAlone) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const ElementType i8 = ElementType::I8;
  const std::vector<Wrong> cases = {
      {"rule", "empty", [](auto &s) { s.rule.text = ""; }},
      {"heads.key", "found -2", [](auto &s) { s.heads.key = -2; }},
      {"heads.key", "1 to 4096", [](auto &s) { s.heads.key = 0; }},
      {"heads.value", "found 0", [](auto &s) { s.heads.value = 0; }},
      {"heads.value", "multiple of heads.key",
       [](auto &s) { s.heads.value = 5; }},
      {"heads.value", "found 4098", [](auto &s) { s.heads.value = 4098; }},
      {"heads.key_dim", "found 15", [](auto &s) { s.heads.keyDim = 15; }},
      {"heads.key_dim", "found 257", [](auto &s) { s.heads.keyDim = 257; }},
      {"heads.value_dim", "16 to 256", [](auto &s) { s.heads.valueDim = 0; }},
      {"inputs.type", "found int8", [=](auto &s) { s.inputs.type = i8; }},
      {"inputs.output", "found int8", [=](auto &s) { s.inputs.output = i8; }},
      {"inputs.gate_type", "f32, f16 or bf16",
       [=](auto &s) { s.inputs.gateType = i8; }},
      {"inputs.beta_round", "f32, f16 or bf16",
       [=](auto &s) { s.inputs.betaRound = i8; }},
      {"inputs.lower_bound", "found -5 beside inputs.decay log",
       [](auto &s) { s.inputs.lowerBound = -5; }},
      {"inputs.lower_bound", "found 0",
       [](auto &s) { s.inputs.decay = DecayForm::LowerBound; }},
      {"inputs.lower_bound", "found 5",
       [](auto &s) {
         s.inputs.decay = DecayForm::LowerBound;
         s.inputs.lowerBound = 5;
       }},
      {"inputs.beta_scale", "found 1.5",
       [](auto &s) { s.inputs.betaScale = 1.5; }},
      {"inputs.norm_eps", "found 0", [](auto &s) { s.inputs.normEps = 0; }},
      {"inputs.norm_eps", "nan", [=](auto &s) { s.inputs.normEps = nan; }},
      {"inputs.scale", "found 0", [](auto &s) { s.inputs.scale = 0; }},
      {"inputs.scale", "inf", [=](auto &s) { s.inputs.scale = infinity; }},
      {"inputs.scale", "nan", [=](auto &s) { s.inputs.scale = nan; }},
      {"state.scale", "beside state.codes bf16",
       [](auto &s) { s.state.codes = ElementType::BF16; }},
      {"state.scale", "no scale", [](auto &s) { s.state.scales.clear(); }},
      {"state.scale", "2 scales on the value axis",
       [](auto &s) { s.state.scales[0] = s.state.scales[1]; }},
      {"state.scale.0.type", "found int8",
       [=](auto &s) { s.state.scales[0].type = i8; }},
      {"state.scale.1.fit", "sqrt_mean_abs in the last scale",
       [](auto &s) { s.state.scales[1].fit = ScaleFit::SqrtMeanAbs; }},
      {"state.plan", "missing beside state.bits",
       [](auto &s) { s.state.bits.mean = 4; }},
      {"state.plan", "found bits of 3 key rows",
       [](auto &s) { s.state.bits.widths = {4, 4, 4}; }},
      {"window.length", "found 0", [](auto &s) { s.window.length = 0; }},
      {"window.length", "found 65", [](auto &s) { s.window.length = 65; }},
      {"window.compensators", "found -1",
       [](auto &s) { s.window.compensators = -1; }},
      {"window.compensators", "0 to 16",
       [](auto &s) { s.window.compensators = 17; }},
      {"window.compensator_type",
       "found int4; allowed: f16, bf16, or int8 or e4m3",
       [](auto &s) { s.window.compensatorType = ElementType::I4; }},
      {"window.compensator_type", "found f32",
       [](auto &s) { s.window.compensatorType = ElementType::F32; }},
      {"window.compensator_rounds", "found 0; allowed: an integer from 1 to 4",
       [](auto &s) { s.window.compensatorRounds = 0; }},
      {"window.records", "found int8", [=](auto &s) { s.window.records = i8; }},
      {"tokens_per_step", "found 0", [](auto &s) { s.tokensPerStep = 0; }},
      {"tokens_per_step", "1 to 8", [](auto &s) { s.tokensPerStep = 9; }},
      {"tokens_per_step", "found 4 with window.length 1",
       [](auto &s) {
         s.tokensPerStep = 4;
         s.window.length = 1;
       }},
  };
  for (const Wrong &wrong : cases) {
    SCOPED_TRACE(std::string(wrong.path) + ", " + wrong.text);
    std::vector<SpecIssue> issues = check(changed(wrong.change));
    ASSERT_EQ(issues.size(), 1u);
    EXPECT_EQ(issues[0].path, wrong.path);
    EXPECT_NE(issues[0].message.find(wrong.text), std::string::npos)
        << issues[0].message;
    EXPECT_NE(issues[0].message.find("allowed: "), std::string::npos)
        << issues[0].message;
  }
}

TEST(DecodeSpec, AllContradictionsAreFound) {
  DecodeSpec spec = soundSpec();
  spec.heads.keyDim = 8;
  spec.inputs.betaScale = 0;
  spec.window.length = 100;
  EXPECT_EQ(check(spec).size(), 3u);
}

TEST(DecodeSpec, NormEpsIsFreeWithoutANorm) {
  EXPECT_TRUE(check(changed([](DecodeSpec &spec) {
                spec.inputs.qkNorm = QkNorm::None;
                spec.inputs.normEps = 0;
              })).empty());
}

/// A field that the text left out would make two kernels share a cache entry.
TEST(DecodeSpec, CanonicalTextCoversEveryField) {
  const std::vector<Change> changes = {
      [](auto &) {},
      [](auto &s) { s.rule.text += " "; },
      [](auto &s) { s.rule.text += "\n"; },
      [](auto &s) { s.rule.text += "\\n"; },
      [](auto &s) { s.heads.key = 1; },
      [](auto &s) { s.heads.value = 8; },
      [](auto &s) { s.heads.keyDim = 64; },
      [](auto &s) { s.heads.valueDim = 64; },
      [](auto &s) { s.heads.map = HeadMap::Modulo; },
      [](auto &s) { s.inputs.type = ElementType::F16; },
      [](auto &s) { s.inputs.output = ElementType::F32; },
      [](auto &s) { s.inputs.layout = InputLayout::PackedQkv; },
      [](auto &s) { s.inputs.decay = DecayForm::Linear; },
      [](auto &s) { s.inputs.decay = DecayForm::Softplus; },
      [](auto &s) { s.inputs.decay = DecayForm::LowerBound; },
      [](auto &s) { s.inputs.gateType = ElementType::BF16; },
      [](auto &s) { s.inputs.lowerBound = -5; },
      [](auto &s) { s.inputs.beta = BetaForm::Sigmoid; },
      [](auto &s) { s.inputs.betaScale = 2; },
      [](auto &s) { s.inputs.betaRound = ElementType::BF16; },
      [](auto &s) { s.inputs.qkNorm = QkNorm::None; },
      [](auto &s) { s.inputs.qkNorm = QkNorm::L2EpsOutside; },
      [](auto &s) { s.inputs.normEps = 1e-5; },
      // The nearest double: the text keeps every bit.
      [](auto &s) { s.inputs.normEps = 0x1.0c6f7a0b5ed8ep-20; },
      [](auto &s) { s.inputs.scale = 0.5; },
      [](auto &s) { s.inputs.pad = PadPolicy::None; },
      [](auto &s) { s.inputs.pad = PadPolicy::NonPositive; },
      [](auto &s) { s.state.codes = ElementType::F16; },
      [](auto &s) { s.state.scales.pop_back(); },
      [](auto &s) { std::swap(s.state.scales[0], s.state.scales[1]); },
      [](auto &s) { s.state.scales[0].axis = Axis::Value; },
      [](auto &s) { s.state.scales[0].fit = ScaleFit::AbsMax; },
      [](auto &s) { s.state.scales[0].type = ElementType::F16; },
      [](auto &s) { s.state.bits.widths = {4, 4}; },
      [](auto &s) { s.state.bits.widths = {4, 5}; },
      [](auto &s) { s.window.length = 8; },
      [](auto &s) { s.window.compensators = 3; },
      [](auto &s) { s.window.compensatorType = ElementType::I8; },
      [](auto &s) { s.window.compensatorRounds = 2; },
      [](auto &s) { s.window.records = ElementType::BF16; },
      [](auto &s) { s.tokensPerStep = 2; },
  };
  std::set<std::string> texts;
  for (size_t i = 0; i < changes.size(); ++i)
    EXPECT_TRUE(texts.insert(canonicalText(changed(changes[i]))).second)
        << "change " << i << " does not show";
}

// The mean is reached and not passed, and rows of both widths are mixed.
TEST(DecodeSpec, EvenBitsKeepTheMean) {
  for (double mean : {2.0, 4.0, 4.25, 4.3, 5.5, 7.99, 8.0}) {
    const std::vector<uint8_t> widths = evenRowBits(mean, 400);
    double sum = 0, longest = 0, run = 0;
    for (size_t row = 0; row < widths.size(); ++row) {
      sum += widths[row];
      run = row > 0 && widths[row] == widths[row - 1] ? run + 1 : 1;
      longest = std::max(longest, run);
    }
    EXPECT_LE(sum, 400 * mean + 1e-6) << mean;
    EXPECT_GT(sum, 400 * mean - 1) << mean;
    if (mean == 4.25)
      EXPECT_EQ(longest, 3);
  }
}

TEST(DecodeSpec, CanonicalTextLeavesLabelsOut) {
  std::string text = canonicalText(soundSpec());
  EXPECT_EQ(text, canonicalText(changed([](auto &s) { s.name = "other"; })));
  EXPECT_EQ(text, canonicalText(changed([](auto &s) { s.rule.name = "p/r"; })));
}

TEST(DecodeSpec, CanonicalTextHasOneLinePerField) {
  DecodeSpec spec = soundSpec();
  spec.rule.text = "a\nb = c\n";
  std::string text = canonicalText(spec);
  EXPECT_EQ(text.find("\nb = c"), std::string::npos);
  EXPECT_NE(text.find("rule.text = a\\nb = c\\n\n"), std::string::npos);
  EXPECT_NE(text.find("\nheads.key = 2\n"), std::string::npos);
  EXPECT_NE(text.find("\nstate.scale.0 = key sqrt_mean_abs f32\n"),
            std::string::npos);
}

TEST(DecodeSpec, RulesAreEqualByNameAndText) {
  EXPECT_TRUE((RuleRef{"a", "b"} == RuleRef{"a", "b"}));
  EXPECT_FALSE((RuleRef{"a", "b"} == RuleRef{"a", "c"}));
  EXPECT_FALSE((RuleRef{"a", "b"} == RuleRef{"c", "b"}));
}

} // namespace
} // namespace decant
