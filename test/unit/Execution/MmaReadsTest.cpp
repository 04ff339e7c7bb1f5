//===- MmaReadsTest.cpp - tensor cores read what one lane reads -----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both kernels step over the same bytes, at every fill of a window and behind a
// fold; before each token the one of strategy mma gets the slots of the other.
//
//===----------------------------------------------------------------------===//

#include "MmaLayer.h"
#include "decant/Reference/ReferenceRun.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

std::vector<double> denseStates(int64_t count) {
  std::vector<double> states;
  for (int64_t i = 0; i < count; ++i)
    states.push_back(float(3 * std::sin(0.7 * i) + std::cos(0.013 * i)));
  return states;
}

/// Sums of either kernel are off by kF32Bound. An operand of a product is two
/// f16 numbers, which leave 2^-22 of it; beside bf16 codes two bf16 numbers,
/// which leave 2^-17. Under a vector decay the keys of all terms are rounded
/// once more, to f16; the products that make a score may cancel, and then their
/// errors stand beside little: over all fills of all cases below up to three
/// times kF16Norm.
double boundOf(const DecodeSpec &spec, const RecordShape &record) {
  double bound = 2 * kF32Bound;
  if (spec.state.codes == ElementType::BF16)
    bound += std::ldexp(1, -17);
  if (record.keyDecay == DecayShape::Vector)
    bound += 4 * kF16Norm;
  return bound;
}

void expectSameReads(const DecodeSpec &spec, const RecordShape &record) {
  Layer simt(spec, inOrder(1), Kernels::All, sharedEngine(),
             CodeOrder::Fragments);
  Layer mma = mmaLayer(spec, inOrder(1), record, Boundary::Apart, Kernels::All);
  const Oracle oracle(spec, simt.layout(), 1);
  const std::vector<double> states = denseStates(
      int64_t(spec.heads.value) * spec.heads.keyDim * spec.heads.valueDim);
  simt.pack(states);
  mma.pack(states);
  ASSERT_TRUE(simt.pool() == mma.pool()) << "transfers are the same kernels";
  const double bound = boundOf(spec, record);
  for (int token = 0; token < spec.window.length + 2; ++token) {
    const Token inputs = makeToken(oracle, token);
    const std::vector<double> expected = simt.step(inputs);
    EXPECT_LE(relativeError(mma.step(inputs), expected), bound)
        << "token " << token;
    std::memcpy(mma.slot(0), simt.slot(0), simt.program().info().slotBytes);
  }
}

class MmaReads : public testing::TestWithParam<MmaCase> {};

TEST_P(MmaReads, AsOneLane) {
  expectSameReads(GetParam().spec(), GetParam().record());
}

// Dims that are padded on both axes; windows that a warp scans, and longer
// ones.
INSTANTIATE_TEST_SUITE_P(
    Cases, MmaReads,
    testing::Values(MmaCase{"gated_delta", "smooth_key_value", 4, 4, 64, 64},
                    MmaCase{"gated_delta", "smooth_value_key", 1, 3, 20, 24},
                    MmaCase{"kda", "smooth_key_value", 4, 4, 100, 72},
                    MmaCase{"gated_delta", "int4", 8, 4, 48, 64},
                    MmaCase{"kda", "int2", 0, 3, 48, 32},
                    MmaCase{"gated_delta", "int6", 0, 2, 128, 16},
                    MmaCase{"kda", "int6", 0, 3, 48, 32},
                    MmaCase{"gated_delta", "int3", 1, 2, 48, 32},
                    MmaCase{"gated_delta", "int3", 0, 2, 128, 16},
                    MmaCase{"gated_delta", "bf16", 4, 3, 48, 64},
                    MmaCase{"kda", "f16", 0, 20, 32, 32},
                    MmaCase{"gated_delta", "f32", 0, 3, 64, 64},
                    MmaCase{"gated_delta", "f32", 0, 20, 20, 24},
                    MmaCase{"kda", "f32", 0, 3, 100, 72},
                    MmaCase{"gated_delta", "value_bf16", 6, 40, 32, 32}),
    [](const auto &info) { return info.param.name(); });

// Bytes become halves on the way to the panels, and their scale a weight.
TEST(MmaBytes, ReadAsOneLane) {
  for (const MmaCase &test :
       {MmaCase{"gated_delta", "smooth_key_value", 4, 3, 32, 48},
        MmaCase{"kda", "smooth_key_value", 4, 3, 32, 32}})
    expectSameReads(test.spec({"window.compensator_type=int8"}), test.record());
}

// Keys in the order of slabs meet those of queries, and a head's length is its
// own. Packing gathers and scatters single codes of slabs.
TEST(MmaSlabs, ReadAsOneLane) {
  for (const MmaCase &test :
       {MmaCase{"gated_delta", "smooth_key_value", 2, 2, 64, 32},
        MmaCase{"kda", "smooth_key_value", 0, 3, 48, 48}})
    expectSameReads(test.spec({"state.plan=" + slabPlan(3, test.key),
                               "heads.key=3", "heads.value=3"}),
                    test.record());
}

TEST(MmaHeads, MapToKeyHeadsAsElsewhere) {
  const MmaCase test = {"gated_delta", "smooth_key_value", 0, 3, 32, 32};
  expectSameReads(
      test.spec({"heads.key=2", "heads.value=6", "heads.map=modulo"}),
      test.record());
}

// Two writes per token and six different reads, four of which share a product;
// reads of the state before and after decay and writes.
std::string busyRule(const char *decay) {
  return fmt::format(R"(
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>
decant.rule @busy(%S: !state, %q: !key, %k: !key, %v: !value, %decay: {0}, %beta: f32,
                  %e: !key, %f: !key, %h: !key) {{
  %a = math.exp %decay : {0}
  %tenth = arith.constant 0.1 : f32
  %x = decant.scale %e, %tenth : !key
  %S1 = decant.decay %S, %a : !state, {0}
  %p = decant.read %S1, %k : !state
  %old = decant.read %S1, %x : !state
  %b = decant.read %S1, %f : !state
  %c = decant.read %S1, %h : !state
  %before = decant.read %S, %q : !state
  %minus = arith.negf %beta : f32
  %erase = decant.scale %old, %minus : !value
  %S2 = decant.write %S1, %x, %erase : !state
  %r = arith.subf %v, %p : !value
  %u = decant.scale %r, %beta : !value
  %S3 = decant.write %S2, %k, %u : !state
  %after = decant.read %S3, %q : !state
  %s1 = arith.addf %b, %c : !value
  %s2 = arith.addf %s1, %before : !value
  %o = arith.addf %s2, %after : !value
  decant.yield %S3, %o : !state
}}
)",
                     decay);
}

class MmaRules : public testing::TestWithParam<DecayShape> {
protected:
  DecodeSpec spec(int window, int compensators,
                  const std::vector<std::string> &more = {}) const {
    std::vector<std::string> overrides = {
        "state=" + smooth("int8"),
        "window.records=f16",
        fmt::format("window.length={}", window),
        fmt::format("window.compensators={}", compensators),
        "heads.key_dim=48",
        "heads.value_dim=64"};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return makeSpecWithRule(
        busyRule(GetParam() == DecayShape::Vector ? "!key" : "f32"), overrides);
  }
  RecordShape record() const { return {2, GetParam(), DecayShape::None}; }
};

TEST_P(MmaRules, ReadAsOneLane) { expectSameReads(spec(3, 2), record()); }

// Codes of f32 that do not fit in a lane's registers are loaded for each group
// of four vectors.
TEST_P(MmaRules, ReadWideCodesAsOneLane) {
  expectSameReads(spec(3, 0,
                       {R"(state={"codes": "f32"})", "heads.key_dim=128",
                        "heads.value_dim=32"}),
                  record());
}

// A number half way between two codes goes to either: of a few rows, the errors
// differ from the codec's by 5 % by chance, of 24 by less than 2 %.
TEST_P(MmaRules, CostWhatTheFormatCosts) {
  for (int window : {1, 5}) {
    const DecodeSpec layerSpec = spec(window, 0);
    Layer layer = mmaLayer(layerSpec, inOrder(24), record());
    expectFormatCosts(runFormat(layer, layerSpec, 11), layerSpec, 11);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Decays, MmaRules, testing::Values(DecayShape::Scalar, DecayShape::Vector),
    [](const auto &info) { return std::string(toString(info.param)); });

} // namespace
