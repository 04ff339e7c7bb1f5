//===- CodeOrderTest.cpp - the same kernels over codes in another order ---===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a code lies must not change a bit of what is computed from it: two
// layers that differ in the order alone get the same tokens.
//
//===----------------------------------------------------------------------===//

#include "FormatList.h"
#include "Oracle.h"
#include "decant/Core/CodeStore.h"
#include "decant/Reference/Codec.h"
#include "decant/Reference/ReferenceRun.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

struct Case {
  const char *rule, *codes;
  int keyDim, valueDim;
};
void PrintTo(const Case &c, std::ostream *out) {
  *out << c.rule << " " << c.codes << " " << c.keyDim << " x " << c.valueDim;
}

class CodeOrders : public testing::TestWithParam<Case> {
protected:
  DecodeSpec spec() const {
    const Case &c = GetParam();
    std::vector<std::string> overrides = {
        fmt::format("rule={}", c.rule), "window.length=3", "window.records=f16",
        fmt::format("heads.key_dim={}", c.keyDim),
        fmt::format("heads.value_dim={}", c.valueDim)};
    if (std::strncmp(c.codes, "int", 3) != 0) {
      overrides.push_back(fmt::format(R"(state={{"codes": "{}"}})", c.codes));
    } else {
      overrides.push_back("state=" + smooth(c.codes));
      overrides.push_back("window.compensators=2");
    }
    return makeSpec(overrides);
  }

  Layer layer(CodeOrder order) const {
    return Layer(spec(), inOrder(1), Kernels::All, sharedEngine(), order);
  }
};

/// Every byte of the slots but the codes and the word that names their order.
bool sameAroundCodes(Layer &a, Layer &b) {
  const SlotLayout &layout = a.layout();
  auto same = [&](int64_t begin, int64_t end) {
    return std::memcmp(a.slot(0) + begin, b.slot(0) + begin, end - begin) == 0;
  };
  bool all = same(0, 4 * kCodeOrderWord) &&
             same(4 * kCodeOrderWord + 4, kSlotHeaderBytes);
  for (int head = 0; head < layout.valueHeads; ++head) {
    const int64_t begin = kSlotHeaderBytes + head * layout.headBytes;
    for (const auto &[name, region] : layout.regions())
      if (name != "codes" && !region.empty())
        all = all && same(begin + region.offset,
                          begin + region.offset + region.bytes());
  }
  return all;
}

// 7 tokens of a window of 3: an empty state, two folds, a window in use; then
// a dense state that is packed, decoded from and unpacked.
TEST_P(CodeOrders, AreOneComputation) {
  Layer rows = layer(CodeOrder::Rows), tiles = layer(CodeOrder::Fragments);
  ASSERT_EQ(rows.layout().codeOrder, CodeOrder::Rows);
  ASSERT_EQ(tiles.layout().codeOrder, CodeOrder::Fragments);
  Oracle oracle(spec(), rows.layout(), 1);
  auto expectSame = [&](int tokens) {
    for (int token = 0; token < tokens; ++token) {
      const Token input = makeToken(oracle, token);
      ASSERT_EQ(rows.step(input), tiles.step(input)) << token;
    }
    EXPECT_EQ(rows.states(), tiles.states());
    EXPECT_TRUE(sameAroundCodes(rows, tiles));
  };
  expectSame(7);
  EXPECT_EQ(rows.unpack(), tiles.unpack());

  const std::vector<double> dense = rows.unpack();
  rows.pack(dense);
  tiles.pack(dense);
  EXPECT_EQ(rows.unpack(), tiles.unpack());
  expectSame(2);

  // The header names the order.
  uint32_t word = 0;
  std::memcpy(&word, rows.slot(0) + 4 * kCodeOrderWord, sizeof(word));
  EXPECT_EQ(word, 0u);
  std::memcpy(&word, tiles.slot(0) + 4 * kCodeOrderWord, sizeof(word));
  EXPECT_EQ(word, 1u);
}

// Floats of a window in columns, too.
TEST_P(CodeOrders, ColumnsAreThatComputation) {
  if (std::strncmp(GetParam().codes, "int", 3) == 0) {
    CompileOptions options;
    options.target = valueOf(lookupTarget("x86-64"));
    options.order = CodeOrder::Columns;
    const Expected<KernelImage> image = sharedEngine().image(spec(), options);
    ASSERT_FALSE(image.ok());
    EXPECT_NE(image.status().message().find("columns are for float codes"),
              std::string::npos)
        << image.status().message();
    return;
  }
  Layer rows = layer(CodeOrder::Rows), columns = layer(CodeOrder::Columns);
  Oracle oracle(spec(), rows.layout(), 1);
  for (int token = 0; token < 7; ++token) {
    const Token input = makeToken(oracle, token);
    ASSERT_EQ(rows.step(input), columns.step(input)) << token;
  }
  EXPECT_EQ(rows.states(), columns.states());
  EXPECT_TRUE(sameAroundCodes(rows, columns));
  EXPECT_EQ(rows.unpack(), columns.unpack());
  uint32_t word = 0;
  std::memcpy(&word, columns.slot(0) + 4 * kCodeOrderWord, sizeof(word));
  EXPECT_EQ(word, 2u);
}

INSTANTIATE_TEST_SUITE_P(
    All, CodeOrders,
    testing::Values(
        Case{"gated_delta", "int8", 128, 128},
        Case{"gated_delta", "int8", 48, 64},
        Case{"gated_delta", "int8", 96, 80},
        Case{"gated_delta", "int8", 256, 128}, Case{"kda", "int8", 128, 128},
        Case{"kda", "int8", 48, 64}, Case{"kda", "int8", 96, 80},
        Case{"kda", "int8", 256, 128}, Case{"gated_delta", "f32", 128, 128},
        Case{"gated_delta", "f32", 96, 80}, Case{"kda", "f32", 48, 64},
        Case{"gated_delta", "bf16", 128, 128},
        Case{"gated_delta", "bf16", 48, 64}, Case{"kda", "bf16", 96, 80},
        Case{"kda", "bf16", 256, 128}, Case{"gated_delta", "int6", 128, 128},
        Case{"kda", "int6", 96, 80}, Case{"gated_delta", "int4", 128, 128},
        Case{"kda", "int4", 48, 64}, Case{"gated_delta", "int3", 256, 128},
        Case{"kda", "int2", 96, 80}));

using Packed = std::tuple<const char *, CodeOrder>;
class PackedCodes : public testing::TestWithParam<Packed> {};

// States whose elements are codes under a power of two for each value, with the
// largest code in every column: scales are within a rounding of that power,
// whoever fits them, and quotients as far from the middle between two codes as
// can be. So kernel, codec and construction have the same bytes of codes,
// padding included.
TEST_P(PackedCodes, AreTheCodecsBytes) {
  const auto &[codes, order] = GetParam();
  const std::pair<int, int> dims[] = {
      {128, 128}, {48, 64}, {20, 24}, {251, 80}};
  for (const auto &[keyDim, valueDim] : dims) {
    SCOPED_TRACE(fmt::format("{} x {}", keyDim, valueDim));
    const DecodeSpec spec =
        makeSpec({"state=" + integers(codes, {scale("value", "absmax", "f32")}),
                  fmt::format("heads.key_dim={}", keyDim),
                  fmt::format("heads.value_dim={}", valueDim)});
    Layer layer(spec, inOrder(1), Kernels::All, sharedEngine(), order);
    const SlotLayout &layout = layer.layout();
    const int most = maxCode(layout.codes.type);
    auto codeOf = [&, keyDim = keyDim](int head, int key, int value) {
      if (key == value % keyDim)
        return value % 2 ? most : -most;
      return (key * 7 + value * 13 + head) % (2 * most + 1) - most;
    };
    std::vector<double> states;
    std::vector<std::vector<uint8_t>> built, encoded;
    for (int head = 0; head < layout.valueHeads; ++head) {
      built.emplace_back(layout.headBytes, 0);
      encoded.emplace_back(layout.headBytes, 0);
      for (int key = 0; key < layout.paddedKey; ++key)
        for (int value = 0; value < layout.paddedValue; ++value) {
          const bool padding = key >= keyDim || value >= valueDim;
          const int code = padding ? 0 : codeOf(head, key, value);
          storeCode(layout, built[head].data(), key, value, code);
          if (!padding)
            states.push_back(std::ldexp(code, value % 9 - 4));
        }
      encodeHead(layout, &states[head * keyDim * valueDim],
                 encoded[head].data());
    }
    layer.pack(states);
    for (int head = 0; head < layout.valueHeads; ++head) {
      const uint8_t *stored =
          layer.slot(0) + kSlotHeaderBytes + head * layout.headBytes;
      EXPECT_EQ(std::memcmp(encoded[head].data(), built[head].data(),
                            layout.codes.bytes()),
                0);
      EXPECT_EQ(std::memcmp(stored, built[head].data(), layout.codes.bytes()),
                0);
    }
    // What comes back is off by the rounding of a scale, twice.
    EXPECT_LE(relativeError(layer.unpack(), states), std::ldexp(1, -23));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, PackedCodes,
    testing::Combine(testing::Values("int8", "int6", "int4", "int3", "int2"),
                     testing::Values(CodeOrder::Rows, CodeOrder::Fragments)));

// Lanes of a GPU's schedule meet in the bytes of narrow codes (1 and 4 keys
// a lane); they must leave what one lane leaves. Sums of powers of two have the
// same bits on any number of lanes.
TEST_P(PackedCodes, AreOneLanesOnManyLanes) {
  const auto &[codes, order] = GetParam();
  for (int keyDim : {16, 64}) {
    SCOPED_TRACE(keyDim);
    const DecodeSpec spec = makeSpec(
        {"state=" + smooth(codes), "window.length=3", "window.records=f16",
         "window.compensators=1", fmt::format("heads.key_dim={}", keyDim),
         "heads.value_dim=32"});
    Layer one(spec, inOrder(1), Kernels::All, sharedEngine(), order);
    const Schedule schedule =
        defaultSchedule(one.layout(), valueOf(lookupTarget("sm_90a")));
    ASSERT_EQ(schedule.keysPerLane, keyDim / 16);
    Layer many(spec, inOrder(1), schedule, order);
    const Oracle oracle(spec, one.layout(), 1);
    std::vector<double> states;
    for (int i = 0; i < 2 * keyDim * 32; ++i)
      states.push_back(float(3 * std::sin(0.7 * i) + std::cos(0.013 * i)));
    one.pack(states);
    many.pack(states);
    ASSERT_TRUE(one.pool() == many.pool()) << "packed";
    for (int token = 0; token < 4; ++token) {
      const Token input = makeToken(oracle, token);
      ASSERT_EQ(one.step(input), many.step(input)) << token;
    }
    EXPECT_TRUE(one.pool() == many.pool());
    EXPECT_EQ(one.unpack(), many.unpack());
  }
}

} // namespace
