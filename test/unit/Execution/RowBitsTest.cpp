//===- RowBitsTest.cpp - key rows whose codes differ in bits --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormatList.h"
#include "Oracle.h"
#include "decant/Reference/ReferenceRun.h"

#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

/// Every width beside every other one, in an order of its own in each head; the
/// last head has one width, so heads differ in length.
std::string plan(int heads, int keyDim) {
  std::string bits;
  for (int head = 0; head + 1 < heads; ++head) {
    bits += '"';
    for (int row = 0; row < keyDim; ++row)
      bits += char('2' + (row * (2 * head + 3) + head) % 7);
    bits += "\", ";
  }
  return fmt::format(R"({{"decant_plan": 1, "heads": {}, "key_dim": {}, )"
                     R"("bits": [{}3]}})",
                     heads, keyDim, bits);
}

DecodeSpec planned(const std::string &rule, int keyDim, int valueDim,
                   int window, int compensators) {
  return makeSpec({"rule=" + rule, fmt::format("state={}", smooth("int8")),
                   "state.plan=" + plan(4, keyDim), "heads.key=2",
                   "heads.value=4", fmt::format("heads.key_dim={}", keyDim),
                   fmt::format("heads.value_dim={}", valueDim),
                   fmt::format("window.length={}", window),
                   fmt::format("window.compensators={}", compensators),
                   "window.compensator_type=int8", "window.records=f16"});
}

class RowBits : public testing::TestWithParam<std::tuple<int, int>> {
protected:
  DecodeSpec spec(const char *rule, int window, int compensators) const {
    const auto [keyDim, valueDim] = GetParam();
    return planned(rule, keyDim, valueDim, window, compensators);
  }
};

// As in Formats: kernel and codec round the same numbers; f32 arithmetic falls
// on the other side of a middle a few times in ten thousand. A row of 2 bits
// has steps as long as its numbers, so one such code weighs more.
TEST_P(RowBits, PackEncodesAsTheCodecDoes) {
  Layer layer(spec("gated_delta", 4, 2), inOrder(2), Kernels::All);
  std::vector<double> states;
  const SlotLayout &layout = layer.layout();
  for (int state = 0; state < 8; ++state)
    for (int k = 0; k < layout.keyDim; ++k)
      for (int v = 0; v < layout.valueDim; ++v)
        states.push_back(float(std::sin(1.7 * k * v + state + k) *
                               std::exp2(-(k % 5)) * (1 + v % 7)));
  layer.pack(states);
  const std::vector<double> codec = throughCodec(layout, states);
  const double error = relativeError(codec, states);
  EXPECT_GT(error, 1e-3);
  EXPECT_LE(relativeError(layer.states(), codec), 0.2 * error);
  EXPECT_LE(relativeError(layer.states(), states), 1.02 * error);
  EXPECT_LE(relativeError(layer.unpack(), layer.states()), kF32Bound);
  EXPECT_TRUE(layer.poolGapsIntact());
}

// The bounds are those of Formats.
TEST_P(RowBits, StepsCostWhatTheFormatCosts) {
  for (const char *rule : {"gated_delta", "kda"})
    for (int window : {1, 4}) {
      const FormatErrors errors = runFormat(spec(rule, window, 0), 2, 12);
      EXPECT_TRUE(errors.finite);
      EXPECT_GT(errors.codec, 1e-3);
      EXPECT_LE(errors.ratio(), 1.02) << rule << " " << window;
      EXPECT_GE(errors.ratio(), 1 / 1.02) << rule << " " << window;
      EXPECT_LE(errors.output, 1.02 * errors.codecOutput) << rule << window;
    }
}

INSTANTIATE_TEST_SUITE_P(Dims, RowBits,
                         testing::Values(std::tuple(64, 64),
                                         std::tuple(40, 100),
                                         std::tuple(16, 16)),
                         [](const auto &info) {
                           return fmt::format("{}x{}", std::get<0>(info.param),
                                              std::get<1>(info.param));
                         });

// All rows at one width are the codes of that width, scales and all.
TEST(RowBits, OneWidthIsTheUniformFormat) {
  for (int bits : {8, 4}) {
    const DecodeSpec uniform =
        makeSpec({fmt::format("state={}", smooth(bits == 8 ? "int8" : "int4")),
                  "window.length=4", "window.records=f16"});
    const DecodeSpec rows = makeSpec(
        {fmt::format("state={}", smooth("int8")), "window.length=4",
         "window.records=f16",
         fmt::format(R"(state.bits={{"mean": {}, "by": "even"}})", bits)});
    const double a = runFormat(uniform, 2, 8).kernel;
    const double b = runFormat(rows, 2, 8).kernel;
    EXPECT_NEAR(a, b, 0.01 * a) << bits;
  }
}

// Bytes of all heads count: 2 heads of 16 rows of 32 values, of 4.5 and 4.5
// bits, and two scales.
TEST(RowBits, EveryBitIsCounted) {
  const DecodeSpec spec = makeSpec(
      {fmt::format("state={}", smooth("int8")), "heads.key_dim=16",
       "heads.value_dim=32", R"(state.bits={"mean": 4.5, "by": "even"})"});
  Layer layer(spec, inOrder(1));
  EXPECT_DOUBLE_EQ(layer.layout().bitsPerElement(),
                   4.5 + 32.0 * (16 + 32) / (16 * 32));
  EXPECT_EQ(layer.layout().stateBytesPerHead(), 16 * 32 * 9 / 16 + 4 * 48);
}

} // namespace
