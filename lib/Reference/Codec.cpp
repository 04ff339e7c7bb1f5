//===- Codec.cpp - what the bytes of a head mean --------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/Codec.h"

#include "decant/Core/CodeStore.h"
#include "decant/Core/Numeric.h"
#include "decant/Reference/Compensator.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace decant;

namespace {

/// What a scale of fit SqrtMeanAbs is at least, so that an all-zero line does
/// not divide by zero.
constexpr double kSmallestSqrtMean = 1e-12;

double load(const uint8_t *head, const Region &region, int64_t row,
            int64_t column) {
  const int64_t index = row * region.width + column;
  return loadElement(region.type,
                     head + region.offset + index * elementBytes(region.type));
}

void store(uint8_t *head, const Region &region, int64_t row, int64_t column,
           double value) {
  const int64_t index = row * region.width + column;
  storeElement(region.type, value,
               head + region.offset + index * elementBytes(region.type));
}

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
    result[i] = load(head, region, row, region.width == 1 ? 0 : i);
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

std::vector<double> decodeCheckpoint(const SlotLayout &layout,
                                     const uint8_t *head) {
  const std::vector<double> keyScale =
      factors(head, layout.keyScale, 0, layout.keyDim);
  const std::vector<double> valueScale =
      factors(head, layout.valueScale, 0, layout.valueDim);
  std::vector<double> state(size_t(layout.keyDim) * layout.valueDim);
  for (int k = 0; k < layout.keyDim; ++k)
    for (int v = 0; v < layout.valueDim; ++v)
      state[k * layout.valueDim + v] =
          loadCode(layout, head, k, v) * keyScale[k] * valueScale[v];
  for (int r = 0; r < layout.compensators; ++r)
    addOuter(state, factors(head, layout.compKeys, r, layout.keyDim),
             factors(head, layout.compValues, r, layout.valueDim));
  return state;
}

/// The infinity that a plain conversion would give could never be corrected.
double saturate(ElementType type, double value) {
  return std::isnan(value)
             ? value
             : std::clamp(value, -maxFinite(type), maxFinite(type));
}

/// Stores the compensators of `state` and takes them, as stored, out of it.
void encodeCompensators(const SlotLayout &layout, std::vector<double> &state,
                        uint8_t *head) {
  if (layout.compensators == 0)
    return;
  const int keyDim = layout.keyDim, valueDim = layout.valueDim;
  const Compensators fit =
      fitCompensators(state.data(), keyDim, valueDim, layout.compensators);
  clear(head, layout.compKeys);
  clear(head, layout.compValues);
  for (int r = 0; r < layout.compensators; ++r) {
    for (int k = 0; k < keyDim; ++k)
      store(head, layout.compKeys, r, k,
            saturate(layout.compKeys.type, fit.keys[r * keyDim + k]));
    for (int v = 0; v < valueDim; ++v)
      store(head, layout.compValues, r, v, fit.values[r * valueDim + v]);
    std::vector<double> key = factors(head, layout.compKeys, r, keyDim);
    for (double &element : key)
      element = -element;
    addOuter(state, key, factors(head, layout.compValues, r, valueDim));
  }
}

/// One statistic per line of `axis` of |residual / scales|.
std::vector<double> fitScale(const SlotLayout &layout, const ScaleSpec &scale,
                             const std::vector<double> &residual,
                             const std::vector<double> &keyScale,
                             const std::vector<double> &valueScale) {
  const bool alongKey = scale.axis == Axis::Key;
  const int across = alongKey ? layout.valueDim : layout.keyDim;
  std::vector<double> sums(alongKey ? layout.keyDim : layout.valueDim, 0.0);
  for (int k = 0; k < layout.keyDim; ++k)
    for (int v = 0; v < layout.valueDim; ++v) {
      const double step = keyScale[k] * valueScale[v];
      const double size =
          step == 0 ? 0 : std::fabs(residual[k * layout.valueDim + v] / step);
      double &sum = sums[alongKey ? k : v];
      sum = scale.fit == ScaleFit::AbsMax ? std::max(sum, size) : sum + size;
    }
  if (scale.fit == ScaleFit::SqrtMeanAbs)
    for (double &sum : sums)
      sum = std::max(std::sqrt(sum / across), kSmallestSqrtMean);
  return sums;
}

/// Fits and stores the scales one after the other; each sees the residual over
/// the scales before it, as stored.
void encodeScales(const SlotLayout &layout, const std::vector<double> &residual,
                  uint8_t *head, std::vector<double> &keyScale,
                  std::vector<double> &valueScale) {
  keyScale.assign(layout.keyDim, 1.0);
  valueScale.assign(layout.valueDim, 1.0);
  for (size_t i = 0; i < layout.scales.size(); ++i) {
    const ScaleSpec &scale = layout.scales[i];
    std::vector<double> fitted =
        fitScale(layout, scale, residual, keyScale, valueScale);
    // Only the last scale maps onto the codes' range; an earlier one evens out
    // its axis.
    if (scale.fit == ScaleFit::AbsMax && i + 1 == layout.scales.size())
      for (double &element : fitted)
        element /= maxCode(layout.codes.type);

    const bool alongKey = scale.axis == Axis::Key;
    const Region &region = alongKey ? layout.keyScale : layout.valueScale;
    clear(head, region);
    for (size_t line = 0; line < fitted.size(); ++line)
      store(head, region, 0, line, fitted[line]);
    multiply(alongKey ? keyScale : valueScale,
             factors(head, region, 0, static_cast<int>(fitted.size())));
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

void decant::encodeHead(const SlotLayout &layout, const double *state,
                        uint8_t *head) {
  std::vector<double> residual(state,
                               state + size_t(layout.keyDim) * layout.valueDim);
  encodeCompensators(layout, residual, head);
  std::vector<double> keyScale, valueScale;
  encodeScales(layout, residual, head, keyScale, valueScale);

  for (int k = 0; k < layout.paddedKey; ++k)
    for (int v = 0; v < layout.paddedValue; ++v) {
      if (k >= layout.keyDim || v >= layout.valueDim) {
        storeCode(layout, head, k, v, 0);
        continue;
      }
      const double step = keyScale[k] * valueScale[v];
      const double code =
          step == 0 ? 0 : residual[k * layout.valueDim + v] / step;
      storeCode(layout, head, k, v, saturate(layout.codes.type, code));
    }

  if (!layout.cursor.empty()) {
    const uint32_t fill = 0;
    std::memcpy(head + layout.cursor.offset, &fill, sizeof(fill));
  }
}
