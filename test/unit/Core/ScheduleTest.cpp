//===- ScheduleTest.cpp - legality, default and text ----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The default schedule must be legal wherever a spec is, and a refusal must
// name the numbers that disagree.
//
//===----------------------------------------------------------------------===//
#include "decant/Core/Schedule.h"

#include <gtest/gtest.h>

namespace decant {
namespace {

DecodeSpec specOf(int keyDim, int valueDim, ElementType codes) {
  DecodeSpec spec;
  spec.name = "s";
  spec.rule = {"r", "decant.rule @r"};
  spec.heads = {1, 1, keyDim, valueDim, HeadMap::Group};
  spec.state.codes = codes;
  if (isInteger(codes))
    spec.state.scales = {{Axis::Value, ScaleFit::AbsMax, ElementType::F32}};
  return spec;
}

SlotLayout layoutOf(int keyDim, int valueDim, ElementType codes,
                    CodeOrder order = CodeOrder::Rows) {
  return makeSlotLayout(specOf(keyDim, valueDim, codes),
                        {1, DecayShape::Scalar, DecayShape::None}, order);
}

TargetInfo target(const std::string &name) { return *lookupTarget(name); }

Schedule leapQuantSchedule() {
  Schedule schedule;
  schedule.keyLanes = 16;
  schedule.valueLanes = 8;
  schedule.keysPerLane = 8;
  schedule.valuesPerLane = 16;
  schedule.rows = RowLoop::Unrolled;
  return schedule;
}

// The picture in Schedule.h.
TEST(Schedule, DefaultForInt8At128) {
  const SlotLayout layout = layoutOf(128, 128, ElementType::I8);
  EXPECT_EQ(
      toString(defaultSchedule(layout, target("sm_90a"))),
      "strategy = simt, key_lanes = 16, value_lanes = 8, "
      "keys_per_lane = 8, values_per_lane = 16, rows = unrolled, "
      "boundary = apart, blocks_per_sm = 0, lanes = key_first, split = 1");
  EXPECT_EQ(
      toString(defaultSchedule(layout, target("x86-64"))),
      "strategy = simt, key_lanes = 1, value_lanes = 1, "
      "keys_per_lane = 128, values_per_lane = 128, rows = rolled, "
      "boundary = apart, blocks_per_sm = 0, lanes = key_first, split = 1");
}

// A lane holds 16 bytes of each of its rows, and neighbours hold whole rows:
// 128 f32 are 32 lanes, which leave 8 of 256 for the keys, 128 bf16 are 16.
TEST(Schedule, DefaultForAStateThatTheStepHolds) {
  const std::string keys = "strategy = simt, key_lanes = 16, value_lanes = ",
                    rest = ", rows = unrolled, boundary = apart, ";
  const SlotLayout single = layoutOf(128, 128, ElementType::F32),
                   half = layoutOf(128, 128, ElementType::BF16);
  EXPECT_EQ(toString(defaultSchedule(single, target("sm_90a"))),
            "strategy = simt, key_lanes = 8, value_lanes = 32, keys_per_lane = "
            "16, values_per_lane = 4" +
                rest + "blocks_per_sm = 2, lanes = value_first, split = 1");
  EXPECT_EQ(toString(defaultSchedule(half, target("sm_90a"))),
            keys + "16, keys_per_lane = 8, values_per_lane = 8" + rest +
                "blocks_per_sm = 2, lanes = value_first, split = 1");
  // Sums over values keep all columns in one block of at most 256 lanes.
  EXPECT_EQ(toString(defaultSchedule(single, target("sm_90a"), true)),
            keys + "16, keys_per_lane = 8, values_per_lane = 8" + rest +
                "blocks_per_sm = 2, lanes = value_first, split = 1");
  // 31 rows of a lane are too many to hold, and records need a whole head.
  EXPECT_FALSE(holdsState(
      defaultSchedule(layoutOf(248, 128, ElementType::F32), target("sm_90a")),
      layoutOf(248, 128, ElementType::F32)));
  SlotLayout window = single;
  window.window = 16;
  EXPECT_EQ(defaultSchedule(window, target("sm_90a")).split, 1);
  EXPECT_FALSE(holdsState(defaultSchedule(single, target("sm_90a")), window));
}

// In columns a warp has all keys of some values, a lane 16 bytes of each, 32
// elements in all, and is a block.
TEST(Schedule, DefaultForAStateInColumns) {
  const std::string rest = ", rows = unrolled, boundary = apart, "
                           "blocks_per_sm = 24, lanes = key_first, split = ";
  auto text = [](int keyDim, int valueDim, ElementType codes,
                 bool sums = false) {
    return toString(
        defaultSchedule(layoutOf(keyDim, valueDim, codes, CodeOrder::Columns),
                        target("sm_90a"), sums));
  };
  EXPECT_EQ(text(128, 128, ElementType::F32),
            "strategy = simt, key_lanes = 32, value_lanes = 1, "
            "keys_per_lane = 4, values_per_lane = 8" +
                rest + "16");
  EXPECT_EQ(text(128, 128, ElementType::BF16),
            "strategy = simt, key_lanes = 16, value_lanes = 2, "
            "keys_per_lane = 8, values_per_lane = 8, rows = unrolled, "
            "boundary = apart, blocks_per_sm = 16, lanes = key_first, "
            "split = 8");
  // More keys than 32 loads.
  EXPECT_EQ(text(256, 128, ElementType::F32),
            "strategy = simt, key_lanes = 32, value_lanes = 1, "
            "keys_per_lane = 8, values_per_lane = 4" +
                rest + "32");
  // 24 of 32 lanes have keys.
  EXPECT_EQ(text(96, 96, ElementType::F32),
            "strategy = simt, key_lanes = 32, value_lanes = 1, "
            "keys_per_lane = 4, values_per_lane = 8, rows = unrolled, "
            "boundary = apart, blocks_per_sm = 20, lanes = key_first, "
            "split = 12");
  // Decays that are vectors are work of each key.
  const Schedule vectors =
      defaultSchedule(makeSlotLayout(specOf(128, 128, ElementType::BF16),
                                     {1, DecayShape::Vector, DecayShape::None},
                                     CodeOrder::Columns),
                      target("sm_90a"));
  EXPECT_EQ(vectors.keyLanes, 32);
  EXPECT_EQ(vectors.keysPerLane, 4);
  EXPECT_EQ(vectors.blocksPerSm, 20);
  // Few keys leave lanes for values, and few values leave few of them a lane.
  EXPECT_EQ(text(16, 16, ElementType::F32),
            "strategy = simt, key_lanes = 4, value_lanes = 8, "
            "keys_per_lane = 4, values_per_lane = 2" +
                rest + "1");
  // Sums over values keep all columns in one block of at most 256 lanes.
  EXPECT_EQ(text(128, 128, ElementType::F32, true),
            "strategy = simt, key_lanes = 32, value_lanes = 8, "
            "keys_per_lane = 4, values_per_lane = 16, rows = unrolled, "
            "boundary = apart, blocks_per_sm = 0, lanes = key_first, "
            "split = 1");
}

TEST(Schedule, StatesInColumnsAreHeldForEveryDimOnEveryTarget) {
  for (const TargetInfo &target : knownTargets())
    for (int keyDim = kMinDim; keyDim <= kMaxDim; ++keyDim)
      for (int valueDim = kMinDim; valueDim <= kMaxDim; valueDim += 15)
        for (ElementType codes :
             {ElementType::F32, ElementType::F16, ElementType::BF16}) {
          if (target.kind == TargetKind::Cpu)
            continue;
          const SlotLayout layout =
              layoutOf(keyDim, valueDim, codes, CodeOrder::Columns);
          const Schedule schedule = defaultSchedule(layout, target);
          const Status status = check(schedule, layout, target);
          ASSERT_TRUE(status.ok()) << status.message();
          ASSERT_TRUE(holdsState(schedule, layout)) << toString(schedule);
          EXPECT_EQ(schedule.threads(), 32);
          EXPECT_LE(schedule.blocksPerSm, target.maxBlocksPerSm);
          // One load, or two where the keys are more than 32 of them.
          const int bytes = schedule.keysPerLane * elementBytes(codes);
          EXPECT_EQ(bytes,
                    layout.paddedKey * elementBytes(codes) > 512 ? 32 : 16);
          EXPECT_EQ(layout.paddedKey % schedule.keysPerLane, 0);
          const Schedule sums = defaultSchedule(layout, target, true);
          EXPECT_TRUE(check(sums, layout, target).ok());
          EXPECT_EQ(sums.split, 1);
          EXPECT_GE(sums.threads(), 32);
        }
}

// Key lanes may reach beyond the keys of a held state, but not without need,
// and each lies inside or outside.
TEST(Schedule, LanesBeyondTheKeysOfColumns) {
  auto accepts = [](int keyDim, int keyLanes, int keysPerLane,
                    CodeOrder order = CodeOrder::Columns,
                    RowLoop rows = RowLoop::Unrolled) {
    Schedule schedule;
    schedule.keyLanes = keyLanes;
    schedule.keysPerLane = keysPerLane;
    schedule.valuesPerLane = 4;
    schedule.split = 32;
    schedule.rows = rows;
    return check(schedule, layoutOf(keyDim, 128, ElementType::F32, order),
                 target("sm_90a"))
        .ok();
  };
  EXPECT_TRUE(accepts(96, 32, 4));
  EXPECT_TRUE(accepts(96, 16, 8));
  EXPECT_FALSE(accepts(96, 16, 4)); // too few
  EXPECT_FALSE(accepts(64, 32, 4)); // twice as many
  EXPECT_FALSE(accepts(72, 8, 16)); // the fifth lane is neither
  EXPECT_FALSE(accepts(96, 32, 4, CodeOrder::Rows));
  EXPECT_FALSE(accepts(96, 32, 4, CodeOrder::Columns, RowLoop::Rolled));
}

TEST(Schedule, DefaultIsLegalForEveryDimOnEveryTarget) {
  // Dims are padded to multiples of 8 or 16, so these are all there is, and
  // some that need the padding.
  std::vector<int> dims = {kMinDim + 1, 97, 100, 251, kMaxDim - 1};
  for (int dim = kMinDim; dim <= kMaxDim; dim += 8)
    dims.push_back(dim);
  for (const TargetInfo &target : knownTargets())
    for (int keyDim : dims)
      for (int valueDim : dims)
        for (ElementType codes : {ElementType::F32, ElementType::F16,
                                  ElementType::BF16, ElementType::I8}) {
          const SlotLayout layout = layoutOf(keyDim, valueDim, codes);
          const Schedule schedule = defaultSchedule(layout, target);
          const Status status = check(schedule, layout, target);
          ASSERT_TRUE(status.ok()) << status.message();
          Expected<Schedule> read = parseSchedule(toString(schedule));
          ASSERT_TRUE(read.ok()) << read.status().message();
          EXPECT_EQ(toString(*read), toString(schedule));
          if (target.kind == TargetKind::Cpu)
            continue;
          // A lane may form several of the parts of a sum over keys.
          EXPECT_EQ(defaultKeyLanes(layout),
                    layout.paddedKey % 16 == 0 ? 16 : 8);
          EXPECT_EQ(defaultKeyLanes(layout) % schedule.keyLanes, 0);
          // A lane's load is at most 16 bytes unless the block would have too
          // many threads; halving the values would then go beyond the limit.
          if (schedule.valuesPerLane * elementBytes(codes) > 16)
            EXPECT_GT(2 * schedule.threads(), target.maxThreads)
                << keyDim << " x " << valueDim;
        }
}

SlotLayout windowLayout(int keyDim, int valueDim, ElementType codes,
                        int window = 16, CodeOrder order = CodeOrder::Fragments,
                        RecordShape record = {1, DecayShape::Scalar,
                                              DecayShape::None},
                        ElementType records = ElementType::F16) {
  DecodeSpec spec = specOf(keyDim, valueDim, codes);
  spec.window = {window, 0, records};
  return makeSlotLayout(spec, record, order);
}

TEST(Schedule, TensorCoresForWindowsAndFragments) {
  const std::string text = toString(
      *mmaSchedule(windowLayout(128, 128, ElementType::I8), target("sm_90a")));
  const std::string shape =
      "strategy = mma, key_lanes = 32, value_lanes = 4, keys_per_lane = 4, "
      "values_per_lane = 32, rows = unrolled, boundary = step, ";
  EXPECT_EQ(text.substr(0, shape.size()), shape);
  // Without a window there is nothing to fold apart.
  EXPECT_EQ(
      mmaSchedule(windowLayout(128, 128, ElementType::I8, 1), target("sm_90a"))
          ->boundary,
      Boundary::Apart);
  // 100 keys are padded to 112, and lanes share 128.
  EXPECT_EQ(mmaSchedule(windowLayout(100, 48, ElementType::I8), target("sm_80"))
                ->keysPerLane,
            4);

  using E = ElementType;
  const auto fragments = CodeOrder::Fragments;
  const RecordShape scalar = {1, DecayShape::Scalar, DecayShape::None};
  auto has = [&](const SlotLayout &layout, const char *name = "sm_90a") {
    return mmaSchedule(layout, target(name)).has_value();
  };
  EXPECT_FALSE(has(windowLayout(128, 128, E::I8), "x86-64"));
  EXPECT_FALSE(has(windowLayout(128, 128, E::I8, 16, CodeOrder::Rows)));
  // f32 in windows, whose records may be bf16, and of no scales.
  EXPECT_TRUE(has(windowLayout(128, 128, E::F32)));
  EXPECT_TRUE(
      has(windowLayout(128, 128, E::F32, 16, fragments, scalar, E::BF16)));
  EXPECT_FALSE(has(windowLayout(128, 128, E::F32, 1)));
  SlotLayout corrected = windowLayout(128, 128, E::F32);
  corrected.compensators = 4;
  EXPECT_FALSE(has(corrected));
  EXPECT_FALSE(has(windowLayout(128, 128, E::I8, 16, fragments,
                                {1, DecayShape::None, DecayShape::Scalar})));
  auto withRecords = [&](E records, int window) {
    return has(
        windowLayout(128, 128, E::I8, window, fragments, scalar, records));
  };
  EXPECT_FALSE(withRecords(E::F32, 16));
  // Panels may hold bf16 where no compensators of f16 share them.
  EXPECT_TRUE(withRecords(E::BF16, 16));
  SlotLayout shared =
      windowLayout(128, 128, E::BF16, 16, fragments, scalar, E::BF16);
  shared.compensators = 4;
  EXPECT_FALSE(has(shared));
  // Rows of different bits fill slabs, and wait in shared memory.
  SlotLayout rows = windowLayout(128, 128, E::I8);
  for (int key = 0; key < 128; ++key)
    rows.rowBits.push_back(uint8_t(2 + key % 4));
  EXPECT_TRUE(has(rows));
  EXPECT_TRUE(has(rows, "sm_80"));
  EXPECT_NE(mmaSchedule(rows, target("sm_80"))->fetch, CodeFetch::Registers);
  rows.rowBits[0] = 8;
  EXPECT_FALSE(has(rows));
  // Compensators become f16, of any number of rounds; bf16 need not fit.
  SlotLayout fitted = windowLayout(128, 128, E::I8);
  fitted.compensators = 4;
  fitted.compensatorRounds = 2;
  for (E type : {E::F16, E::I8, E::E4M3, E::BF16}) {
    fitted.compKeys.type = fitted.compValues.type = type;
    EXPECT_EQ(has(fitted), type != E::BF16) << toString(type);
  }
  // A window of one token has no records.
  EXPECT_TRUE(withRecords(E::F32, 1));
}

// Where it was measured, and for what it was measured.
TEST(Schedule, HeadsOfMamba2LoadCodesIntoRegisters) {
  using E = ElementType;
  auto of = [](SlotLayout layout, const char *name) {
    layout.compensators = 4;
    return *mmaSchedule(layout, target(name));
  };
  for (const char *name : {"sm_90", "sm_90a"}) {
    const Schedule schedule = of(windowLayout(128, 64, E::I8), name);
    EXPECT_EQ(schedule.fetch, CodeFetch::Registers);
    EXPECT_EQ(schedule.blocksPerSm, 10);
  }
  EXPECT_EQ(of(windowLayout(128, 64, E::I8), "sm_100a").fetch, CodeFetch::Bulk);
  EXPECT_EQ(of(windowLayout(128, 64, E::I4), "sm_90a").fetch, CodeFetch::Bulk);
  EXPECT_EQ(of(windowLayout(128, 64, E::I8, 16, CodeOrder::Fragments,
                            {1, DecayShape::Vector, DecayShape::None}),
               "sm_90a")
                .fetch,
            CodeFetch::Bulk);
  for (auto [key, value, blocks] : {std::tuple(128, 128, 6), {64, 64, 12}}) {
    const Schedule schedule = of(windowLayout(key, value, E::I8), "sm_90a");
    EXPECT_EQ(schedule.fetch, CodeFetch::Bulk);
    EXPECT_EQ(schedule.blocksPerSm, blocks);
  }
}

// Where it was measured, and where a step folds.
TEST(Schedule, TheLastBlocksExchangeTheirRows) {
  using E = ElementType;
  auto of = [](SlotLayout layout, const char *name) {
    return mmaSchedule(layout, target(name))->exchange;
  };
  SlotLayout layout = windowLayout(128, 128, E::I8);
  EXPECT_EQ(of(layout, "sm_90a"), 2048);
  EXPECT_EQ(of(layout, "sm_80"), 0);
  EXPECT_EQ(of(layout, "sm_100a"), 0);
  EXPECT_EQ(of(windowLayout(128, 128, E::I8, 1), "sm_90a"), 0);
  EXPECT_EQ(of(windowLayout(128, 128, E::F32), "sm_90a"), 0);
  EXPECT_EQ(of(windowLayout(256, 256, E::I8), "sm_90a"), 0);
  EXPECT_EQ(of(windowLayout(128, 128, E::I8, 16, CodeOrder::Fragments,
                            {1, DecayShape::Vector, DecayShape::None}),
               "sm_90a"),
            0);
  layout.tokensPerStep = 2;
  EXPECT_EQ(of(layout, "sm_90a"), 0);
  layout.tokensPerStep = 1;
  // Each head has a byte behind the first 32 of 128.
  layout.valueHeads = 96;
  EXPECT_EQ(of(layout, "sm_90a"), 2048);
  layout.valueHeads = 97;
  EXPECT_EQ(of(layout, "sm_90a"), 0);
}

// A warp owns 16, 32 or 64 values and a block has at most 8 warps.
TEST(Schedule, TensorCoresAreLegalWhereverTheyAreChosen) {
  for (int keyDim = kMinDim; keyDim <= kMaxDim; keyDim += 15)
    for (int valueDim = kMinDim; valueDim <= kMaxDim; ++valueDim)
      for (ElementType codes :
           {ElementType::F16, ElementType::BF16, ElementType::I8,
            ElementType::I6, ElementType::I4, ElementType::I3, ElementType::I2})
        for (int window : {1, 16}) {
          const SlotLayout layout =
              windowLayout(keyDim, valueDim, codes, window);
          const std::optional<Schedule> schedule =
              mmaSchedule(layout, target("sm_90a"));
          const int tiles = layout.paddedValue / 16;
          const bool planes =
              codes == ElementType::I6 || codes == ElementType::I3;
          const bool large = layout.paddedKey * layout.paddedValue > 128 * 256;
          const bool fits = (!planes || !large) &&
                            (tiles <= 8 || (tiles % 2 == 0 && tiles / 2 <= 8) ||
                             (tiles % 4 == 0 && tiles / 4 <= 8));
          ASSERT_EQ(schedule.has_value(), fits) << keyDim << " x " << valueDim;
          if (!schedule)
            continue;
          const Status status = check(*schedule, layout, target("sm_90a"));
          ASSERT_TRUE(status.ok()) << status.message();
          EXPECT_EQ(toString(*parseSchedule(toString(*schedule))),
                    toString(*schedule));
          EXPECT_GE(schedule->keyLanes * schedule->keysPerLane,
                    layout.paddedKey);
          // What the kernels need, and no more than a thread may have.
          const int registers =
              65536 / (schedule->threads() * schedule->blocksPerSm);
          EXPECT_GE(registers, 80) << toString(*schedule);
        }
}

TEST(Schedule, TextRoundTripsInAnyOrderAndSpacing) {
  const std::string text = toString(leapQuantSchedule());
  EXPECT_EQ(toString(*parseSchedule(text)), text);
  EXPECT_EQ(toString(*parseSchedule(
                "rows=unrolled,values_per_lane=16 , keys_per_lane = 8,"
                "value_lanes= 8, key_lanes =16, strategy=simt")),
            text);
}

void expectRefused(const Schedule &schedule, const std::string &words,
                   const std::string &targetName = "sm_90a") {
  const Status status =
      check(schedule, layoutOf(128, 128, ElementType::I8), target(targetName));
  ASSERT_FALSE(status.ok()) << toString(schedule);
  EXPECT_EQ(status.code(), StatusCode::InvalidInput);
  EXPECT_NE(status.message().find(words), std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find(toString(schedule)), std::string::npos)
      << "the message quotes the schedule";
}

TEST(Schedule, IllegalOnesAreRefusedWithTheirNumbers) {
  EXPECT_TRUE(check(leapQuantSchedule(), layoutOf(128, 128, ElementType::I8),
                    target("sm_90a"))
                  .ok());
  Schedule schedule = leapQuantSchedule();
  schedule.keyLanes = 12;
  expectRefused(schedule, "key_lanes is 12; a power of two up to 32");
  schedule.keyLanes = 64;
  schedule.valueLanes = 2;
  expectRefused(schedule, "key_lanes is 64; a power of two up to 32");
  schedule = leapQuantSchedule();
  schedule.keyLanes = 0;
  expectRefused(schedule, "key_lanes is 0");

  schedule = leapQuantSchedule();
  schedule.keysPerLane = 4;
  expectRefused(schedule, "key_lanes x keys_per_lane is 64; the padded key "
                          "dim is 128");
  schedule = leapQuantSchedule();
  schedule.valuesPerLane = 32;
  expectRefused(schedule, "value_lanes x values_per_lane x split is 256; "
                          "the padded value dim is 128");
  schedule = leapQuantSchedule();
  schedule.valueLanes = 4;
  schedule.split = 2;
  expectRefused(schedule, "split is 2; blocks share a head only at window 1, "
                          "with float codes, without scales and compensators");
  schedule = leapQuantSchedule();
  schedule.keyLanes = 4;
  schedule.keysPerLane = 32;
  schedule.valueLanes = 64;
  schedule.valuesPerLane = 2;
  schedule.lanes = LaneOrder::ValueFirst;
  expectRefused(schedule, "value_lanes is 64; a power of two up to 32 is "
                          "needed for value_first");
  schedule = leapQuantSchedule();
  schedule.keyLanes = 32;
  schedule.keysPerLane = 4;
  schedule.valueLanes = 32;
  schedule.valuesPerLane = 4;
  expectRefused(schedule, "1024 threads; sm_90a allows 256 per block");
  expectRefused(schedule, "1024 threads; x86-64 allows 256 per block",
                "x86-64");
  // The host runs the lanes of GPU schedules one after the other.
  EXPECT_TRUE(check(leapQuantSchedule(), layoutOf(128, 128, ElementType::I8),
                    target("x86-64"))
                  .ok());
}

TEST(Schedule, TextsThatAreNoScheduleAreRefused) {
  const std::string good = toString(leapQuantSchedule());
  auto replaced = [&](const std::string &from, const std::string &to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  auto message = [](const std::string &text) {
    Expected<Schedule> schedule = parseSchedule(text);
    return schedule.ok() ? "accepted" : schedule.status().message();
  };
  EXPECT_EQ(message(""), "schedule.strategy: ''; allowed are simt, mma");
  EXPECT_EQ(message("fast"), "schedule: 'fast' is not 'field = value'");
  EXPECT_EQ(message(replaced("simt", "fast")),
            "schedule.strategy: 'fast'; allowed are simt, mma");
  for (const char *word : {"", "0", "-8", "8.0", "eight", "100000", "0x8"})
    EXPECT_EQ(message(replaced("keys_per_lane = 8",
                               std::string("keys_per_lane = ") + word)),
              std::string("schedule.keys_per_lane: '") + word +
                  "'; a whole number of at least 1 is needed");
  EXPECT_EQ(message(replaced("unrolled", "maybe")),
            "schedule.rows: 'maybe'; allowed are unrolled, rolled");
  EXPECT_EQ(message(replaced(", rows = unrolled", "")),
            "schedule.rows: ''; allowed are unrolled, rolled");
  EXPECT_EQ(message(good + ", stages = 3"), "schedule: unknown field 'stages'");
  EXPECT_EQ(message(replaced("key_first", "diagonal")),
            "schedule.lanes: 'diagonal'; allowed are key_first, value_first");
  EXPECT_EQ(message(replaced("split = 1", "split = 0")),
            "schedule.split: '0'; a whole number of at least 1 is needed");
}

// Two lanes must not write one byte: a row's codes share bytes with their
// neighbours, fragments with the value 8 on. (Where they share bytes with other
// keys, lanes take turns.)
TEST(Schedule, LanesOwnWholeBytesOfNarrowCodes) {
  for (int keyDim : {16, 40, 48, 128, 251, 256})
    for (int valueDim : {16, 80, 128, 256})
      for (ElementType codes :
           {ElementType::I6, ElementType::I4, ElementType::I3, ElementType::I2})
        for (CodeOrder order : {CodeOrder::Rows, CodeOrder::Fragments}) {
          const SlotLayout layout = layoutOf(keyDim, valueDim, codes, order);
          const Schedule schedule = defaultSchedule(layout, target("sm_90a"));
          const Status status = check(schedule, layout, target("sm_90a"));
          EXPECT_TRUE(status.ok()) << status.message();
          EXPECT_EQ(schedule.keyLanes, defaultKeyLanes(layout));
        }
  Schedule schedule = leapQuantSchedule();
  schedule.valueLanes = 32;
  schedule.valuesPerLane = 4;
  schedule.keyLanes = 8;
  schedule.keysPerLane = 16;
  auto message = [&](ElementType codes, CodeOrder order) {
    return check(schedule, layoutOf(128, 128, codes, order), target("sm_90a"))
        .message();
  };
  EXPECT_NE(message(ElementType::I4, CodeOrder::Rows)
                .find("values_per_lane is 4; a multiple of 8"),
            std::string::npos);
  schedule.valueLanes = 16;
  schedule.valuesPerLane = 8;
  EXPECT_EQ(message(ElementType::I4, CodeOrder::Rows), "");
  EXPECT_NE(message(ElementType::I4, CodeOrder::Fragments)
                .find("values_per_lane is 8; a multiple of 16"),
            std::string::npos);
  schedule = leapQuantSchedule();
  EXPECT_EQ(message(ElementType::I4, CodeOrder::Fragments), "");
  EXPECT_EQ(message(ElementType::I6, CodeOrder::Fragments), "");
}

} // namespace
} // namespace decant
