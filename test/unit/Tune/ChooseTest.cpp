//===- ChooseTest.cpp - choices from times that are made up ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tune/Choose.h"

#include <gtest/gtest.h>

using namespace decant;
using namespace decant::tune;

namespace {

/// Times with a spread of half a percent to each side.
StepTimes quiet(double us) { return {us, us * 0.995, us * 1.005, 9}; }
/// And of a tenth.
StepTimes noisy(double us) { return {us, us * 0.9, us * 1.1, 9}; }

Variant variantOf(int blocks, std::vector<std::optional<StepTimes>> times,
                  CodeOrder order = CodeOrder::Fragments) {
  Variant variant;
  variant.schedule.blocksPerSm = blocks;
  variant.order = order;
  variant.times = std::move(times);
  return variant;
}

std::vector<size_t> chosenOf(const Choice &choice) {
  std::vector<size_t> list;
  for (const BatchChoice &batch : choice.batches)
    list.push_back(batch.variant);
  return list;
}
using Indices = std::vector<size_t>;

TEST(Choose, TheIncumbentStaysWithinNoise) {
  // A percent of gain where two are asked for; a tenth where spreads overlap.
  const std::vector<Variant> variants = {variantOf(1, {quiet(100), noisy(100)}),
                                         variantOf(2, {quiet(99), noisy(91)})};
  const Choice choice = choose(variants);
  EXPECT_EQ(chosenOf(choice), (Indices{0, 0}));
  EXPECT_EQ(choice.batches[0].why, "the incumbent; the fastest is 1.0 % "
                                   "faster, within noise of 2.0 %");
  EXPECT_EQ(choice.batches[1].why, "the incumbent; the fastest is 9.0 % "
                                   "faster, within noise of 10.0 %");
}

TEST(Choose, WhatIsBeyondNoiseWins) {
  const std::vector<Variant> variants = {variantOf(1, {quiet(100), noisy(100)}),
                                         variantOf(2, {quiet(97), noisy(85)})};
  const Choice choice = choose(variants);
  EXPECT_EQ(chosenOf(choice), (Indices{1, 1}));
  EXPECT_EQ(choice.batches[0].why,
            "3.0 % faster than the incumbent; noise 2.0 %");
  EXPECT_EQ(choice.forAll, 1u);
}

TEST(Choose, NothingFasterIsSaidSo) {
  const Choice choice =
      choose({variantOf(1, {quiet(100)}), variantOf(2, {quiet(150)})});
  EXPECT_EQ(choice.batches[0].why, "the incumbent; the next one takes 50.0 % "
                                   "more");
  EXPECT_EQ(choose({variantOf(1, {quiet(100)})}).batches[0].why,
            "the incumbent; nothing else was timed");
}

TEST(Choose, ATieGoesToTheEarlierOneWhicheverIsFaster) {
  for (const double other : {80.2, 79.8}) {
    const Choice choice =
        choose({variantOf(1, {quiet(100)}), variantOf(2, {quiet(80)}),
                variantOf(3, {quiet(other)})});
    EXPECT_EQ(chosenOf(choice), (Indices{1})) << other;
  }
}

TEST(Choose, ATieGoesToWhatOtherBatchesGet) {
  // At the first batch both are equal, and the later one is alone at the other
  // two: two kernels are fewer than three.
  const std::vector<Variant> variants = {
      variantOf(1, {quiet(100), quiet(100), quiet(100)}),
      variantOf(2, {quiet(80), quiet(95), quiet(100)}),
      variantOf(3, {quiet(80.5), quiet(80), quiet(80)})};
  EXPECT_EQ(chosenOf(choose(variants)), (Indices{2, 2, 2}));
}

TEST(Choose, EachBatchHasItsOwn) {
  const std::vector<Variant> variants = {variantOf(1, {quiet(10), quiet(100)}),
                                         variantOf(2, {quiet(8), quiet(130)}),
                                         variantOf(3, {quiet(12), quiet(80)})};
  const Choice choice = choose(variants);
  EXPECT_EQ(chosenOf(choice), (Indices{1, 2}));
  // sqrt(12 x 80) = 30.98, sqrt(8 x 130) = 32.2, the incumbent's 31.6: no gain
  // of two percent beyond it.
  EXPECT_NEAR(meanTime(variants[2]), 30.98, 0.01);
  EXPECT_EQ(choice.forAll, 2u) << "a gain of 2.03 % is one";
}

TEST(Choose, AVariantThatWasNotTimedAtABatchIsNotTaken) {
  const Choice choice = choose({variantOf(1, {quiet(10), quiet(100)}),
                                variantOf(2, {std::nullopt, quiet(50)})});
  EXPECT_EQ(chosenOf(choice), (Indices{0, 1}));
  EXPECT_EQ(choice.forAll, 0u);
}

TEST(Choose, OneLayoutForAllBatches) {
  // Rows are twice as fast at batch 1 and twice as slow at the other two.
  const std::vector<Variant> variants = {
      variantOf(1, {quiet(10), quiet(40), quiet(100)}),
      variantOf(2, {quiet(5), quiet(80), quiet(200)}, CodeOrder::Rows)};
  Choice choice = choose(variants);
  EXPECT_EQ(choice.order, CodeOrder::Fragments);
  EXPECT_EQ(chosenOf(choice), (Indices{0, 0, 0}));
  // Twice as fast everywhere: another layout is worth it.
  const std::vector<Variant> faster = {
      variants[0],
      variantOf(2, {quiet(5), quiet(20), quiet(50)}, CodeOrder::Rows)};
  choice = choose(faster);
  EXPECT_EQ(choice.order, CodeOrder::Rows);
  EXPECT_EQ(chosenOf(choice), (Indices{1, 1, 1}));
  EXPECT_EQ(choice.batches[0].why, "the incumbent; nothing else was timed");
}

TEST(Choose, AnotherLayoutWithinNoiseIsNotWorthIt) {
  const Choice choice = choose(
      {variantOf(1, {quiet(100)}), variantOf(2, {quiet(99)}, CodeOrder::Rows)});
  EXPECT_EQ(choice.order, CodeOrder::Fragments);
}

// What an earlier run chose.
TEST(Choose, TheHeldOneStaysWithinNoise) {
  // By itself the first of the two equal ones, and at the last batch the usual
  // one, whose lead of the held one is less than two percent.
  const std::vector<Variant> variants = {
      variantOf(1, {quiet(100), quiet(100), quiet(99)}),
      variantOf(2, {quiet(80), quiet(70), quiet(120)}),
      variantOf(3, {quiet(80.5), quiet(80), quiet(100)})};
  EXPECT_EQ(chosenOf(choose(variants)), (Indices{1, 1, 0}));
  Held held;
  held.order = CodeOrder::Fragments;
  held.batches = {2, 2, 2};
  held.forAll = 2;
  const Choice choice = choose(variants, held);
  EXPECT_EQ(chosenOf(choice), (Indices{2, 1, 2}));
  EXPECT_EQ(choice.batches[0].why.find("as before, since nothing is faster "
                                       "beyond noise; 19.5 % faster than the "
                                       "incumbent"),
            0u)
      << choice.batches[0].why;
  EXPECT_EQ(choice.batches[0].against, 0u) << "gains are over the usual one";
  EXPECT_EQ(choice.forAll, 2u);
}

TEST(Choose, AHeldOneThatIsNotThereIsNoMatter) {
  const std::vector<Variant> variants = {variantOf(1, {quiet(100)}),
                                         variantOf(2, {quiet(80)})};
  Held held;
  held.order = CodeOrder::Fragments;
  held.batches = {std::nullopt};
  EXPECT_EQ(chosenOf(choose(variants, held)), (Indices{1}));
  held.order = CodeOrder::Rows; // nor a layout that no variant has
  EXPECT_EQ(chosenOf(choose(variants, held)), (Indices{1}));
}

TEST(Choose, TheHeldLayoutStaysWithinNoise) {
  const std::vector<Variant> variants = {
      variantOf(1, {quiet(100)}), variantOf(2, {quiet(99)}, CodeOrder::Rows)};
  EXPECT_EQ(choose(variants).order, CodeOrder::Fragments);
  TuningRecord record;
  record.order = CodeOrder::Rows;
  record.schedule = toString(variants[1].schedule);
  TunedRange range;
  range.schedule = record.schedule;
  record.ranges = {range};
  const Held held = heldFrom(record, variants, {32});
  EXPECT_EQ(held.batches, (std::vector<std::optional<size_t>>{1}));
  EXPECT_EQ(choose(variants, held).order, CodeOrder::Rows);
}

TEST(Ranges, MeetAtGeometricMeans) {
  const std::vector<Variant> variants = {
      variantOf(1, {quiet(1), quiet(2), quiet(3), quiet(4)})};
  const std::vector<int64_t> batches = {1, 2, 8, 512};
  const auto ranges = rangesOf(variants, batches, choose(variants));
  ASSERT_EQ(ranges.size(), 4u);
  EXPECT_EQ(ranges[0].from, 1);
  EXPECT_EQ(ranges[0].to, 1); // sqrt(2) = 1.4
  EXPECT_EQ(ranges[1].from, 2);
  EXPECT_EQ(ranges[1].to, 4); // sqrt(16)
  EXPECT_EQ(ranges[2].from, 5);
  EXPECT_EQ(ranges[2].to, 64); // sqrt(4096)
  EXPECT_EQ(ranges[3].from, 65);
  EXPECT_FALSE(ranges[3].to);
  EXPECT_EQ(ranges[3].batch, 512);
  EXPECT_EQ(ranges[3].time.us, 4);
}

} // namespace
