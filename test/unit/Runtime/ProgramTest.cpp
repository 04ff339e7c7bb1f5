//===- ProgramTest.cpp - what a program launches --------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramFixture.h"

using namespace decant;
using namespace decant::test;

namespace {

class ProgramTest : public ProgramFixture {};

TEST_F(ProgramTest, AnswersWhatAnEngineAsks) {
  const ProgramInfo &info = program->info();
  EXPECT_EQ(info.specName, "layer");
  EXPECT_EQ(info.heads, kValueHeads);
  EXPECT_EQ(info.keyDim, kKeyDim);
  EXPECT_EQ(info.valueDim, kValueDim);
  EXPECT_EQ(info.window, 8);
  EXPECT_EQ(info.slotAlign, 16);
  EXPECT_EQ(info.slotBytes, emptyImage(8).layout.slotBytes);
  EXPECT_EQ(info.stateBytesPerHead, kKeyDim * kValueDim * 4);
  EXPECT_EQ(info.bitsPerElement, 32);
  EXPECT_EQ(info.maxRows, 2147483647 / kValueHeads);
  EXPECT_TRUE(info.canTransfer);
  EXPECT_EQ(program->stepArguments().size(), 15u);
  EXPECT_EQ(program->resources().size(), 6u);
}

TEST_F(ProgramTest, StepIsAStepAndACommitOfFullWindows) {
  ASSERT_TRUE(program->step(goodCall()).ok());
  ASSERT_EQ(device->log->count, 2);
  const Launch &step = device->log->launches[0];
  EXPECT_EQ(step.entry, 0);
  EXPECT_EQ(step.blocks, 3 * kValueHeads);
  EXPECT_EQ(step.stream, at(0x99));
  KernelImage image = decodeImage(8);
  const KernelEntry &entry = image.entries[0];
  EXPECT_EQ(argument(0, entry, "rows"), 3);
  EXPECT_EQ(argument(0, entry, "state"), 0x10000000000);
  EXPECT_EQ(argument(0, entry, "state_stride"), image.layout.slotBytes);
  EXPECT_EQ(argument(0, entry, "slots"), 0x1004);
  EXPECT_EQ(argument(0, entry, "slots_stride"), 1);
  EXPECT_EQ(argument(0, entry, "qkv"), 0x2000);
  EXPECT_EQ(argument(0, entry, "qkv_stride"), 2 * 2 * 32 + 4 * 48);
  EXPECT_EQ(argument(0, entry, "decay"), 0x3002);
  EXPECT_EQ(argument(0, entry, "decay_stride"), 4);
  EXPECT_EQ(argument(0, entry, "beta"), 0x4002);
  EXPECT_EQ(argument(0, entry, "A_log"), 0x5004);
  EXPECT_EQ(argument(0, entry, "dt_bias"), 0x6004);
  EXPECT_EQ(argument(0, entry, "out"), 0x7000);
  EXPECT_EQ(argument(0, entry, "out_stride"), 4 * 48);

  const Launch &commit = device->log->launches[1];
  EXPECT_EQ(commit.entry, 1);
  EXPECT_EQ(commit.blocks, 3 * kValueHeads);
  EXPECT_EQ(commit.stream, at(0x99));
  EXPECT_EQ(argument(1, image.entries[1], "min_fill"), 8);
  EXPECT_EQ(argument(1, image.entries[1], "rows"), 3);
  EXPECT_EQ(argument(1, image.entries[1], "state"), 0x10000000000);
}

TEST_F(ProgramTest, GivenStridesArePassedOnIn64Bits) {
  StepCall call = goodCall();
  call.pool.strideBytes = int64_t(3) << 30;
  call.rows.stride = 5;
  call.qkv.stride = (int64_t(1) << 33) + 8;
  call.outStride = 4096;
  ASSERT_TRUE(program->step(call).ok());
  KernelImage image = decodeImage(8);
  const KernelEntry &entry = image.entries[0];
  EXPECT_EQ(argument(0, entry, "state_stride"), int64_t(3) << 30);
  EXPECT_EQ(argument(0, entry, "slots_stride"), 5);
  EXPECT_EQ(argument(0, entry, "qkv_stride"), (int64_t(1) << 33) + 8);
  EXPECT_EQ(argument(0, entry, "out_stride"), 4096);
}

TEST_F(ProgramTest, WithoutAWindowNothingIsCommitted) {
  make(decodeImage(1), std::nullopt);
  EXPECT_FALSE(program->info().canTransfer);
  ASSERT_TRUE(program->step(goodCall()).ok());
  EXPECT_EQ(device->log->count, 1);
  StepCall call = goodCall();
  ASSERT_TRUE(program->flush({call.pool, call.rows, call.stream}).ok());
  EXPECT_EQ(device->log->count, 1);
}

TEST_F(ProgramTest, FlushCommitsWhatever) {
  StepCall call = goodCall();
  ASSERT_TRUE(program->flush({call.pool, call.rows, call.stream}).ok());
  ASSERT_EQ(device->log->count, 1);
  EXPECT_EQ(device->log->launches[0].entry, 1);
  EXPECT_EQ(argument(0, decodeImage(8).entries[1], "min_fill"), 1);
}

TEST_F(ProgramTest, NoRowsIsNoWork) {
  EXPECT_TRUE(program->supported(StepCall()).ok());
  EXPECT_TRUE(program->step(StepCall()).ok());
  EXPECT_TRUE(program->flush(FlushCall()).ok());
  EXPECT_TRUE(program->pack(DenseCall()).ok());
  EXPECT_EQ(device->log->count, 0);
}

TEST_F(ProgramTest, PackAndUnpackTakeBothOrders) {
  KernelImage image = transferImage(8);
  StepCall good = goodCall();
  DenseCall call;
  call.pool = good.pool;
  call.rows = good.rows;
  call.dense = at(0x8004);
  ASSERT_TRUE(program->pack(call).ok());
  const KernelEntry &packF32 = image.entries[0];
  EXPECT_EQ(device->log->launches[0].entry, 0);
  EXPECT_EQ(device->log->launches[0].blocks, 3 * kValueHeads);
  EXPECT_EQ(argument(0, packF32, "dense"), 0x8004);
  EXPECT_EQ(argument(0, packF32, "dense_value"), 1);
  EXPECT_EQ(argument(0, packF32, "dense_key"), kValueDim);
  EXPECT_EQ(argument(0, packF32, "dense_head"), kKeyDim * kValueDim);
  EXPECT_EQ(argument(0, packF32, "dense_row"),
            kValueHeads * kKeyDim * kValueDim);

  call.type = ElementType::BF16;
  call.order = DenseOrder::ValueKey;
  call.dense = at(0x8002);
  // Heads outside, rows inside.
  call.rowStride = kKeyDim * kValueDim + 2;
  call.headStride = 3 * call.rowStride;
  ASSERT_TRUE(program->unpack(call).ok());
  const KernelEntry &unpackBf16 = image.entries[3];
  EXPECT_EQ(device->log->launches[1].entry, 3);
  EXPECT_EQ(argument(1, unpackBf16, "dense_key"), 1);
  EXPECT_EQ(argument(1, unpackBf16, "dense_value"), kKeyDim);
  EXPECT_EQ(argument(1, unpackBf16, "dense_row"), call.rowStride);
  EXPECT_EQ(argument(1, unpackBf16, "dense_head"), call.headStride);
}

TEST_F(ProgramTest, ARulesOwnInputsGoByName) {
  KernelImage image = decodeImage(1);
  image.entries[0].args.push_back(
      pointerArg("erase", ElementType::BF16, 2, 128));
  image.entries[0].args.push_back(int64Arg("erase_stride"));
  image.entries[0].args.push_back(pointerArg("gain", ElementType::F32, 4));
  make(image, std::nullopt);
  StepCall call = goodCall();
  NamedTensor extra[] = {{"gain", {at(0x11004), 0}},
                         {"erase", {at(0x12002), 0}}};
  call.extra = extra;
  call.extraCount = 2;
  ASSERT_TRUE(program->step(call).ok()) << program->step(call).message();
  EXPECT_EQ(argument(0, image.entries[0], "erase"), 0x12002);
  EXPECT_EQ(argument(0, image.entries[0], "erase_stride"), 128);
  EXPECT_EQ(argument(0, image.entries[0], "gain"), 0x11004);

  device->log->count = 0;
  call.extraCount = 1;
  expectRefused(program->step(call), "argument \"erase\" is null");
  extra[0].name = "erase";
  extra[1].name = "erase";
  call.extraCount = 2;
  expectRefused(program->step(call), "argument \"gain\" is null");
  NamedTensor odd[] = {extra[0], {"gain", {at(0x11004), 0}}, {"gian", {}}};
  call.extra = odd;
  call.extraCount = 3;
  expectRefused(program->step(call),
                "extra input 2 is named \"gian\", which is "
                "no input of the rule's own");
  odd[2].name = "erase";
  expectRefused(program->step(call), "extra input \"erase\" is given twice");
  odd[2].name = "qkv";
  expectRefused(program->step(call), "extra input 2 is named \"qkv\"");
  odd[2].name = nullptr;
  expectRefused(program->step(call), "extra input 2 is named \"(null)\"");
  call.extra = nullptr;
  expectRefused(program->step(call), "extra is null");
}

/// The message of a failed creation.
std::string refusal(KernelImage decode,
                    std::optional<KernelImage> transfer = std::nullopt) {
  auto program = Program::create(std::make_shared<FakeDevice>(),
                                 std::move(decode), std::move(transfer));
  EXPECT_FALSE(program.ok());
  return program.ok() ? "" : program.status().message();
}

TEST(ProgramCreate, RefusesImagesThatItCannotServe) {
  KernelImage image = decodeImage(8);
  image.entries[0].role = "prefill";
  EXPECT_EQ(refusal(image), "image \"layer\", entry \"step\": the image has no "
                            "such entry");
  image = decodeImage(8);
  image.entries.pop_back();
  EXPECT_EQ(refusal(image), "image \"layer\", entry \"commit\": the image has "
                            "no such entry");
  image = decodeImage(8);
  image.entries[0].args.push_back(int64Arg("seed"));
  EXPECT_EQ(refusal(image),
            "image \"layer\", entry \"step\": argument \"seed\" (int64) is "
            "neither one that this runtime knows nor the stride of another "
            "argument");
  image.entries[0].args.back() = int64Arg("w_stride"); // of no tensor
  EXPECT_NE(refusal(image).find("\"w_stride\""), std::string::npos);
  image.entries[0].args.back() = int64Arg("beta");
  EXPECT_EQ(refusal(image), "image \"layer\", entry \"step\": argument "
                            "\"beta\" is an int64, and this runtime supplies a "
                            "pointer");
  image.entries[0].args.resize(kMaxKernelArgs + 1, int64Arg("rows"));
  EXPECT_EQ(refusal(image), "image \"layer\", entry \"step\": 65 arguments, 64 "
                            "are allowed");
}

TEST(ProgramCreate, RefusesTransferImagesOfOtherSlots) {
  auto transfer = transferImage(8);
  transfer.entries.pop_back();
  EXPECT_EQ(refusal(decodeImage(8), transfer),
            "image \"layer\", entry \"unpack_bf16\": the image has no such "
            "entry");
  EXPECT_NE(refusal(decodeImage(8), transferImage(4))
                .find("does not fit decode image"),
            std::string::npos);
  transfer = transferImage(8);
  transfer.layout.keyDim = 16;
  EXPECT_NE(refusal(decodeImage(8), transfer)
                .find("4 heads of 16 x 48, and 4 of 32 x 48"),
            std::string::npos);
  transfer = transferImage(8);
  transfer.layout.codes.type = ElementType::F16;
  EXPECT_NE(refusal(decodeImage(8), transfer).find("region codes differs"),
            std::string::npos);
  transfer = transferImage(8);
  transfer.layout.codeOrder = CodeOrder::Fragments;
  EXPECT_NE(refusal(decodeImage(8), transfer)
                .find("codes in the order fragments, and rows"),
            std::string::npos);
  transfer = transferImage(8);
  transfer.pad = PadPolicy::None;
  EXPECT_NE(refusal(decodeImage(8), transfer).find("pad policy"),
            std::string::npos);
}

} // namespace
