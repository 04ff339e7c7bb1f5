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

#include "../Runtime/TestPack.h"
#include "Bench/SyntheticLayer.h"
#include "decant/Engine.h"
#include "decant/Runtime/Pack.h"
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
    engine.emplace(valueOf(
        Engine::create(EngineOptions(), [this](const DecodeSpec &spec,
                                               const CompileOptions &options,
                                               CompileTimes *times) {
          ++compiles;
          return compile(spec, options, times);
        })));
    device = valueOf(engine->openDevice("cpu"));
  }

  KernelImage image(const DecodeSpec &spec, const Schedule &schedule) {
    CompileOptions options;
    options.target = valueOf(targetFor(*device));
    options.schedule = schedule;
    options.order = CodeOrder::Rows;
    return valueOf(engine->image(spec, options));
  }

  std::atomic<int> compiles{0};
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

// What a host that is warm does for days: batches of any size, by kernels from
// the compiler and by kernels from a pack.
TEST_F(BatchVariants, TenThousandStepsCompileReadAndLoadNothing) {
  constexpr int kSteps = 10000;
  const DecodeSpec spec = smallSpec("tokens_per_step=1");
  const auto compiled = valueOf(engine->prepare(spec, device));
  PackBuilder builder;
  ASSERT_TRUE(builder.add(image(spec, cut(16, 4, Boundary::Step)), {4}).ok());
  ASSERT_TRUE(
      builder.add(image(spec, cut(1, 1, Boundary::Apart)), {kAnyRows}).ok());
  test::TemporaryFolder folder;
  const auto pack =
      valueOf(Pack::open(folder.write("layer.pack", valueOf(builder.bytes()))));
  PackQuery query;
  query.specText = canonicalText(spec);
  const auto packed = valueOf(programFromPack(*pack, device, query));
  ASSERT_EQ(packed->variantCount(), 2);

  const SlotPlan plan = SlotPlan::dense(kRows, compiled->info().slotBytes);
  std::vector<LayerRun> runs;
  for (const Program *program : {compiled.get(), packed.get()}) {
    runs.push_back(valueOf(LayerRun::create(spec, device, *program, plan)));
    ASSERT_TRUE(runs.back()
                    .upload(makeToken(spec, program->stepArguments(), kRows, 0))
                    .ok());
  }
  const int compilesBefore = compiles;
  const PackCounters before = pack->counters();
  const EngineCounters engineBefore = engine->counters();
  EXPECT_EQ(compilesBefore, 4);
  EXPECT_EQ(before.images, 2);
  EXPECT_EQ(before.loads, 2);
  for (int i = 0; i < kSteps; ++i)
    for (const LayerRun &run : runs)
      ASSERT_TRUE(run.step({0, 0, 1 + i * 7 % kRows}, nullptr).ok());
  EXPECT_EQ(compiles, compilesBefore);
  EXPECT_EQ(pack->counters().images, before.images);
  EXPECT_EQ(pack->counters().bytes, before.bytes);
  EXPECT_EQ(pack->counters().loads, before.loads);
  const EngineCounters after = engine->counters();
  EXPECT_EQ(after.tunings, 0);
  EXPECT_EQ(after.loads, engineBefore.loads);
  EXPECT_EQ(after.links, engineBefore.links);
  EXPECT_EQ(after.packed, engineBefore.packed);
  EXPECT_EQ(after.cache.misses, engineBefore.cache.misses);
  EXPECT_EQ(valueOf(runs[0].outputs()), valueOf(runs[1].outputs()));
}

} // namespace
