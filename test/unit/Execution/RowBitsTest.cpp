//===- RowBitsTest.cpp - key rows whose codes differ in bits --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FormatList.h"
#include "Oracle.h"
#include "decant/Core/Numeric.h"
#include "decant/Reference/ReferenceRun.h"
#include "decant/Spec/SpecReader.h"

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
void expectPackedAsByCodec(Layer &layer, const std::vector<double> &states) {
  layer.pack(states);
  const std::vector<double> codec = throughCodec(layer.layout(), states);
  const double error = relativeError(codec, states);
  EXPECT_GT(error, 1e-3);
  EXPECT_LE(relativeError(layer.states(), codec), 0.2 * error);
  EXPECT_LE(relativeError(layer.states(), states), 1.02 * error);
  EXPECT_LE(relativeError(layer.unpack(), layer.states()), kF32Bound);
  EXPECT_TRUE(layer.poolGapsIntact());
}

TEST_P(RowBits, PackEncodesAsTheCodecDoes) {
  Layer layer(spec("gated_delta", 4, 2), inOrder(2), Kernels::All);
  std::vector<double> states;
  const SlotLayout &layout = layer.layout();
  for (int state = 0; state < 8; ++state)
    for (int k = 0; k < layout.keyDim; ++k)
      for (int v = 0; v < layout.valueDim; ++v)
        states.push_back(float(std::sin(1.7 * k * v + state + k) *
                               std::exp2(-(k % 5)) * (1 + v % 7)));
  expectPackedAsByCodec(layer, states);
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

/// A format whose layer has numbers of its own, and the plan of two heads of 64
/// rows.
struct PlannedFormat {
  const char *name;
  std::string state, plan;
};
void PrintTo(const PlannedFormat &format, std::ostream *out) {
  *out << format.name;
}

/// Bits of 64 rows, of which every `distance`-th is a pivot.
std::string withPivots(const std::string &others, int distance) {
  std::string bits;
  for (int row = 0; row < 64; ++row)
    bits += row % distance == 3 ? 'f' : others[row % others.size()];
  return "\"" + bits + "\"";
}

std::string numbers(int count, double (*number)(int)) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}{:.4f}", i ? ", " : "", number(i));
  return "[" + text + "]";
}

std::vector<PlannedFormat> plannedFormats() {
  const std::string dualAxis = int8({scale("key", "sqrt_mean_abs", "f16"),
                                     scale("value", "least_squares", "f16")});
  const std::string grouped =
      R"({"codes": "int8", "rotate": "value", "rotate_block": 32, "scale": [)" +
      block("key", "minmax", "f16", 32) + "]}";
  auto weight = [](int row) { return std::exp(std::sin(row * 0.7)); };
  auto level = [](int i) { return (i - 7.5) / 9 + 0.02 * (i % 3); };
  auto bits = [](const std::string &first, const std::string &second) {
    return "\"bits\": [" + first + ", " + second + "]";
  };
  return {
      // Heads of different pivots, one of none.
      {"stepquant", dualAxis,
       bits(withPivots("6482", 11), withPivots("64", 64)) + ", \"weights\": [" +
           numbers(64, weight) + ", 1]"},
      {"pivots_and_absmax", smooth("int8"), bits(withPivots("345678", 5), "4")},
      {"damp", grouped, bits(withPivots("8", 8), withPivots("8", 8))},
      {"damp_uneven", grouped, bits(withPivots("8", 7), "8")},
      {"levels", integers("table4", {scale("value", "minmax", "f16")}),
       "\"levels\": " + numbers(16, level)},
      {"levels_key_rows",
       integers("table3", {scale("value", "sqrt_mean_abs", "f32"),
                           block("key", "absmax", "f16", 16)}),
       "\"levels\": [-1, -0.6, -0.25, -0.05, 0.04, 0.3, 0.55, 1]"},
      {"static", int8({block("key", "static", "f32", 16)}),
       "\"scales\": [" + numbers(256, [](int i) { return 0.01 + 0.0001 * i; }) +
           ", 0.02]"},
      {"static_whole_rows", integers("int6", {scale("key", "static", "f32")}),
       "\"scales\": [0.05, 0.06]"}};
}

DecodeSpec specOf(const PlannedFormat &format, int window, int compensators) {
  return makeSpec(
      {"state=" + format.state,
       "state.plan={\"decant_plan\": 1, \"heads\": 2, \"key_dim\": 64, " +
           format.plan + "}",
       "heads.key=1", "heads.value=2", "heads.key_dim=64", "heads.value_dim=64",
       fmt::format("window.length={}", window),
       fmt::format("window.compensators={}", compensators),
       "window.records=f16"});
}

std::vector<double> denseStates(int rows) {
  std::vector<double> states;
  for (int state = 0; state < 2 * rows; ++state)
    for (int k = 0; k < 64; ++k)
      for (int v = 0; v < 64; ++v)
        states.push_back(float(std::sin(1.7 * k * v + state + k) *
                               std::exp2(-(k % 5)) * (1 + v % 7) / 4));
  return states;
}

class Planned : public testing::TestWithParam<PlannedFormat> {
protected:
  DecodeSpec spec(int window, int compensators) const {
    return specOf(GetParam(), window, compensators);
  }
};

// As above: a few codes on the other side of a middle.
TEST_P(Planned, PackEncodesAsTheCodecDoes) {
  Layer layer(spec(4, 2), inOrder(2), Kernels::All);
  const std::vector<double> states = denseStates(2);
  expectPackedAsByCodec(layer, states);
}

// A pivot is its row to f16, without anything that has to do with other rows.
TEST(RowBits, PivotsAreTheirRows) {
  for (const PlannedFormat &format : plannedFormats()) {
    if (format.name != std::string("stepquant") &&
        format.name != std::string("pivots_and_absmax"))
      continue;
    Layer layer(specOf(format, 4, 0), inOrder(1), Kernels::All);
    const std::vector<double> states = denseStates(1);
    layer.pack(states);
    const std::vector<double> stored = layer.states();
    int pivots = 0;
    for (int head = 0; head < 2; ++head)
      for (int k = 0; k < 64; ++k) {
        if (!layer.layout().ofHead(head).isPivot(k))
          continue;
        ++pivots;
        for (int v = 0; v < 64; ++v) {
          const size_t at = (size_t(head) * 64 + k) * 64 + v;
          EXPECT_EQ(stored[at], roundTo(ElementType::F16, states[at]));
        }
      }
    EXPECT_GT(pivots, 1);
  }
}

// The bounds are those of Formats.
TEST_P(Planned, StepsCostWhatTheFormatCosts) {
  for (int window : {1, 4}) {
    const FormatErrors errors = runFormat(spec(window, 0), 2, 12);
    EXPECT_TRUE(errors.finite);
    EXPECT_GT(errors.codec, 1e-3);
    EXPECT_LE(errors.ratio(), 1.02) << window;
    EXPECT_GE(errors.ratio(), 1 / 1.02) << window;
    EXPECT_LE(errors.output, 1.02 * errors.codecOutput) << window;
  }
}

// The lanes of a GPU's schedule store the same bytes as one lane: what is
// fitted by sums has one order, too (LaneTile::sumOverKeys).
TEST_P(Planned, ManyLanesStoreAndAnswerAsOne) {
  const DecodeSpec format = spec(4, 0);
  Layer one(format, inOrder(2), Kernels::All);
  Layer many(format, inOrder(2),
             defaultSchedule(one.layout(), valueOf(lookupTarget("sm_90a"))));
  const Oracle oracle(format, one.layout(), 2);
  const std::vector<double> states = denseStates(2);
  one.pack(states);
  many.pack(states);
  ASSERT_TRUE(one.pool() == many.pool()) << "packed";
  for (int token = 0; token < 6; ++token) {
    const Token inputs = makeToken(oracle, token);
    ASSERT_EQ(one.step(inputs), many.step(inputs)) << "token " << token;
    ASSERT_TRUE(one.pool() == many.pool()) << "token " << token;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Planned, testing::ValuesIn(plannedFormats()),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

// 112 rows of 8 bits with four f16 scales and offsets of 32 values, 16 of f16.
TEST(RowBits, DampHasItsPublishedBits) {
  const DecodeSpec spec =
      valueOf(readSpec({"bytelm-gdn", {"preset=damp", "state.bits.by=even"}}));
  const SlotLayout layout = makeSlotLayout(spec, RecordShape());
  EXPECT_EQ(layout.stateBytesPerHead(), 112 * (128 + 4 * 2 * 2) + 16 * 256);
  EXPECT_DOUBLE_EQ(layout.bitsPerElement(), 9.875);
}

// Static scales are constants of the kernel: 8 bits and nothing else.
TEST(RowBits, StaticScalesAreNotStored) {
  const DecodeSpec spec = valueOf(readSpec(
      {"bytelm-gdn",
       {"preset=quamba2", R"(state.plan={"decant_plan": 1, "heads": 4, )"
                          R"("key_dim": 128, "scales": [1, 1, 1, 1]})"}}));
  EXPECT_EQ(makeSlotLayout(spec, RecordShape()).bitsPerElement(), 8);
}

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
