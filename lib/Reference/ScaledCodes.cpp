//===- ScaledCodes.cpp - codes times scales -------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaledCodes.h"

#include "decant/Core/CodeStore.h"
#include "decant/Core/Numeric.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace decant;

double decant::loadFrom(const uint8_t *head, const Region &region, int64_t row,
                        int64_t column) {
  const int64_t index = row * region.width + column;
  return loadElement(region.type,
                     head + region.offset + index * elementBytes(region.type));
}

void decant::storeTo(uint8_t *head, const Region &region, int64_t row,
                     int64_t column, double value) {
  const int64_t index = row * region.width + column;
  storeElement(region.type, value,
               head + region.offset + index * elementBytes(region.type));
}

double decant::saturate(ElementType type, double value) {
  return std::isnan(value)
             ? value
             : std::clamp(value, -maxFinite(type), maxFinite(type));
}

namespace {

/// What a scale of fit SqrtMeanAbs is at least, so that an all-zero line does
/// not divide by zero.
constexpr double kSmallestSqrtMean = 1e-12;

/// The scales of a head: those that have been fitted, or all of a stored one.
class Scales {
public:
  Scales(const SlotLayout &layout)
      : layout(layout), key(layout.keyDim, 1.0), value(layout.valueDim, 1.0),
        group(layout.groupScale.count * layout.groupScale.width, 1.0),
        offset(layout.groupOffset.count * layout.groupOffset.width, 0.0) {}

  void loadKeys(const uint8_t *head) {
    for (int k = 0; k < layout.keyDim && !layout.keyScale.empty(); ++k)
      key[k] = loadFrom(head, layout.keyScale, 0, k);
  }
  void loadValues(const uint8_t *head) {
    for (int v = 0; v < layout.valueDim && !layout.valueScale.empty(); ++v)
      value[v] = loadFrom(head, layout.valueScale, 0, v);
  }
  void loadHead(const uint8_t *head) {
    if (!layout.headScale.empty())
      whole = loadFrom(head, layout.headScale, 0, 0);
  }
  void loadGroups(const uint8_t *head) {
    for (size_t i = 0; i < group.size(); ++i)
      group[i] = loadFrom(head, layout.groupScale, 0, int64_t(i));
    for (size_t i = 0; i < offset.size(); ++i)
      offset[i] = loadFrom(head, layout.groupOffset, 0, int64_t(i));
  }

  size_t groupOf(int k, int v) const {
    return size_t(k / layout.groupKeys() * layout.groupScale.width +
                  v / layout.groupValues());
  }
  /// `x` over the scales that belong to no group.
  double over(int k, int v, double x) const {
    const double step = key[k] * value[v] * whole;
    return step == 0 ? 0 : x / step;
  }
  double encode(int k, int v, double x) const {
    double y = over(k, v, x);
    if (group.empty())
      return y;
    const size_t at = groupOf(k, v);
    if (!offset.empty())
      y -= offset[at];
    return group[at] == 0 ? 0 : y / group[at];
  }
  double decode(int k, int v, double code) const {
    double y = code;
    if (!group.empty()) {
      y *= group[groupOf(k, v)];
      if (!offset.empty())
        y += offset[groupOf(k, v)];
    }
    return y * key[k] * value[v] * whole;
  }

private:
  const SlotLayout &layout;
  std::vector<double> key, value, group, offset;
  double whole = 1;
};

/// What the largest |E| over an absmax scale becomes. The last one maps it to
/// the largest code, or, being a power of two, to between the power of two in
/// the largest code and twice that (the microscaling rule). An earlier one
/// evens out its axis only, unless the next is e4m3, whose whole range is then
/// used.
double largestOver(const SlotLayout &layout, size_t index) {
  const double code = maxFinite(layout.codes.type);
  if (index + 1 < layout.scales.size())
    return layout.scales[index + 1].type == ElementType::E4M3
               ? code * maxFinite(ElementType::E4M3)
               : 1;
  return layout.scales[index].type == ElementType::E8M0
             ? std::exp2(std::floor(std::log2(code)))
             : code;
}

/// Gathers E of every line that shares a scale.
struct Statistic {
  double sum = 0, squares = 0, largest = 0;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  int64_t count = 0;

  void add(double x) {
    sum += std::fabs(x);
    squares += x * x;
    largest = std::max(largest, std::fabs(x));
    low = std::min(low, x);
    high = std::max(high, x);
    ++count;
  }
};

class Fit {
public:
  Fit(const SlotLayout &layout, const std::vector<double> &dense, uint8_t *head)
      : layout(layout), dense(dense), head(head), scales(layout) {}

  const Scales &run() {
    for (size_t i = 0; i < layout.scales.size(); ++i)
      fit(i);
    return scales;
  }

private:
  void fit(size_t index) {
    const ScaleSpec &scale = layout.scales[index];
    if (isGrouped(scale))
      return fitGroups(index);
    const Region &region = scale.axis == Axis::Key     ? layout.keyScale
                           : scale.axis == Axis::Value ? layout.valueScale
                                                       : layout.headScale;
    std::memset(head + region.offset, 0, region.bytes());
    const std::vector<Statistic> lines =
        gather(index, region.width, [&](int k, int v) -> size_t {
          return scale.axis == Axis::Key     ? k
                 : scale.axis == Axis::Value ? v
                                             : 0;
        });
    for (size_t line = 0; line < lines.size(); ++line)
      if (lines[line].count > 0) // or it is padding
        storeScale(region, int64_t(line), scaleOf(index, lines[line]));
    load(scale.axis);
    if (scale.fit == ScaleFit::LeastSquares) {
      refit(region, scale.axis);
      load(scale.axis);
    }
  }

  void load(Axis axis) {
    if (axis == Axis::Key)
      scales.loadKeys(head);
    else if (axis == Axis::Value)
      scales.loadValues(head);
    else
      scales.loadHead(head);
  }

  void storeScale(const Region &region, int64_t at, double scale) {
    storeTo(head, region, 0, at, saturate(region.type, scale));
  }

  /// With the codes that the scales give and a = code * the other scales, the
  /// scale c of a line that makes sum (x - c a)^2 least is sum a x / sum a^2.
  void refit(const Region &region, Axis axis) {
    struct Sums {
      double ax = 0, aa = 0;
    };
    std::vector<Sums> lines(region.width);
    for (int k = 0; k < layout.keyDim; ++k)
      for (int v = 0; v < layout.valueDim; ++v) {
        const int line = axis == Axis::Key ? k : v;
        const double scale = loadFrom(head, region, 0, line);
        if (scale == 0)
          continue;
        const double x = dense[size_t(k) * layout.valueDim + v];
        const double code = roundTo(layout.codes.type, scales.encode(k, v, x));
        const double a = scales.decode(k, v, code) / scale;
        lines[line].ax += a * x;
        lines[line].aa += a * a;
      }
    for (size_t line = 0; line < lines.size(); ++line)
      if (lines[line].aa > 0)
        storeScale(region, int64_t(line), lines[line].ax / lines[line].aa);
  }

  void fitGroups(size_t index) {
    const Region &region = layout.groupScale, &offsets = layout.groupOffset;
    std::memset(head + region.offset, 0, region.bytes());
    std::memset(head + offsets.offset, 0, offsets.bytes());
    const std::vector<Statistic> groups =
        gather(index, region.count * region.width,
               [&](int k, int v) { return scales.groupOf(k, v); });
    for (size_t group = 0; group < groups.size(); ++group) {
      if (groups[group].count == 0)
        continue;
      storeScale(region, int64_t(group), scaleOf(index, groups[group]));
      // Code -2^(bits - 1) is the lowest element.
      if (!offsets.empty())
        storeScale(offsets, int64_t(group),
                   groups[group].low +
                       (maxCode(layout.codes.type) + 1) *
                           loadFrom(head, region, 0, int64_t(group)));
    }
    scales.loadGroups(head);
  }

  /// Rows of few bits must reach as far as others under the last scale, though
  /// their largest code is a little less.
  template <typename Line>
  std::vector<Statistic> gather(size_t index, int64_t count, Line line) const {
    const bool reach =
        !layout.rowBits.empty() && index + 1 == layout.scales.size();
    std::vector<Statistic> lines(count);
    for (int k = 0; k < layout.keyDim; ++k) {
      const double shortfall =
          reach ? double(maxCode(layout.codes.type)) / layout.reachOfRow(k) : 1;
      for (int v = 0; v < layout.valueDim; ++v)
        lines[line(k, v)].add(
            shortfall *
            scales.over(k, v, dense[size_t(k) * layout.valueDim + v]));
    }
    return lines;
  }

  double scaleOf(size_t index, const Statistic &line) const {
    switch (layout.scales[index].fit) {
    case ScaleFit::AbsMax:
    case ScaleFit::LeastSquares:
      return line.largest / largestOver(layout, index);
    case ScaleFit::SqrtMeanAbs:
      return std::max(std::sqrt(line.sum / double(line.count)),
                      kSmallestSqrtMean);
    case ScaleFit::MinMax:
      return (line.high - line.low) / (2 * maxCode(layout.codes.type) + 1);
    case ScaleFit::RootMeanSquare:
      return std::sqrt(line.squares / double(line.count));
    }
    return 0;
  }

  const SlotLayout &layout;
  const std::vector<double> &dense;
  uint8_t *head;
  Scales scales;
};

} // namespace

std::vector<double> decant::decodeCodes(const SlotLayout &layout,
                                        const uint8_t *head) {
  Scales scales(layout);
  scales.loadKeys(head);
  scales.loadValues(head);
  scales.loadHead(head);
  scales.loadGroups(head);
  std::vector<double> dense(size_t(layout.keyDim) * layout.valueDim);
  for (int k = 0; k < layout.keyDim; ++k)
    for (int v = 0; v < layout.valueDim; ++v)
      dense[size_t(k) * layout.valueDim + v] =
          scales.decode(k, v, loadCode(layout, head, k, v));
  return dense;
}

void decant::encodeCodes(const SlotLayout &layout,
                         const std::vector<double> &dense, uint8_t *head) {
  Fit fit(layout, dense, head);
  const Scales &scales = fit.run();
  const ElementType type = layout.codes.type;
  uint64_t tokens;
  std::memcpy(&tokens, head + layout.cursor.offset + sizeof(uint64_t),
              sizeof(tokens));
  const CodeRange range =
      layout.groupOffset.empty() ? CodeRange::Symmetric : CodeRange::All;
  for (int k = 0; k < layout.paddedKey; ++k)
    for (int v = 0; v < layout.paddedValue; ++v) {
      if (k >= layout.keyDim || v >= layout.valueDim) {
        storeCode(layout, head, k, v, 0);
        continue;
      }
      double code = scales.encode(k, v, dense[size_t(k) * layout.valueDim + v]);
      if (layout.rounding == Rounding::Stochastic)
        code = roundStochastic(type, code, roundingNoise(tokens, k, v), range);
      storeCode(layout, head, k, v,
                isWideFloat(type) ? saturate(type, code) : code);
    }
}
