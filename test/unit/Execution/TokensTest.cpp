//===- TokensTest.cpp - several tokens per step ---------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps of mixed counts against the same tokens one by one: a kernel of one
// token per step that sees accepted tokens only, and that is flushed where the
// next tokens would not have fit. Arithmetic and its order are the same, so
// outputs, codes, scales, compensators, records and decays are equal to the
// bit. Tokens that are not accepted are others than those that come instead.
//
//===----------------------------------------------------------------------===//

#include "MmaLayer.h"
#include "PlainRules.h"

#include <cstring>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

using namespace decant;
using namespace decant::test;

namespace {

constexpr int kRows = 3;
/// The number of a token that is never accepted.
constexpr int kWrong = 1000;

/// A layer of `tokens` tokens per step under a schedule, and the same layer of
/// one token for each row.
struct Layers {
  DecodeSpec spec;
  std::unique_ptr<Layer> several;
  std::vector<std::unique_ptr<Layer>> single; // of each row

  Layers(const std::vector<std::string> &overrides, int tokens,
         std::optional<Schedule> schedule = {},
         CodeOrder order = CodeOrder::Rows) {
    auto make = [&](int perStep, int64_t rows, int32_t first) {
      std::vector<std::string> all = overrides;
      all.push_back(fmt::format("tokens_per_step={}", perStep));
      spec = makeSpec(all);
      Placement placement = inOrder(rows);
      for (int32_t &slot : placement.slots)
        slot += first;
      placement.spread = rows > 1;
      return schedule ? std::make_unique<Layer>(spec, placement, *schedule,
                                                order, Kernels::Decode)
                      : std::make_unique<Layer>(spec, placement);
    };
    for (int row = 0; row < kRows; ++row)
      single.push_back(make(1, 1, 0));
    several = make(tokens, kRows, 0);
  }
};

struct Phase {
  std::vector<int> counts;       // of the rows, offered
  std::vector<int32_t> accepted; // of them
};

/// Any counts and acceptances, among them 0 and all; some windows' worth.
std::vector<Phase> phases(int tokens) {
  const int steps = 12 + 40 / tokens;
  std::mt19937 random(tokens);
  std::vector<Phase> all;
  for (int step = 0; step < steps; ++step) {
    Phase phase;
    for (int row = 0; row < kRows; ++row) {
      const int count = step == 0 ? tokens : int(random() % (tokens + 1));
      phase.counts.push_back(count);
      // The first step makes a header on both sides.
      const int most =
          row == 0 || step == 0 ? count : int(random() % (count + 1));
      phase.accepted.push_back(int32_t(most));
    }
    all.push_back(phase);
  }
  return all;
}

/// The bytes of one region of a head, as far as both layouts mean the same.
void expectSameRegion(const char *what, const uint8_t *a, const Region &left,
                      const uint8_t *b, const Region &right, int64_t rows) {
  const int64_t bytes = (rows * left.width * elementBits(left.type) + 7) / 8;
  EXPECT_EQ(std::memcmp(a + left.offset, b + right.offset, bytes), 0) << what;
}

void expectSameSlots(Layer &several, int32_t slot, Layer &single, int fill) {
  const SlotLayout &left = several.layout(), &right = single.layout();
  uint8_t *a = several.slot(slot), *b = single.slot(0);
  EXPECT_EQ(std::memcmp(a, b, 20), 0)
      << "header: version, fill, tokens and code order";
  for (int head = 0; head < left.valueHeads; ++head) {
    const uint8_t *x = a + kSlotHeaderBytes + head * left.headBytes;
    const uint8_t *y = b + kSlotHeaderBytes + head * right.headBytes;
    auto compare = [&](const char *what, Region SlotLayout::*region,
                       int64_t rows) {
      if (!(left.*region).empty())
        expectSameRegion(what, x, left.*region, y, right.*region, rows);
    };
    compare("codes", &SlotLayout::codes, left.codes.count);
    compare("key scale", &SlotLayout::keyScale, 1);
    compare("value scale", &SlotLayout::valueScale, 1);
    compare("comp. keys", &SlotLayout::compKeys, left.compensators);
    compare("comp. values", &SlotLayout::compValues, left.compensators);
    compare("carried", &SlotLayout::carried, left.record.carried);
    compare("fill and tokens", &SlotLayout::cursor, 1);
    compare("record keys", &SlotLayout::recordKeys, fill * left.record.writes);
    compare("record values", &SlotLayout::recordValues,
            fill * left.record.writes);
    if (fill == 0)
      continue; // a total decay of no tokens is 1 whatever it says
    compare("key decays", &SlotLayout::recordKeyDecay, fill);
    compare("value decays", &SlotLayout::recordValueDecay, fill);
    compare("total key decay", &SlotLayout::totalKeyDecay, 1);
    compare("total value decay", &SlotLayout::totalValueDecay, 1);
  }
}

/// Runs all phases on both; `shape` makes a rule's inputs from random ones.
void expectSameAsOneByOne(Layers &layers, int tokens, const PlainRule *rule) {
  const int window = layers.spec.window.length;
  const Oracle inputs(layers.spec, layers.several->layout(), 1);
  std::optional<PlainLayer> plain;
  if (rule)
    plain.emplace(*rule, layers.spec, 1);
  auto tokenOf = [&](int row, int number) {
    const Token token = makeToken(inputs, number, {row});
    return plain ? plain->shaped(token) : token;
  };
  int position[kRows] = {}, fill[kRows] = {}, early = 0, wrong = kWrong;
  for (const Phase &phase : phases(tokens)) {
    std::vector<std::vector<Token>> offered(kRows);
    std::vector<std::vector<double>> expected(kRows);
    for (int row = 0; row < kRows; ++row) {
      Layer &single = *layers.single[row];
      const int count = phase.counts[row];
      if (fill[row] + count > window && fill[row] < window) {
        single.flush(); // where it is full, it was folded at once
        ++early;
      }
      if (fill[row] + count > window)
        fill[row] = 0;
      for (int i = 0; i < count; ++i) {
        const bool accepted = i < phase.accepted[row];
        offered[row].push_back(
            tokenOf(row, accepted ? position[row] + i : ++wrong));
        if (!accepted)
          continue;
        const std::vector<double> output = single.step(offered[row].back());
        expected[row].insert(expected[row].end(), output.begin(), output.end());
      }
      position[row] += phase.accepted[row];
      fill[row] += phase.accepted[row];
    }
    std::vector<std::vector<double>> outputs = layers.several->draft(offered);
    layers.several->commit(phase.accepted);
    for (int row = 0; row < kRows; ++row) {
      ASSERT_TRUE(allFinite(outputs[row]));
      outputs[row].resize(expected[row].size());
      ASSERT_EQ(outputs[row], expected[row])
          << "row " << row << " up to token " << position[row];
      if (fill[row] < window) {
        ASSERT_NO_FATAL_FAILURE(expectSameSlots(
            *layers.several, row, *layers.single[row], fill[row]));
        ASSERT_FALSE(testing::Test::HasFailure())
            << "row " << row << " after token " << position[row];
      }
    }
  }
  EXPECT_GT(early, 0) << "some window was folded before it was full";
  layers.several->flush();
  for (int row = 0; row < kRows; ++row) {
    layers.single[row]->flush();
    expectSameSlots(*layers.several, row, *layers.single[row], 0);
  }
  EXPECT_TRUE(layers.several->poolGapsIntact());
}

const std::vector<std::string> kF32Window = {"window.length=16"};
/// LeapQuant's format, with records in 16 bits.
const std::vector<std::string> kInt8Window = {
    R"(state={"codes": "int8", "scale": [)"
    R"({"axis": "key", "fit": "sqrt_mean_abs", "type": "f32"},)"
    R"({"axis": "value", "fit": "absmax", "type": "f32"}]})",
    "window.length=16", "window.compensators=4", "window.records=f16"};

std::vector<std::string> with(std::vector<std::string> overrides,
                              const std::vector<std::string> &more) {
  overrides.insert(overrides.end(), more.begin(), more.end());
  return overrides;
}

class TokensOfEveryRule
    : public testing::TestWithParam<std::tuple<PlainRule, int>> {};

TEST_P(TokensOfEveryRule, AreThoseOneByOne) {
  const auto &[rule, tokens] = GetParam();
  Layers layers(
      with(with(rule.overrides, kF32Window), {"rule=" + rule.preset()}),
      tokens);
  expectSameAsOneByOne(layers, tokens, &rule);
}

INSTANTIATE_TEST_SUITE_P(All, TokensOfEveryRule,
                         testing::Combine(testing::ValuesIn(plainRules()),
                                          testing::Values(2, 4, 8)),
                         [](const auto &info) {
                           std::string name = std::get<0>(info.param).name;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return fmt::format("{}_{}", name,
                                              std::get<1>(info.param));
                         });

struct TokensCase {
  const char *rule;
  int tokens;
};
void PrintTo(const TokensCase &test, std::ostream *out) {
  *out << test.rule << " " << test.tokens;
}

class Tokens : public testing::TestWithParam<TokensCase> {};

TEST_P(Tokens, OverInt8AndCompensators) {
  Layers layers(with(kInt8Window, {fmt::format("rule={}", GetParam().rule)}),
                GetParam().tokens);
  expectSameAsOneByOne(layers, GetParam().tokens, nullptr);
}

/// A window as long as a step: every second step or so folds.
TEST_P(Tokens, FillAWindow) {
  Layers layers(
      with(kInt8Window, {fmt::format("rule={}", GetParam().rule),
                         fmt::format("window.length={}", GetParam().tokens)}),
      GetParam().tokens);
  expectSameAsOneByOne(layers, GetParam().tokens, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Counts, Tokens,
                         testing::Values(TokensCase{"gated_delta", 2},
                                         TokensCase{"gated_delta", 8},
                                         TokensCase{"kda", 4}),
                         [](const auto &info) {
                           return fmt::format("{}_{}", info.param.rule,
                                              info.param.tokens);
                         });

/// The lanes of a GPU's schedules, run in turn, that fold inside the step.
TEST(TokensOnLanes, OfSimt) {
  const std::vector<std::string> overrides =
      with(kInt8Window, {"rule=kda", "heads.key_dim=32", "heads.value_dim=32"});
  const TargetInfo target = valueOf(lookupTarget("sm_90a"));
  Schedule schedule = defaultSchedule(
      makeSlotLayout(makeSpec(overrides), kKdaRecord), target, false);
  ASSERT_GT(schedule.threads(), 1);
  schedule.boundary = Boundary::Step;
  Layers layers(overrides, 4, schedule);
  expectSameAsOneByOne(layers, 4, nullptr);
}

/// Codes wait in shared memory for all tokens, or in registers for each.
class TokensOnTensorCores
    : public testing::TestWithParam<std::pair<const char *, CodeFetch>> {};

TEST_P(TokensOnTensorCores, AreThoseOneByOne) {
  const auto &[rule, fetch] = GetParam();
  const std::vector<std::string> overrides =
      with(kInt8Window, {fmt::format("rule={}", rule), "heads.key_dim=32",
                         "heads.value_dim=32"});
  const RecordShape &record =
      std::string(rule) == "kda" ? kKdaRecord : kGdnRecord;
  Schedule schedule =
      mmaScheduleOf(makeSpec(with(overrides, {"tokens_per_step=4"})), record);
  ASSERT_EQ(schedule.fetch, CodeFetch::Shared);
  schedule.fetch = fetch;
  Layers layers(overrides, 4, schedule, CodeOrder::Fragments);
  expectSameAsOneByOne(layers, 4, nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, TokensOnTensorCores,
    testing::Values(std::pair("gated_delta", CodeFetch::Registers),
                    std::pair("kda", CodeFetch::Shared)),
    [](const auto &info) { return std::string(info.param.first); });

// Codes of f32, which each token loads anew, and folds between steps.
TEST(TokensOfWideCodes, AreThoseOneByOne) {
  const std::vector<std::string> overrides = {
      "state.codes=f32", "window.length=6", "window.records=bf16",
      "heads.key_dim=48", "heads.value_dim=32"};
  const Schedule schedule = mmaScheduleOf(
      makeSpec(with(overrides, {"tokens_per_step=4"})), kGdnRecord);
  Layers layers(overrides, 4, schedule, CodeOrder::Fragments);
  expectSameAsOneByOne(layers, 4, nullptr);
}

TEST(TokensRefused, ByTheSpec) {
  auto messageOf = [](const std::vector<std::string> &overrides) {
    try {
      makeSpec(overrides);
    } catch (const std::runtime_error &error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(messageOf({"tokens_per_step=9", "window.length=16"})
                .find("tokens_per_step: found 9"),
            std::string::npos)
      << messageOf({"tokens_per_step=9", "window.length=16"});
  EXPECT_NE(messageOf({"tokens_per_step=4"})
                .find("found 4 with window.length 1; allowed: up to "
                      "window.length"),
            std::string::npos)
      << messageOf({"tokens_per_step=4"});
}

TEST(TokensRefused, ByTheProgram) {
  const DecodeSpec spec = makeSpec({"tokens_per_step=4", "window.length=16"});
  Layer layer(spec, inOrder(2));
  const Program &program = layer.program();
  EXPECT_EQ(program.info().tokensPerStep, 4);
  auto expect = [](const Status &status, const char *text) {
    EXPECT_NE(status.message().find(text), std::string::npos)
        << status.message();
  };
  const int32_t good[] = {0, 4, 6}, many[] = {0, 5, 6}, back[] = {0, 4, 2};
  const int32_t accepted[] = {4, 2}, beyond[] = {4, 3}, below[] = {-1, 0};
  EXPECT_TRUE(program.checkTokens(good, accepted, 2).ok());
  EXPECT_TRUE(program.checkTokens(good, nullptr, 2).ok());
  expect(program.checkTokens(many, nullptr, 2),
         "row 0 has 5 tokens (cu_seqlens 0 to 5); 0 to 4 are allowed");
  expect(program.checkTokens(back, nullptr, 2), "row 1 has -2 tokens");
  expect(program.checkTokens(good, beyond, 2),
         "accepted[1] is 3; 0 to 2 are allowed");
  expect(program.checkTokens(good, below, 2), "accepted[0] is -1");
  expect(program.checkTokens(nullptr, nullptr, 2), "cu_seqlens is null");
  CommitCall commit;
  commit.pool = layer.slotPool();
  commit.rows = layer.slotRows();
  expect(program.commit(commit), "argument \"accepted\" is null");

  Layer single(makeSpec(), inOrder(2));
  commit.accepted = accepted;
  expect(single.program().commit(commit), "tokens_per_step is 1");
  expect(single.program().checkTokens(good, nullptr, 2),
         "tokens_per_step is 1");
}

/// Counts that the device gets wrong do no harm: more tokens than a step has
/// are not looked at, more accepted than offered are all, negative are none.
TEST(TokensRefused, OnTheDeviceByClamping) {
  Layers layers(with(kF32Window, {}), 2);
  const Oracle inputs(layers.spec, layers.several->layout(), 1);
  std::vector<std::vector<Token>> offered(kRows);
  for (int row = 0; row < kRows; ++row)
    offered[row] = {makeToken(inputs, 0, {row})};
  layers.several->draft(offered);
  layers.several->commit({7, -3, 1});
  layers.several->commit({1, 1, 1}); // drafts are gone
  for (int row : {0, 2}) {
    layers.single[row]->step(offered[row][0]);
    expectSameSlots(*layers.several, row, *layers.single[row], 1);
  }
  EXPECT_EQ(layers.several->slot(1)[4], 0); // fill
}

/// Drafts belong to the slot, and to nobody but the commit that follows them: a
/// step without one is as if it had not been, a copy of a slot takes them
/// along, a flush and a pack drop them.
TEST(Drafts, AreForgottenOrTakenAlong) {
  const DecodeSpec spec =
      makeSpec(with(kInt8Window, {"rule=kda", "tokens_per_step=4"}));
  Layer layer(spec, inOrder(kRows), Kernels::All);
  Layer other(spec, inOrder(kRows), Kernels::All);
  const Oracle inputs(spec, layer.layout(), 1);
  auto tokensFrom = [&](int first) {
    std::vector<Token> tokens;
    for (int number = first; number < first + 3; ++number)
      tokens.push_back(makeToken(inputs, number));
    return std::vector<std::vector<Token>>(kRows, tokens);
  };
  const std::vector<int32_t> two(kRows, 2);
  layer.draft(tokensFrom(kWrong)); // abandoned
  const auto outputs = layer.draft(tokensFrom(0));
  EXPECT_EQ(outputs, other.draft(tokensFrom(0)));
  const int32_t from = 0, to = 2;
  CopyCall copy;
  copy.from = copy.to = layer.slotPool();
  copy.sources = &from;
  copy.targets = &to;
  copy.count = 1;
  require(layer.program().copy(copy)); // between a step and its commit
  layer.commit(two);
  other.commit(two);
  for (int32_t slot = 0; slot < kRows; ++slot)
    expectSameSlots(layer, slot, other, 2);
  EXPECT_EQ(layer.draft(tokensFrom(2)), other.draft(tokensFrom(2)));

  layer.flush(); // with drafts beyond the two tokens
  layer.commit(two);
  other.draft(std::vector<std::vector<Token>>(kRows)); // no tokens, no change
  other.commit(std::vector<int32_t>(kRows, 0));
  other.flush();
  for (int32_t slot = 0; slot < kRows; ++slot)
    expectSameSlots(layer, slot, other, 0);

  layer.draft(tokensFrom(5));
  const std::vector<double> dense = layer.unpack(); // of accepted tokens
  EXPECT_EQ(dense, other.unpack());
  layer.pack(dense);
  layer.commit(two);
  other.pack(dense);
  for (int32_t slot = 0; slot < kRows; ++slot)
    expectSameSlots(layer, slot, other, 0);
}

/// A padding row writes zeros for all of its tokens, and touches no slot.
TEST(TokensOfPadding, AreZeros) {
  const DecodeSpec spec = makeSpec({"tokens_per_step=4", "window.length=8"});
  Placement placement;
  placement.slots = {1, -1, 0};
  Layer layer(spec, placement);
  const Oracle inputs(spec, layer.layout(), 1);
  std::vector<Token> tokens;
  for (int number = 0; number < 3; ++number)
    tokens.push_back(makeToken(inputs, number));
  const auto outputs = layer.draft({tokens, tokens, tokens});
  layer.commit({3, 3, 3});
  EXPECT_EQ(outputs[1], std::vector<double>(outputs[1].size(), 0.0));
  EXPECT_EQ(outputs[0], outputs[2]);
  EXPECT_EQ(std::memcmp(layer.slot(0), layer.slot(1),
                        layer.program().info().slotBytes),
            0);
}

} // namespace
