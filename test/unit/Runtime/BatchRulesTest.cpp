//===- BatchRulesTest.cpp - one program, several variants -----------------===//
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

std::string scheduleWith(Boundary boundary) {
  Schedule schedule;
  schedule.keysPerLane = schedule.valuesPerLane = 1;
  schedule.boundary = boundary;
  return toString(schedule);
}

/// Variants of one layer that launches tell apart by their number of blocks.
KernelImage variantOf(int blocksPerRow, Boundary boundary) {
  KernelImage image = decodeImage(8);
  for (KernelEntry &entry : image.entries)
    entry.blocksPerRow = blocksPerRow;
  image.scheduleText = scheduleWith(boundary);
  return image;
}

ProgramImages threeVariants() {
  ProgramImages images;
  images.decode = {variantOf(4, Boundary::Apart), variantOf(8, Boundary::Apart),
                   variantOf(16, Boundary::Step)};
  images.rules = {{8, 0}, {64, 2}, {kAnyRows, 1}};
  images.transfer = transferImage(8);
  return images;
}

class BatchRulesTest : public ProgramFixture {
protected:
  void SetUp() override {
    device = std::make_shared<FakeDevice>();
    auto made = Program::create(device, threeVariants());
    ASSERT_TRUE(made.ok()) << made.status().message();
    program = made.take();
  }

  std::string refusal(ProgramImages images) {
    auto made = Program::create(device, std::move(images));
    EXPECT_FALSE(made.ok());
    return made.ok() ? std::string() : made.status().message();
  }

  /// Blocks per row of the launches that a step of `rows` rows makes.
  std::vector<int64_t> blocksOf(int64_t rows) {
    StepCall call = goodCall();
    call.pool.count = 0;
    call.rows.rows = rows;
    device->log->count = 0;
    EXPECT_TRUE(program->step(call).ok());
    std::vector<int64_t> blocks;
    for (int i = 0; i < device->log->count; ++i)
      blocks.push_back(device->log->launches[i].blocks / rows);
    return blocks;
  }
};

using Blocks = std::vector<int64_t>;

TEST_F(BatchRulesTest, EachBatchRunsTheVariantOfItsRange) {
  EXPECT_EQ(blocksOf(1), Blocks({4, 4})); // a step, and a commit apart from it
  EXPECT_EQ(blocksOf(8), Blocks({4, 4}));
  EXPECT_EQ(blocksOf(9), Blocks({16})); // this one folds in the step
  EXPECT_EQ(blocksOf(64), Blocks({16}));
  EXPECT_EQ(blocksOf(65), Blocks({8, 8}));
  EXPECT_EQ(blocksOf(100000), Blocks({8, 8}));
  EXPECT_EQ(program->variantCount(), 3);
  EXPECT_EQ(program->variant(2).scheduleText, scheduleWith(Boundary::Step));
  EXPECT_EQ(toString(program->rules()), "1..8: 0, 9..64: 2, 65..: 1");
}

TEST_F(BatchRulesTest, AFlushFollowsTheRulesAndATransferDoesNot) {
  StepCall call = goodCall();
  call.rows.rows = 9;
  ASSERT_TRUE(program->flush({call.pool, call.rows, call.stream}).ok());
  EXPECT_EQ(device->log->launches[0].blocks, 9 * 16);
  DenseCall dense;
  dense.pool = call.pool;
  dense.rows = call.rows;
  dense.dense = at(0x8000);
  ASSERT_TRUE(program->pack(dense).ok());
  EXPECT_EQ(device->log->launches[1].blocks, 9 * kValueHeads);
}

TEST_F(BatchRulesTest, FactsHoldForEveryVariant) {
  EXPECT_EQ(program->info().maxRows, kMaxGridBlocks / 16);
  EXPECT_FALSE(program->info().stepFolds);
  ProgramImages images = threeVariants();
  images.decode[1].entries[0].args[2].align = 128; // of the state
  images.decode[2].entries[0].args[1].align = 32;  // of out
  auto strict = Program::create(device, std::move(images));
  ASSERT_TRUE(strict.ok());
  EXPECT_EQ((*strict)->info().slotAlign, 128);
  EXPECT_EQ((*strict)->stepArguments()[1].align, 32);
  EXPECT_EQ((*strict)->resources().size(), 3u * 2 + 4);
}

TEST_F(BatchRulesTest, RefusesVariantsOfOtherSlots) {
  ProgramImages images = threeVariants();
  images.decode[2].layout.codeOrder = CodeOrder::Fragments;
  EXPECT_EQ(refusal(std::move(images)),
            "variant 2 \"layer\" does not fit decode image \"layer\": codes in "
            "the order fragments, and rows; both must be compiled from one "
            "spec");
  images = threeVariants();
  images.decode[1] = decodeImage(4);
  EXPECT_NE(refusal(std::move(images)).find("4 tokens in a window, and 8"),
            std::string::npos);
  images = threeVariants();
  images.decode[1].layout.tokensPerStep = 2;
  EXPECT_NE(refusal(std::move(images)).find("2 tokens per step, and 1"),
            std::string::npos);
  images = threeVariants();
  images.decode[1].layout.rounding = Rounding::Stochastic;
  EXPECT_NE(refusal(std::move(images)).find("rounding"), std::string::npos);
  images = threeVariants();
  images.decode[1].specText += " of other gates";
  EXPECT_NE(refusal(std::move(images)).find("the specs' texts differ"),
            std::string::npos);
  images = threeVariants();
  std::swap(images.decode[1].entries[0].args[0],
            images.decode[1].entries[0].args[1]);
  EXPECT_NE(refusal(std::move(images)).find("argument 0 of the step is"),
            std::string::npos);
}

TEST_F(BatchRulesTest, RefusesRulesThatLeaveBatchesOut) {
  auto refuse = [&](std::vector<BatchRule> rules) {
    ProgramImages images = threeVariants();
    images.rules = std::move(rules);
    return refusal(std::move(images));
  };
  EXPECT_EQ(refuse({}), "batch rules: found none; one or more are expected, "
                        "the last of them for any number of rows");
  EXPECT_EQ(refuse({{8, 0}, {64, 1}}),
            "batch rules: found none for more than 64 rows; the last rule must "
            "be for any number of rows");
  EXPECT_EQ(refuse({{8, 0}, {8, 1}, {kAnyRows, 2}}),
            "batch rule 1: found at most 8 rows; more than 8 are expected, the "
            "bound of the rule ahead of it");
  EXPECT_EQ(refuse({{0, 0}, {kAnyRows, 1}}),
            "batch rule 0: found at most 0 rows; more than 0 are expected");
  EXPECT_EQ(refuse({{8, 3}, {kAnyRows, 1}}),
            "batch rule 0: found variant 3; allowed are 0 to 2");
  EXPECT_EQ(refuse({{kAnyRows, -1}}),
            "batch rule 0: found variant -1; allowed are 0 to 2");
}

TEST_F(BatchRulesTest, RefusesTheArgumentsThatTheChosenVariantCannotTake) {
  ProgramImages images = threeVariants();
  images.decode[2].entries[0].args[1].align = 32;
  auto made = Program::create(device, std::move(images));
  ASSERT_TRUE(made.ok());
  StepCall call = goodCall();
  call.out = at(0x7010);
  EXPECT_TRUE((*made)->supported(call).ok());
  call.rows.rows = 9;
  expectRefused((*made)->supported(call), "argument \"out\"");
}

} // namespace
