//===- PresetsTest.cpp - presets are sound and complete -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The embedded files against those on disk, and what they say against a second
// copy of the facts.
//
//===----------------------------------------------------------------------===//
#include "TestFiles.h"

#include "decant/Core/SlotLayout.h"
#include "decant/Spec/Presets.h"
#include "decant/Spec/SpecReader.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace decant::test {
namespace {

std::string folderOf(PresetKind kind) {
  return std::string(toString(kind)) + "s";
}

/// The embedded copies against the files themselves.
TEST(Presets, EveryFileIsEmbeddedUnchanged) {
  std::set<std::pair<std::string, std::string>> embedded;
  for (const PresetFile &file : presetFiles()) {
    std::string ending = file.kind == PresetKind::Rule ? ".mlir" : ".json";
    std::string path = "../presets/" + folderOf(file.kind) + "/" +
                       std::string(file.name) + ending;
    EXPECT_EQ(std::string(file.text), readFile(testPath(path))) << path;
    embedded.insert({folderOf(file.kind), std::string(file.name)});
  }
  for (PresetKind kind :
       {PresetKind::Rule, PresetKind::Method, PresetKind::Model})
    for (const std::string &name :
         filesIn("../presets/" + folderOf(kind),
                 kind == PresetKind::Rule ? ".mlir" : ".json"))
      EXPECT_TRUE(embedded.count({folderOf(kind), name})) << name;
}

TEST(Presets, HaveAOneLineDescription) {
  for (const PresetInfo &preset : listPresets()) {
    EXPECT_GE(preset.description.size(), 10u) << preset.name;
    EXPECT_EQ(preset.description.find('\n'), std::string::npos) << preset.name;
  }
}

TEST(Presets, TextIsFoundByKindAndName) {
  Expected<std::string> text = presetText(PresetKind::Rule, "gated_delta");
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_NE(text->find("decant.rule @gated_delta"), std::string::npos);
  Expected<std::string> wrong = presetText(PresetKind::Rule, "gated-delta");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.status().message().find(
                "(did you mean \"gated_delta\"?); allowed: "),
            std::string::npos)
      << wrong.status().message();
}

/// So that any method may stand below any spec.
TEST(Presets, MethodsSayOnlyHowTheStateIsKept) {
  for (const PresetFile &file : presetFiles()) {
    if (file.kind != PresetKind::Method)
      continue;
    auto json = nlohmann::json::parse(file.text);
    for (const auto &[name, value] : json.items())
      EXPECT_TRUE(name == "decant" || name == "description" ||
                  name == "state" || name == "window")
          << file.name << ": " << name;
    EXPECT_TRUE(json.contains("state") && json.contains("window")) << file.name;
  }
}

TEST(Presets, EveryMethodFitsEveryModel) {
  int pairs = 0;
  for (const PresetFile &model : presetFiles()) {
    if (model.kind != PresetKind::Model)
      continue;
    for (const PresetFile &method : presetFiles()) {
      if (method.kind != PresetKind::Method)
        continue;
      std::vector<std::string> overrides = {"preset=" +
                                            std::string(method.name)};
      // In the place of a plan, which belongs to a model's layer.
      if (method.text.find("\"lifetime\"") != std::string_view::npos)
        overrides.push_back("state.bits.by=even");
      SpecSource source = {std::string(model.name), overrides};
      source.planToCome =
          method.text.find("\"table") != std::string_view::npos ||
          method.text.find("\"static\"") != std::string_view::npos;
      if (method.text.find("\"pivots\": 16") != std::string_view::npos)
        source.planToCome = true; // of 128 rows, and some models have 64
      Expected<DecodeSpec> spec = readSpec(source);
      ASSERT_TRUE(spec.ok()) << spec.status().message();
      EXPECT_EQ(spec->name, model.name);
      ++pairs;
    }
  }
  EXPECT_GE(pairs, 4 * 8);
}

struct MethodRow {
  const char *name;
  ElementType codes;
  int scales, length, compensators;
  ElementType records;
};

/// Written down a second time from the descriptions of the methods' authors.
TEST(Presets, MethodsAreWhatTheirNamesSay) {
  using E = ElementType;
  for (const MethodRow &row : {
           MethodRow{"step-fp32", E::F32, 0, 1, 0, E::F32},
           MethodRow{"step-fp16", E::F16, 0, 1, 0, E::F16},
           MethodRow{"step-bf16", E::BF16, 0, 1, 0, E::F16},
           MethodRow{"step-int8", E::I8, 1, 1, 0, E::F16},
           MethodRow{"replayssm", E::F32, 0, 16, 0, E::BF16},
           MethodRow{"replayssm-bf16", E::BF16, 0, 16, 0, E::BF16},
           MethodRow{"leapquant-int8", E::I8, 2, 16, 4, E::F16},
           MethodRow{"leapquant-int6", E::I6, 2, 16, 4, E::F16},
           MethodRow{"leapquant-int4", E::I4, 2, 16, 8, E::F16},
           MethodRow{"dsq-int8", E::I8, 2, 1, 0, E::F16},
       }) {
    SCOPED_TRACE(row.name);
    Expected<DecodeSpec> spec =
        readSpec({"bytelm-gdn", {std::string("preset=") + row.name}});
    ASSERT_TRUE(spec.ok()) << spec.status().message();
    EXPECT_EQ(spec->state.codes, row.codes);
    EXPECT_EQ(int(spec->state.scales.size()), row.scales);
    EXPECT_EQ(spec->window.length, row.length);
    EXPECT_EQ(spec->window.compensators, row.compensators);
    EXPECT_EQ(spec->window.records, row.records);
    if (row.scales == 0)
      continue;
    // The value channels are scaled last, by absmax; smoothing comes before.
    EXPECT_EQ(spec->state.scales.back().axis, Axis::Value);
    EXPECT_EQ(spec->state.scales.back().fit, ScaleFit::AbsMax);
    ElementType stored = std::string(row.name) == "dsq-int8" ? E::F16 : E::F32;
    for (const ScaleSpec &scale : spec->state.scales)
      EXPECT_EQ(scale.type, stored);
    if (row.scales == 2) {
      EXPECT_EQ(spec->state.scales[0].axis, Axis::Key);
      EXPECT_EQ(spec->state.scales[0].fit, ScaleFit::SqrtMeanAbs);
    }
  }
}

/// Bytes of a head of 128 x 128 with all metadata, counted by hand: codes, then
/// scales (and offsets), then compensators.
TEST(Presets, MethodsTakeTheBytesOfTheirFormats) {
  struct Row {
    const char *name;
    int64_t bytes;
  };
  const int64_t n = 128 * 128;
  for (const Row &row : {
           Row{"step-fp32", 4 * n},
           Row{"step-fp16", 2 * n},
           Row{"step-bf16", 2 * n},
           Row{"replayssm", 4 * n},
           Row{"replayssm-bf16", 2 * n},
           Row{"step-int8", n + 128 * 4},
           Row{"step-int6", n * 6 / 8 + 128 * 4},
           Row{"step-int4", n / 2 + 128 * 4},
           Row{"step-int8-tensor", n + 4},
           Row{"step-int8-group", n + 128 * 2},
           Row{"step-int8-stochastic", n + 128 * 4},
           Row{"step-fp8-stochastic", n + 128 * 4},
           Row{"step-fp8", n + 128 * 4},
           Row{"step-fp8-tensor", n + 4},
           Row{"step-fp8-group", n + 128 * 4},
           Row{"mxfp8", 16896},
           Row{"mxfp6", 12800},
           Row{"mxfp6-e3m2", 12800},
           Row{"mxfp4", 8704},
           Row{"nvfp4", 9220},
           Row{"nvfp6", 13316},
           Row{"nvfp6-e3m2", 13316},
           Row{"kvquant-int8", n + 2 * 128 * 2},
           Row{"kvquant-int6", n * 6 / 8 + 2 * 128 * 2},
           Row{"kvquant-int4", n / 2 + 2 * 128 * 2},
           Row{"dsq-int8", 16896},
           Row{"dsq-int6", 12800},
           Row{"dsq-int4", 8704},
           Row{"stepquant-int8", 16896},
           Row{"stepquant-int6", 12800},
           Row{"stepquant-int4", 8704},
           Row{"quarot-int8", n + 128 * 2},
           Row{"quarot-int6", n * 6 / 8 + 128 * 2},
           Row{"quarot-int4", n / 2 + 128 * 2},
           Row{"turboquant-4", 8448},
           Row{"turboquant-3", 6400},
           Row{"leapquant-int8", 19456},
           Row{"leapquant-int6", 15360},
           Row{"leapquant-int4", 13312},
       }) {
    Expected<DecodeSpec> spec =
        readSpec({"bytelm-gdn", {std::string("preset=") + row.name}});
    ASSERT_TRUE(spec.ok()) << spec.status().message();
    const SlotLayout layout =
        makeSlotLayout(*spec, {1, DecayShape::Scalar, DecayShape::None});
    EXPECT_EQ(layout.stateBytesPerHead(), row.bytes) << row.name;
  }
}

// Everything of a head but its window counts: codes, scales, compensators.
TEST(Presets, MixturesKeepTheBitsOfTheirNames) {
  for (const auto &[name, most] :
       {std::pair("decant-9", 9.5), std::pair("decant-7", 7.5),
        std::pair("decant-6", 6.5), std::pair("decant-5", 5.5),
        std::pair("decant-4", 4.6)}) {
    const std::string preset = std::string("preset=") + name;
    Expected<DecodeSpec> planless = readSpec({"bytelm-gdn", {preset}});
    ASSERT_FALSE(planless.ok());
    EXPECT_NE(planless.status().message().find("state.plan: missing"),
              std::string::npos)
        << planless.status().message();
    Expected<DecodeSpec> spec =
        readSpec({"bytelm-gdn", {preset, "state.bits.by=even"}});
    ASSERT_TRUE(spec.ok()) << spec.status().message();
    const double bits = makeSlotLayout(*spec, RecordShape()).bitsPerElement();
    EXPECT_LE(bits, most) << name;
    EXPECT_GT(bits, most - 0.1) << name;
  }
}

TEST(Presets, ModelsHaveTheShapesOfTheirLayers) {
  struct Row {
    const char *name, *rule;
    int key, value;
    InputLayout layout;
    DecayForm decay;
    BetaForm beta;
    PadPolicy pad;
  };
  for (const Row &row :
       {Row{"bytelm-gdn", "gated_delta", 2, 4, InputLayout::Separate,
            DecayForm::Log, BetaForm::Value, PadPolicy::Negative},
        Row{"bytelm-kda", "kda", 4, 4, InputLayout::Separate, DecayForm::Log,
            BetaForm::Value, PadPolicy::Negative},
        Row{"qwen3-next-gdn", "gated_delta", 16, 32, InputLayout::PackedQkv,
            DecayForm::Softplus, BetaForm::Sigmoid, PadPolicy::NonPositive},
        Row{"kimi-linear-kda", "kda", 32, 32, InputLayout::Separate,
            DecayForm::Softplus, BetaForm::Value, PadPolicy::NonPositive}}) {
    SCOPED_TRACE(row.name);
    Expected<DecodeSpec> spec = readSpec({row.name, {}});
    ASSERT_TRUE(spec.ok()) << spec.status().message();
    EXPECT_EQ(spec->rule.name, row.rule);
    EXPECT_EQ(spec->heads.key, row.key);
    EXPECT_EQ(spec->heads.value, row.value);
    EXPECT_EQ(spec->heads.keyDim, 128);
    EXPECT_EQ(spec->heads.valueDim, 128);
    EXPECT_EQ(spec->inputs.layout, row.layout);
    EXPECT_EQ(spec->inputs.decay, row.decay);
    EXPECT_EQ(spec->inputs.beta, row.beta);
    EXPECT_EQ(spec->inputs.pad, row.pad);
    EXPECT_EQ(spec->inputs.qkNorm, QkNorm::L2EpsInside);
    EXPECT_EQ(spec->inputs.normEps, 1e-6);
    // 1 / sqrt(128) to half an ulp of double.
    EXPECT_DOUBLE_EQ(spec->inputs.scale * spec->inputs.scale * 128, 1);
  }
}

/// Shapes as the models' configurations say them.
TEST(Presets, OtherRulesHaveTheShapesOfTheirLayers) {
  struct Row {
    const char *name, *rule;
    int key, value, keyDim, valueDim;
  };
  for (const Row &row :
       {Row{"mamba2-2.7b", "mamba2", 1, 80, 128, 64},
        Row{"rwkv7-2.9b", "rwkv7", 40, 40, 64, 64},
        Row{"minimax-01-lightning", "lightning_attention", 64, 64, 128, 128}}) {
    SCOPED_TRACE(row.name);
    Expected<DecodeSpec> spec = readSpec({row.name, {}});
    ASSERT_TRUE(spec.ok()) << spec.status().message();
    EXPECT_EQ(spec->rule.name, row.rule);
    EXPECT_EQ(spec->heads.key, row.key);
    EXPECT_EQ(spec->heads.value, row.value);
    EXPECT_EQ(spec->heads.keyDim, row.keyDim);
    EXPECT_EQ(spec->heads.valueDim, row.valueDim);
    EXPECT_EQ(spec->inputs.qkNorm, QkNorm::None);
    EXPECT_EQ(spec->inputs.scale, 1);
  }
}

} // namespace
} // namespace decant::test
