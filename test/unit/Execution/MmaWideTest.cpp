//===- MmaWideTest.cpp - f32 states in windows on tensor cores ------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes of f32 keep all of their bits in reads and folds: nothing rounds them
// to what tensor cores multiply.
//
//===----------------------------------------------------------------------===//

#include "MmaLayer.h"
#include "decant/Core/CodeStore.h"
#include "decant/Reference/ReferenceRun.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

struct Case {
  const char *rule;
  int window, key, value;
  const char *records;

  DecodeSpec spec(const std::vector<std::string> &more = {}) const {
    const std::string type = fmt::format("window.records={}", records);
    std::vector<std::string> overrides = {type};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return shape().spec(overrides);
  }
  RecordShape record() const {
    RecordShape record = shape().record();
    if (std::string(rule) == "gated_delta_product")
      record.writes = 2;
    return record;
  }
  MmaCase shape() const { return {rule, "f32", 0, window, key, value}; }
};
void PrintTo(const Case &c, std::ostream *out) {
  *out << c.shape().name() << "_" << c.records;
}

/// Rows of the state differ in size by up to 2^20, so that the low bits of the
/// large ones are what the small ones have at most.
std::vector<double> denseStates(const DecodeSpec &spec) {
  std::vector<double> states;
  const int keys = spec.heads.keyDim, values = spec.heads.valueDim;
  for (int64_t i = 0; i < int64_t(spec.heads.value) * keys * values; ++i) {
    const int key = int(i / values % keys);
    states.push_back(float(
        std::ldexp(3 * std::sin(0.7 * i) + std::cos(0.013 * i), key % 20)));
  }
  return states;
}

/// The codes of the only row, [value heads, key dim, value dim].
template <typename Body> void forCodes(Layer &layer, Body body) {
  const SlotLayout &layout = layer.layout();
  const CodeTable table(layout);
  for (int head = 0; head < layout.valueHeads; ++head)
    for (int key = 0; key < layout.keyDim; ++key)
      for (int value = 0; value < layout.valueDim; ++value)
        body(table, layer.slot(0) + layout.headOffset(head), key, value);
}

std::vector<double> codesOf(Layer &layer) {
  std::vector<double> codes;
  forCodes(layer,
           [&](const CodeTable &table, uint8_t *head, int key, int value) {
             codes.push_back(table.load(head, key, value));
           });
  return codes;
}

void expectExactRead(Layer &layer, const DecodeSpec &spec) {
  Oracle oracle(spec, layer.layout(), 1);
  oracle.states = denseStates(spec);
  size_t next = 0;
  forCodes(layer,
           [&](const CodeTable &table, uint8_t *head, int key, int value) {
             table.store(head, key, value, oracle.states[next++]);
           });
  const Token token = makeToken(oracle, 0);
  EXPECT_LE(relativeError(layer.step(token), oracle.step(token)), kF32Bound);
}

class MmaWide : public testing::TestWithParam<Case> {};

// A window is empty, and codes are all that a token reads: sums of f32
// products, whatever the records' type is.
TEST_P(MmaWide, ReadsAsTheRule) {
  const DecodeSpec spec = GetParam().spec();
  Layer layer = mmaLayer(spec, inOrder(1), GetParam().record());
  expectExactRead(layer, spec);
}

TEST(MmaWideFetches, ReadTheSame) {
  const Case test = {"gated_delta", 4, 64, 32, "f16"};
  for (CodeFetch fetch : {CodeFetch::Shared, CodeFetch::Bulk}) {
    Schedule schedule = mmaScheduleOf(test.spec(), test.record());
    schedule.fetch = fetch;
    Layer layer(test.spec(), inOrder(1), schedule, CodeOrder::Fragments,
                Kernels::Decode);
    expectExactRead(layer, test.spec());
  }
}

// From the same bytes, a fold of strategy simt multiplies in f32. Records go
// into tensor cores as they are, and what a decay makes of them as two numbers
// of their type: 2^-22 is left of f16, 2^-16 of bf16. Sums in f32 are off by
// kF32Bound on either side.
TEST_P(MmaWide, FoldsAsOneLane) {
  const DecodeSpec spec = GetParam().spec();
  Layer simt(spec, inOrder(1), Kernels::Decode, sharedEngine(),
             CodeOrder::Fragments);
  Layer mma = mmaLayer(spec, inOrder(1), GetParam().record(), Boundary::Apart);
  const Oracle oracle(spec, simt.layout(), 1);
  for (int token = 0; token < 2 * spec.window.length - 1; ++token)
    simt.step(makeToken(oracle, token));
  std::memcpy(mma.slot(0), simt.slot(0), simt.program().info().slotBytes);
  const std::vector<double> before = codesOf(simt);
  simt.flush();
  mma.flush();
  const double rest =
      std::ldexp(1, spec.window.records == ElementType::F16 ? -22 : -16);
  EXPECT_LE(relativeError(codesOf(mma), codesOf(simt)), 2 * kF32Bound + rest);
  EXPECT_GT(relativeError(before, codesOf(simt)), 0.1) << "a fold adds records";
}

// More than 16 records are several products, more than 64 several passes.
INSTANTIATE_TEST_SUITE_P(
    Cases, MmaWide,
    testing::Values(
        Case{"gated_delta", 16, 128, 128, "bf16"},
        Case{"kda", 16, 64, 64, "bf16"}, Case{"gated_delta", 2, 16, 16, "f16"},
        Case{"gated_delta", 3, 20, 24, "bf16"}, Case{"kda", 3, 48, 80, "f16"},
        Case{"gated_delta", 64, 32, 32, "f16"}, Case{"kda", 40, 32, 16, "bf16"},
        Case{"gated_delta_product", 34, 16, 16, "f16"},
        Case{"gated_delta", 2, 256, 16, "f16"}),
    [](const auto &info) {
      return fmt::format("{}_{}", info.param.shape().name(),
                         info.param.records);
    });

// What the format rounds are records: the same errors as the codec's, which
// adds them up in float64.
TEST(MmaWideWindows, CostWhatRecordsCost) {
  for (const char *records : {"f16", "bf16"}) {
    const DecodeSpec spec = Case{"gated_delta", 8, 64, 64, records}.spec();
    Layer layer = mmaLayer(spec, inOrder(2));
    const FormatErrors errors = runFormat(layer, spec, 35);
    EXPECT_TRUE(errors.finite);
    EXPECT_GT(errors.kernel, 1e-5);
    EXPECT_LE(errors.ratio(), 1.02) << records;
    EXPECT_GE(errors.ratio(), 1 / 1.02) << records;
  }
}

TEST(MmaWideWindows, SharedKeyHeads) {
  const DecodeSpec spec = Case{"gated_delta", 3, 32, 32, "f16"}.spec(
      {"heads.key=2", "heads.value=6", "heads.map=modulo"});
  Layer layer = mmaLayer(spec, inOrder(2));
  expectFormatCosts(runFormat(layer, spec, 8), spec, 8);
}

} // namespace
