//===- Compensator.cpp - the rank-1 terms of a checkpoint -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sets of vectors are stored one vector after the other: [rank, length].
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/Compensator.h"

#include "decant/Core/DecodeSpec.h"

#include <cmath>
#include <cstdint>

using namespace decant;

namespace {

double dot(const double *a, const double *b, int length) {
  double sum = 0;
  for (int i = 0; i < length; ++i)
    sum += a[i] * b[i];
  return sum;
}

/// Modified Gram-Schmidt in place. Each vector is cleaned twice: one pass
/// leaves an error that grows with how parallel the vectors were.
void orthonormalize(std::vector<double> &vectors, int rank, int length) {
  double total = 0;
  for (int r = 0; r < rank; ++r)
    total += dot(&vectors[r * length], &vectors[r * length], length);
  const double floor = kPivotFloor * (total / rank);

  for (int r = 0; r < rank; ++r) {
    double *vector = &vectors[r * length];
    for (int pass = 0; pass < 2; ++pass)
      for (int before = 0; before < r; ++before) {
        const double *direction = &vectors[before * length];
        const double share = dot(direction, vector, length);
        for (int i = 0; i < length; ++i)
          vector[i] -= share * direction[i];
      }
    const double norm2 = dot(vector, vector, length);
    const double factor = norm2 > floor ? 1 / std::sqrt(norm2) : 0;
    for (int i = 0; i < length; ++i)
      vector[i] = factor == 0 ? 0 : vector[i] * factor;
  }
}

/// S x for each vector x of length valueDim.
std::vector<double> timesState(const double *state, int keyDim, int valueDim,
                               const std::vector<double> &vectors, int rank) {
  std::vector<double> result(size_t(rank) * keyDim);
  for (int r = 0; r < rank; ++r)
    for (int k = 0; k < keyDim; ++k)
      result[r * keyDim + k] =
          dot(state + k * valueDim, &vectors[r * valueDim], valueDim);
  return result;
}

/// S^T x for each vector x of length keyDim.
std::vector<double> timesTransposed(const double *state, int keyDim,
                                    int valueDim,
                                    const std::vector<double> &vectors,
                                    int rank) {
  std::vector<double> result(size_t(rank) * valueDim);
  for (int r = 0; r < rank; ++r)
    for (int k = 0; k < keyDim; ++k) {
      const double factor = vectors[r * keyDim + k];
      for (int v = 0; v < valueDim; ++v)
        result[r * valueDim + v] += state[k * valueDim + v] * factor;
    }
  return result;
}

} // namespace

double decant::startElement(int valueIndex, int term) {
  uint32_t x = static_cast<uint32_t>(valueIndex * kMaxCompensators + term);
  x *= 0x9E3779B9u;
  x ^= x >> 16;
  x *= 0x85EBCA6Bu;
  x ^= x >> 13;
  x *= 0xC2B2AE35u;
  x ^= x >> 16;
  return static_cast<int32_t>(x) * 0x1p-31;
}

Compensators decant::fitCompensators(const double *state, int keyDim,
                                     int valueDim, int rank, int rounds) {
  Compensators result;
  result.values.resize(size_t(rank) * valueDim);
  for (int r = 0; r < rank; ++r)
    for (int v = 0; v < valueDim; ++v)
      result.values[r * valueDim + v] = startElement(v, r);

  for (int round = 0; round < rounds; ++round) {
    std::vector<double> left =
        timesState(state, keyDim, valueDim, result.values, rank);
    orthonormalize(left, rank, keyDim);
    result.values = timesTransposed(state, keyDim, valueDim, left, rank);
    orthonormalize(result.values, rank, valueDim);
  }
  result.keys = timesState(state, keyDim, valueDim, result.values, rank);
  return result;
}
