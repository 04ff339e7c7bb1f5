//===- ReferenceRunTest.cpp - programs over traces ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/ReferenceRun.h"

#include "TestSpecs.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace decant;
using namespace decant::test;

namespace {

constexpr int kKeys = 3, kValues = 2;
using Inputs = std::vector<std::vector<double>>;

double add(double a, double b, double) { return a + b; }

TEST(RuleProgram, RunsEachInstruction) {
  RuleProgram program(kKeys, kValues);
  const auto key = program.addInput({"k", RuleInput::KeyVector});
  const auto value = program.addInput({"v", RuleInput::ValueVector});
  const auto scalar = program.addInput({"g", RuleInput::Scalar});
  const auto one = program.addConstant({1});
  const auto keyDecay = program.addElementwise(add, {key, one}, kKeys);
  auto state = program.addWrite(RuleProgram::firstState(), key, value);
  state = program.addScalarDecay(state, scalar);
  state = program.addKeyDecay(state, keyDecay);
  state = program.addValueDecay(state, value);
  const auto read = program.addRead(state, key);
  const auto dot = program.addDot(key, key);
  program.finish(state, program.addElementwise(add, {read, dot}, kValues));

  std::vector<double> s = {1, 2, 3, 4, 5, 6}, output(kValues);
  program.step({{1, 2, 3}, {10, 20}, {0.5}}, s.data(), output.data());
  const std::vector<double> k = {1, 2, 3}, v = {10, 20};
  std::vector<double> expected = {1, 2, 3, 4, 5, 6};
  for (int i = 0; i < kKeys; ++i)
    for (int j = 0; j < kValues; ++j) {
      double &element = expected[i * kValues + j];
      element = (element + k[i] * v[j]) * 0.5 * (k[i] + 1) * v[j];
    }
  EXPECT_EQ(s, expected);
  for (int j = 0; j < kValues; ++j) {
    double sum = 14; // k . k
    for (int i = 0; i < kKeys; ++i)
      sum += expected[i * kValues + j] * k[i];
    EXPECT_EQ(output[j], sum);
  }
}

TEST(RuleProgram, StatesAreValues) {
  // The old state is read after, and kept instead of, the new one.
  RuleProgram program(kKeys, kValues);
  const auto key = program.addInput({"k", RuleInput::KeyVector});
  const auto value = program.addInput({"v", RuleInput::ValueVector});
  const auto first = RuleProgram::firstState();
  const auto second = program.addWrite(first, key, value);
  const auto third = program.addScalarDecay(second, program.addConstant({0.5}));
  const auto readThird = program.addRead(third, key);
  const auto readSecond = program.addRead(second, key);
  const auto readFirst = program.addRead(first, key);
  const auto sum =
      program.addElementwise(add, {readThird, readSecond}, kValues);
  program.finish(second,
                 program.addElementwise(add, {sum, readFirst}, kValues));

  std::vector<double> s(kKeys * kValues, 1.0), output(kValues);
  for (int repeat = 0; repeat < 2; ++repeat) {
    const double old = s[0];
    program.step({{1, 1, 1}, {1, 1}}, s.data(), output.data());
    EXPECT_EQ(s, std::vector<double>(kKeys * kValues, old + 1));
    EXPECT_EQ(output[0], 3 * ((old + 1) / 2 + (old + 1) + old));
  }
}

//===-- whole traces ------------------------------------------------------===//

TraceTensor tensorOf(std::vector<int64_t> shape, std::vector<float> elements) {
  TraceTensor tensor{TraceType::F32, std::move(shape), {}};
  tensor.bytes.resize(elements.size() * sizeof(float));
  std::copy_n(reinterpret_cast<const uint8_t *>(elements.data()),
              tensor.bytes.size(), tensor.bytes.begin());
  return tensor;
}

/// S = S + decay k v^T; o = S^T q + A_log + dt_bias: every input shows.
RuleProgram probe(int dim) {
  RuleProgram program(dim, dim);
  const auto q = program.addInput({"q", RuleInput::KeyVector});
  const auto k = program.addInput({"k", RuleInput::KeyVector});
  const auto v = program.addInput({"v", RuleInput::ValueVector});
  const auto decay = program.addInput({"decay", RuleInput::Scalar});
  const auto aLog = program.addInput({"A_log", RuleInput::Scalar});
  const auto dtBias = program.addInput({"dt_bias", RuleInput::Scalar});
  const auto scaled = program.addElementwise(
      [](double a, double b, double) { return a * b; }, {k, decay}, dim);
  const auto state = program.addWrite(RuleProgram::firstState(), scaled, v);
  const auto read = program.addRead(state, q);
  const auto sum = program.addElementwise(add, {read, aLog}, dim);
  program.finish(state, program.addElementwise(add, {sum, dtBias}, dim));
  return program;
}

const std::vector<RuleInput> kProbeInputs = {{"q", RuleInput::KeyVector},
                                             {"k", RuleInput::KeyVector},
                                             {"v", RuleInput::ValueVector},
                                             {"g", RuleInput::Scalar}};

struct Probe {
  Trace trace;
  DecodeSpec spec = makeSpec(16, 16, ElementType::F32, {});

  explicit Probe(HeadMap map) {
    constexpr int kTokens = 2, kDim = 16;
    spec.heads.key = 2;
    spec.heads.value = 4;
    spec.heads.map = map;
    spec.inputs.type = ElementType::F32;
    spec.inputs.decay = DecayForm::Softplus;
    std::vector<float> q(kTokens * 2 * kDim), k(q.size());
    // Key head h reads row h, so a wrong head gives another output.
    for (int t = 0; t < kTokens; ++t)
      for (int h = 0; h < 2; ++h)
        q[(t * 2 + h) * kDim] = k[(t * 2 + h) * kDim] = 1 + h;
    trace.tensors["q"] = tensorOf({kTokens, 2, kDim}, q);
    trace.tensors["k"] = tensorOf({kTokens, 2, kDim}, k);
    trace.tensors["v"] =
        tensorOf({kTokens, 4, kDim}, std::vector<float>(kTokens * 4 * kDim, 1));
    trace.tensors["g"] = tensorOf({kTokens, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
    trace.tensors["A_log"] = tensorOf({4}, {100, 200, 300, 400});
    trace.tensors["dt_bias"] = tensorOf({4}, {1000, 2000, 3000, 4000});
  }
};

TEST(ReferenceRun, FeedsEachHeadItsInputs) {
  for (HeadMap map : {HeadMap::Group, HeadMap::Modulo}) {
    const Probe probed(map);
    Expected<TraceView> view =
        bindTrace(probed.trace, probed.spec, kProbeInputs);
    ASSERT_TRUE(view.ok()) << view.status().message();
    Expected<ReferenceRun> run =
        runReference(probe(16), *view, probed.spec.heads, 2);
    ASSERT_TRUE(run.ok()) << run.status().message();
    for (int head = 0; head < 4; ++head) {
      const int keyHead = map == HeadMap::Group ? head / 2 : head % 2;
      const double q = 1 + keyHead;
      const double first = q * q * (1 + head), second = q * q * (5 + head);
      const double bias = 1100.0 * (1 + head);
      EXPECT_EQ(run->outputs[head * 16], first + bias);
      EXPECT_EQ(run->outputs[(4 + head) * 16 + 15], first + second + bias);
      EXPECT_EQ(run->states[head * 256], (first + second) / q);
      EXPECT_EQ(run->states[head * 256 + 16], 0);
    }
  }
}

TEST(ReferenceRun, RefusesMoreTokensThanThereAre) {
  const Probe probed(HeadMap::Group);
  Expected<TraceView> view = bindTrace(probed.trace, probed.spec, kProbeInputs);
  ASSERT_TRUE(view.ok());
  Expected<ReferenceRun> run =
      runReference(probe(16), *view, probed.spec.heads, 3);
  ASSERT_FALSE(run.ok());
  EXPECT_EQ(run.status().message(), "3 tokens are asked for; the trace has 2");
}

TEST(ReferenceRun, CodecActsOncePerWindow) {
  // Two tokens add 257 each. A bf16 holds neither: 257 is the middle of 256 and
  // 258, 513 is closest to 512, 514 is the middle of
  // 512 and 516.
  Probe probed(HeadMap::Group);
  probed.trace.tensors["g"] = tensorOf({2, 4}, std::vector<float>(8, 257));
  Expected<TraceView> view = bindTrace(probed.trace, probed.spec, kProbeInputs);
  ASSERT_TRUE(view.ok());
  struct Case {
    int window;
    double afterFirst, afterSecond;
  };
  for (const Case &expected :
       {Case{1, 256, 512}, Case{2, 257, 512}, Case{3, 257, 514}}) {
    const SlotLayout layout = makeSlotLayout(
        makeSpec(16, 16, ElementType::BF16, {}, 0, expected.window),
        scalarDecay());
    Expected<ReferenceRun> run =
        runReference(probe(16), *view, probed.spec.heads, 2, layout);
    ASSERT_TRUE(run.ok());
    EXPECT_EQ(run->outputs[0], 257 + 1100);
    EXPECT_EQ(run->outputs[4 * 16], expected.afterFirst + 257 + 1100);
    EXPECT_EQ(run->states[0], expected.afterSecond) << expected.window;
  }
}

TEST(ReferenceRun, ErrorMeasures) {
  EXPECT_EQ(relativeError({3, 4, 0}, {0, 0, 5}), std::sqrt(2.0));
  EXPECT_EQ(relativeError({0, 0}, {0, 0}), 0);
  EXPECT_TRUE(std::isinf(relativeError({1, 0}, {0, 0})));
  EXPECT_EQ(meanErrorPerHead({1, 2, 3, 4}, {1, 1, 5, 0}, 2),
            (std::vector<double>{0.5, 3}));
}

} // namespace
