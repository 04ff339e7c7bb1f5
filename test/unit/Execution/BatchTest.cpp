//===- BatchTest.cpp - padding rows, and rows that must not meet ----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "decant/Core/Numeric.h"
#include "decant/Reference/ReferenceRun.h"

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <limits>

using namespace decant;
using namespace decant::test;

namespace {

constexpr int32_t kLowest = std::numeric_limits<int32_t>::min();

using Overrides = std::vector<std::string>;

/// Formats whose encoding takes every kind of reduction, and a vector decay.
const std::vector<std::pair<std::string, Overrides>> kKinds = {
    {"f32", {}},
    {"kda, window 3", {"rule=kda", "window.length=3"}},
    {"int8, compensators",
     {R"(state={"codes": "int8", "scale": [)"
      R"({"axis": "key", "fit": "sqrt_mean_abs", "type": "f32"},)"
      R"({"axis": "value", "fit": "absmax", "type": "f32"}]})",
      "window.compensators=2", "window.length=3", "window.records=f16"}}};

std::vector<double> rowOf(const std::vector<double> &values, int64_t rows,
                          int64_t row) {
  const int64_t width = int64_t(values.size()) / rows;
  return {values.begin() + row * width, values.begin() + (row + 1) * width};
}

struct PadCase {
  const char *policy;
  std::vector<int32_t> slots;
};
void PrintTo(const PadCase &c, std::ostream *out) {
  *out << c.policy << ", " << c.slots.size() << " rows";
}

class Padding : public testing::TestWithParam<PadCase> {
protected:
  bool isPad(int32_t slot) const {
    const std::string policy = GetParam().policy;
    return policy != "none" &&
           (slot < 0 || (slot == 0 && policy == "non_positive"));
  }
};

TEST_P(Padding, WritesZerosAndTouchesNoSlot) {
  for (const auto &[kind, overrides] : kKinds) {
    Overrides all = overrides;
    all.push_back(fmt::format("inputs.pad={}", GetParam().policy));
    const DecodeSpec spec = makeSpec(all);
    Placement placement;
    placement.slots = GetParam().slots;
    placement.slotCount = 9;
    placement.spread = true;
    const int64_t rows = int64_t(placement.slots.size());
    Layer layer(spec, placement, Kernels::All);
    Oracle oracle(spec, layer.layout(), rows);
    // The same live rows alone.
    std::vector<int> live;
    Placement dense;
    for (int64_t row = 0; row < rows; ++row)
      if (!isPad(placement.slots[row])) {
        live.push_back(int(row));
        dense.slots.push_back(int32_t(live.size())); // 1, 2, ...
      }
    Layer alone(spec, dense, Kernels::All);
    Oracle aloneOracle(spec, layer.layout(), int64_t(live.size()));

    for (int token = 0; token < 4; ++token) {
      const std::vector<double> outputs = layer.step(makeToken(oracle, token));
      const std::vector<double> expected =
          alone.step(makeToken(aloneOracle, token, live));
      size_t next = 0;
      for (int64_t row = 0; row < rows; ++row) {
        const std::vector<double> output = rowOf(outputs, rows, row);
        if (isPad(placement.slots[row]))
          EXPECT_EQ(output, std::vector<double>(output.size())) << kind;
        else
          EXPECT_EQ(output, rowOf(expected, live.size(), next++)) << kind;
      }
    }
    layer.flush();
    alone.flush();
    EXPECT_TRUE(layer.poolGapsIntact()) << kind;
    for (size_t i = 0; i < live.size(); ++i)
      EXPECT_EQ(std::memcmp(layer.slot(placement.slots[live[i]]),
                            alone.slot(dense.slots[i]),
                            layer.program().info().slotBytes),
                0)
          << kind;

    // Dense states of padding rows are neither written nor read.
    const std::vector<double> states = layer.unpack();
    const std::vector<double> aloneStates = alone.unpack();
    uint8_t poison[4];
    std::memset(poison, 0xA5, sizeof(poison));
    const double untouched = loadElement(ElementType::F32, poison);
    size_t next = 0;
    for (int64_t row = 0; row < rows; ++row) {
      const std::vector<double> state = rowOf(states, rows, row);
      if (isPad(placement.slots[row]))
        EXPECT_EQ(state, std::vector<double>(state.size(), untouched)) << kind;
      else
        EXPECT_EQ(state, rowOf(aloneStates, live.size(), next++)) << kind;
    }
    layer.pack(states);
    EXPECT_TRUE(layer.poolGapsIntact()) << kind;
  }
}

std::vector<int32_t> manyPads() {
  std::vector<int32_t> slots(40, -1);
  for (int row : {3, 17, 39})
    slots[row] = row % 8;
  return slots;
}

INSTANTIATE_TEST_SUITE_P(
    Policies, Padding,
    testing::Values(PadCase{"none", {3, 0, 5}},
                    PadCase{"negative", {3, -1, 0, kLowest, 5}},
                    PadCase{"negative", manyPads()},
                    PadCase{"non_positive", {3, 0, -1, 0, kLowest, 8}}));

TEST(PaddingOnly, TouchesNothing) {
  const DecodeSpec spec = makeSpec();
  Placement placement;
  placement.slots = {-1, -2, -3};
  placement.slotCount = 2;
  Layer layer(spec, placement);
  Oracle oracle(spec, layer.layout(), 3);
  const std::vector<double> outputs = layer.step(makeToken(oracle, 0));
  EXPECT_EQ(outputs, std::vector<double>(outputs.size()));
  EXPECT_TRUE(layer.poolGapsIntact());
}

class Isolation
    : public testing::TestWithParam<std::pair<std::string, Overrides>> {};

// What one row is fed, be it NaN, stays in its slot.
TEST_P(Isolation, BadNumbersStayInTheirRow) {
  const DecodeSpec spec = makeSpec(GetParam().second);
  for (double bad : {std::numeric_limits<double>::quiet_NaN(),
                     std::numeric_limits<double>::infinity()}) {
    Layer clean(spec, inOrder(3)), fed(spec, inOrder(3));
    Oracle oracle(spec, clean.layout(), 3);
    for (int token = 0; token < 4; ++token) {
      Token inputs = makeToken(oracle, token);
      const std::vector<double> expected = clean.step(inputs);
      for (auto &[name, values] : inputs)
        for (size_t i = values.size() / 3; i < values.size() / 3 * 2; ++i)
          values[i] = bad;
      const std::vector<double> outputs = fed.step(inputs);
      for (int row : {0, 2})
        EXPECT_EQ(rowOf(outputs, 3, row), rowOf(expected, 3, row));
      EXPECT_FALSE(std::isfinite(rowOf(outputs, 3, 1)[0]));
    }
    for (int32_t slot : {0, 2})
      EXPECT_EQ(std::memcmp(fed.slot(slot), clean.slot(slot),
                            fed.program().info().slotBytes),
                0);
  }
}

/// What each of the identities 0 .. 4 answers and leaves behind, decoded in
/// batches of its `batch` members.
struct Decoded {
  std::map<int, std::vector<double>> outputs;
  std::map<int, std::vector<uint8_t>> slots;
  friend bool operator==(const Decoded &a, const Decoded &b) {
    return a.outputs == b.outputs && a.slots == b.slots;
  }
};
void decode(const DecodeSpec &spec, const std::vector<int> &identities,
            std::vector<int32_t> slots, Decoded &result,
            Engine &engine = sharedEngine()) {
  Placement placement;
  placement.slots = slots;
  Layer layer(spec, placement, Kernels::Decode, engine);
  const int64_t rows = layer.rows();
  Oracle oracle(spec, layer.layout(), rows);
  for (int token = 0; token < 5; ++token) {
    const std::vector<double> outputs =
        layer.step(makeToken(oracle, token, identities));
    for (int64_t row = 0; row < rows; ++row)
      for (double x : rowOf(outputs, rows, row))
        result.outputs[identities[row]].push_back(x);
  }
  for (int64_t row = 0; row < rows; ++row) {
    const uint8_t *bytes = layer.slot(slots[row]);
    result.slots[identities[row]].assign(
        bytes, bytes + layer.program().info().slotBytes);
  }
}

TEST_P(Isolation, NeitherBatchNorSlotNorThreadsMatter) {
  const DecodeSpec spec = makeSpec(GetParam().second);
  Decoded together, shuffled, split, oneThread, fiveThreads;
  decode(spec, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, together);
  decode(spec, {3, 0, 4, 2, 1}, {7, 5, 0, 11, 2}, shuffled);
  decode(spec, {4}, {6}, split);
  decode(spec, {2, 0}, {0, 1}, split);
  decode(spec, {1, 3}, {9, 4}, split);
  EXPECT_EQ(together.outputs.size(), 5u);
  EXPECT_TRUE(together == shuffled);
  EXPECT_TRUE(together == split);
  for (auto &[threads, result] :
       {std::pair(1, &oneThread), std::pair(5, &fiveThreads)}) {
    EngineOptions options;
    options.threads = threads;
    Engine engine = valueOf(Engine::create(options));
    decode(spec, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, *result, engine);
    EXPECT_TRUE(together == *result) << threads << " threads";
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, Isolation, testing::ValuesIn(kKinds));

} // namespace
