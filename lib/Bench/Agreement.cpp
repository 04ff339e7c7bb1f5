//===- Agreement.cpp - do two devices compute the same? -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Agreement.h"

#include "decant/Core/Numeric.h"
#include "decant/Reference/Codec.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace decant;
using namespace decant::bench;

namespace {

/// Beyond a whole window, so that tokens are decoded with a folded state too.
constexpr int64_t kTokensBehindWindow = 4;
/// Different rows of inputs; larger batches repeat them.
constexpr int64_t kDistinctRows = 61;

/// The first, the last and two between them.
std::vector<int64_t> someRows(int64_t batch) {
  const std::set<int64_t> rows = {0, batch / 3, batch / 2, batch - 1};
  return {rows.begin(), rows.end()};
}

/// Between targets that form sums in the same order: half a unit of bf16.
constexpr double kSameOrder = 2e-3;
constexpr double kPeakOverMean = 4;

} // namespace

double decant::bench::agreementBound(const Program &tested,
                                     const Program &expected) {
  const SlotLayout &layout = tested.layout();
  const ElementType codes = layout.codes.type;
  if (!tested.info().tensorCores && !expected.info().tensorCores)
    return kSameOrder;
  // The spacing of what is stored, relative to what it stores.
  double spacing = 0;
  if (isInteger(codes))
    spacing = kPeakOverMean / maxCode(codes);
  else if (isSmallFloat(codes)) // half a step of the top binade
    spacing = std::ldexp(1.0, -smallFloat(codes).fractionBits);
  else if (codes == ElementType::BF16 ||
           layout.recordKeys.type == ElementType::BF16)
    spacing = 0x1p-8;
  return kSameOrder + std::sqrt(2.0) * spacing / std::sqrt(12.0);
}

double decant::bench::relativeError(const std::vector<double> &x,
                                    const std::vector<double> &ref) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    error += (x[i] - ref[i]) * (x[i] - ref[i]);
    norm += ref[i] * ref[i];
  }
  return norm == 0 ? std::sqrt(error) : std::sqrt(error / norm);
}

Expected<std::vector<double>>
decant::bench::decodeStates(const LayerRun &run, const Program &program,
                            const std::vector<int32_t> &slots, int count) {
  std::vector<double> states;
  const SlotLayout &layout = program.layout();
  for (int32_t slot : slots) {
    if (slot < 0 || count-- <= 0)
      continue;
    DECANT_ASSIGN(const std::vector<uint8_t> bytes, run.slot(slot));
    for (int head = 0; head < layout.valueHeads; ++head) {
      const std::vector<double> state = decodeHead(
          layout.ofHead(head), bytes.data() + layout.headOffset(head));
      states.insert(states.end(), state.begin(), state.end());
    }
  }
  return states;
}

Expected<Agreement> decant::bench::compareBatch(
    const DecodeSpec &spec, std::shared_ptr<Device> testedDevice,
    const Program &tested, std::shared_ptr<Device> expectedDevice,
    const Program &expected, int64_t batch) {
  const std::vector<int64_t> chosen = someRows(batch);
  DECANT_ASSIGN(
      LayerRun run,
      LayerRun::create(spec, testedDevice, tested,
                       SlotPlan::dense(batch, tested.info().slotBytes)));
  DECANT_ASSIGN(LayerRun reference,
                LayerRun::create(spec, expectedDevice, expected,
                                 SlotPlan::dense(int64_t(chosen.size()),
                                                 expected.info().slotBytes)));
  Agreement result;
  result.bound = agreementBound(tested, expected);
  result.rows = int64_t(chosen.size());
  result.tokens = tested.info().window + kTokensBehindWindow;
  const int64_t width = int64_t(spec.heads.value) * spec.heads.valueDim;
  std::vector<double> x, ref;
  for (int token = 0; token < result.tokens; ++token) {
    const TokenInputs inputs = makeToken(spec, tested.stepArguments(),
                                         std::min(batch, kDistinctRows), token);
    DECANT_TRY(run.upload(inputs));
    DECANT_TRY(run.step());
    DECANT_ASSIGN(const std::vector<float> outputs, run.outputs());
    for (int64_t row : chosen)
      x.insert(x.end(), outputs.begin() + row * width,
               outputs.begin() + (row + 1) * width);
    DECANT_TRY(reference.upload(inputs.select(chosen)));
    DECANT_TRY(reference.step());
    DECANT_ASSIGN(const std::vector<float> wanted, reference.outputs());
    ref.insert(ref.end(), wanted.begin(), wanted.end());
  }
  DECANT_TRY(run.checkPoison());
  result.output = relativeError(x, ref);
  std::vector<int32_t> slots;
  for (int64_t row : chosen)
    slots.push_back(run.slotPlan().slots[row]);
  const int count = int(chosen.size());
  DECANT_ASSIGN(x, decodeStates(run, tested, slots, count));
  DECANT_ASSIGN(ref, decodeStates(reference, expected,
                                  reference.slotPlan().slots, count));
  result.state = relativeError(x, ref);
  return result;
}
