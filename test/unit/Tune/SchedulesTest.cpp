//===- SchedulesTest.cpp - candidates, and what a model says of them ------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tune/Formats.h"
#include "Tune/Roofline.h"
#include "decant/Core/SlotLayout.h"
#include "decant/Spec/SpecReader.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

using namespace decant;
using namespace decant::tune;

namespace {

RecordShape scalarDecay() {
  RecordShape record;
  record.keyDecay = DecayShape::Scalar;
  return record;
}

DecodeSpec layer(const char *method) {
  return readSpec({"qwen3-next-gdn", {std::string("preset=") + method}}).take();
}

TEST(Schedules, AreLegalEachOnceAndTheUsualOneFirst) {
  for (const char *target : {"sm_80", "sm_90a", "sm_120", "x86-64"})
    for (const char *method :
         {"leapquant-int8", "leapquant-int4", "leapquant-int6", "step-fp32",
          "step-bf16", "step-int8", "replayssm-bf16"}) {
      const DecodeSpec spec = layer(method);
      const TargetInfo info = lookupTarget(target).take();
      const ScheduleCandidate usual = usualGuess(spec, scalarDecay(), info);
      const auto list = scheduleCandidates(spec, scalarDecay(), info, usual);
      ASSERT_GE(list.size(), 2u) << method << " on " << target;
      EXPECT_EQ(toString(list[0].schedule), toString(usual.schedule));
      EXPECT_EQ(list[0].order, usual.order);
      std::set<std::string> texts;
      int before = 0;
      CodeOrder order = usual.order;
      for (const ScheduleCandidate &candidate : list) {
        const SlotLayout layout =
            makeSlotLayout(spec, scalarDecay(), candidate.order);
        const Status sound = check(candidate.schedule, layout, info);
        EXPECT_TRUE(sound.ok()) << sound.message();
        EXPECT_TRUE(texts
                        .insert(toString(candidate.schedule) +
                                toString(candidate.order))
                        .second)
            << toString(candidate.schedule);
        // By distance from the first of their order.
        if (candidate.order != order) {
          order = candidate.order;
          before = 0;
        } else if (order == usual.order) {
          const int now = distance(candidate.schedule, usual.schedule);
          EXPECT_GE(now, before);
          before = now;
        }
      }
    }
}

TEST(Schedules, TensorCoreOnesDifferInAllTheirFields) {
  const DecodeSpec spec = layer("leapquant-int8");
  const TargetInfo info = lookupTarget("sm_90a").take();
  std::set<int> values, blocks, exchanges;
  std::set<std::string> fetches, boundaries;
  for (const ScheduleCandidate &candidate : scheduleCandidates(
           spec, scalarDecay(), info, usualGuess(spec, scalarDecay(), info))) {
    if (candidate.order != CodeOrder::Fragments)
      continue;
    const Schedule &schedule = candidate.schedule;
    if (schedule.strategy != Strategy::Mma)
      continue;
    values.insert(schedule.valuesPerLane);
    blocks.insert(schedule.blocksPerSm);
    fetches.insert(toString(schedule.fetch));
    exchanges.insert(schedule.exchange);
    boundaries.insert(toString(schedule.boundary));
  }
  EXPECT_EQ(values, (std::set<int>{16, 32, 64}));
  EXPECT_GE(blocks.size(), 5u);
  EXPECT_EQ(fetches.size(), 3u);
  EXPECT_EQ(boundaries.size(), 2u);
  EXPECT_EQ(exchanges, (std::set<int>{0, 2048}));
}

/// A step's image without code.
KernelImage imageOf(const DecodeSpec &spec, const TargetInfo &target) {
  KernelImage image;
  image.target = target.name;
  const ScheduleCandidate usual = usualGuess(spec, scalarDecay(), target);
  image.scheduleText = toString(usual.schedule);
  image.layout = makeSlotLayout(spec, scalarDecay(), usual.order);
  return image;
}

TEST(Roofline, BytesOverBandwidth) {
  // 32 heads of 128 x 128 f32, read and written with every token, and a cursor
  // of 16 bytes likewise; no inputs, since the image lists none. At 1 TB/s a
  // megabyte takes a microsecond.
  const DecodeSpec spec = layer("step-fp32");
  const TargetInfo target = lookupTarget("sm_90a").take();
  Machine machine;
  machine.bytesPerSecond = 1e12;
  const double bytes = 2.0 * 32 * (128 * 128 * 4 + 16);
  EXPECT_NEAR(leastTime(imageOf(spec, target), machine, 8), 8 * bytes / 1e6,
              1e-6);
  EXPECT_EQ(leastTime(imageOf(spec, target), Machine(), 8), 0);
}

TEST(Roofline, AGuessIsNeverBelowWhatTheMachineAllows) {
  const TargetInfo target = lookupTarget("sm_90a").take();
  const Machine machine = *machineOf(target);
  for (const char *method : {"leapquant-int8", "leapquant-int6", "step-fp32"}) {
    const DecodeSpec spec = layer(method);
    const KernelImage usual = imageOf(spec, target);
    for (const ScheduleCandidate &candidate :
         scheduleCandidates(spec, scalarDecay(), target,
                            usualGuess(spec, scalarDecay(), target))) {
      const KernelImage shape = shapeOf(usual, spec, candidate);
      for (int64_t batch : {1, 32, 1024})
        EXPECT_GE(likelyTime(shape, machine, batch),
                  leastTime(shape, machine, batch))
            << toString(candidate.schedule);
    }
  }
}

// Measured on an H200, in microseconds, with the schedules that are usual
// there: a guess within a factor of two ranks formats well enough to decide
// which are worth timing.
TEST(Roofline, IsWithinAFactorOfTwoOfAnH200) {
  const TargetInfo target = lookupTarget("sm_90a").take();
  const Machine machine = *machineOf(target);
  struct Row {
    const char *method;
    int64_t batch;
    double us;
  };
  for (const Row &row :
       {Row{"leapquant-int8", 1, 3.9}, Row{"leapquant-int8", 128, 45.5},
        Row{"leapquant-int8", 512, 141}, Row{"leapquant-int4", 512, 167},
        Row{"step-fp32", 1, 2.9}, Row{"step-fp32", 512, 540},
        Row{"step-bf16", 512, 278}}) {
    const double guess =
        likelyTime(imageOf(layer(row.method), target), machine, row.batch);
    EXPECT_GT(guess, row.us / 2) << row.method << " " << row.batch;
    EXPECT_LT(guess, row.us * 2) << row.method << " " << row.batch;
  }
}

TEST(Roofline, EveryTargetHasAMachineButTheHost) {
  for (const TargetInfo &target : knownTargets())
    EXPECT_EQ(machineOf(target).has_value(), target.kind == TargetKind::Nvidia)
        << target.name;
}

// A window that no trace fills twice is not tried, but the layer's own stays.
TEST(Formats, WindowsFitTheTraces) {
  const DecodeSpec spec = layer("leapquant-int6");
  const auto all = formatCandidates(spec, FormatSet::All, 7.5);
  const auto some = formatCandidates(spec, FormatSet::All, 7.5, {}, 8);
  size_t longer = 0;
  for (const FormatCandidate &format : all)
    longer += format.spec.window.length > 8;
  EXPECT_GT(longer, 1u);
  EXPECT_EQ(some.size(), all.size() - longer + 1);
  EXPECT_EQ(some[0].spec.window.length, 16);
  for (size_t i = 1; i < some.size(); ++i)
    EXPECT_LE(some[i].spec.window.length, 8) << some[i].name;
}

TEST(Formats, AreEachOnceAndWithinTheirBits) {
  const DecodeSpec spec = layer("leapquant-int6");
  const auto list = formatCandidates(spec, FormatSet::All, 7.5);
  ASSERT_GT(list.size(), 50u);
  EXPECT_EQ(canonicalText(list[0].spec), canonicalText(spec));
  std::set<std::string> texts, names;
  for (const FormatCandidate &format : list) {
    EXPECT_TRUE(texts.insert(canonicalText(format.spec)).second) << format.name;
    EXPECT_TRUE(names.insert(format.name).second) << format.name;
    EXPECT_LE(makeSlotLayout(format.spec, scalarDecay()).bitsPerElement(), 7.5);
    EXPECT_TRUE(check(format.spec).empty());
    EXPECT_EQ(format.spec.heads.value, spec.heads.value);
  }
  EXPECT_EQ(names.count("decant-6 even"), 1u);
  EXPECT_EQ(names.count("leapquant-int8"), 0u); // 9.5 bits
}

TEST(Formats, MethodsAreThePresets) {
  const auto methods =
      formatCandidates(layer("step-fp32"), FormatSet::Methods, 64);
  const auto mixtures =
      formatCandidates(layer("step-fp32"), FormatSet::Mixtures, 64);
  auto has = [](const std::vector<FormatCandidate> &list, const char *name) {
    return std::any_of(list.begin(), list.end(),
                       [&](const auto &format) { return format.name == name; });
  };
  EXPECT_TRUE(has(methods, "leapquant-int8"));
  EXPECT_FALSE(has(methods, "int4 w32 r8 f16"));
  EXPECT_TRUE(has(mixtures, "int4 w32 r8 f16"));
  EXPECT_FALSE(has(mixtures, "leapquant-int8"));
}

TEST(Formats, PlansAreTheLayersOwn) {
  const DecodeSpec spec = layer("leapquant-int6");
  const int64_t rows = int64_t(spec.heads.value) * spec.heads.keyDim;
  Plans plans = {{6.5, evenRowBits(6.5, rows)}};
  std::swap(plans[6.5].front(), plans[6.5].back());
  const auto list = formatCandidates(spec, FormatSet::Mixtures, 7.5, plans);
  const auto found =
      std::find_if(list.begin(), list.end(), [](const auto &format) {
        return format.name == "plan6.5 w64 r4 int8 x2";
      });
  ASSERT_NE(found, list.end());
  EXPECT_EQ(found->spec.state.bits.widths, plans[6.5]);
  EXPECT_EQ(found->spec.window.length, 64);
}

TEST(Formats, WhatARuleRefusesIsNoCandidate) {
  // Rotated keys need decays that are equal for all keys; KDA's are not.
  const DecodeSpec gdn = readSpec({"qwen3-next-gdn", {}}).take();
  const DecodeSpec kda = readSpec({"kimi-linear-kda", {}}).take();
  EXPECT_GE(formatCandidates(gdn, FormatSet::Methods, 64).size(),
            formatCandidates(kda, FormatSet::Methods, 64).size());
}

} // namespace
