//===- MmaLayer.cpp - layers under the tensor-core schedule ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaLayer.h"

#include "decant/Core/CodeStore.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace decant;
using namespace decant::test;

Schedule test::mmaScheduleOf(const DecodeSpec &spec,
                             const RecordShape &record) {
  const SlotLayout layout = makeSlotLayout(spec, record, CodeOrder::Fragments);
  const std::optional<Schedule> schedule =
      mmaSchedule(layout, valueOf(lookupTarget("sm_90a")));
  if (!schedule)
    throw std::runtime_error("strategy mma does not apply");
  return *schedule;
}

Layer test::mmaLayer(const DecodeSpec &spec, Placement placement,
                     const RecordShape &record) {
  return Layer(spec, std::move(placement), mmaScheduleOf(spec, record),
               CodeOrder::Fragments, Kernels::Decode);
}

Layer test::mmaLayer(const DecodeSpec &spec, Placement placement,
                     const RecordShape &record, Boundary boundary,
                     Kernels kernels) {
  Schedule schedule = mmaScheduleOf(spec, record);
  schedule.boundary = boundary;
  if (boundary == Boundary::Apart) // a step has no fold to exchange
    schedule.exchange = 0;
  return Layer(spec, std::move(placement), schedule, CodeOrder::Fragments,
               kernels);
}

void test::expectFormatCosts(const FormatErrors &errors, const DecodeSpec &spec,
                             int tokens) {
  const bool fits = spec.window.compensators > 0;
  const bool always = fits && spec.window.length == 1;
  const double state = !fits ? 1.01 : always ? 1.1 : 1.02;
  const double output = !fits ? 1.01 : always ? 1.25 : 1.02;
  const int folds = tokens / spec.window.length;
  const double rounding = std::sqrt(folds) * kF16Norm;
  const std::string numbers = fmt::format(
      "states {:.3g}, codec {:.3g}; outputs {:.3g}, codec {:.3g}",
      errors.kernel, errors.codec, errors.output, errors.codecOutput);
  EXPECT_TRUE(errors.finite);
  EXPECT_GT(errors.codec, 1e-5) << "the format rounds";
  EXPECT_LE(errors.kernel, std::hypot(state * errors.codec, rounding))
      << numbers;
  EXPECT_GE(std::hypot(state * errors.kernel, rounding), errors.codec)
      << numbers;
  EXPECT_LE(errors.output,
            std::hypot(output * errors.codecOutput, rounding + kF16Norm))
      << numbers;
}

std::string test::slabPlan(int heads, int keyDim) {
  const int slabs = keyDim / kSlabRows, widths = kMaxRowBits - kMinRowBits + 1;
  std::string bits;
  for (int head = 0; head + 1 < heads; ++head) {
    bits += '"';
    for (int row = 0; row < keyDim; ++row)
      bits +=
          char('0' + kMinRowBits + (row % slabs * 3 + head * slabs) % widths);
    bits += "\", ";
  }
  return fmt::format(R"({{"decant_plan": 1, "heads": {}, "key_dim": {}, )"
                     R"("bits": [{}5]}})",
                     heads, keyDim, bits);
}

const Format &test::formatNamed(const std::string &name) {
  for (const Format &format : formats())
    if (name == format.name)
      return format;
  throw std::runtime_error("no format is called " + name);
}

DecodeSpec MmaCase::spec(const std::vector<std::string> &more) const {
  std::vector<std::string> overrides = {
      fmt::format("rule={}", rule),
      "state=" + formatNamed(format).state,
      fmt::format("window.compensators={}", compensators),
      fmt::format("window.length={}", window),
      "window.records=f16",
      fmt::format("heads.key_dim={}", key),
      fmt::format("heads.value_dim={}", value)};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return makeSpec(overrides);
}

const RecordShape &MmaCase::record() const {
  return std::string(rule) == "kda" ? kKdaRecord : kGdnRecord;
}

std::string MmaCase::name() const {
  return fmt::format("{}_{}_r{}_w{}_{}x{}", rule, format, compensators, window,
                     key, value);
}

int test::rowsFor(const MmaCase &test) {
  constexpr int kElements = 1 << 18;
  return std::max(2, kElements / (test.key * test.value));
}

void test::PrintTo(const MmaCase &test, std::ostream *out) {
  *out << test.name();
}
