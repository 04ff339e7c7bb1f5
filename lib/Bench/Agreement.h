//===- Agreement.h - do two devices compute the same? ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Outputs and decoded states of two devices on the same tokens.
//
// The bound: bf16 outputs have a half step of 2^-9 = 2.0e-3, and both sides
// round the same f32 value; so does everything that follows from it.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_BENCH_AGREEMENT_H
#define DECANT_LIB_BENCH_AGREEMENT_H

#include "SyntheticLayer.h"

namespace decant::bench {

/// What two targets may differ by. Where both form sums in the same order:
/// 2e-3, half a unit of the bf16 outputs. Tensor cores have an order of their
/// own; elements near ties are then rounded to neighbours, and after a few
/// folds the two roundings are independent: sqrt(2) times the error of one,
/// which is a spacing / sqrt(12). The spacing of codes is a peak of four times
/// the mean over the largest code, that of bf16 2^-8.
double agreementBound(const Program &tested, const Program &expected);
double agreementBound(const SlotLayout &layout, bool tensorCores);

/// ||x - ref|| / ||ref||, or ||x|| where ref is 0.
double relativeError(const std::vector<double> &x,
                     const std::vector<double> &ref);

/// The decoded states of the first `count` of these slots that are not padding.
Expected<std::vector<double>> decodeStates(const LayerRun &run,
                                           const Program &program,
                                           const std::vector<int32_t> &slots,
                                           int count);

struct Agreement {
  double output = 0, state = 0; // relative errors
  double bound = 0;
  int64_t rows = 0; // that were compared
  int64_t tokens = 0;

  /// A NaN is beyond every bound.
  bool good() const { return output <= bound && state <= bound; }
};

/// What some rows of a batch give: outputs of a window and a few tokens, then
/// the states.
struct BatchResults {
  std::vector<double> outputs, states;
  int64_t rows = 0, tokens = 0;
};

/// Decodes only the rows of `batch` that are compared, with the inputs that
/// they have in it.
Expected<BatchResults> expectedBatch(const DecodeSpec &spec,
                                     std::shared_ptr<Device> device,
                                     const Program &program, int64_t batch);
/// Decodes all of them and keeps those rows.
Expected<BatchResults> testedBatch(const DecodeSpec &spec,
                                   std::shared_ptr<Device> device,
                                   const Program &program, int64_t batch);
Agreement compare(const BatchResults &tested, const BatchResults &expected,
                  double bound);

/// Decodes a window and a few tokens of `batch` rows with `tested` and compares
/// some of the rows with `expected`, which decodes only those.
Expected<Agreement> compareBatch(const DecodeSpec &spec,
                                 std::shared_ptr<Device> testedDevice,
                                 const Program &tested,
                                 std::shared_ptr<Device> expectedDevice,
                                 const Program &expected, int64_t batch);

} // namespace decant::bench

#endif // DECANT_LIB_BENCH_AGREEMENT_H
