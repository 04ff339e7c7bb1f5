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
#include <numeric>
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
  return agreementBound(tested.layout(), tested.info().tensorCores ||
                                             expected.info().tensorCores);
}

double decant::bench::agreementBound(const SlotLayout &layout,
                                     bool tensorCores) {
  const ElementType codes = layout.codes.type;
  if (!tensorCores)
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

namespace {

/// Rows `chosen` of a batch whose run holds `rows` of them; `places` are theirs
/// in the run.
Expected<BatchResults> decodeRows(const DecodeSpec &spec,
                                  std::shared_ptr<Device> device,
                                  const Program &program, int64_t batch,
                                  const std::vector<int64_t> &chosen,
                                  const std::vector<int64_t> &places,
                                  int64_t rows) {
  DECANT_ASSIGN(
      LayerRun run,
      LayerRun::create(spec, device, program,
                       SlotPlan::dense(rows, program.info().slotBytes)));
  BatchResults result;
  result.rows = int64_t(chosen.size());
  result.tokens = program.info().window + kTokensBehindWindow;
  const int64_t width = int64_t(spec.heads.value) * spec.heads.valueDim;
  for (int token = 0; token < result.tokens; ++token) {
    const TokenInputs inputs = makeToken(spec, program.stepArguments(),
                                         std::min(batch, kDistinctRows), token);
    DECANT_TRY(run.upload(rows == batch ? inputs : inputs.select(chosen)));
    DECANT_TRY(run.step());
    DECANT_ASSIGN(const std::vector<float> outputs, run.outputs());
    for (int64_t row : places)
      result.outputs.insert(result.outputs.end(), outputs.begin() + row * width,
                            outputs.begin() + (row + 1) * width);
  }
  DECANT_TRY(run.checkPoison());
  std::vector<int32_t> slots;
  for (int64_t row : places)
    slots.push_back(run.slotPlan().slots[row]);
  DECANT_ASSIGN(result.states,
                decodeStates(run, program, slots, int(slots.size())));
  return result;
}

} // namespace

Expected<BatchResults>
decant::bench::expectedBatch(const DecodeSpec &spec,
                             std::shared_ptr<Device> device,
                             const Program &program, int64_t batch) {
  const std::vector<int64_t> chosen = someRows(batch);
  std::vector<int64_t> places(chosen.size());
  std::iota(places.begin(), places.end(), 0);
  return decodeRows(spec, std::move(device), program, batch, chosen, places,
                    int64_t(chosen.size()));
}

Expected<BatchResults>
decant::bench::testedBatch(const DecodeSpec &spec,
                           std::shared_ptr<Device> device,
                           const Program &program, int64_t batch) {
  const std::vector<int64_t> chosen = someRows(batch);
  return decodeRows(spec, std::move(device), program, batch, chosen, chosen,
                    batch);
}

Agreement decant::bench::compare(const BatchResults &tested,
                                 const BatchResults &expected, double bound) {
  Agreement result;
  result.bound = bound;
  result.rows = tested.rows;
  result.tokens = tested.tokens;
  result.output = relativeError(tested.outputs, expected.outputs);
  result.state = relativeError(tested.states, expected.states);
  return result;
}

Expected<Agreement> decant::bench::compareBatch(
    const DecodeSpec &spec, std::shared_ptr<Device> testedDevice,
    const Program &tested, std::shared_ptr<Device> expectedDevice,
    const Program &expected, int64_t batch) {
  DECANT_ASSIGN(const BatchResults x,
                testedBatch(spec, std::move(testedDevice), tested, batch));
  DECANT_ASSIGN(
      const BatchResults ref,
      expectedBatch(spec, std::move(expectedDevice), expected, batch));
  return compare(x, ref, agreementBound(tested, expected));
}
