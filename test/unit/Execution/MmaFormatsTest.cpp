//===- MmaFormatsTest.cpp - tensor cores cost what the format costs -------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The float64 rule with the format in place of the state is the judge, after
// two windows and a token, or after twelve folds.
//
//===----------------------------------------------------------------------===//

#include "MmaLayer.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

class MmaFormats : public testing::TestWithParam<MmaCase> {};

TEST_P(MmaFormats, CostWhatTheFormatCosts) {
  const MmaCase &test = GetParam();
  const DecodeSpec spec = test.spec();
  Layer layer = mmaLayer(spec, inOrder(rowsFor(test)), test.record());
  const int tokens = test.window == 1 ? 12 : 2 * test.window + 1;
  expectFormatCosts(runFormat(layer, spec, tokens), spec, tokens);
}

// Scales that are refitted to their codes, at every token and every few.
TEST(MmaRefits, CostWhatTheFormatCosts) {
  for (const auto &[codes, window] : {std::pair("int6", 1), {"int4", 3}}) {
    const MmaCase test{"gated_delta", "int6", 0, window, 32, 32};
    const DecodeSpec spec = test.spec(
        {"state=" + integers(codes, {scale("key", "sqrt_mean_abs", "f16"),
                                     scale("value", "least_squares", "f16")})});
    Layer layer = mmaLayer(spec, inOrder(rowsFor(test)), test.record());
    expectFormatCosts(runFormat(layer, spec, 7), spec, 7);
  }
}

// Rows of one kind weigh a thousand times what others do: with all alike,
// errors would be half of the codec's. The same of rows that differ in bits.
TEST(MmaRefits, WeighRowsAsThePlanDoes) {
  const std::string state =
      "state=" + integers("int8", {scale("key", "sqrt_mean_abs", "f16"),
                                   scale("value", "least_squares", "f16")});
  const MmaCase test{"gated_delta", "int6", 0, 3, 32, 32};
  std::string ofHead = "[0.03125";
  for (int row = 1; row < test.key; ++row)
    ofHead += row % 3 == 0 ? ", 0.03125" : ", 32";
  ofHead += "]";
  std::string slabs = slabPlan(2, test.key);
  slabs.pop_back();
  for (const std::string &plan :
       {fmt::format(R"({{"decant_plan": 1, "heads": 2, "key_dim": {})",
                    test.key),
        slabs}) {
    const DecodeSpec spec =
        test.spec({state,
                   fmt::format(R"(state.plan={}, "weights": [{}, {}]}})", plan,
                               ofHead, ofHead),
                   "heads.key=2", "heads.value=2"});
    Layer layer = mmaLayer(spec, inOrder(rowsFor(test) / 2), test.record());
    expectFormatCosts(runFormat(layer, spec, 7), spec, 7);
  }
}

// A fold rounds a record under its decay to bf16 once more, an error of the
// size of the record's own rounding, which the codec has: sqrt(2) of it, and a
// tenth for what else differs.
TEST(MmaRecords, OfBf16CostOneMoreRounding) {
  for (const char *rule : {"gated_delta", "kda"}) {
    const MmaCase test{rule, "bf16", 0, 8, 64, 64};
    const DecodeSpec spec = test.spec({"window.records=bf16"});
    Layer layer = mmaLayer(spec, inOrder(2), test.record());
    const FormatErrors errors = runFormat(layer, spec, 20);
    EXPECT_LE(errors.kernel, 1.1 * std::sqrt(2.0) * errors.codec) << rule;
    EXPECT_GE(errors.kernel, 0.7 * errors.codec) << rule;
  }
}

// Both presets; every kind of codes, of scales and of ranks; one to eight warps
// of 16 and 32 values; windows that a warp scans, and longer ones.
INSTANTIATE_TEST_SUITE_P(
    Grid, MmaFormats,
    testing::Values(MmaCase{"gated_delta", "smooth_key_value", 4, 16, 128, 128},
                    MmaCase{"kda", "smooth_key_value", 4, 16, 128, 128},
                    MmaCase{"gated_delta", "smooth_key_value", 4, 4, 48, 64},
                    MmaCase{"kda", "smooth_key_value", 4, 4, 96, 80},
                    MmaCase{"gated_delta", "smooth_key_value", 4, 1, 64, 128},
                    MmaCase{"gated_delta", "smooth_key_value", 0, 1, 48, 64},
                    MmaCase{"kda", "smooth_key_value", 0, 1, 48, 64},
                    MmaCase{"kda", "smooth_key_value", 4, 1, 96, 80},
                    MmaCase{"gated_delta", "smooth_value_key", 1, 4, 16, 16},
                    MmaCase{"kda", "max_value_key", 6, 4, 48, 32},
                    MmaCase{"gated_delta", "int6", 4, 4, 64, 32},
                    MmaCase{"kda", "int6", 0, 4, 48, 32},
                    MmaCase{"gated_delta", "int6", 0, 1, 64, 32},
                    MmaCase{"gated_delta", "int3", 2, 4, 32, 32},
                    MmaCase{"gated_delta", "int4", 8, 4, 48, 64},
                    MmaCase{"kda", "int2", 4, 4, 32, 32},
                    MmaCase{"gated_delta", "smooth_key_bf16_value_f16", 0, 4,
                            128, 256},
                    MmaCase{"gated_delta", "bf16", 0, 16, 256, 64},
                    MmaCase{"kda", "bf16", 4, 4, 48, 64},
                    MmaCase{"gated_delta", "f16", 0, 4, 96, 80},
                    MmaCase{"kda", "f16", 1, 4, 64, 128},
                    MmaCase{"gated_delta", "smooth_key_value", 2, 40, 128, 64},
                    MmaCase{"gated_delta", "f32", 0, 16, 128, 128},
                    MmaCase{"gated_delta", "f32", 0, 4, 16, 16},
                    MmaCase{"kda", "f32", 0, 4, 96, 80},
                    MmaCase{"gated_delta", "value_bf16", 0, 20, 48, 64},
                    MmaCase{"kda", "key_f16", 4, 40, 48, 64}),
    [](const auto &info) { return info.param.name(); });

} // namespace
