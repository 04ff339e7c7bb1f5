//===- RulesTest.cpp - rules that are in no list --------------------------===//
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

struct Rule {
  const char *name;
  const char *arguments, *body;
};
void PrintTo(const Rule &rule, std::ostream *out) { *out << rule.name; }

std::string textOf(const Rule &rule) {
  return fmt::format(R"(
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!state = !decant.state<?x?>
decant.rule @{}(%S: !state, %q: !key, %k: !key, %v: !value{}) {{
{}
}}
)",
                     rule.name, rule.arguments, rule.body);
}

const Rule kRules[] = {
    // S = S diag(a);  S = S + k (beta (v - S^T e))^T: erases along another key
    // than it writes, and forgets along the value axis.
    {"erase", ", %e: !key, %g: !value, %beta: f32", R"(
  %a = math.exp %g : !value
  %S1 = decant.decay %S, %a : !state, !value
  %p = decant.read %S1, %e : !state
  %r = arith.subf %v, %p : !value
  %u = decant.scale %r, %beta : !value
  %S2 = decant.write %S1, %k, %u : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state)"},
    // Two writes per token, reads before the decay and between the writes, and
    // a read along a key that depends on another read's result.
    {"two_writes", ", %e: !key, %g: f32, %beta: f32", R"(
  %before = decant.read %S, %q : !state
  %a = math.exp %g : f32
  %S1 = decant.decay %S, %a : !state, f32
  %p = decant.read %S1, %e : !state
  %minus = arith.negf %beta : f32
  %erase = decant.scale %p, %minus : !value
  %S2 = decant.write %S1, %e, %erase : !state
  %between = decant.read %S2, %k : !state
  %n = decant.dot %between, %v : !value
  %size = math.tanh %n : f32
  %x = decant.scale %q, %size : !key
  %third = decant.read %S2, %x : !state
  %u = decant.scale %v, %beta : !value
  %S3 = decant.write %S2, %k, %u : !state
  %after = decant.read %S3, %q : !state
  %sum = arith.addf %before, %third : !value
  %o = arith.addf %sum, %after : !value
  decant.yield %S3, %o : !state)"},
    // Decays on both axes, one of them after the write, so that the new record
    // is under it, too.
    {"both_axes", ", %g: !key, %w: !value, %beta: f32", R"(
  %a = math.exp %g : !key
  %S1 = decant.decay %S, %a : !state, !key
  %p = decant.read %S1, %k : !state
  %r = arith.subf %v, %p : !value
  %u = decant.scale %r, %beta : !value
  %S2 = decant.write %S1, %k, %u : !state
  %t = math.absf %w : !value
  %m = arith.negf %t : !value
  %c = math.exp %m : !value
  %S3 = decant.decay %S2, %c : !state, !value
  %o = decant.read %S3, %q : !state
  decant.yield %S3, %o : !state)"},
    // No decay at all, an extra scalar and a gate on the output: plain linear
    // attention with o = tanh(w) (S^T q + d v).
    {"linear", ", %d: f32, %w: !value", R"(
  %S1 = decant.write %S, %k, %v : !state
  %r = decant.read %S1, %q : !state
  %skip = decant.scale %v, %d : !value
  %sum = arith.addf %r, %skip : !value
  %gate = math.tanh %w : !value
  %o = arith.mulf %sum, %gate : !value
  decant.yield %S1, %o : !state)"},
    // A constant decay, read and write keys that both differ from k, a state
    // that is decayed twice.
    {"constant", ", %e: !key, %f: !key, %beta: f32", R"(
  %a = arith.constant 0.75 : f32
  %S1 = decant.decay %S, %a : !state, f32
  %p = decant.read %S1, %e : !state
  %r = arith.subf %v, %p : !value
  %u = decant.scale %r, %beta : !value
  %kk = arith.addf %k, %f : !key
  %half = arith.constant 0.25 : f32
  %w = decant.scale %kk, %half : !key
  %S2 = decant.write %S1, %w, %u : !state
  %b = arith.constant 0.875 : f32
  %S3 = decant.decay %S2, %b : !state, f32
  %o = decant.read %S3, %q : !state
  decant.yield %S3, %o : !state)"},
    // A beta per value channel and a branch: only values above 0 are erased.
    {"channel_beta", ", %g: f32, %beta: !value", R"(
  %a = math.exp %g : f32
  %S1 = decant.decay %S, %a : !state, f32
  %p = decant.read %S1, %k : !state
  %r = arith.subf %v, %p : !value
  %zero = arith.subf %v, %v : !value
  %above = arith.cmpf ogt, %p, %zero : !value
  %x = arith.select %above, %r, %v : tensor<?xi1, #decant.axis<value>>, !value
  %u = arith.mulf %x, %beta : !value
  %S2 = decant.write %S1, %k, %u : !state
  %o = decant.read %S2, %q : !state
  decant.yield %S2, %o : !state)"}};

/// Extra key vectors get no norm: at their full length they would amplify.
Token scaled(Token token) {
  for (const char *name : {"e", "f"})
    if (auto found = token.find(name); found != token.end())
      for (double &x : found->second)
        x = float(x * 0.15);
  return token;
}

class Rules : public testing::TestWithParam<std::tuple<Rule, int>> {};

TEST_P(Rules, AreDecodedAsTheyAreWritten) {
  const auto &[rule, window] = GetParam();
  const DecodeSpec spec = makeSpecWithRule(
      textOf(rule), {fmt::format("window.length={}", window),
                     "heads.key_dim=40", "heads.value_dim=36"});
  Placement placement = inOrder(2);
  placement.spread = true;
  Layer layer(spec, placement);
  Oracle oracle(spec, layer.layout(), 2);
  double scale = 0, error = 0;
  for (int token = 0; token < 9; ++token) {
    const Token inputs = scaled(makeToken(oracle, token));
    const std::vector<double> outputs = layer.step(inputs);
    const std::vector<double> expected = oracle.step(inputs);
    EXPECT_TRUE(allFinite(outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      error += (outputs[i] - expected[i]) * (outputs[i] - expected[i]);
      scale += expected[i] * expected[i];
    }
  }
  EXPECT_GT(scale, 0);
  EXPECT_LE(std::sqrt(error / scale), kF32Bound);
  EXPECT_LE(relativeError(layer.states(), oracle.states), kF32Bound);
  EXPECT_TRUE(layer.poolGapsIntact());
}

INSTANTIATE_TEST_SUITE_P(Texts, Rules,
                         testing::Combine(testing::ValuesIn(kRules),
                                          testing::Values(1, 4)),
                         [](const auto &info) {
                           return fmt::format("{}_w{}",
                                              std::get<0>(info.param).name,
                                              std::get<1>(info.param));
                         });

// A GPU's step holds the state in columns: on the lanes of one warp, some of
// them without keys, or of as many as it takes to sum over values in one block.
class RulesInColumns : public testing::TestWithParam<Rule> {};

TEST_P(RulesInColumns, AreDecodedAsTheyAreWritten) {
  const Rule &rule = GetParam();
  const DecodeSpec spec = makeSpecWithRule(
      textOf(rule), {"heads.key_dim=40", "heads.value_dim=36"});
  Layer one(spec, inOrder(2), Kernels::Decode, sharedEngine(),
            CodeOrder::Columns);
  const bool sums = std::string(rule.body).find("decant.dot") !=
                    std::string::npos; // of values, here
  const Schedule schedule =
      defaultSchedule(one.layout(), valueOf(lookupTarget("sm_90a")), sums);
  ASSERT_TRUE(holdsState(schedule, one.layout()));
  ASSERT_EQ(schedule.keyLanes * schedule.keysPerLane, 64);
  ASSERT_EQ(schedule.split, sums ? 1 : 3);
  Layer layer(spec, inOrder(2), schedule, CodeOrder::Columns);
  Oracle oracle(spec, layer.layout(), 2);
  for (int token = 0; token < 7; ++token) {
    const Token inputs = scaled(makeToken(oracle, token));
    EXPECT_LE(relativeError(layer.step(inputs), oracle.step(inputs)), kF32Bound)
        << token;
  }
  EXPECT_LE(relativeError(layer.states(), oracle.states), kF32Bound);
  EXPECT_TRUE(layer.poolGapsIntact());
}

INSTANTIATE_TEST_SUITE_P(Texts, RulesInColumns, testing::ValuesIn(kRules),
                         [](const auto &info) { return info.param.name; });

// The gate conventions hold for whatever shape a rule gives its gates.
TEST(RuleGates, FollowTheirConventions) {
  for (const auto &[rule, overrides] :
       {std::pair(kRules[0], std::vector<std::string>{"inputs.decay=softplus"}),
        std::pair(kRules[5],
                  std::vector<std::string>{"inputs.beta=sigmoid",
                                           "inputs.beta_round=bf16",
                                           "inputs.beta_scale=2"})}) {
    std::vector<std::string> all = overrides;
    all.push_back("window.length=2");
    const DecodeSpec spec = makeSpecWithRule(textOf(rule), all);
    Layer layer(spec, inOrder(2));
    Oracle oracle(spec, layer.layout(), 2);
    for (int token = 0; token < 5; ++token) {
      const Token inputs = scaled(makeToken(oracle, token));
      EXPECT_LE(relativeError(layer.step(inputs), oracle.step(inputs)),
                kF32Bound)
          << rule.name << ", token " << token;
    }
    EXPECT_LE(relativeError(layer.states(), oracle.states), kF32Bound);
  }
}

// A stored format works for any rule: records of two writes per token, and a
// decay along the value axis, end up in codes.
class StoredRules : public testing::TestWithParam<Rule> {};

TEST_P(StoredRules, CostWhatTheFormatCosts) {
  const DecodeSpec spec = makeSpecWithRule(
      textOf(GetParam()),
      {R"(state={"codes": "int8", "scale": [)"
       R"({"axis": "key", "fit": "absmax", "type": "f32"}]})",
       "window.length=3", "window.compensators=2", "window.records=f32",
       "heads.key_dim=64", "heads.value_dim=64", "inputs.scale=one"});
  const FormatErrors errors = runFormat(spec, 2, 9);
  EXPECT_TRUE(errors.finite);
  EXPECT_GT(errors.codec, 1e-4);
  EXPECT_LE(errors.ratio(), 1.02) << errors.kernel << " " << errors.codec;
  EXPECT_GE(errors.ratio(), 1 / 1.02) << errors.kernel << " " << errors.codec;
}

INSTANTIATE_TEST_SUITE_P(Texts, StoredRules,
                         testing::Values(kRules[2], kRules[3]),
                         [](const auto &info) { return info.param.name; });

} // namespace
