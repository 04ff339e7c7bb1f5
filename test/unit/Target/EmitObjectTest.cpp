//===- EmitObjectTest.cpp - host objects are loaded and run ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "Target/EmitObject.h"
#include "decant/Core/Numeric.h"

#include <array>
#include <cmath>
#include <cstring>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace decant;
using namespace decant::test;

namespace {

/// Any bits, with the corners of the range first.
std::vector<float> anyFloats(size_t count) {
  std::vector<float> values = {0.0f,
                               -0.0f,
                               1.0f,
                               std::numeric_limits<float>::infinity(),
                               -std::numeric_limits<float>::infinity(),
                               std::numeric_limits<float>::max(),
                               std::numeric_limits<float>::denorm_min(),
                               6.0e-8f,
                               2.98023223876953125e-8f, // half of f16's least
                               65519.0f,
                               65520.0f};
  std::mt19937 random(7);
  while (values.size() < count) {
    const uint32_t bits = random();
    float value;
    std::memcpy(&value, &bits, 4);
    if (!std::isnan(value))
      values.push_back(value);
  }
  return values;
}

/// Rounds f32 to `type` and widens it again, 16 at a time.
std::string roundTrip(const std::string &type) {
  return R"(
module {
  func.func @narrow(%in: memref<1048576xf32>, %narrow: memref<1048576x)" +
         type + R"(>, %wide: memref<1048576xf32>, %first: i64, %last: i64) {
    %step = arith.constant 16 : index
    %from = arith.index_cast %first : i64 to index
    %to = arith.index_cast %last : i64 to index
    scf.for %i = %from to %to step %step {
      %x = vector.load %in[%i] {alignment = 4} : memref<1048576xf32>, vector<16xf32>
      %n = arith.truncf %x : vector<16xf32> to vector<16x)" +
         type + R"(>
      vector.store %n, %narrow[%i] {alignment = 2} : memref<1048576x)" +
         type + R"(>, vector<16x)" + type + R"(>
      %w = arith.extf %n : vector<16x)" +
         type + R"(> to vector<16xf32>
      vector.store %w, %wide[%i] {alignment = 4} : memref<1048576xf32>, vector<16xf32>
    }
    return
  }
})";
}

struct Narrow {
  const char *type;
  ElementType element;
};

class Narrowing
    : public testing::TestWithParam<std::tuple<Narrow, const char *>> {};

TEST_P(Narrowing, RoundsToNearestEven) {
  const auto &[narrow, arch] = GetParam();
  const std::vector<float> in = anyFloats(1 << 16);
  std::vector<uint16_t> bits(in.size());
  std::vector<float> wide(in.size());
  auto object = toObject(roundTrip(narrow.type), arch);
  ASSERT_TRUE(object.ok()) << object.status().message();
  auto loaded = LoadedObject::load(*object);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  Status status = loaded->call("narrow", {in.data(), bits.data(), wide.data()},
                               0, static_cast<int64_t>(in.size()));
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t i = 0; i < in.size(); ++i) {
    std::array<uint8_t, 2> want;
    storeElement(narrow.element, in[i], want.data());
    uint16_t wantBits;
    std::memcpy(&wantBits, want.data(), 2);
    ASSERT_EQ(bits[i], wantBits) << in[i];
    ASSERT_EQ(wide[i], loadElement(narrow.element, want.data())) << in[i];
  }
}

// x86-64-v3 has no instruction for bf16; the host may.
INSTANTIATE_TEST_SUITE_P(
    Types, Narrowing,
    testing::Combine(testing::Values(Narrow{"f16", ElementType::F16},
                                     Narrow{"bf16", ElementType::BF16}),
                     testing::Values("native", "x86-64-v3")));

/// A row of int8 codes times a scale, at a byte offset of a slot that is far
/// beyond 32 bits of elements.
const char *const kSlots = R"(
module {
  func.func @read(%state: memref<70368744177664xi8>, %stride: i64, %slot: i64, %scale: memref<64xf32>, %out: memref<70368744177664xf32>, %first: i64, %last: i64) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : i64
    %from = arith.index_cast %first : i64 to index
    %to = arith.index_cast %last : i64 to index
    %base = arith.muli %slot, %stride : i64
    scf.for %b = %from to %to step %c1 {
      %i = arith.index_cast %b : index to i64
      %row = arith.muli %i, %c16 : i64
      %at = arith.addi %base, %row : i64
      %byte = arith.index_cast %at : i64 to index
      %codes = memref.view %state[%byte][] : memref<70368744177664xi8> to memref<4398046511104xi8>
      %q = vector.load %codes[%c0] {alignment = 16} : memref<4398046511104xi8>, vector<16xi8>
      %f = arith.sitofp %q : vector<16xi8> to vector<16xf32>
      %s = memref.load %scale[%b] : memref<64xf32>
      %sv = vector.broadcast %s : f32 to vector<16xf32>
      %p = arith.mulf %f, %sv : vector<16xf32>
      %sum = vector.reduction <add>, %p : vector<16xf32> into f32
      memref.store %sum, %out[%b] : memref<70368744177664xf32>
    }
    return
  }
})";

TEST(EmitObject, ReadsASlotAtANegative64BitOffset) {
  std::vector<int8_t> codes(4 * 16);
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<int8_t>(static_cast<int>(i * 37 % 255) - 127);
  std::vector<float> scale = {1, 0.5f, 0.25f, 2};
  std::vector<float> out(4, -1);
  auto object = toObject(kSlots);
  ASSERT_TRUE(object.ok()) << object.status().message();
  auto loaded = LoadedObject::load(*object);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  // slot * stride is 3 * 2^34: arithmetic in 32 bits would lose it.
  const int64_t stride = int64_t(1) << 34, slot = 3;
  const int8_t *state = codes.data() - stride * slot;
  ASSERT_TRUE(
      loaded
          ->call("read", {state, stride, slot, scale.data(), out.data()}, 1, 4)
          .ok());
  EXPECT_EQ(out[0], -1) << "block 0 is not in [1, 4)";
  for (int row = 1; row < 4; ++row) {
    float want = 0;
    for (int i = 0; i < 16; ++i)
      want += codes[row * 16 + i] * scale[row];
    EXPECT_EQ(out[row], want); // exact: few bits, scales are powers of two
  }
}

TEST(EmitObject, VectorsOfTwoDimensions) {
  auto object = toObject(R"(
module {
  func.func @outer(%k: memref<4xf32>, %u: memref<8xf32>, %s: memref<32xf32>, %first: i64, %last: i64) {
    %c0 = arith.constant 0 : index
    %kv = vector.load %k[%c0] : memref<4xf32>, vector<4xf32>
    %uv = vector.load %u[%c0] : memref<8xf32>, vector<8xf32>
    %sv = vector.load %s[%c0] : memref<32xf32>, vector<32xf32>
    %tile = vector.shape_cast %sv : vector<32xf32> to vector<4x8xf32>
    %kc = vector.shape_cast %kv : vector<4xf32> to vector<4x1xf32>
    %kb = vector.broadcast %kc : vector<4x1xf32> to vector<4x8xf32>
    %ub = vector.broadcast %uv : vector<8xf32> to vector<4x8xf32>
    %new = vector.fma %kb, %ub, %tile : vector<4x8xf32>
    %e = math.exp %new : vector<4x8xf32>
    %flat = vector.shape_cast %e : vector<4x8xf32> to vector<32xf32>
    vector.store %flat, %s[%c0] : memref<32xf32>, vector<32xf32>
    return
  }
})");
  ASSERT_TRUE(object.ok()) << object.status().message();
  auto loaded = LoadedObject::load(*object);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  std::vector<float> k = {1, 2, -1, 0.5f}, u(8), s(32, -1);
  for (int i = 0; i < 8; ++i)
    u[i] = 0.25f * i;
  ASSERT_TRUE(loaded->call("outer", {k.data(), u.data(), s.data()}, 0, 1).ok());
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j) {
      const double want = std::exp(double(k[i]) * u[j] - 1);
      EXPECT_NEAR(s[i * 8 + j], want, 1.2e-7 * want); // 1 ulp of exp
    }
}

TEST(EmitObject, AssemblyShowsTheFunctionAndItsWrapper) {
  auto text = toAssembly(kSlots);
  ASSERT_TRUE(text.ok()) << text.status().message();
  EXPECT_NE(text->find("read_packed:"), std::string::npos);
  EXPECT_NE(text->find("\nread:"), std::string::npos);
}

TEST(EmitObject, SameInputSameBytes) {
  auto once = toObject(kSlots), again = toObject(kSlots);
  ASSERT_TRUE(once.ok() && again.ok());
  EXPECT_EQ(*once, *again);
}

TEST(EmitObject, RefusesAFunctionWithoutBlockRange) {
  auto object = toObject(R"(
module {
  func.func @f(%out: memref<1xf32>) {
    return
  }
})");
  ASSERT_FALSE(object.ok());
  EXPECT_NE(object.status().message().find("function 'f'"), std::string::npos)
      << object.status().message();
}

TEST(EmitObject, RefusesAnUnknownProcessor) {
  auto object = toObject(kSlots, "pentium-9000");
  ASSERT_FALSE(object.ok());
  EXPECT_EQ(object.status().code(), StatusCode::InvalidInput);
  EXPECT_NE(object.status().message().find("'pentium-9000'"), std::string::npos)
      << object.status().message();
}

/// Takes 20 bytes apart into 40 codes of 4 bits, as rows of 80 codes of 3 bits
/// are read.
std::string unpackNibbles() {
  std::vector<int> order;
  for (int i = 0; i < 20; ++i)
    order.insert(order.end(), {i, 20 + i});
  return fmt::format(R"(
module {{
  func.func @unpack(%bytes: memref<20xi8>, %out: memref<40xi8>, %first: i64, %last: i64) {{
    %i = arith.constant 0 : index
    %four = arith.constant dense<4> : vector<5xi32>
    %mask = arith.constant dense<15> : vector<20xi8>
    %x = vector.load %bytes[%i] {{alignment = 4}} : memref<20xi8>, vector<20xi8>
    %low = arith.andi %x, %mask : vector<20xi8>
    %words = vector.bitcast %x : vector<20xi8> to vector<5xi32>
    %shifted = arith.shrui %words, %four : vector<5xi32>
    %y = vector.bitcast %shifted : vector<5xi32> to vector<20xi8>
    %high = arith.andi %y, %mask : vector<20xi8>
    %codes = vector.shuffle %low, %high [{}] : vector<20xi8>, vector<20xi8>
    vector.store %codes, %out[%i] {{alignment = 4}} : memref<40xi8>, vector<40xi8>
    return
  }}
}})",
                     fmt::join(order, ", "));
}

// LLVM 22 lowers this for ever where it takes shuffles across lanes for fast.
TEST(EmitObject, UnpacksNibblesOnEveryProcessor) {
  for (const char *arch :
       {"x86-64", "haswell", "skylake-avx512", "emeraldrapids", "znver4"})
    EXPECT_TRUE(toObject(unpackNibbles(), arch).ok()) << arch;
  auto object = toObject(unpackNibbles());
  ASSERT_TRUE(object.ok()) << object.status().message();
  auto loaded = LoadedObject::load(*object);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  std::array<uint8_t, 20> bytes;
  std::array<uint8_t, 40> codes{};
  for (int i = 0; i < 20; ++i)
    bytes[i] = uint8_t(i * 37);
  Status called = loaded->call("unpack", {bytes.data(), codes.data()}, 0, 1);
  ASSERT_TRUE(called.ok()) << called.message();
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(codes[i], bytes[i / 2] >> i % 2 * 4 & 15) << i;
}

TEST(EmitObject, HostCpuNameIsStable) {
  EXPECT_EQ(hostCpuName(), hostCpuName());
  EXPECT_NE(hostCpuName().find('-'), std::string::npos);
}

} // namespace
