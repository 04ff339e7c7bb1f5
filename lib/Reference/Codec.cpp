//===- Codec.cpp - what the bytes of a head mean --------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/Codec.h"

#include "ScaledCodes.h"
#include "decant/Core/Numeric.h"
#include "decant/Reference/Compensator.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace decant;

namespace {

void clear(uint8_t *head, const Region &region) {
  std::memset(head + region.offset, 0, region.bytes());
}

/// The first `length` elements of a row; ones if the region is empty; one
/// value repeated if the region holds a scalar.
std::vector<double> factors(const uint8_t *head, const Region &region,
                            int64_t row, int length) {
  std::vector<double> result(length, 1.0);
  if (region.empty())
    return result;
  for (int i = 0; i < length; ++i)
    result[i] = loadFrom(head, region, row, region.width == 1 ? 0 : i);
  return result;
}

int64_t fillOf(const SlotLayout &layout, const uint8_t *head) {
  if (layout.recordKeys.empty())
    return 0;
  uint32_t fill;
  std::memcpy(&fill, head + layout.cursor.offset, sizeof(fill));
  return std::min<int64_t>(fill, layout.window);
}

/// state += key value^T.
void addOuter(std::vector<double> &state, const std::vector<double> &key,
              const std::vector<double> &value) {
  for (size_t k = 0; k < key.size(); ++k)
    for (size_t v = 0; v < value.size(); ++v)
      state[k * value.size() + v] += key[k] * value[v];
}

void multiply(std::vector<double> &into, const std::vector<double> &by) {
  for (size_t i = 0; i < into.size(); ++i)
    into[i] *= by[i];
}

std::vector<double> product(std::vector<double> a,
                            const std::vector<double> &b) {
  multiply(a, b);
  return a;
}

/// Makes of each pair of elements that a Hadamard matrix combines two others,
/// along both axes if the layout asks for it.
template <typename Pair>
void combine(const SlotLayout &layout, std::vector<double> &state, Pair pair) {
  auto along = [&](int dim, int64_t stride, int lines, int64_t lineStride) {
    const int block = layout.rotationOf(dim);
    for (int line = 0; line < lines; ++line)
      for (int half = 1; half < block; half *= 2)
        for (int i = 0; i < dim; ++i) {
          if (i & half)
            continue;
          pair(state[line * lineStride + i * stride],
               state[line * lineStride + (i + half) * stride]);
        }
  };
  if (layout.rotatesKeys())
    along(layout.keyDim, layout.valueDim, layout.valueDim, 1);
  if (layout.rotatesValues())
    along(layout.valueDim, 1, layout.keyDim, layout.valueDim);
}

/// state times orthonormal Hadamard matrices: its own inverse.
void rotate(const SlotLayout &layout, std::vector<double> &state) {
  combine(layout, state, [](double &a, double &b) {
    const double sum = a + b, difference = a - b;
    a = sum * std::sqrt(0.5);
    b = difference * std::sqrt(0.5);
  });
}

/// A compensator's key vector under the scale of both its vectors.
std::vector<double> compensatorKey(const SlotLayout &layout,
                                   const uint8_t *head, int number) {
  std::vector<double> key =
      factors(head, layout.compKeys, number, layout.keyDim);
  if (!layout.compScale.empty())
    for (double &element : key)
      element *= loadFrom(head, layout.compScale, 0, number);
  return key;
}

std::vector<double> decodeCheckpoint(const SlotLayout &layout,
                                     const uint8_t *head) {
  std::vector<double> state = decodeCodes(layout, head);
  for (int r = 0; r < layout.compensators; ++r)
    addOuter(state, compensatorKey(layout, head, r),
             factors(head, layout.compValues, r, layout.valueDim));
  rotate(layout, state);
  return state;
}

/// Stores a vector over the scale that maps its largest element onto the
/// largest one of the type, which is returned; 0 for a vector of zeros.
double storeScaled(uint8_t *head, const Region &region, int64_t row,
                   const double *vector, int length) {
  double largest = 0;
  for (int i = 0; i < length; ++i)
    largest = std::max(largest, std::fabs(vector[i]));
  const double scale = largest / maxFinite(region.type);
  for (int i = 0; i < length; ++i)
    storeTo(head, region, row, i, scale == 0 ? 0 : vector[i] / scale);
  return scale;
}

/// Stores the compensators of `state` and takes them, as stored, out of it.
void encodeCompensators(const SlotLayout &layout, std::vector<double> &state,
                        uint8_t *head) {
  if (layout.compensators == 0)
    return;
  const int keyDim = layout.keyDim, valueDim = layout.valueDim;
  const Compensators fit =
      fitCompensators(state.data(), keyDim, valueDim, layout.compensators,
                      layout.compensatorRounds);
  clear(head, layout.compKeys);
  clear(head, layout.compValues);
  for (int r = 0; r < layout.compensators; ++r) {
    const double *keys = &fit.keys[r * keyDim];
    const double *values = &fit.values[r * valueDim];
    if (layout.compScale.empty()) {
      for (int k = 0; k < keyDim; ++k)
        storeTo(head, layout.compKeys, r, k,
                saturate(layout.compKeys.type, keys[k]));
      for (int v = 0; v < valueDim; ++v)
        storeTo(head, layout.compValues, r, v, values[v]);
    } else {
      const double scale =
          storeScaled(head, layout.compKeys, r, keys, keyDim) *
          storeScaled(head, layout.compValues, r, values, valueDim);
      storeTo(head, layout.compScale, 0, r, saturate(ElementType::F32, scale));
    }
    std::vector<double> key = compensatorKey(layout, head, r);
    for (double &element : key)
      element = -element;
    addOuter(state, key, factors(head, layout.compValues, r, valueDim));
  }
}

} // namespace

std::vector<double> decant::decodeHead(const SlotLayout &layout,
                                       const uint8_t *head) {
  std::vector<double> state = decodeCheckpoint(layout, head);
  const int64_t fill = fillOf(layout, head);
  if (fill == 0)
    return state;

  const std::vector<double> keyTotal =
      factors(head, layout.totalKeyDecay, 0, layout.keyDim);
  const std::vector<double> valueTotal =
      factors(head, layout.totalValueDecay, 0, layout.valueDim);
  for (int k = 0; k < layout.keyDim; ++k)
    for (int v = 0; v < layout.valueDim; ++v)
      state[k * layout.valueDim + v] *= keyTotal[k] * valueTotal[v];

  // From the newest token back, so that one product is every token's suffix.
  std::vector<double> keySuffix(layout.keyDim, 1.0);
  std::vector<double> valueSuffix(layout.valueDim, 1.0);
  for (int64_t token = fill - 1; token >= 0; --token) {
    for (int write = 0; write < layout.record.writes; ++write) {
      const int64_t row = token * layout.record.writes + write;
      addOuter(state,
               product(factors(head, layout.recordKeys, row, layout.keyDim),
                       keySuffix),
               product(factors(head, layout.recordValues, row, layout.valueDim),
                       valueSuffix));
    }
    multiply(keySuffix,
             factors(head, layout.recordKeyDecay, token, layout.keyDim));
    multiply(valueSuffix,
             factors(head, layout.recordValueDecay, token, layout.valueDim));
  }
  return state;
}

double decant::roundingError(const SlotLayout &layout, const uint8_t *head) {
  std::vector<double> variances = codeWidths(layout, head);
  const double part = layout.rounding == Rounding::Stochastic ? 6 : 12;
  for (double &width : variances)
    width *= width / part;
  // Errors are independent, so sums and differences have their mean.
  combine(layout, variances, [](double &a, double &b) { a = b = (a + b) / 2; });
  std::vector<double> keys(layout.keyDim, 1.0), values(layout.valueDim, 1.0);
  if (fillOf(layout, head) > 0) {
    keys = factors(head, layout.totalKeyDecay, 0, layout.keyDim);
    values = factors(head, layout.totalValueDecay, 0, layout.valueDim);
  }
  double sum = 0;
  for (int k = 0; k < layout.keyDim; ++k)
    for (int v = 0; v < layout.valueDim; ++v) {
      const double decay = keys[k] * values[v];
      sum += decay * decay * variances[size_t(k) * layout.valueDim + v];
    }
  return std::sqrt(sum);
}

void decant::encodeHead(const SlotLayout &layout, const double *state,
                        uint8_t *head, uint32_t seed) {
  std::vector<double> residual(state,
                               state + size_t(layout.keyDim) * layout.valueDim);
  rotate(layout, residual);
  encodeCompensators(layout, residual, head);
  encodeCodes(layout, residual, head, seed);

  if (!layout.cursor.empty()) {
    const uint32_t fill = 0;
    std::memcpy(head + layout.cursor.offset, &fill, sizeof(fill));
  }
}
