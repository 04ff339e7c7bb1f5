//===- HeadsTest.cpp - which head reads what, and where it lies -----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

struct HeadCase {
  int key, value;
  const char *map, *layout;
};
void PrintTo(const HeadCase &c, std::ostream *out) {
  *out << c.key << ":" << c.value << " " << c.map << " " << c.layout;
}

class Heads : public testing::TestWithParam<HeadCase> {
protected:
  DecodeSpec spec(const std::vector<std::string> &more = {}) const {
    const HeadCase &c = GetParam();
    std::vector<std::string> overrides = {
        fmt::format("heads.key={}", c.key),
        fmt::format("heads.value={}", c.value),
        fmt::format("heads.map={}", c.map),
        fmt::format("inputs.layout={}", c.layout),
        "heads.key_dim=16",
        "window.length=2"};
    overrides.insert(overrides.end(), more.begin(), more.end());
    return makeSpec(overrides);
  }
};

// Rows of every input and of the output, the slots and the slot numbers all lie
// further apart than they have to, each by a distance of its own.
TEST_P(Heads, FollowTheRuleWhereverRowsLie) {
  const DecodeSpec layerSpec = spec();
  Placement placement;
  placement.slots = {4, 0, 2};
  placement.slotCount = 6;
  placement.spread = true;
  Layer layer(layerSpec, placement);
  Oracle oracle(layerSpec, layer.layout(), 3);
  const Errors errors = runBoth(layer, oracle, 3);
  EXPECT_TRUE(errors.finite);
  EXPECT_LE(errors.output, kF32Bound);
  EXPECT_LE(errors.state, kF32Bound);
  EXPECT_TRUE(layer.poolGapsIntact());
}

INSTANTIATE_TEST_SUITE_P(Ratios, Heads,
                         testing::Values(HeadCase{2, 2, "group", "separate"},
                                         HeadCase{2, 2, "modulo", "packed_qkv"},
                                         HeadCase{2, 4, "group", "packed_qkv"},
                                         HeadCase{2, 4, "modulo", "separate"},
                                         HeadCase{2, 6, "group", "separate"},
                                         HeadCase{2, 6, "modulo", "packed_qkv"},
                                         HeadCase{3, 12, "group", "packed_qkv"},
                                         HeadCase{3, 12, "modulo", "separate"},
                                         HeadCase{1, 8, "group", "separate"},
                                         HeadCase{2, 16, "group", "packed_qkv"},
                                         HeadCase{2, 16, "modulo",
                                                  "packed_qkv"},
                                         HeadCase{3, 3, "modulo", "separate"}));

// The same numbers in one tensor or in three, at any stride: the same bits.
TEST(InputLayouts, GiveEqualBits) {
  std::vector<std::vector<double>> outputs;
  for (const char *name : {"separate", "packed_qkv"})
    for (bool spread : {false, true}) {
      const DecodeSpec spec =
          makeSpec({"heads.key=2", "heads.value=4", "inputs.type=bf16",
                    fmt::format("inputs.layout={}", name)});
      Placement placement = inOrder(3);
      placement.spread = spread;
      Layer layer(spec, placement);
      Oracle oracle(spec, layer.layout(), 3);
      layer.step(makeToken(oracle, 0));
      outputs.push_back(layer.step(makeToken(oracle, 1)));
      EXPECT_EQ(outputs.back(), outputs.front()) << name << spread;
    }
}

} // namespace
