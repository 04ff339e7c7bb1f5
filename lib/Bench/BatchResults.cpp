//===- BatchResults.cpp - what some rows of a batch give ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchResults.h"

#include "Core/Parallel.h"
#include "decant/Reference/Codec.h"

#include <algorithm>
#include <cmath>
#include <cstring>
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

double decant::bench::roundingOfFold(const SlotLayout &layout,
                                     const uint8_t *head) {
  std::vector<uint8_t> checkpoint(head, head + layout.headBytes);
  if (!layout.cursor.empty()) // no records
    std::memset(checkpoint.data() + layout.cursor.offset, 0, sizeof(uint32_t));
  double square = 0;
  for (double element : decodeHead(layout, checkpoint.data()))
    square += element * element;
  return square > 0
             ? roundingError(layout, checkpoint.data()) / std::sqrt(square)
             : 0;
}

Expected<StoredStates>
decant::bench::decodeStates(const LayerRun &run, const Program &program,
                            const std::vector<int32_t> &slots, int count,
                            unsigned threads) {
  std::vector<std::vector<uint8_t>> stored;
  for (int32_t slot : slots) {
    if (slot < 0 || count-- <= 0)
      continue;
    DECANT_ASSIGN(std::vector<uint8_t> bytes, run.slot(slot));
    stored.push_back(std::move(bytes));
  }
  const SlotLayout &layout = program.layout();
  const int64_t size = int64_t(layout.keyDim) * layout.valueDim;
  const size_t heads = stored.size() * layout.valueHeads;
  StoredStates states;
  states.values.resize(heads * size);
  states.rounding.resize(heads);
  states.folded.resize(heads);
  parallelFor(heads, threads, [&](size_t at) {
    const int head = int(at % layout.valueHeads);
    const SlotLayout own = layout.ofHead(head);
    const uint8_t *bytes =
        stored[at / layout.valueHeads].data() + layout.headOffset(head);
    const std::vector<double> state = decodeHead(own, bytes);
    std::copy(state.begin(), state.end(), &states.values[at * size]);
    states.rounding[at] = roundingError(own, bytes);
    states.folded[at] = roundingOfFold(own, bytes);
  });
  return states;
}

namespace {

/// Runs rows of a batch, by their numbers, and keeps those in `places` of them.
Expected<BatchResults>
decodeRows(const DecodeSpec &spec, std::shared_ptr<Device> device,
           const Program &program, const std::vector<int64_t> &numbers,
           const std::vector<int64_t> &places, unsigned threads) {
  const int64_t rows = int64_t(numbers.size());
  DECANT_ASSIGN(
      LayerRun run,
      LayerRun::create(spec, device, program,
                       SlotPlan::dense(rows, program.info().slotBytes)));
  BatchResults result;
  result.rows = int64_t(places.size());
  result.tokens = program.info().window + kTokensBehindWindow;
  result.heads = spec.heads.value;
  result.roundings = roundingsOf(program.layout(), result.tokens);
  result.recordRounding = recordRounding(program.layout());
  result.tensorCores = program.info().tensorCores;
  // upload() repeats rows.
  std::vector<int64_t> distinct(numbers.begin(),
                                numbers.begin() +
                                    std::min<int64_t>(rows, kDistinctRows));
  for (int64_t &number : distinct)
    number %= kDistinctRows;
  const int64_t width = int64_t(spec.heads.value) * spec.heads.valueDim;
  for (int token = 0; token < result.tokens; ++token) {
    DECANT_TRY(run.upload(
        makeRows(spec, program.stepArguments(), distinct, token, threads)));
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
                decodeStates(run, program, slots, int(slots.size()), threads));
  return result;
}

std::vector<int64_t> upTo(int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

} // namespace

Expected<BatchResults> decant::bench::expectedBatch(
    const DecodeSpec &spec, std::shared_ptr<Device> device,
    const Program &program, int64_t batch, unsigned threads) {
  const std::vector<int64_t> chosen = someRows(batch);
  return decodeRows(spec, std::move(device), program, chosen,
                    upTo(int64_t(chosen.size())), threads);
}

Expected<BatchResults> decant::bench::testedBatch(
    const DecodeSpec &spec, std::shared_ptr<Device> device,
    const Program &program, int64_t batch, unsigned threads) {
  return decodeRows(spec, std::move(device), program, upTo(batch),
                    someRows(batch), threads);
}
