//===- LaneOpsTest.cpp - ops of many lanes, on the host -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Small tiled kernels whose lanes run in lock step on the host, against what
// the ops' documentation says (KernelOps.td), computed lane by lane here.
//
//===----------------------------------------------------------------------===//

#include "../Target/Lowering.h"

#include "Target/Register.h"
#include "decant/Compiler/Passes.h"
#include "decant/Core/Numeric.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace decant;
using namespace decant::test;

namespace {

constexpr int kWarp = 32;

/// Stage tiled to stage mapped, as text.
std::string mapToCpu(const std::string &tiled) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(tiled, &context);
  if (!module)
    return {};
  mlir::PassManager passes(&context);
  passes.addPass(createMapToCPU());
  std::string text;
  if (mlir::failed(passes.run(*module)))
    return text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

/// Runs one block of @kernel; `body` sees %t, the thread. x86-64-v3 has
/// neither f16 nor bf16 arithmetic.
void runLanes(int keyLanes, int valueLanes, const std::string &arguments,
              const std::string &body, std::vector<LoadedObject::Arg> args,
              const std::string &arch) {
  const std::string tiled = fmt::format(
      R"(decant.kernel @kernel({}) attributes {{lanes = array<i64: {}, {}>,
             target = #decant.target<"x86-64">}} {{
           %zero = arith.constant 0 : index
           %one = arith.constant 1 : index
           %k = decant.lane <key>
           %v = decant.lane <value>
           %keys = arith.constant {} : index
           %above = arith.muli %v, %keys : index
           %t = arith.addi %above, %k : index
           {}
           decant.return
         }})",
      arguments, keyLanes, valueLanes, keyLanes, body);
  const std::string mapped = mapToCpu(tiled);
  ASSERT_FALSE(mapped.empty());
  auto object = toObject(mapped, arch);
  ASSERT_TRUE(object.ok()) << object.status().message();
  auto loaded = LoadedObject::load(*object);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  Status status = loaded->call("kernel", std::move(args), 0, 1);
  ASSERT_TRUE(status.ok()) << status.message();
}

class OnProcessor : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Processors, OnProcessor,
                         testing::Values("native", "x86-64-v3"));

struct Half {
  const char *name;
  ElementType type;
};
const Half kHalves[] = {{"f16", ElementType::F16}, {"bf16", ElementType::BF16}};

uint16_t toHalf(double value, ElementType type) {
  uint16_t bits;
  storeElement(type, value, reinterpret_cast<uint8_t *>(&bits));
  return bits;
}

// Two warps; whole numbers up to 8, so every sum is exact. The loop doubles
// the product: the fragments of acc and of the result are alike.
TEST_P(OnProcessor, MmaIsAMatrixProduct) {
  for (const Half &half : kHalves) {
    const int warps = 2, lanes = warps * kWarp;
    std::mt19937 random(11);
    auto whole = [&] { return double(int(random() % 17) - 8); };
    std::vector<uint16_t> aBits(lanes * 8), bBits(lanes * 4);
    std::vector<float> c(lanes * 4), d(lanes * 4), want(lanes * 4);
    for (int warp = 0; warp < warps; ++warp) {
      double a[16][16], b[16][8], acc[16][8];
      for (auto &row : a)
        for (double &x : row)
          x = whole();
      for (auto &row : b)
        for (double &x : row)
          x = whole();
      for (auto &row : acc)
        for (double &x : row)
          x = whole();
      for (int l = 0; l < kWarp; ++l) {
        const int g = l / 4, t = l % 4, lane = warp * kWarp + l;
        const double as[] = {a[g][2 * t],         a[g][2 * t + 1],
                             a[g + 8][2 * t],     a[g + 8][2 * t + 1],
                             a[g][2 * t + 8],     a[g][2 * t + 9],
                             a[g + 8][2 * t + 8], a[g + 8][2 * t + 9]};
        const double bs[] = {b[2 * t][g], b[2 * t + 1][g], b[2 * t + 8][g],
                             b[2 * t + 9][g]};
        for (int e = 0; e < 8; ++e)
          aBits[lane * 8 + e] = toHalf(as[e], half.type);
        for (int e = 0; e < 4; ++e) {
          const int i = g + e / 2 * 8, j = 2 * t + e % 2;
          bBits[lane * 4 + e] = toHalf(bs[e], half.type);
          c[lane * 4 + e] = float(acc[i][j]);
          double sum = acc[i][j];
          for (int n = 0; n < 16; ++n)
            sum += 2 * a[i][n] * b[n][j];
          want[lane * 4 + e] = float(sum);
        }
      }
    }
    const std::string arguments = fmt::format(
        "%a: memref<64x8x{0}>, %b: memref<64x4x{0}>, %c: memref<64x4xf32>, "
        "%d: memref<64x4xf32>",
        half.name);
    const std::string body = fmt::format(
        R"(%x = vector.load %a[%t, %zero] : memref<64x8x{0}>, vector<8x{0}>
           %y = vector.load %b[%t, %zero] : memref<64x4x{0}>, vector<4x{0}>
           %z = vector.load %c[%t, %zero] : memref<64x4xf32>, vector<4xf32>
           %two = arith.constant 2 : index
           %r = scf.for %i = %zero to %two step %one
               iter_args(%acc = %z) -> (vector<4xf32>) {{
             %p = decant.mma %x, %y, %acc
                 : vector<8x{0}>, vector<4x{0}>, vector<4xf32>
             scf.yield %p : vector<4xf32>
           }}
           vector.store %r, %d[%t, %zero] : memref<64x4xf32>, vector<4xf32>)",
        half.name);
    runLanes(32, 2, arguments, body,
             {aBits.data(), bBits.data(), c.data(), d.data()}, GetParam());
    EXPECT_EQ(d, want) << half.name;
  }
}

TEST_P(OnProcessor, TransposeTurnsEachWarpsMatrix) {
  for (const Half &half : kHalves) {
    const int lanes = 2 * kWarp;
    std::vector<uint16_t> in(lanes * 2), out(lanes * 2), want(lanes * 2);
    for (int warp = 0; warp < 2; ++warp)
      for (int row = 0; row < 8; ++row)
        for (int column = 0; column < 8; ++column) {
          auto place = [&](int i, int j) {
            return (warp * kWarp + i * 4 + j / 2) * 2 + j % 2;
          };
          const uint16_t bits = 257 * (warp * 64 + row * 8 + column) + 1;
          in[place(row, column)] = bits;
          want[place(column, row)] = bits;
        }
    runLanes(
        32, 2,
        fmt::format("%in: memref<64x2x{0}>, %out: memref<64x2x{0}>", half.name),
        fmt::format(
            R"(%x = vector.load %in[%t, %zero] : memref<64x2x{0}>, vector<2x{0}>
               %y = decant.transpose %x : vector<2x{0}>
               vector.store %y, %out[%t, %zero]
                   : memref<64x2x{0}>, vector<2x{0}>)",
            half.name),
        {in.data(), out.data()}, GetParam());
    EXPECT_EQ(out, want) << half.name;
  }
}

// 256 lanes have every value of a byte in every byte.
TEST_P(OnProcessor, CodesAreUnpackedAndPacked) {
  const int lanes = 256;
  for (int bits : {8, 4, 2}) {
    std::vector<uint8_t> packed(lanes * bits), again(lanes * bits);
    std::vector<uint16_t> halves(lanes * 8), want(lanes * 8);
    std::vector<uint16_t> biased(lanes * 8), wantBiased(lanes * 8);
    std::vector<float> codes(lanes * 8);
    std::vector<uint8_t> wantPacked(lanes * bits, 0);
    for (int i = 0; i < lanes * bits; ++i)
      packed[i] = uint8_t(i / bits + 37 * (i % bits));
    for (int lane = 0; lane < lanes; ++lane)
      for (int e = 0; e < 8; ++e) {
        const int field = bits == 8 ? e : e / 2 + 4 * (e % 2);
        const int byte = lane * bits + field * bits / 8;
        const int shift = field * bits % 8, half = 1 << (bits - 1);
        const int code = ((packed[byte] >> shift) & ((1 << bits) - 1)) - half;
        want[lane * 8 + e] = toHalf(code, ElementType::F16);
        // In units of 2^-24, numbers below 1024 are their own bits.
        wantBiased[lane * 8 + e] = uint16_t(code + half);
        // -half is no code of a scale that is symmetric.
        const int legal = std::max(code, 1 - half);
        codes[lane * 8 + e] = float(legal);
        wantPacked[byte] |= uint8_t((legal + half) << shift);
      }
    runLanes(
        32, 8,
        fmt::format("%in: memref<256x{0}xi8>, %halves: memref<256x8xf16>, "
                    "%biased: memref<256x8xf16>, "
                    "%codes: memref<256x8xf32>, %again: memref<256x{0}xi8>",
                    bits),
        fmt::format(
            R"(%p = vector.load %in[%t, %zero]
                   : memref<256x{0}xi8>, vector<{0}xi8>
               %x = decant.unpack_codes %p : vector<{0}xi8> -> vector<8xf16>
               vector.store %x, %halves[%t, %zero]
                   : memref<256x8xf16>, vector<8xf16>
               %y = decant.unpack_codes %p biased
                   : vector<{0}xi8> -> vector<8xf16>
               vector.store %y, %biased[%t, %zero]
                   : memref<256x8xf16>, vector<8xf16>
               %c = vector.load %codes[%t, %zero]
                   : memref<256x8xf32>, vector<8xf32>
               %q = decant.pack_codes %c : vector<8xf32> -> vector<{0}xi8>
               vector.store %q, %again[%t, %zero]
                   : memref<256x{0}xi8>, vector<{0}xi8>)",
            bits),
        {packed.data(), halves.data(), biased.data(), codes.data(),
         again.data()},
        GetParam());
    EXPECT_EQ(halves, want) << bits << " bits";
    EXPECT_EQ(biased, wantBiased) << bits << " bits";
    EXPECT_EQ(again, wantPacked) << bits << " bits";
  }
}

// 64 codes of a lane per format: both words hold other bits than those of the
// tile that is asked for, which must not show.
TEST_P(OnProcessor, CodesOfTwoPlanesAreUnpackedAndPacked) {
  const int lanes = 256;
  for (int bits : {6, 3})
    for (int part = 0; part < 12 / bits; ++part) {
      const int upper = bits / 3, lower = bits - upper, half = 1 << (bits - 1);
      std::vector<uint32_t> words(lanes * 2), packed(lanes * 2);
      std::vector<uint32_t> wantPacked(lanes * 2, 0);
      std::vector<uint16_t> halves(lanes * 8), want(lanes * 8);
      std::vector<uint16_t> biased(lanes * 8), wantBiased(lanes * 8);
      std::vector<float> codes(lanes * 8);
      for (int i = 0; i < 2 * lanes; ++i)
        words[i] = 0x9E3779B9u * (i + 1) ^ uint32_t(i) << 13;
      for (int lane = 0; lane < lanes; ++lane)
        for (int e = 0; e < 8; ++e) {
          const int field = e / 2 + 4 * (e % 2);
          auto bitsOf = [&](int plane, int width) {
            const int first = 8 * width * part % 32 + field * width;
            return (words[2 * lane + plane] >> first) & ((1u << width) - 1);
          };
          const int code =
              int(bitsOf(0, lower) | bitsOf(1, upper) << lower) - half;
          want[lane * 8 + e] = toHalf(code, ElementType::F16);
          wantBiased[lane * 8 + e] = uint16_t(code + half);
          const int legal = std::max(code, 1 - half);
          codes[lane * 8 + e] = float(legal);
          const uint32_t stored = legal + half;
          wantPacked[2 * lane] |= (stored & ((1u << lower) - 1))
                                  << (field * lower);
          wantPacked[2 * lane + 1] |= stored >> lower << (field * upper);
        }
      runLanes(32, 8,
               "%in: memref<256x2xi32>, %halves: memref<256x8xf16>, "
               "%biased: memref<256x8xf16>, "
               "%codes: memref<256x8xf32>, %again: memref<256x2xi32>",
               fmt::format(
                   R"(%l = memref.load %in[%t, %zero] : memref<256x2xi32>
                 %h = memref.load %in[%t, %one] : memref<256x2xi32>
                 %x = decant.unpack_planes %l, %h part {1} bits {0}
                     : vector<8xf16>
                 vector.store %x, %halves[%t, %zero]
                     : memref<256x8xf16>, vector<8xf16>
                 %y = decant.unpack_planes %l, %h part {1} bits {0} biased
                     : vector<8xf16>
                 vector.store %y, %biased[%t, %zero]
                     : memref<256x8xf16>, vector<8xf16>
                 %c = vector.load %codes[%t, %zero]
                     : memref<256x8xf32>, vector<8xf32>
                 %p:2 = decant.pack_planes %c bits {0} : vector<8xf32>
                 memref.store %p#0, %again[%t, %zero] : memref<256x2xi32>
                 memref.store %p#1, %again[%t, %one] : memref<256x2xi32>)",
                   bits, part),
               {words.data(), halves.data(), biased.data(), codes.data(),
                packed.data()},
               GetParam());
      EXPECT_EQ(halves, want) << bits << " bits, part " << part;
      EXPECT_EQ(biased, wantBiased) << bits << " bits, part " << part;
      EXPECT_EQ(packed, wantPacked) << bits << " bits";
    }
}

// Every lane reads, behind the barrier, what the lane opposite has copied; the
// scratch holds the same bytes under another type.
TEST_P(OnProcessor, CopiesAreDoneAfterABarrier) {
  const int lanes = kWarp;
  std::vector<uint16_t> in(lanes * 8);
  std::vector<int32_t> out(lanes * 4, -1), want(lanes * 4, 0);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = uint16_t(1 + 31 * i);
  for (int lane = 0; lane < lanes; ++lane) {
    const int from = lanes - 1 - lane;
    if (from % 3 != 0)
      for (int e = 0; e < 4; ++e)
        want[lane * 4 + e] =
            in[from * 8 + 2 * e] | int32_t(in[from * 8 + 2 * e + 1]) << 16;
  }
  runLanes(32, 1, "%in: memref<32x8xf16>, %out: memref<32x4xi32>",
           R"(%rows = decant.scratch : memref<16x8xi32>
              %two = arith.constant 2 : index
              %three = arith.constant 3 : index
              %four = arith.constant 4 : index
              %last = arith.constant 31 : index
              %rest = arith.remui %t, %three : index
              %valid = arith.cmpi ne, %rest, %zero : index
              %row = arith.divui %t, %two : index
              %odd = arith.remui %t, %two : index
              %column = arith.muli %odd, %four : index
              decant.copy_async %in[%t, %zero] to %rows[%row, %column]
                  if %valid : memref<32x8xf16>, memref<16x8xi32>
              decant.copy_wait
              decant.barrier
              %other = arith.subi %last, %t : index
              %r = arith.divui %other, %two : index
              %o = arith.remui %other, %two : index
              %c = arith.muli %o, %four : index
              %x = vector.load %rows[%r, %c]
                  : memref<16x8xi32>, vector<4xi32>
              vector.store %x, %out[%t, %zero]
                  : memref<32x4xi32>, vector<4xi32>)",
           {in.data(), out.data()}, GetParam());
  EXPECT_EQ(out, want);
}

/// What MapToGPU's shuffles and shared memory give every thread.
std::vector<float> reduceOnGpu(std::vector<float> x, int keys, int values,
                               bool alongKey, bool max) {
  const int threads = keys * values;
  auto combine = [&](float a, float b) { return max ? std::max(a, b) : a + b; };
  const int fit = kWarp / keys, perWarp = values % fit == 0 ? fit : 1;
  const int first = alongKey ? 1 : keys, end = alongKey ? keys : keys * perWarp;
  for (int distance = first; distance < end; distance *= 2) {
    const std::vector<float> before = x;
    for (int t = 0; t < threads; ++t)
      x[t] = combine(before[t], before[t ^ distance]);
  }
  const int groups = values / perWarp;
  if (alongKey || groups == 1)
    return x;
  std::vector<float> result(threads);
  for (int t = 0; t < threads; ++t) {
    std::vector<float> sums;
    for (int group = 0; group < groups; ++group)
      sums.push_back(x[group * perWarp * keys + t % keys]);
    if ((groups & (groups - 1)) == 0)
      for (; sums.size() > 1; sums.resize(sums.size() / 2))
        for (size_t i = 0; i < sums.size() / 2; ++i)
          sums[i] = combine(sums[2 * i], sums[2 * i + 1]);
    for (size_t i = 1; i < sums.size(); ++i)
      sums[0] = combine(sums[0], sums[i]);
    result[t] = sums[0];
  }
  return result;
}

// All counts of lanes that MapToGPU treats differently; the bits must agree.
TEST(Lanes, ReductionsHaveTheOrderOfTheGpu) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  const std::pair<int, int> counts[] = {{8, 4},  {16, 3}, {8, 8},  {16, 12},
                                        {32, 4}, {1, 96}, {32, 1}, {16, 16}};
  for (auto [keys, values] : counts)
    for (const char *kind : {"add", "max"}) {
      const int threads = keys * values;
      const bool max = kind[0] == 'm';
      std::vector<float> in(threads * 2), byKey(threads * 2),
          byValue(threads * 2), wantKey(threads * 2), wantValue(threads * 2);
      for (float &x : in)
        x = normal(random);
      for (int e = 0; e < 2; ++e) {
        std::vector<float> x;
        for (int t = 0; t < threads; ++t)
          x.push_back(in[2 * t + e]);
        const auto key = reduceOnGpu(x, keys, values, true, max);
        const auto value = reduceOnGpu(x, keys, values, false, max);
        for (int t = 0; t < threads; ++t) {
          wantKey[2 * t + e] = key[t];
          wantValue[2 * t + e] = value[t];
        }
      }
      runLanes(keys, values,
               "%in: memref<1024x2xf32>, %k2: memref<1024x2xf32>, "
               "%v2: memref<1024x2xf32>",
               fmt::format(
                   R"(%x = vector.load %in[%t, %zero]
                     : memref<1024x2xf32>, vector<2xf32>
                 %a = decant.lane_reduce {0} %x over <key> : vector<2xf32>
                 %b = decant.lane_reduce {0} %x over <value> : vector<2xf32>
                 vector.store %a, %k2[%t, %zero]
                     : memref<1024x2xf32>, vector<2xf32>
                 vector.store %b, %v2[%t, %zero]
                     : memref<1024x2xf32>, vector<2xf32>)",
                   kind),
               {in.data(), byKey.data(), byValue.data()}, "native");
      EXPECT_EQ(byKey, wantKey) << keys << " x " << values << " " << kind;
      EXPECT_EQ(byValue, wantValue) << keys << " x " << values << " " << kind;
    }
}

// Lanes at distances 4 and 8, or 1 and 2, of 32: whole numbers are exact.
TEST(Lanes, ReductionsOverSomeDistances) {
  const int lanes = 2 * kWarp;
  std::vector<float> in(lanes), out(2 * lanes), want(2 * lanes, 0);
  for (int t = 0; t < lanes; ++t)
    in[t] = float(t * t % 101);
  for (int t = 0; t < lanes; ++t)
    for (int other = 0; other < lanes; ++other) {
      if (((t ^ other) & ~12) == 0)
        want[2 * t] += in[other];
      if ((t ^ other) < 4)
        want[2 * t + 1] += in[other];
    }
  runLanes(32, 2, "%in: memref<64xf32>, %out: memref<64x2xf32>",
           R"(%x = memref.load %in[%t] : memref<64xf32>
              %a = decant.lane_reduce add %x over <key> from 4 until 16 : f32
              %b = decant.lane_reduce add %x over <key> from 1 until 4 : f32
              memref.store %a, %out[%t, %zero] : memref<64x2xf32>
              memref.store %b, %out[%t, %one] : memref<64x2xf32>)",
           {in.data(), out.data()}, "native");
  EXPECT_EQ(out, want);
}

// Carried values are swapped, rounds start at another place for each lane, a
// branch has a value, and reads that are the same for all lanes see what a lane
// has written before them. Whole numbers: every order gives the same.
TEST(Lanes, ControlFlowAroundBarriers) {
  const int lanes = 8;
  std::vector<float> x(64), out(64, -1), want(64, -1);
  for (int i = 0; i < 64; ++i)
    x[i] = float(3 * i % 17);
  for (int t = 0; t < lanes; ++t) {
    float a = x[t], b = 1, count = 5;
    for (int i = 0; i < 3; ++i) {
      float others = 0;
      for (int u = 0; u < lanes; ++u)
        others += x[3 * u + i];
      const float next = b + others + x[3 * t + i];
      b = a;
      a = next;
      count += 2;
    }
    want[t] = a + 100 * b + count + 7;
  }
  runLanes(8, 1, "%x: memref<64xf32>, %out: memref<64xf32>",
           R"(%three = arith.constant 3 : index
              %f1 = arith.constant 1.0 : f32
              %f2 = arith.constant 2.0 : f32
              %f5 = arith.constant 5.0 : f32
              %f7 = arith.constant 7.0 : f32
              %hundred = arith.constant 100.0 : f32
              %cell = decant.scratch : memref<1xf32>
              %isFirst = arith.cmpi eq, %k, %zero : index
              scf.if %isFirst {
                memref.store %f7, %cell[%zero] : memref<1xf32>
              }
              decant.barrier
              %seven = memref.load %cell[%zero] : memref<1xf32>
              %begin = arith.muli %k, %three : index
              %end = arith.addi %begin, %three : index
              %x0 = memref.load %x[%k] : memref<64xf32>
              %r:3 = scf.for %i = %begin to %end step %one
                  iter_args(%a = %x0, %b = %f1, %n = %f5) -> (f32, f32, f32) {
                %y = memref.load %x[%i] : memref<64xf32>
                %s = decant.lane_reduce add %y over <key> : f32
                %bs = arith.addf %b, %s : f32
                %next = arith.addf %bs, %y : f32
                %m = arith.addf %n, %f2 : f32
                scf.yield %next, %a, %m : f32, f32, f32
              }
              %full = arith.cmpf oeq, %seven, %f7 : f32
              %z = scf.if %full -> f32 {
                decant.barrier
                %h = arith.mulf %r#1, %hundred : f32
                scf.yield %h : f32
              } else {
                scf.yield %f1 : f32
              }
              %z1 = arith.addf %z, %r#0 : f32
              %z2 = arith.addf %z1, %r#2 : f32
              %z3 = arith.addf %z2, %seven : f32
              memref.store %z3, %out[%k] : memref<64xf32>)",
           {x.data(), out.data()}, "native");
  EXPECT_EQ(out, want);
}

} // namespace
