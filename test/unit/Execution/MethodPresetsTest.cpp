//===- MethodPresetsTest.cpp - every method, in and out of windows --------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decodes a short sequence with every method preset, rewritten at every token
// and every 16, and compares what the format costs with what the float64 codec
// says that it costs. FormatsTest explains the bounds.
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "decant/Spec/Presets.h"
#include "decant/Spec/SpecReader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

std::vector<std::string> methodNames() {
  std::vector<std::string> names;
  for (const PresetFile &file : presetFiles())
    if (file.kind == PresetKind::Method)
      names.emplace_back(file.name);
  return names;
}

std::string planOf(const std::string &numbers) {
  return fmt::format(R"({{"decant_plan": 1, "heads": 2, "key_dim": 64, {}}})",
                     numbers);
}

/// Closer together around 0, and not the same below it as above.
std::string levels(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const double x = (2.0 * i + 1) / count - 1;
    text += fmt::format("{}{}", i ? ", " : "", 0.5 * (x + x * x * x) + 0.01);
  }
  return "\"levels\": [" + text + "]";
}

class Methods : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(Methods, CostWhatTheirFormatsCost) {
  const auto &[name, window] = GetParam();
  std::vector<std::string> overrides = {
      "preset=" + name,   fmt::format("window.length={}", window),
      "inputs.type=f32",  "inputs.output=f32",
      "heads.key=1",      "heads.value=2",
      "heads.key_dim=64", "heads.value_dim=64"};
  // In the place of a plan, which belongs to a model's layer.
  const std::string text(valueOf(presetText(PresetKind::Method, name)));
  auto has = [&](const char *part) {
    return text.find(part) != std::string::npos;
  };
  if (has("\"lifetime\""))
    overrides.push_back("state.bits.by=even");
  if (has("\"pivots\": 16")) // of 128
    overrides.push_back("state.bits.pivots=8");
  if (has("\"table4\"") || has("\"table3\""))
    overrides.push_back("state.plan=" +
                        planOf(levels(has("\"table4\"") ? 16 : 8)));
  if (has("\"static\""))
    overrides.push_back("state.plan=" + planOf("\"scales\": [0.015, 0.02]"));
  const DecodeSpec spec = valueOf(readSpec({"bytelm-gdn", overrides}));
  const FormatErrors errors = runFormat(spec, 2, window == 1 ? 8 : 20);
  EXPECT_TRUE(errors.finite);
  if (spec.state.codes == ElementType::F32 &&
      (window == 1 || spec.window.records == ElementType::F32)) {
    EXPECT_LE(errors.kernel, kF32Bound);
    return;
  }
  const bool fits = spec.window.compensators > 0;
  const double state = !fits ? 1.01 : window == 1 ? 1.1 : 1.02;
  EXPECT_GT(errors.codec, 1e-5);
  EXPECT_LE(errors.ratio(), state) << errors.kernel << " " << errors.codec;
  EXPECT_GE(errors.ratio(), 1 / state) << errors.kernel << " " << errors.codec;
}

INSTANTIATE_TEST_SUITE_P(All, Methods,
                         testing::Combine(testing::ValuesIn(methodNames()),
                                          testing::Values(1, 16)),
                         [](const auto &info) {
                           std::string name = std::get<0>(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return fmt::format("{}_w{}", name,
                                              std::get<1>(info.param));
                         });

} // namespace
