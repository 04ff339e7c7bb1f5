//===- Agreement.h - do two devices compute the same? ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Outputs and decoded states of two devices on the same tokens, head by head: a
// fault in one head is not to vanish among the others, and heads differ in what
// rounding costs them.
//
// Where both devices form sums in the same order, they may differ by 2e-3 of
// what is expected: bf16 outputs have a half step of 2^-9, and both sides round
// the same f32 value; so does everything that follows from it.
//
// Tensor cores have an order of their own. Elements near ties are then rounded
// to neighbours, and at the worst the roundings of the two devices are
// independent. The error of one has a variance of the squared width of a code
// over 12, so their difference after n roundings (roundingsOf()) has one of 2 n
// times that. roundingError() has it from the scales that are stored: how wide
// codes are beside a head differs tenfold between a head whose elements are all
// alike and one with a few large ones, or one whose window has decayed what was
// folded. Records add their own rounding, of the values that a rule has read;
// keys come from the inputs. The three errors are independent, so their squares
// are added. Outputs are also those of the tokens right behind a fold, whose
// rounding no decay has taken off yet.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_BENCH_AGREEMENT_H
#define DECANT_LIB_BENCH_AGREEMENT_H

#include "BatchResults.h"

namespace decant::bench {

/// What two targets may differ by, relative to what is expected.
struct RoundingCost {
  double codes = 0;   // of one rounding, relative to the state
  double records = 0; // relative to them
  int64_t roundings = 1;
};
double agreementBound(const RoundingCost &cost, bool tensorCores);

/// ||x - ref|| / ||ref||, or ||x|| where ref is 0.
double relativeError(const std::vector<double> &x,
                     const std::vector<double> &ref);

/// Of the head that comes nearest to its bound, or is farthest beyond it.
struct Agreement {
  double output = 0, state = 0; // relative errors
  double outputBound = 0, bound = 0;
  int64_t row = 0, head = 0; // of those that were compared
  int64_t rows = 0;          // that were compared
  int64_t tokens = 0;

  /// A NaN is beyond every bound.
  bool good() const { return output <= outputBound && state <= bound; }
};

/// A head's bound is that of what is expected in it.
Agreement compare(const BatchResults &tested, const BatchResults &expected);

/// The errors and what is allowed, as part of a sentence.
std::string describe(const Agreement &agreement);

/// Decodes a window and a few tokens of `batch` rows with `tested` and compares
/// some of the rows with `expected`, which decodes only those.
Expected<Agreement>
compareBatch(const DecodeSpec &spec, std::shared_ptr<Device> testedDevice,
             const Program &tested, std::shared_ptr<Device> expectedDevice,
             const Program &expected, int64_t batch, unsigned threads);

} // namespace decant::bench

#endif // DECANT_LIB_BENCH_AGREEMENT_H
