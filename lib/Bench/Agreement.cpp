//===- Agreement.cpp - do two devices compute the same? -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Agreement.h"

#include "Reference/RelativeNorm.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace decant;
using namespace decant::bench;

namespace {

/// Between targets that form sums in the same order: half a unit of bf16.
constexpr double kSameOrder = 2e-3;

} // namespace

double decant::bench::agreementBound(const RoundingCost &cost,
                                     bool tensorCores) {
  if (!tensorCores)
    return kSameOrder;
  const double codes = std::sqrt(2.0 * double(cost.roundings)) * cost.codes;
  const double records = std::sqrt(2.0) * cost.records;
  return std::hypot(kSameOrder, codes, records);
}

double decant::bench::relativeError(const std::vector<double> &x,
                                    const std::vector<double> &ref) {
  RelativeNorm norm;
  norm.add(x, ref);
  return norm.value();
}

Agreement decant::bench::compare(const BatchResults &tested,
                                 const BatchResults &expected) {
  const int64_t heads = expected.heads, tokens = expected.tokens;
  const int64_t all = expected.rows * heads; // of a token
  const int64_t width = int64_t(expected.outputs.size()) / (tokens * all);
  const int64_t size = int64_t(expected.states.values.size()) / all;
  const bool tensorCores = tested.tensorCores || expected.tensorCores;
  Agreement worst;
  double farthest = -1;
  for (int64_t at = 0; at < all; ++at) {
    RelativeNorm output, state;
    for (int64_t token = 0; token < tokens; ++token) {
      const int64_t begin = (token * all + at) * width;
      output.add(&tested.outputs[begin], &expected.outputs[begin], width);
    }
    state.add(&tested.states.values[at * size],
              &expected.states.values[at * size], size);
    RoundingCost cost;
    cost.roundings = expected.roundings;
    cost.records = expected.recordRounding;
    if (state.expectedNorm() > 0)
      cost.codes = expected.states.rounding[at] / state.expectedNorm();
    Agreement head;
    head.output = output.value();
    head.state = state.value();
    head.bound = agreementBound(cost, tensorCores);
    cost.codes = std::max(cost.codes, expected.states.folded[at]);
    head.outputBound = agreementBound(cost, tensorCores);
    head.row = at / heads;
    head.head = at % heads;
    const double ofOutput = head.output / head.outputBound,
                 ofState = head.state / head.bound;
    const double distance = std::isnan(ofOutput) || ofState <= ofOutput
                                ? ofOutput
                                : ofState; // which may be a NaN
    if (distance <= farthest)
      continue;
    worst = head;
    farthest = distance;
    if (std::isnan(distance)) // beyond all others
      break;
  }
  worst.rows = expected.rows;
  worst.tokens = tokens;
  return worst;
}

std::string decant::bench::describe(const Agreement &agreement) {
  return fmt::format(
      "after {} tokens the relative error of the outputs of head {} in one of "
      "{} rows is {:.2e} and that of its state {:.2e}; {:.2e} and {:.2e} are "
      "allowed",
      agreement.tokens, agreement.head, agreement.rows, agreement.output,
      agreement.state, agreement.outputBound, agreement.bound);
}

Expected<Agreement> decant::bench::compareBatch(
    const DecodeSpec &spec, std::shared_ptr<Device> testedDevice,
    const Program &tested, std::shared_ptr<Device> expectedDevice,
    const Program &expected, int64_t batch, unsigned threads) {
  DECANT_ASSIGN(const BatchResults x, testedBatch(spec, std::move(testedDevice),
                                                  tested, batch, threads));
  DECANT_ASSIGN(
      const BatchResults ref,
      expectedBatch(spec, std::move(expectedDevice), expected, batch, threads));
  return compare(x, ref);
}
