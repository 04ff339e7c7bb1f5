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
      overrides.push_back(
          fmt::format(R"(state={{"codes": "{}", "scale": [{}, {}]}})", c.codes,
                      scale("key", "sqrt_mean_abs", "f32"),
                      scale("value", "absmax", "f32")));
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

INSTANTIATE_TEST_SUITE_P(All, CodeOrders,
                         testing::Values(Case{"gated_delta", "int8", 128, 128},
                                         Case{"gated_delta", "int8", 48, 64},
                                         Case{"gated_delta", "int8", 96, 80},
                                         Case{"gated_delta", "int8", 256, 128},
                                         Case{"kda", "int8", 128, 128},
                                         Case{"kda", "int8", 48, 64},
                                         Case{"kda", "int8", 96, 80},
                                         Case{"kda", "int8", 256, 128},
                                         Case{"gated_delta", "f32", 128, 128},
                                         Case{"gated_delta", "f32", 96, 80},
                                         Case{"kda", "f32", 48, 64},
                                         Case{"gated_delta", "bf16", 128, 128},
                                         Case{"gated_delta", "bf16", 48, 64},
                                         Case{"kda", "bf16", 96, 80},
                                         Case{"kda", "bf16", 256, 128}));

} // namespace
