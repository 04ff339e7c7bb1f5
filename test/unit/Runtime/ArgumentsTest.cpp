//===- ArgumentsTest.cpp - what a program refuses -------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One wrong field at a time: the message names it, and nothing was launched.
//
//===----------------------------------------------------------------------===//

#include "ProgramFixture.h"

using namespace decant;
using namespace decant::test;

namespace {

class Arguments : public ProgramFixture {
protected:
  /// Changes one thing of a sound call and expects both answers to refuse it.
  template <typename Change>
  void refuses(Change change, const std::string &text) {
    StepCall call = goodCall();
    change(call);
    expectRefused(program->supported(call), text);
    expectRefused(program->step(call), text);
    expectRefused(program->step(call), "step of \"layer\": ");
  }
};

TEST_F(Arguments, ASoundCallIsSupported) {
  EXPECT_TRUE(program->supported(goodCall()).ok());
  EXPECT_EQ(device->log->count, 0);
}

TEST_F(Arguments, NullPointers) {
  refuses([](StepCall &c) { c.pool.base = nullptr; }, "\"state\" is null");
  refuses([](StepCall &c) { c.rows.slots = nullptr; }, "\"slots\" is null");
  refuses([](StepCall &c) { c.decay.data = nullptr; }, "\"decay\" is null");
  refuses([](StepCall &c) { c.beta.data = nullptr; }, "\"beta\" is null");
  refuses([](StepCall &c) { c.aLog = nullptr; }, "\"A_log\" is null");
  refuses([](StepCall &c) { c.dtBias = nullptr; }, "\"dt_bias\" is null");
  refuses([](StepCall &c) { c.out = nullptr; }, "\"out\" is null");
  refuses([](StepCall &c) { c.qkv.data = nullptr; },
          "\"qkv\" is null; the kernel reads or writes all of: out, state, "
          "qkv, decay, beta, A_log, dt_bias, slots");
}

TEST_F(Arguments, Misalignment) {
  refuses([](StepCall &c) { c.pool.base = at(0x10008); },
          "\"state\": address 0x10008 is 8 mod 16; it must be a multiple of 16 "
          "bytes");
  // One, two, four and eight bf16 elements into a tensor that is read in 16s.
  refuses([](StepCall &c) { c.qkv.data = at(0x2002); }, "\"qkv\": address "
                                                        "0x2002 is 2 mod 16");
  refuses([](StepCall &c) { c.qkv.data = at(0x2004); }, "4 mod 16");
  refuses([](StepCall &c) { c.qkv.data = at(0x2008); }, "8 mod 16");
  refuses([](StepCall &c) { c.out = at(0x7008); }, "\"out\"");
  refuses([](StepCall &c) { c.rows.slots = at<int32_t>(0x1002); },
          "\"slots\": address 0x1002 is 2 mod 4");
  refuses([](StepCall &c) { c.decay.data = at(0x3001); },
          "\"decay\": address 0x3001 is 1 mod 2");
  refuses([](StepCall &c) { c.aLog = at(0x5002); }, "\"A_log\"");
  StepCall call = goodCall();
  call.qkv.data = at(0x2010); // 8 elements: sound
  EXPECT_TRUE(program->supported(call).ok());
}

TEST_F(Arguments, Strides) {
  refuses([](StepCall &c) { c.qkv.stride = 319; },
          "\"qkv_stride\" is 319 elements; a row of \"qkv\" has 320, and rows "
          "may not overlap");
  refuses([](StepCall &c) { c.qkv.stride = -320; }, "\"qkv_stride\" is -320");
  refuses([](StepCall &c) { c.qkv.stride = 324; },
          "\"qkv_stride\": 324 elements of 2 bytes are 8 mod 16; rows must be "
          "a multiple of 16 bytes apart");
  refuses([](StepCall &c) { c.outStride = 191; }, "\"out_stride\" is 191");
  refuses([](StepCall &c) { c.beta.stride = 3; }, "\"beta_stride\" is 3");
  refuses([](StepCall &c) { c.qkv.stride = int64_t(1) << 62; },
          "beyond 2^63 bytes");
  refuses([](StepCall &c) { c.rows.stride = -1; }, "\"slots_stride\" is -1");
  StepCall call = goodCall();
  call.decay.stride = 5; // bf16, aligned to one element
  EXPECT_TRUE(program->supported(call).ok());
  // With one row nothing steps, whatever a framework left in its stride.
  call = goodCall();
  call.rows.rows = 1;
  call.qkv.stride = 1;
  call.outStride = -7;
  call.rows.stride = -1;
  EXPECT_TRUE(program->supported(call).ok());
}

TEST_F(Arguments, AStrideMustBeGivenWhereTheImageDoesNotStateTheWidth) {
  KernelImage image = decodeImage(8);
  for (KernelArg &arg : image.entries[0].args)
    if (arg.name == "beta")
      arg.rowWidth = 0;
  make(image, std::nullopt);
  refuses([](StepCall &) {}, "\"beta_stride\" is 0 elements");
  StepCall call = goodCall();
  call.beta.stride = 4;
  EXPECT_TRUE(program->supported(call).ok());
}

TEST_F(Arguments, Pools) {
  int64_t slotBytes = program->info().slotBytes;
  refuses([=](StepCall &c) { c.pool.strideBytes = slotBytes - 16; },
          "\"slot_stride_bytes\" is " + std::to_string(slotBytes - 16) +
              " bytes; it must be a multiple of 16 and at least the " +
              std::to_string(slotBytes) + " bytes of a slot");
  refuses([=](StepCall &c) { c.pool.strideBytes = slotBytes + 8; },
          "\"slot_stride_bytes\"");
  refuses([](StepCall &c) { c.pool.strideBytes = -16; },
          "\"slot_stride_bytes\" is -16");
  refuses([](StepCall &c) { c.pool.count = -1; }, "\"slot_count\" is -1");
  refuses([](StepCall &c) { c.pool.count = int64_t(1) << 60; },
          "within 2^63 bytes");
  StepCall call = goodCall();
  call.pool.count = 0; // unknown
  EXPECT_TRUE(program->supported(call).ok());
  call.pool.count = 2; // three rows, one of them may be padding
  EXPECT_TRUE(program->supported(call).ok());
  KernelImage image = decodeImage(8);
  image.pad = PadPolicy::None;
  make(image, std::nullopt);
  refuses([](StepCall &c) { c.pool.count = 2; },
          "\"rows\" is 3, the pool has 2 slots, and the program has no padding "
          "rows");
}

TEST_F(Arguments, AStricterKernelRaisesTheSlotAlignment) {
  KernelImage image = decodeImage(8);
  image.entries[1].args[3].align = 128; // state of commit
  make(image, std::nullopt);
  EXPECT_EQ(program->info().slotAlign, 128);
  refuses([](StepCall &c) { c.pool.base = at(0x10000000010); },
          "is 16 mod 128");
}

TEST_F(Arguments, Rows) {
  int64_t most = 2147483647 / kValueHeads;
  refuses([](StepCall &c) { c.rows.rows = -1; }, "\"rows\" is -1");
  refuses([=](StepCall &c) { c.rows.rows = most + 1; },
          "\"rows\" is " + std::to_string(most + 1) + "; 0 to " +
              std::to_string(most) +
              " are allowed, since the grid has 4 blocks per row and at most "
              "2147483647");
  StepCall call = goodCall();
  call.rows.rows = most;
  ASSERT_TRUE(program->step(call).ok());
  EXPECT_EQ(device->log->launches[0].blocks, most * kValueHeads);
}

TEST_F(Arguments, TheCommitIsCheckedBeforeTheStepRuns) {
  KernelImage image = decodeImage(8);
  image.entries[1].blocksPerRow = 1 << 30; // room for one row
  make(image, std::nullopt);
  EXPECT_EQ(program->info().maxRows, 1);
  refuses([](StepCall &) {}, "\"rows\" is 3; 0 to 1 are allowed");
}

TEST_F(Arguments, WhatTheKernelDoesNotTake) {
  refuses([](StepCall &c) { c.q.data = at(0x2000); },
          "\"q\" is given, and the kernel does not take it");
  KernelImage image = decodeImage(8);
  auto &args = image.entries[0].args;
  for (size_t i = args.size(); i-- > 0;)
    if (args[i].name == "A_log")
      args.erase(args.begin() + int64_t(i));
  make(image, std::nullopt);
  refuses([](StepCall &) {}, "\"A_log\" is given");
}

TEST_F(Arguments, DenseStates) {
  DenseCall good;
  good.pool = goodCall().pool;
  good.rows = goodCall().rows;
  good.dense = at(0x8000);
  auto refuse = [&](const char *text, auto change) {
    DenseCall call = good;
    change(call);
    expectRefused(program->pack(call), text);
    expectRefused(program->unpack(call), text);
  };
  refuse("\"type\" is f16; f32 and bf16",
         [](DenseCall &c) { c.type = ElementType::F16; });
  refuse("\"dense\" is null", [](DenseCall &c) { c.dense = nullptr; });
  refuse("\"dense\": address 0x8002 is 2 mod 4",
         [](DenseCall &c) { c.dense = at(0x8002); });
  refuse("would overlap", [](DenseCall &c) { c.headStride = 1535; });
  refuse("would overlap", [](DenseCall &c) { c.rowStride = 4 * 1536 - 1; });
  refuse("0 (packed) or more", [](DenseCall &c) { c.rowStride = -1; });
  refuse("within 2^63", [](DenseCall &c) { c.headStride = int64_t(1) << 62; });
  refuse("\"state\" is null", [](DenseCall &c) { c.pool.base = nullptr; });
  refuse("\"rows\" is -5", [](DenseCall &c) { c.rows.rows = -5; });
  KernelImage transfer = transferImage(8);
  for (KernelEntry &entry : transfer.entries)
    for (KernelArg &arg : entry.args)
      if (arg.name == "dense")
        arg.align = 16;
  make(decodeImage(8), transfer);
  refuse("\"dense_row\": 6146 elements of 4 bytes are 8 mod 16",
         [](DenseCall &c) { c.rowStride = 6146; });
  refuse("\"dense_head\"", [](DenseCall &c) {
    c.headStride = 1538;
    c.rowStride = 8192;
  });
  make(decodeImage(8), std::nullopt);
  refuse("made without a transfer image", [](DenseCall &) {});
}

TEST_F(Arguments, FlushChecksTheSame) {
  FlushCall good{goodCall().pool, goodCall().rows, nullptr};
  FlushCall call = good;
  call.pool.base = nullptr;
  expectRefused(program->flush(call), "flush of \"layer\": argument \"state\"");
  call = good;
  call.rows.slots = nullptr;
  expectRefused(program->flush(call), "\"slots\" is null");
  make(decodeImage(1), std::nullopt); // nothing to launch, still checked
  call.rows.rows = -2;
  expectRefused(program->flush(call), "\"rows\" is -2");
}

} // namespace
