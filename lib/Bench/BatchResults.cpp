//===- BatchResults.cpp - what some rows of a batch give ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchResults.h"

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

} // namespace

int64_t decant::bench::roundingsOf(const SlotLayout &layout, int64_t tokens) {
  return layout.compensators > 0 ? std::max<int64_t>(tokens / layout.window, 1)
                                 : 1;
}

double decant::bench::recordRounding(const SlotLayout &layout) {
  if (layout.recordValues.empty())
    return 0;
  const ElementType type = layout.recordValues.type;
  const int fractionBits = type == ElementType::F32   ? 23
                           : type == ElementType::F16 ? 10
                                                      : 7;
  // A number m 2^e with 1 <= m < 2 has steps of 2^(e - fraction bits). Where
  // log m is uniform, m^2 has a mean of 3 / (2 ln 2).
  const double meanSquare = 1.5 / std::log(2.0);
  return std::ldexp(1, -fractionBits) / std::sqrt(12 * meanSquare);
}

Expected<StoredStates>
decant::bench::decodeStates(const LayerRun &run, const Program &program,
                            const std::vector<int32_t> &slots, int count) {
  StoredStates states;
  const SlotLayout &layout = program.layout();
  for (int32_t slot : slots) {
    if (slot < 0 || count-- <= 0)
      continue;
    DECANT_ASSIGN(const std::vector<uint8_t> bytes, run.slot(slot));
    for (int head = 0; head < layout.valueHeads; ++head) {
      const SlotLayout own = layout.ofHead(head);
      const uint8_t *stored = bytes.data() + layout.headOffset(head);
      const std::vector<double> state = decodeHead(own, stored);
      states.values.insert(states.values.end(), state.begin(), state.end());
      states.rounding.push_back(roundingError(own, stored));
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
  result.heads = spec.heads.value;
  result.roundings = roundingsOf(program.layout(), result.tokens);
  result.recordRounding = recordRounding(program.layout());
  result.tensorCores = program.info().tensorCores;
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
