//===- Compensator.h - the rank-1 terms of a checkpoint ---------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a state S [keyDim, valueDim]. Out: `rank` pairs of vectors with
// S ~ sum over r of keys[r] values[r]^T, by rounds of subspace iteration from a
// fixed start q0 (a start that depends on the past would make a slot's bytes
// depend on more than its state): Q = q0, then each round
//   A = orth(S Q), Q = orth(S^T A),
// and in the end keys = S Q, values = Q.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_REFERENCE_COMPENSATOR_H
#define DECANT_REFERENCE_COMPENSATOR_H

#include <vector>

namespace decant {

/// A direction whose squared length, once the directions before it are taken
/// out, is at most this part of the mean squared length is noise: it becomes
/// zero. States of low rank are normal (one token leaves rank 1).
constexpr double kPivotFloor = 1e-6;

/// Element [valueIndex, term] of the start, in [-1, 1): a hash of integers, so
/// that a kernel needs no table.
double startElement(int valueIndex, int term);

struct Compensators {
  std::vector<double> keys;   // [rank, keyDim], not rounded
  std::vector<double> values; // [rank, valueDim]; rows orthonormal or zero
};
Compensators fitCompensators(const double *state, int keyDim, int valueDim,
                             int rank, int rounds = 1);

} // namespace decant

#endif // DECANT_REFERENCE_COMPENSATOR_H
