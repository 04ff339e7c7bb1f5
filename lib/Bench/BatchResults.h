//===- BatchResults.h - what some rows of a batch give --------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a program and how many rows a batch has. Out: what a few of the rows
// give, decoded from empty sequences for a window and some tokens of it, so
// that two programs can be compared.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_BENCH_BATCHRESULTS_H
#define DECANT_LIB_BENCH_BATCHRESULTS_H

#include "SyntheticLayer.h"

namespace decant::bench {

/// Decoded states, and what one rounding to their codes costs.
struct StoredStates {
  std::vector<double> values;   // [slots, heads, key dim, value dim]
  std::vector<double> rounding; // norms [slots, heads], of roundingError()
  /// The same of the head as its last fold left it, relative to that: outputs
  /// right behind a fold see what later decays take off.
  std::vector<double> folded;
};

/// roundingError() of a head's checkpoint over its norm; 0 where that is 0.
double roundingOfFold(const SlotLayout &layout, const uint8_t *head);

/// Those of the first `count` of these slots that are not padding.
Expected<StoredStates> decodeStates(const LayerRun &run, const Program &program,
                                    const std::vector<int32_t> &slots,
                                    int count, unsigned threads = 1);

struct BatchResults {
  std::vector<double> outputs; // [tokens, rows, heads, value dim]
  StoredStates states;         // after the last token
  int64_t rows = 0, tokens = 0;
  int heads = 0;
  int64_t roundings = 0;     // to codes, see roundingsOf()
  double recordRounding = 0; // what it costs a record, relative to it
  bool tensorCores = false;  // formed sums, in an order of their own
};

/// Decodes only the rows of `batch` that are compared, with the inputs that
/// they have in it. Inputs are made and states decoded by so many threads.
Expected<BatchResults> expectedBatch(const DecodeSpec &spec,
                                     std::shared_ptr<Device> device,
                                     const Program &program, int64_t batch,
                                     unsigned threads);
/// Decodes all of them and keeps those rows.
Expected<BatchResults> testedBatch(const DecodeSpec &spec,
                                   std::shared_ptr<Device> device,
                                   const Program &program, int64_t batch,
                                   unsigned threads);

/// How many roundings of codes are behind `tokens` tokens, each of which may
/// come out otherwise on another device: those of all folds where compensators
/// are fitted, since a fit decides between directions that are nearly as good,
/// and every element then lies elsewhere beside its codes; else that of one,
/// since what both have rounded alike they round alike again.
int64_t roundingsOf(const SlotLayout &layout, int64_t tokens);
/// The root mean square of what rounding costs a record's values, relative to
/// that of the values; 0 without records.
double recordRounding(const SlotLayout &layout);

} // namespace decant::bench

#endif // DECANT_LIB_BENCH_BATCHRESULTS_H
