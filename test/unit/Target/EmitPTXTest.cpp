//===- EmitPTXTest.cpp - PTX for every target -----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <thread>
#include <unistd.h>

using namespace decant;
using namespace decant::test;

namespace {

/// Everything that stage mapped may hold, in one kernel: gates in f32, inputs
/// in bf16 and f16, codes in int8, shuffles, shared memory, loops and branches.
const char *const kEverything = R"(
module attributes {gpu.container_module} {
gpu.module @kernels {
  gpu.func @step(%state: memref<70368744177664xi8, #gpu.address_space<global>>,
                 %slots: memref<70368744177664xi32, #gpu.address_space<global>>,
                 %k: memref<70368744177664xbf16, #gpu.address_space<global>>,
                 %v: memref<70368744177664xf16, #gpu.address_space<global>>,
                 %gate: memref<70368744177664xf32, #gpu.address_space<global>>,
                 %out: memref<70368744177664xbf16, #gpu.address_space<global>>,
                 %stride: i64) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %c0_i32 = arith.constant 0 : i32
    %c16_i32 = arith.constant 16 : i32
    %c32_i32 = arith.constant 32 : i32
    %lowest = arith.constant dense<-127.0> : vector<8xf32>
    %highest = arith.constant dense<127.0> : vector<8xf32>
    %b = gpu.block_id x
    %t = gpu.thread_id x
    %bdim = gpu.block_dim x
    %slot = memref.load %slots[%b] : memref<70368744177664xi32, #gpu.address_space<global>>
    %live = arith.cmpi sge, %slot, %c0_i32 : i32
    scf.if %live {
      %wide = arith.extsi %slot : i32 to i64
      %byte64 = arith.muli %wide, %stride : i64
      %byte = arith.index_cast %byte64 : i64 to index
      %codes = memref.view %state[%byte][] : memref<70368744177664xi8, #gpu.address_space<global>> to memref<4398046511104xi8, #gpu.address_space<global>>
      %scales = memref.view %state[%byte][] : memref<70368744177664xi8, #gpu.address_space<global>> to memref<1099511627776xf32, #gpu.address_space<global>>
      %smem = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %shared = memref.view %smem[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<1024xf32, #gpu.address_space<workgroup>>
      %g = memref.load %gate[%b] : memref<70368744177664xf32, #gpu.address_space<global>>
      %e = math.exp %g : f32
      %softplus = math.log1p %e : f32
      %th = math.tanh %softplus : f32
      %root = math.sqrt %th : f32
      %inverse = math.rsqrt %root : f32
      %ratio = arith.divf %inverse, %e : f32
      %at = arith.muli %t, %c8 : index
      %kv = vector.load %k[%at] {alignment = 16} : memref<70368744177664xbf16, #gpu.address_space<global>>, vector<8xbf16>
      %kf = arith.extf %kv : vector<8xbf16> to vector<8xf32>
      %vv = vector.load %v[%at] {alignment = 16} : memref<70368744177664xf16, #gpu.address_space<global>>, vector<8xf16>
      %vf = arith.extf %vv : vector<8xf16> to vector<8xf32>
      %rb = vector.broadcast %ratio : f32 to vector<8xf32>
      %acc = scf.for %i = %c0 to %c64 step %c1 iter_args(%a = %rb) -> (vector<8xf32>) {
        %o = arith.muli %i, %bdim : index
        %p = arith.addi %o, %t : index
        %p8 = arith.muli %p, %c8 : index
        %q = vector.load %codes[%p8] {alignment = 8} : memref<4398046511104xi8, #gpu.address_space<global>>, vector<8xi8>
        %qf = arith.sitofp %q : vector<8xi8> to vector<8xf32>
        %n = vector.fma %qf, %kf, %a : vector<8xf32>
        %r = math.roundeven %n : vector<8xf32>
        %lo = arith.maximumf %r, %lowest : vector<8xf32>
        %hi = arith.minimumf %lo, %highest : vector<8xf32>
        %back = arith.fptosi %hi : vector<8xf32> to vector<8xi8>
        vector.store %back, %codes[%p8] {alignment = 8} : memref<4398046511104xi8, #gpu.address_space<global>>, vector<8xi8>
        scf.yield %n : vector<8xf32>
      }
      %abs = math.absf %acc : vector<8xf32>
      %sum = vector.reduction <add>, %abs : vector<8xf32> into f32
      %other, %valid = gpu.shuffle xor %sum, %c16_i32, %c32_i32 : f32
      %both = arith.addf %sum, %other : f32
      memref.store %both, %shared[%t] : memref<1024xf32, #gpu.address_space<workgroup>>
      gpu.barrier
      %s4 = vector.load %shared[%c0] {alignment = 16} : memref<1024xf32, #gpu.address_space<workgroup>>, vector<4xf32>
      %first = vector.extract %s4[0] : f32 from vector<4xf32>
      memref.store %first, %scales[%t] : memref<1099511627776xf32, #gpu.address_space<global>>
      %fb = vector.broadcast %first : f32 to vector<8xf32>
      %res = vector.fma %vf, %fb, %acc : vector<8xf32>
      %narrow = arith.truncf %res : vector<8xf32> to vector<8xbf16>
      vector.store %narrow, %out[%at] {alignment = 16} : memref<70368744177664xbf16, #gpu.address_space<global>>, vector<8xbf16>
    }
    gpu.return
  }
}
})";

std::vector<std::string> gpuTargets() {
  std::vector<std::string> names;
  for (const TargetInfo &target : knownTargets())
    if (target.kind == TargetKind::Nvidia)
      names.push_back(target.name);
  return names;
}

class EveryTarget : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Targets, EveryTarget, testing::ValuesIn(gpuTargets()),
                         [](const testing::TestParamInfo<std::string> &info) {
                           return info.param;
                         });

TEST_P(EveryTarget, HeaderAndInstructions) {
  auto ptx = toPtx(kEverything, GetParam());
  ASSERT_TRUE(ptx.ok()) << ptx.status().message();
  const int isa = lookupTarget(GetParam())->ptxIsa;
  auto holds = [&](const std::string &text) {
    return ptx->find(text) != std::string::npos;
  };
  EXPECT_TRUE(holds(fmt::format(".version {}.{}\n", isa / 10, isa % 10)));
  EXPECT_TRUE(holds(".target " + GetParam() + "\n"));
  EXPECT_TRUE(holds(".visible .entry step("));
  EXPECT_TRUE(holds(".reqntid 128"));
  EXPECT_TRUE(holds(".extern .shared .align 16 .b8"))
      << "the launch gives the size of shared memory";
  EXPECT_TRUE(holds("shfl.sync.bfly.b32"));
  EXPECT_TRUE(holds("bar.sync"));
  EXPECT_TRUE(holds("sqrt.rn.f32")) << "the root is correctly rounded";
  EXPECT_TRUE(holds("div.rn.f32")) << "division is correctly rounded";
  EXPECT_TRUE(holds("ld.global.v4.b32") || holds("ld.global.v2.b64"))
      << "16-byte loads";
  EXPECT_FALSE(holds(".approx")) << "no approximate instruction";
  EXPECT_FALSE(holds(".ftz")) << "no flush to zero";
  EXPECT_FALSE(holds("__nv_")) << "nothing of libdevice";
  EXPECT_FALSE(holds(".local")) << "nothing in local memory";
}

#ifdef DECANT_PTXAS
TEST_P(EveryTarget, IsAssembledWithoutSpills) {
  auto ptx = toPtx(kEverything, GetParam());
  ASSERT_TRUE(ptx.ok()) << ptx.status().message();
  const std::string stem = testing::TempDir() + "decant-" + GetParam() + "-" +
                           std::to_string(getpid());
  std::ofstream(stem + ".ptx") << *ptx;
  const std::string command =
      fmt::format("{} -v -arch={} -o {}.cubin {}.ptx > {}.log 2>&1",
                  DECANT_PTXAS, GetParam(), stem, stem, stem);
  const int exit = std::system(command.c_str());
  std::ostringstream log;
  log << std::ifstream(stem + ".log").rdbuf();
  for (const char *ending : {".ptx", ".cubin", ".log"})
    std::remove((stem + ending).c_str());
  EXPECT_EQ(exit, 0) << log.str();
  EXPECT_NE(log.str().find("0 bytes stack frame, 0 bytes spill stores, 0 "
                           "bytes spill loads"),
            std::string::npos)
      << log.str();
}
#endif

TEST(EmitPTX, SameInputSameText) {
  auto once = toPtx(kEverything, "sm_90a"),
       again = toPtx(kEverything, "sm_90a");
  ASSERT_TRUE(once.ok() && again.ok());
  EXPECT_EQ(*once, *again);
}

// Ends in "Cannot select" inside LLVM: there is no stmatrix before sm_90.
const char *const kTooNew = R"(
module attributes {gpu.container_module} {
gpu.module @kernels {
  gpu.func @bad(%p: memref<64xf32, #gpu.address_space<global>>) kernel {
    %m = llvm.mlir.constant(1 : i32) : i32
    %a = llvm.inttoptr %m : i32 to !llvm.ptr<3>
    nvvm.stmatrix %a, %m {layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : !llvm.ptr<3>, i32
    gpu.return
  }
}
})";

TEST(EmitPTX, WhatTheTargetLacksIsAnErrorAndTheNextKernelCompiles) {
  for (int i = 0; i < 3; ++i) {
    auto bad = toPtx(kTooNew, "sm_80");
    ASSERT_FALSE(bad.ok());
    EXPECT_NE(bad.status().message().find("PTX for sm_80"), std::string::npos)
        << bad.status().message();
    EXPECT_NE(bad.status().message().find("annot select"), std::string::npos)
        << bad.status().message();
    auto good = toPtx(kEverything, "sm_80");
    EXPECT_TRUE(good.ok()) << good.status().message();
  }
  EXPECT_TRUE(toPtx(kTooNew, "sm_90").ok());
}

TEST(EmitPTX, APtxVersionThatTheTargetIsTooNewForIsAnError) {
  TargetInfo target = *lookupTarget("sm_90");
  target.ptxIsa = 70;
  auto ptx = toPtx(kEverything, target);
  ASSERT_FALSE(ptx.ok());
  EXPECT_NE(ptx.status().message().find("sm_90"), std::string::npos)
      << ptx.status().message();
}

TEST(EmitPTX, ThreadsCompileAtOnce) {
  const std::string want = *toPtx(kEverything, "sm_90a");
  std::vector<std::string> got(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < got.size(); ++i)
    threads.emplace_back([&, i] {
      // Fatal errors of one thread are not another's.
      if (i % 2)
        EXPECT_FALSE(toPtx(kTooNew, "sm_80").ok());
      auto ptx = toPtx(kEverything, "sm_90a");
      got[i] = ptx ? *ptx : ptx.status().message();
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &text : got)
    EXPECT_EQ(text, want);
}

} // namespace
