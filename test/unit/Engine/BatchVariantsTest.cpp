//===- BatchVariantsTest.cpp - several cuts of one layer, on the CPU ------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequences that are decoded in batches of changing size, and so by changing
// variants, are those that one variant alone would have decoded: simt kernels
// of one or of 16 lanes along keys form the same sums (Schedule.h), and the two
// ways to fold a window leave the same bytes.
//
//===----------------------------------------------------------------------===//

#include "Bench/SyntheticLayer.h"
#include "decant/Engine.h"
#include "decant/Spec/SpecReader.h"

#include <gtest/gtest.h>

using namespace decant;
using namespace decant::bench;

namespace {

constexpr int64_t kRows = 12;

template <typename T> T valueOf(Expected<T> expected) {
  if (!expected)
    throw std::runtime_error(expected.status().message());
  return expected.take();
}

DecodeSpec smallSpec(const std::string &tokensPerStep) {
  SpecSource source;
  source.spec = "bytelm-gdn";
  source.overrides = {"heads.key=1",      "heads.value=2",
                      "heads.key_dim=32", "heads.value_dim=32",
                      "window.length=4",  "window.compensators=1",
                      tokensPerStep};
  return valueOf(readSpec(source));
}

Schedule cut(int keyLanes, int valueLanes, Boundary boundary) {
  Schedule schedule;
  schedule.keyLanes = keyLanes;
  schedule.keysPerLane = 32 / keyLanes;
  schedule.valueLanes = valueLanes;
  schedule.valuesPerLane = 32 / valueLanes;
  schedule.boundary = boundary;
  return schedule;
}

class BatchVariants : public testing::Test {
protected:
  void SetUp() override {
    engine.emplace(valueOf(Engine::create(EngineOptions())));
    device = valueOf(engine->openDevice("cpu"));
  }

  KernelImage image(const DecodeSpec &spec, const Schedule &schedule) {
    CompileOptions options;
    options.target = valueOf(targetFor(*device));
    options.schedule = schedule;
    options.order = CodeOrder::Rows;
    return valueOf(engine->image(spec, options));
  }

  std::optional<Engine> engine;
  std::shared_ptr<Device> device;
};

TEST_F(BatchVariants, DecodeTheSameSequences) {
  const DecodeSpec spec = smallSpec("tokens_per_step=1");
  ProgramImages images;
  images.decode = {image(spec, cut(1, 1, Boundary::Apart)),
                   image(spec, cut(16, 4, Boundary::Step)),
                   image(spec, cut(16, 8, Boundary::Apart))};
  images.rules = {{2, 1}, {7, 0}, {kAnyRows, 2}};
  const auto one = valueOf(Program::create(device, images.decode[0]));
  const auto many = valueOf(Program::create(device, std::move(images)));
  EXPECT_FALSE(many->info().stepFolds);

  const SlotPlan plan = SlotPlan::dense(kRows, one->info().slotBytes);
  LayerRun expected = valueOf(LayerRun::create(spec, device, *one, plan));
  LayerRun found = valueOf(LayerRun::create(spec, device, *many, plan));
  // Every size from 1 to 12 rows, the first of the batch and then its last, so
  // that sequences of different lengths fold at different steps.
  for (int token = 0; token < 48; ++token) {
    const TokenInputs inputs =
        makeToken(spec, one->stepArguments(), kRows, token);
    ASSERT_TRUE(expected.upload(inputs).ok());
    ASSERT_TRUE(found.upload(inputs).ok());
    const int64_t rows = 1 + token * 5 % kRows;
    const int64_t first = token % 2 ? kRows - rows : 0;
    const RowRange range = {first, first, rows};
    ASSERT_TRUE(expected.step(range, nullptr).ok());
    ASSERT_TRUE(found.step(range, nullptr).ok());
    ASSERT_EQ(valueOf(expected.outputs()), valueOf(found.outputs())) << token;
  }
  for (int32_t slot : plan.slots)
    EXPECT_EQ(valueOf(expected.slot(slot)), valueOf(found.slot(slot))) << slot;
}

TEST_F(BatchVariants, OfOtherSlotsAreRefused) {
  const KernelImage one =
      image(smallSpec("tokens_per_step=1"), cut(1, 1, Boundary::Apart));
  ProgramImages images;
  images.decode = {
      one, image(smallSpec("tokens_per_step=2"), cut(1, 1, Boundary::Apart))};
  images.rules = {{4, 0}, {kAnyRows, 1}};
  const auto tokens = Program::create(device, std::move(images));
  ASSERT_FALSE(tokens.ok());
  EXPECT_NE(tokens.status().message().find("2 tokens per step, and 1"),
            std::string::npos)
      << tokens.status().message();

  CompileOptions options;
  options.target = valueOf(targetFor(*device));
  options.order = CodeOrder::Fragments;
  images = ProgramImages();
  images.decode = {
      one, valueOf(engine->image(smallSpec("tokens_per_step=1"), options))};
  images.rules = {{4, 0}, {kAnyRows, 1}};
  const auto order = Program::create(device, std::move(images));
  ASSERT_FALSE(order.ok());
  EXPECT_NE(order.status().message().find("order fragments, and rows"),
            std::string::npos)
      << order.status().message();
}

} // namespace
