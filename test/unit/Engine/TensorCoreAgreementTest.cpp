//===- TensorCoreAgreementTest.cpp - two orders of sums, one layer --------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The kernels that GPUs with tensor cores run, here on the CPU's lanes, against
// those that it would run itself: what `decant tune` and `decant bench` compare
// before they time anything.
//
//===----------------------------------------------------------------------===//

#include "Bench/Agreement.h"
#include "decant/Engine.h"
#include "decant/Spec/SpecReader.h"

#include <gtest/gtest.h>

using namespace decant;
using namespace decant::bench;

namespace {

template <typename T> T valueOf(Expected<T> expected) {
  if (!expected)
    throw std::runtime_error(expected.status().message());
  return expected.take();
}

/// A layer of RWKV-7 or Qwen3-Next with small heads, but for what they are the
/// model's.
DecodeSpec smallLayer(const char *model, const char *keyHeads) {
  SpecSource source;
  source.spec = model;
  source.overrides = {std::string("heads.key=") + keyHeads, "heads.value=4",
                      "heads.key_dim=32", "heads.value_dim=32"};
  return valueOf(readSpec(source));
}

class TensorCoreAgreement : public testing::Test {
protected:
  Engine engine = valueOf(Engine::create(EngineOptions()));
  std::shared_ptr<Device> device = valueOf(engine.openDevice("cpu"));
};

// Sums differ, and so do some codes, by less than independent roundings would.
TEST_F(TensorCoreAgreement, IsWithinTheBoundOfEachHead) {
  const DecodeSpec layer = smallLayer("rwkv7-2.9b", "4");
  CompileOptions options;
  options.target = valueOf(targetFor(*device));
  options.order = CodeOrder::Fragments;
  Schedule schedule;
  schedule.strategy = Strategy::Mma;
  schedule.keyLanes = 32;
  schedule.keysPerLane = schedule.valueLanes = 1;
  schedule.valuesPerLane = 32;
  schedule.boundary = Boundary::Step;
  options.schedule = schedule;
  const auto tested =
      valueOf(Program::create(device, valueOf(engine.image(layer, options))));
  ASSERT_TRUE(tested->info().tensorCores);
  const auto expected = valueOf(engine.prepare(layer, device));
  const Agreement found =
      valueOf(compareBatch(layer, device, *tested, device, *expected, 5, 2));
  EXPECT_TRUE(found.good()) << describe(found);
  EXPECT_GT(found.state, 0);
  EXPECT_LT(found.bound, 1e-2);
  EXPECT_EQ(found.rows, 4);
  EXPECT_EQ(found.tokens, 20);
}

// What is expected is computed for four rows of the batch alone.
TEST_F(TensorCoreAgreement, RowsAreThoseOfTheWholeBatch) {
  for (const auto &[model, keyHeads] :
       {std::pair("rwkv7-2.9b", "4"), {"qwen3-next-gdn", "2"}}) {
    const DecodeSpec layer = smallLayer(model, keyHeads);
    const auto program = valueOf(engine.prepare(layer, device));
    for (int64_t batch : {2, 70}) {
      const BatchResults whole =
          valueOf(testedBatch(layer, device, *program, batch, 2));
      const BatchResults some =
          valueOf(expectedBatch(layer, device, *program, batch, 1));
      EXPECT_EQ(whole.rows, batch == 2 ? 2 : 4);
      EXPECT_EQ(whole.outputs, some.outputs);
      EXPECT_EQ(whole.states.values, some.states.values);
      EXPECT_EQ(whole.states.rounding, some.states.rounding);
    }
  }
}

} // namespace
