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

#include <cmath>
#include <numeric>

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

/// The vectors of one tensor, `width` wide.
std::vector<std::vector<double>> vectorsOf(const InputTensor &tensor,
                                           int64_t width) {
  std::vector<std::vector<double>> vectors;
  const int64_t size = elementBytes(tensor.type);
  for (size_t at = 0; at < tensor.bytes.size(); at += width * size) {
    std::vector<double> vector;
    for (int64_t i = 0; i < width; ++i)
      vector.push_back(loadElement(tensor.type, &tensor.bytes[at + i * size]));
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

double dot(const std::vector<double> &a, const std::vector<double> &b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Of 32 elements in f32; a step that norms q and k gets them as they come.
TEST(TokenInputs, VectorsThatNoStepNormsHaveLengthOne) {
  const std::vector<KernelArg> arguments = {
      test::pointerArg("q", ElementType::F32, 16, 2 * 32),
      test::pointerArg("k2", ElementType::F32, 16, 2 * 32),
      test::pointerArg("v", ElementType::F32, 16, 4 * 48),
      test::pointerArg("a", ElementType::F32, 16, 4 * 32),
      test::pointerArg("decay", ElementType::F32, 16, 4 * 32),
      test::pointerArg("b", ElementType::F32, 16, 4)};
  DecodeSpec spec = layer();
  for (QkNorm norm : {QkNorm::None, QkNorm::L2EpsInside}) {
    spec.inputs.qkNorm = norm;
    const TokenInputs inputs = makeToken(spec, arguments, 5, 0);
    for (const char *name : {"q", "k2", "v", "a"}) {
      const bool normed =
          norm != QkNorm::None && (*name == 'q' || *name == 'k');
      for (const auto &x :
           vectorsOf(find(inputs, name), *name == 'v' ? 48 : 32))
        if (normed)
          EXPECT_GT(dot(x, x), 4) << name; // 32 +- 8
        else
          EXPECT_NEAR(dot(x, x), 1, 1e-6) << name;
    }
    for (const auto &gates : vectorsOf(find(inputs, "b"), 4))
      for (double gate : gates)
        EXPECT_TRUE(gate > 0 && gate < 1);
    for (const auto &decays : vectorsOf(find(inputs, "decay"), 32))
      for (double decay : decays)
        EXPECT_LT(decay, 0);
  }
}

TEST(TokenInputs, PackedVectorsHaveLengthOneToo) {
  DecodeSpec spec = layer();
  spec.inputs.qkNorm = QkNorm::None;
  const KernelArg qkv =
      test::pointerArg("qkv", ElementType::F32, 16, 2 * 2 * 32 + 4 * 48);
  const TokenInputs inputs = makeToken(spec, {qkv}, 3, 0);
  for (const std::vector<double> &row :
       vectorsOf(inputs.tensors[0], qkv.rowWidth))
    for (int64_t begin = 0; begin < qkv.rowWidth;) {
      const int64_t width = begin < 4 * 32 ? 32 : 48;
      const std::vector<double> x(row.begin() + begin,
                                  row.begin() + begin + width);
      EXPECT_NEAR(dot(x, x), 1, 1e-6) << begin;
      begin += width;
    }
}

// RWKV-7 without its decay, in one head: S -= (kk o a) (S^T kk)^T, S += k v^T.
// What 20 tokens write has a norm of sqrt(20) = 4.5.
TEST(TokenInputs, StatesOfRulesThatWriteWhatTheyReadStaySmall) {
  constexpr int kDim = 64;
  DecodeSpec spec;
  spec.heads = {1, 1, kDim, kDim, HeadMap::Group};
  spec.inputs.qkNorm = QkNorm::None;
  std::vector<KernelArg> arguments;
  for (const char *name : {"k", "v", "kk", "a"})
    arguments.push_back(test::pointerArg(name, ElementType::F32, 16, kDim));
  std::vector<std::vector<double>> columns(kDim, std::vector<double>(kDim));
  for (int number = 0; number < 20; ++number) {
    const TokenInputs inputs = makeToken(spec, arguments, 1, number);
    const auto of = [&](const char *name) {
      return vectorsOf(find(inputs, name), kDim)[0];
    };
    const std::vector<double> k = of("k"), v = of("v"), kk = of("kk"),
                              a = of("a");
    for (int column = 0; column < kDim; ++column) {
      const double read = dot(columns[column], kk);
      for (int i = 0; i < kDim; ++i)
        columns[column][i] += k[i] * v[column] - kk[i] * a[i] * read;
    }
  }
  double squares = 0;
  for (const std::vector<double> &column : columns)
    squares += dot(column, column);
  EXPECT_NEAR(std::sqrt(squares), std::sqrt(20), 0.5);
}

TEST(TokenInputs, RowsAreTheSameWithoutTheOthersAndOnSeveralThreads) {
  const std::vector<KernelArg> arguments = test::decodeImage(8).entries[0].args;
  const TokenInputs inputs = token(9, 3);
  const TokenInputs chosen = makeRows(layer(), arguments, {7, 2}, 3, 2);
  EXPECT_EQ(chosen.rows, 2);
  for (const InputTensor &to : chosen.tensors) {
    const InputTensor &from = find(inputs, to.name);
    if (!to.perRow) {
      EXPECT_EQ(to.bytes, from.bytes) << to.name;
      continue;
    }
    const int64_t bytes = from.rowBytes();
    ASSERT_EQ(int64_t(to.bytes.size()), 2 * bytes) << to.name;
    for (int64_t at : {0, 1})
      EXPECT_TRUE(std::equal(to.bytes.begin() + at * bytes,
                             to.bytes.begin() + (at + 1) * bytes,
                             from.bytes.begin() + (at ? 2 : 7) * bytes))
          << to.name;
  }
}

TEST(TokenInputs, NormalNumbersAreNormal) {
  DecodeSpec spec = layer();
  spec.inputs.qkNorm = QkNorm::L2EpsInside; // else they are scaled
  const TokenInputs inputs = makeToken(
      spec, {test::pointerArg("q", ElementType::F32, 16, 2 * 32)}, 1000, 0);
  double sums[5] = {};
  const int64_t count = 1000 * 2 * 32;
  for (int64_t i = 0; i < count; ++i) {
    const double x =
        loadElement(ElementType::F32, &inputs.tensors[0].bytes[4 * i]);
    for (int power = 1; power <= 4; ++power)
      sums[power] += std::pow(x, power);
  }
  // Moments 0, 1, 0, 3; 5 sigma: x^n has a variance of 1, 2, 15, 96.
  const double moments[] = {1, 0, 1, 0, 3}, variances[] = {0, 1, 2, 15, 96};
  for (int power = 1; power <= 4; ++power)
    EXPECT_NEAR(sums[power] / double(count), moments[power],
                5 * std::sqrt(variances[power] / double(count)));
}

} // namespace
