//===- TokenInputsTest.cpp - random inputs --------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bench/TokenInputs.h"
#include "TestImages.h"
#include "decant/Core/Numeric.h"

#include <gtest/gtest.h>

using namespace decant;
using namespace decant::bench;

namespace {

DecodeSpec layer() {
  DecodeSpec spec;
  spec.heads = {test::kKeyHeads, test::kValueHeads, test::kKeyDim,
                test::kValueDim, HeadMap::Group};
  return spec;
}

TokenInputs token(int64_t rows, int number) {
  return makeToken(layer(), test::decodeImage(8).entries[0].args, rows, number);
}

const InputTensor &find(const TokenInputs &inputs, const std::string &name) {
  for (const InputTensor &tensor : inputs.tensors)
    if (tensor.name == name)
      return tensor;
  ADD_FAILURE() << "no " << name;
  return inputs.tensors.front();
}

TEST(TokenInputs, HasWhatTheStepReads) {
  const TokenInputs inputs = token(5, 0);
  ASSERT_EQ(inputs.tensors.size(), 5u);
  EXPECT_EQ(find(inputs, "qkv").bytes.size(), 5u * 2 * (2 * 2 * 32 + 4 * 48));
  EXPECT_EQ(find(inputs, "decay").bytes.size(), 5u * 2 * 4);
  EXPECT_EQ(find(inputs, "beta").bytes.size(), 5u * 2 * 4);
  EXPECT_EQ(find(inputs, "A_log").bytes.size(), 4u * 4);
  EXPECT_EQ(find(inputs, "dt_bias").bytes.size(), 4u * 4);
}

TEST(TokenInputs, TokensDifferAndAreTheSameAgain) {
  EXPECT_EQ(find(token(3, 1), "qkv").bytes, find(token(3, 1), "qkv").bytes);
  EXPECT_NE(find(token(3, 1), "qkv").bytes, find(token(3, 2), "qkv").bytes);
  // What belongs to the layer stays.
  EXPECT_EQ(find(token(3, 1), "A_log").bytes, find(token(3, 2), "A_log").bytes);
}

TEST(TokenInputs, LogDecaysHaveRetentionsOfATrainedLayer) {
  const TokenInputs inputs = token(200, 0);
  const InputTensor &decay = find(inputs, "decay");
  for (size_t i = 0; i < decay.bytes.size(); i += 2) {
    const double g = loadElement(decay.type, &decay.bytes[i]);
    // 1e-4 to 4.6, and half a step of bf16 beyond.
    EXPECT_LE(g, -1e-4 * (1 - 1.0 / 256));
    EXPECT_GE(g, -4.6 * (1 + 1.0 / 256));
  }
}

TEST(TokenInputs, SelectsRowsModuloTheirNumber) {
  const TokenInputs inputs = token(3, 0), chosen = inputs.select({2, 4});
  EXPECT_EQ(chosen.rows, 2);
  const InputTensor &from = find(inputs, "qkv"), &to = find(chosen, "qkv");
  const int64_t bytes = from.rowBytes();
  ASSERT_EQ(int64_t(to.bytes.size()), 2 * bytes);
  EXPECT_TRUE(std::equal(to.bytes.begin(), to.bytes.begin() + bytes,
                         from.bytes.begin() + 2 * bytes));
  EXPECT_TRUE(std::equal(to.bytes.begin() + bytes, to.bytes.end(),
                         from.bytes.begin() + bytes));
  EXPECT_EQ(find(chosen, "A_log").bytes, find(inputs, "A_log").bytes);
}

} // namespace
