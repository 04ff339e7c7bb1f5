//===- SlotsTest.cpp - what a slot's header says --------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"

#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

namespace {

struct Header {
  uint32_t version, fill;
  uint64_t tokens;
  friend bool operator==(const Header &a, const Header &b) {
    return a.version == b.version && a.fill == b.fill && a.tokens == b.tokens;
  }
};
void PrintTo(const Header &h, std::ostream *out) {
  *out << "version " << h.version << ", fill " << h.fill << ", tokens "
       << h.tokens;
}
Header headerOf(Layer &layer, int32_t slot) {
  Header header;
  std::memcpy(&header, layer.slot(slot), sizeof(header));
  return header;
}
/// Words of the cursor of one head: fill, 0, tokens.
Header cursorOf(Layer &layer, int32_t slot, int head) {
  Header words;
  std::memcpy(&words,
              layer.slot(slot) + kSlotHeaderBytes +
                  head * layer.layout().headBytes +
                  layer.layout().cursor.offset,
              sizeof(words));
  return {kSlotVersion, words.version, words.tokens};
}

class Headers : public testing::TestWithParam<int> {};

TEST_P(Headers, CountTokens) {
  const uint32_t window = GetParam();
  const DecodeSpec spec =
      makeSpec({fmt::format("window.length={}", window), "heads.value=3"});
  Placement placement;
  placement.slots = {2, 0};
  Layer layer(spec, placement, Kernels::All);
  Oracle oracle(spec, layer.layout(), 2);
  auto expectAll = [&](Header expected) {
    for (int32_t slot : placement.slots) {
      EXPECT_EQ(headerOf(layer, slot), expected);
      for (int head = 0; head < 3; ++head) {
        EXPECT_EQ(cursorOf(layer, slot, head).fill, expected.fill);
        EXPECT_EQ(cursorOf(layer, slot, head).tokens, expected.tokens);
      }
      for (int64_t i = 16; i < kSlotHeaderBytes; ++i)
        EXPECT_EQ(layer.slot(slot)[i], 0) << "byte " << i;
    }
  };

  EXPECT_EQ(headerOf(layer, 2), (Header{0, 0, 0}));
  uint64_t tokens = 0;
  for (; tokens < 2 * window + 1;) {
    layer.step(makeToken(oracle, int(tokens++)));
    expectAll({kSlotVersion, uint32_t(tokens % window), tokens});
  }
  layer.flush();
  expectAll({kSlotVersion, 0, tokens});
  layer.step(makeToken(oracle, int(tokens++)));
  expectAll({kSlotVersion, window == 1 ? 0u : 1u, tokens});
  // A dense state does not say how many tokens it has seen.
  layer.pack(layer.unpack());
  expectAll({kSlotVersion, 0, 0});
  layer.step(makeToken(oracle, int(tokens)));
  expectAll({kSlotVersion, window == 1 ? 0u : 1u, 1});
  EXPECT_TRUE(layer.poolGapsIntact());
}

INSTANTIATE_TEST_SUITE_P(Lengths, Headers, testing::Values(1, 2, 5));

TEST(SlotNumbers, SharedOnesAreFound) {
  auto message = [](const char *pad, std::vector<int32_t> slots) {
    const DecodeSpec spec = makeSpec({fmt::format("inputs.pad={}", pad)});
    const Layer layer(spec, inOrder(1));
    return layer.program()
        .checkSlots(slots.data(), int64_t(slots.size()), 1, 10)
        .message();
  };
  EXPECT_EQ(message("negative", {3, -1, 0, -1, 9}), "");
  EXPECT_NE(
      message("negative", {3, -1, 0, 3}).find("rows 0 and 3 share slot 3"),
      std::string::npos);
  EXPECT_NE(message("negative", {0, 1, 0}).find("share slot 0"),
            std::string::npos);
  EXPECT_EQ(message("non_positive", {0, 4, 0, -5}), "");
  EXPECT_NE(message("non_positive", {4, 0, 4}).find("share slot 4"),
            std::string::npos);
  EXPECT_NE(message("none", {4, -1}).find("slot -1"), std::string::npos);
  EXPECT_NE(message("negative", {10}).find("slot 10"), std::string::npos);
}

} // namespace
