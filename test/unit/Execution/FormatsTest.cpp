//===- FormatsTest.cpp - codes, scales and compensators against the codec ===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "decant/Reference/Codec.h"
#include "decant/Reference/ReferenceRun.h"

#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace decant;
using namespace decant::test;

namespace {

std::string scale(const char *axis, const char *fit, const char *type) {
  return fmt::format(R"({{"axis": "{}", "fit": "{}", "type": "{}"}})", axis,
                     fit, type);
}
std::string int8(const std::vector<std::string> &scales) {
  return fmt::format(R"({{"codes": "int8", "scale": [{}]}})",
                     fmt::join(scales, ", "));
}

struct Format {
  const char *name;
  std::string state; // the spec's field
};
void PrintTo(const Format &format, std::ostream *out) { *out << format.name; }

const std::vector<Format> &formats() {
  static const std::vector<Format> all = {
      {"f32", R"({"codes": "f32"})"},
      {"f16", R"({"codes": "f16"})"},
      {"bf16", R"({"codes": "bf16"})"},
      {"key_f32", int8({scale("key", "absmax", "f32")})},
      {"key_f16", int8({scale("key", "absmax", "f16")})},
      {"value_f32", int8({scale("value", "absmax", "f32")})},
      {"value_bf16", int8({scale("value", "absmax", "bf16")})},
      {"smooth_key_value", int8({scale("key", "sqrt_mean_abs", "f32"),
                                 scale("value", "absmax", "f32")})},
      {"smooth_value_key", int8({scale("value", "sqrt_mean_abs", "f32"),
                                 scale("key", "absmax", "f32")})},
      {"max_key_value",
       int8({scale("key", "absmax", "f32"), scale("value", "absmax", "f32")})},
      {"max_value_key",
       int8({scale("value", "absmax", "bf16"), scale("key", "absmax", "f16")})},
      {"smooth_key_bf16_value_f16", int8({scale("key", "sqrt_mean_abs", "bf16"),
                                          scale("value", "absmax", "f16")})},
      {"smooth_value_f16_key_bf16",
       int8({scale("value", "sqrt_mean_abs", "f16"),
             scale("key", "absmax", "bf16")})},
  };
  return all;
}

class Formats : public testing::TestWithParam<std::tuple<Format, int>> {
protected:
  DecodeSpec spec(int window) const {
    const auto &[format, compensators] = GetParam();
    return makeSpec({fmt::format("state={}", format.state),
                     fmt::format("window.compensators={}", compensators),
                     fmt::format("window.length={}", window),
                     "window.records=f16", "heads.key_dim=64",
                     "heads.value_dim=64"});
  }
  bool exact() const {
    return std::get<0>(GetParam()).name == std::string("f32");
  }
};

using Element = std::function<double(int key, int value, double noise)>;
std::vector<double> fillStates(const SlotLayout &layout, int count,
                               const Element &element) {
  std::mt19937 random(11);
  std::normal_distribution<double> normal;
  std::vector<double> states;
  for (int state = 0; state < count; ++state)
    for (int k = 0; k < layout.keyDim; ++k)
      for (int v = 0; v < layout.valueDim; ++v)
        // As the kernel gets it.
        states.push_back(float(element(k, v, normal(random))));
  return states;
}

// Both sides round the same f32 numbers. They differ where a quotient lies so
// close to the middle between two codes, or a compensator's element between two
// f16 numbers, that the kernel's f32 arithmetic falls on the other side: a few
// codes in ten thousand by one step. So the kernel's state is much closer to
// the codec's than either is to the truth.
TEST_P(Formats, PackEncodesAsTheCodecDoes) {
  Layer layer(spec(4), inOrder(1), Kernels::All);
  const std::vector<std::pair<const char *, Element>> kinds = {
      {"noise", [](int, int, double x) { return x; }},
      {"a strong direction",
       [](int k, int v, double x) {
         return x + 20 * std::sin(0.7 * k) * std::cos(1.3 * v);
       }},
      {"graded rows",
       [](int k, int, double x) { return x * std::exp2(-k / 8.0); }},
      {"graded columns",
       [](int, int v, double x) { return x * std::exp2(-v / 8.0); }},
      {"an outlier",
       [](int k, int v, double x) { return k == 5 && v == 9 ? 500 : x; }}};
  for (const auto &[kind, element] : kinds) {
    const std::vector<double> states = fillStates(layer.layout(), 2, element);
    layer.pack(states);
    const std::vector<double> kernel = layer.states();
    const std::vector<double> codec = throughCodec(layer.layout(), states);
    const double error = relativeError(codec, states);
    if (exact()) {
      EXPECT_LE(relativeError(kernel, states), kF32Bound) << kind;
      continue;
    }
    EXPECT_GT(error, 1e-6) << kind;
    EXPECT_LE(relativeError(kernel, codec), 0.2 * error) << kind;
    EXPECT_LE(relativeError(kernel, states), 1.02 * error) << kind;
  }
}

// What is left of such states after the compensators is rounding, or nothing;
// small and large numbers leave the range of f16. The codec says what that may
// cost; two roundings of f32 arithmetic come on top.
TEST_P(Formats, PackSurvivesDegenerateStates) {
  Layer layer(spec(4), inOrder(1), Kernels::All);
  const std::vector<std::pair<const char *, Element>> kinds = {
      {"zero", [](int, int, double) { return 0; }},
      {"rank 1",
       [](int k, int v, double) { return std::sin(k + 1) * std::cos(v + 1); }},
      {"rank 2",
       [](int k, int v, double) {
         return std::sin(k + 1) * std::cos(v + 1) + (k % 3) * (v % 5);
       }},
      {"one element", [](int k, int v, double) { return k == 63 && v == 62; }},
      {"one row", [](int k, int, double x) { return k == 2 ? x : 0; }},
      {"one column", [](int, int v, double x) { return v == 60 ? x : 0; }},
      {"large", [](int, int, double x) { return 1e6 * x; }},
      {"small", [](int, int, double x) { return 1e-12 * x; }}};
  for (const auto &[kind, element] : kinds) {
    const std::vector<double> states = fillStates(layer.layout(), 2, element);
    layer.pack(states);
    const std::vector<double> kernel = layer.states();
    EXPECT_TRUE(allFinite(kernel)) << kind;
    const double error =
        relativeError(throughCodec(layer.layout(), states), states);
    EXPECT_LE(relativeError(kernel, states), 1.05 * error + kF32Bound)
        << kind << ", codec " << error;
  }
}

// States below what f32 scales can tell apart: nothing larger may come back.
TEST_P(Formats, PackSurvivesTinyAndHugeStates) {
  Layer layer(spec(4), inOrder(1), Kernels::All);
  for (double size : {1e-30, 1e-36, 1e-38, 1e-41, 1e-45, 1e15, 1e30}) {
    const std::vector<double> states = fillStates(
        layer.layout(), 2, [&](int, int, double x) { return size * x; });
    layer.pack(states);
    double most = 0, stored = 0;
    for (double x : states)
      most = std::max(most, std::fabs(x));
    for (double x : layer.states()) {
      ASSERT_TRUE(std::isfinite(x)) << size;
      stored = std::max(stored, std::fabs(x));
    }
    // With scales on both axes a rounding in each may add up.
    EXPECT_LE(stored, 1.1 * most) << size;
  }
}

// 12 tokens are 12 encodings at window 1, three at window 4.
TEST_P(Formats, StepsCostWhatTheFormatCosts) {
  const bool fits = std::get<1>(GetParam()) > 0;
  for (int window : {1, 4}) {
    const FormatErrors errors = runFormat(spec(window), 2, 12);
    EXPECT_TRUE(errors.finite);
    if (exact() && window == 1) {
      EXPECT_LE(errors.kernel, kF32Bound);
      continue;
    }
    EXPECT_GT(errors.codec, 1e-5);
    // Without a fit hardly a code differs. A fit at every token feeds small
    // differences back: over other seeds the ratio lay in 0.98 .. 1.04 for
    // states and, since few heads make most of that sum, 0.88 .. 1.11 for
    // outputs; with three fits, in 0.998 .. 1.005 for states.
    const bool feedsBack = fits && window == 1;
    const double state = !fits ? 1.01 : feedsBack ? 1.1 : 1.02;
    const double output = !fits ? 1.01 : feedsBack ? 1.25 : 1.02;
    EXPECT_LE(errors.ratio(), state) << errors.kernel << " " << errors.codec;
    EXPECT_GE(errors.ratio(), 1 / state)
        << errors.kernel << " " << errors.codec;
    EXPECT_LE(errors.output, output * errors.codecOutput + kF32Bound);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Formats,
                         testing::Combine(testing::ValuesIn(formats()),
                                          testing::Values(0, 4)),
                         [](const auto &info) {
                           return fmt::format("{}_r{}",
                                              std::get<0>(info.param).name,
                                              std::get<1>(info.param));
                         });

//===----------------------------------------------------------------------===//
// Sequences whose states have a low rank
//===----------------------------------------------------------------------===//

struct Sequence {
  const char *name;
  std::function<void(Token &, int token)> change;
};
void PrintTo(const Sequence &sequence, std::ostream *out) {
  *out << sequence.name;
}

void set(Token &token, const char *name, double value) {
  for (double &x : token[name])
    x = value;
}

class LowRank : public testing::TestWithParam<std::tuple<Sequence, int>> {};

// Compared at every token, since the first ones have ranks 1, 2, 3. f16 keeps
// such a state up to 2^-11, and int8 codes keep what is left up to 1/254 of it,
// so the codec's error is near that of f32 arithmetic, which the kernel adds.
TEST_P(LowRank, StaysAsCloseAsTheCodec) {
  const auto &[sequence, window] = GetParam();
  const DecodeSpec spec = makeSpec(
      {fmt::format("state={}", formats()[7].state), "window.compensators=4",
       "window.records=f16", fmt::format("window.length={}", window)});
  Layer layer(spec, inOrder(2));
  Oracle exact(spec, layer.layout(), 2);
  Oracle codec(spec, layer.layout(), 2, Stored::Format);
  for (int token = 0; token < 10; ++token) {
    Token inputs = makeToken(exact, token);
    sequence.change(inputs, token);
    const std::vector<double> output = layer.step(inputs);
    const std::vector<double> expected = exact.step(inputs);
    codec.step(inputs);
    const std::vector<double> states = layer.states();
    EXPECT_TRUE(allFinite(output) && allFinite(states)) << "token " << token;
    EXPECT_LE(relativeError(states, exact.states),
              1.1 * relativeError(codec.states, exact.states) + 5 * kF32Bound)
        << "token " << token;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sequences, LowRank,
    testing::Combine(
        testing::Values(Sequence{"first tokens", [](Token &, int) {}},
                        Sequence{"one key", [](Token &token,
                                               int) { set(token, "k", 0.5); }},
                        Sequence{"one key and value",
                                 [](Token &token, int) {
                                   set(token, "k", 0.5);
                                   set(token, "v", -2);
                                 }},
                        Sequence{"zeros",
                                 [](Token &token, int) {
                                   for (const char *name : {"q", "k", "v"})
                                     set(token, name, 0);
                                 }},
                        Sequence{"zeros after three tokens",
                                 [](Token &token, int number) {
                                   if (number > 2)
                                     for (const char *name : {"k", "v"})
                                       set(token, name, 0);
                                 }},
                        Sequence{"no beta",
                                 [](Token &token, int number) {
                                   if (number % 2)
                                     set(token, "beta", 0);
                                 }},
                        Sequence{"one-hot keys",
                                 [](Token &token, int number) {
                                   set(token, "k", 0);
                                   token["k"][number % 3] = 1;
                                   token["k"][32 + number] = 1;
                                 }}),
        testing::Values(1, 4)));

// An idle sequence decays through the smallest f32 numbers to zero, and the
// next token finds a state that works.
TEST(IdleSequences, DecayToZeroAndWakeUp) {
  for (int format : {1, 2, 3, 5, 7, 8, 9, 12}) {
    const DecodeSpec spec =
        makeSpec({fmt::format("state={}", formats()[format].state),
                  "window.compensators=2"});
    Layer layer(spec, inOrder(1));
    Oracle exact(spec, layer.layout(), 1);
    Oracle codec(spec, layer.layout(), 1, Stored::Format);
    double size = 1e30;
    for (int token = 0; token < 50; ++token) {
      Token inputs = makeToken(exact, token);
      if (token > 2 && token < 46) {
        set(inputs, "k", 0);
        set(inputs, "v", 0);
        set(inputs, "decay", -3);
      }
      EXPECT_TRUE(allFinite(layer.step(inputs))) << token;
      exact.step(inputs);
      codec.step(inputs);
      double stored = 0;
      for (double x : layer.states()) {
        ASSERT_TRUE(std::isfinite(x)) << token;
        stored = std::max(stored, std::fabs(x));
      }
      if (token > 2 && token < 46)
        EXPECT_LE(stored, 0.2 * size) << "e^-3 is 0.05";
      size = std::max(stored, 1e-44);
    }
    EXPECT_LE(relativeError(layer.states(), exact.states),
              1.1 * relativeError(codec.states, exact.states) + kF32Bound)
        << formats()[format].name;
  }
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

class Records
    : public testing::TestWithParam<std::tuple<const char *, const char *>> {};

// With f32 codes, records are all that rounds. Each record rounds a key and a
// value; a vector of decays is kept in 16 bits as well, and those of up to 7
// later tokens multiply a record: 9 roundings, independent.
TEST_P(Records, RoundAsTheirTypeDoes) {
  const auto [rule, type] = GetParam();
  const DecodeSpec spec =
      makeSpec({fmt::format("rule={}", rule), "window.length=8",
                fmt::format("window.records={}", type), "heads.key_dim=64",
                "heads.value_dim=64"});
  const FormatErrors errors = runFormat(spec, 2, 15);
  EXPECT_TRUE(errors.finite);
  const bool isF32 = std::string(type) == "f32";
  const double step = isF32                        ? kF32Bound
                      : std::string(type) == "f16" ? kF16Norm
                                                   : kBf16Norm;
  const bool scalarDecay = std::string(rule) == "gated_delta";
  EXPECT_LE(errors.kernel, (scalarDecay || isF32 ? std::sqrt(2) : 3) * step);
  EXPECT_LE(errors.output, (scalarDecay || isF32 ? std::sqrt(2) : 3) * step);
  if (isF32)
    return;
  EXPECT_GT(errors.kernel, step / 4);
  // The oracle rounds keys and values, but not decays.
  if (scalarDecay) {
    EXPECT_LE(errors.ratio(), 1.02);
    EXPECT_GE(errors.ratio(), 1 / 1.02);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, Records,
                         testing::Combine(testing::Values("gated_delta", "kda"),
                                          testing::Values("f32", "f16",
                                                          "bf16")));

// Numbers beyond f16 saturate: an infinity would stay in the state for good.
TEST(F16, SaturatesInCodesAndRecords) {
  for (int window : {1, 3}) {
    const DecodeSpec spec = makeSpec({"state.codes=f16", "window.records=f16",
                                      "window.compensators=1",
                                      fmt::format("window.length={}", window)});
    Layer layer(spec, inOrder(1));
    Oracle oracle(spec, layer.layout(), 1);
    for (int token = 0; token < 7; ++token) {
      Token inputs = makeToken(oracle, token);
      for (double &x : inputs["v"])
        x *= 1e7;
      EXPECT_TRUE(allFinite(layer.step(inputs))) << token;
      EXPECT_TRUE(allFinite(layer.states())) << token;
    }
  }
}

} // namespace
