//===- DimsTest.cpp - every kind of key and value dim ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "decant/Reference/ReferenceRun.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

struct Dims {
  int key, value;
};
void PrintTo(const Dims &dims, std::ostream *out) {
  *out << dims.key << " x " << dims.value;
}
std::string nameOf(const testing::TestParamInfo<Dims> &info) {
  return fmt::format("{}x{}", info.param.key, info.param.value);
}

std::vector<std::string> dimOverrides(const Dims &dims, int window) {
  return {fmt::format("heads.key_dim={}", dims.key),
          fmt::format("heads.value_dim={}", dims.value),
          fmt::format("window.length={}", window)};
}

class F32Dims : public testing::TestWithParam<Dims> {};

// 7 tokens: with a window of 5, one commit and two tokens in the window.
TEST_P(F32Dims, FollowTheRule) {
  for (int window : {1, 5}) {
    const DecodeSpec spec = makeSpec(dimOverrides(GetParam(), window));
    Layer layer(spec, inOrder(2));
    Oracle oracle(spec, layer.layout(), 2);
    const Errors errors = runBoth(layer, oracle, 7);
    EXPECT_TRUE(errors.finite);
    EXPECT_LE(errors.output, kF32Bound) << "window " << window;
    EXPECT_LE(errors.state, kF32Bound) << "window " << window;
  }
}

// Every dim stands on both axes once: powers of two, multiples of 16 and of 8
// alone, of 4 alone, odd ones below and above a multiple, both ends.
INSTANTIATE_TEST_SUITE_P(
    Pairs, F32Dims,
    testing::Values(Dims{16, 17}, Dims{17, 16}, Dims{31, 97}, Dims{32, 31},
                    Dims{48, 100}, Dims{60, 251}, Dims{64, 48}, Dims{72, 60},
                    Dims{96, 72}, Dims{97, 32}, Dims{100, 112}, Dims{112, 96},
                    Dims{128, 64}, Dims{192, 128}, Dims{251, 192},
                    Dims{256, 256}),
    nameOf);

const char kDualScale[] =
    R"(state={"codes": "int8", "scale": [)"
    R"({"axis": "key", "fit": "sqrt_mean_abs", "type": "f32"},)"
    R"({"axis": "value", "fit": "absmax", "type": "f32"}]})";
const char kOtherOrder[] =
    R"(state={"codes": "int8", "scale": [)"
    R"({"axis": "value", "fit": "sqrt_mean_abs", "type": "f32"},)"
    R"({"axis": "key", "fit": "absmax", "type": "f32"}]})";

class Int8Dims : public testing::TestWithParam<Dims> {
protected:
  DecodeSpec spec(const char *state) const {
    std::vector<std::string> overrides = dimOverrides(GetParam(), 4);
    overrides.insert(overrides.end(),
                     {state, "window.compensators=3", "window.records=f16"});
    return makeSpec(overrides);
  }
};

// Three compensators and two scales, encoded three times. The kernel fits in
// f32 what the codec fits in float64, so a value near the middle between two
// codes may go the other way; both ways cost the same on average. The fewer
// elements, the more a single code weighs: over 40 seeds the ratio lay in
// 0.99 .. 1.01 for 17 x 31 and in 0.997 .. 1.003 from 48 x 60 on.
TEST_P(Int8Dims, CostWhatTheFormatCosts) {
  const FormatErrors errors = runFormat(spec(kDualScale), 2, 12);
  const Dims dims = GetParam();
  const double bound = std::min(dims.key, dims.value) >= 48 ? 1.02 : 1.1;
  EXPECT_TRUE(errors.finite);
  EXPECT_GT(errors.codec, 1e-4); // the format does round
  EXPECT_LE(errors.ratio(), bound) << errors.kernel << " " << errors.codec;
  EXPECT_GE(errors.ratio(), 1 / bound) << errors.kernel << " " << errors.codec;
}

// One encoding of the same numbers. The ratio of two errors forgives a fit that
// is merely about as good; this does not: kernel and codec must store nearly
// the same state, however the sums over an axis are split.
TEST_P(Int8Dims, PackEncodesAsTheCodecDoes) {
  for (const char *state : {kDualScale, kOtherOrder}) {
    const DecodeSpec layerSpec = spec(state);
    Layer layer(layerSpec, inOrder(2), Kernels::All);
    // Full rank, with a few directions well above the others.
    std::vector<double> states;
    const Dims dims = GetParam();
    for (int head = 0; head < 4; ++head)
      for (int k = 0; k < dims.key; ++k)
        for (int v = 0; v < dims.value; ++v)
          states.push_back(
              float(3 * std::sin(0.7 * k + head) * std::cos(1.3 * v) +
                    2 * std::cos(0.2 * k * (head + 1)) * std::sin(0.9 * v) +
                    std::sin(0.37 * k * v + 1.1 * k + v)));
    layer.pack(states);
    const std::vector<double> codec = throughCodec(layer.layout(), states);
    const double error = relativeError(codec, states);
    EXPECT_GT(error, 1e-4) << state;
    EXPECT_LE(relativeError(layer.states(), codec), 0.2 * error) << state;
  }
}

INSTANTIATE_TEST_SUITE_P(Pairs, Int8Dims,
                         testing::Values(Dims{16, 16}, Dims{32, 16},
                                         Dims{17, 31}, Dims{64, 24},
                                         Dims{48, 60}, Dims{64, 97},
                                         Dims{100, 72}, Dims{112, 128},
                                         Dims{251, 64}, Dims{128, 192}),
                         nameOf);

} // namespace
