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
/// What a scale of value columns is at least beside pivots, from whose rows
/// kernels divide it out: columns of codes that are all zero have one too.
constexpr double kSmallestBesidePivots = 0x1p-24;

/// The scales of a head: those that have been fitted, or all of a stored one.
class Scales {
public:
  Scales(const SlotLayout &layout)
      : layout(layout), key(layout.keyDim, 1.0), value(layout.valueDim, 1.0),
        group(layout.groupRows() * layout.groupColumns(), 1.0),
        offset(layout.groupOffset.count * layout.groupOffset.width, 0.0) {
    if (layout.hasStaticScales())
      std::copy_n(layout.tables.scales.begin(),
                  int64_t(layout.keyDim) * layout.groupColumns(),
                  group.begin());
  }

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
    const int64_t stored = layout.groupScale.count * layout.groupScale.width;
    for (int64_t i = 0; i < stored; ++i)
      group[i] = loadFrom(head, layout.groupScale, 0, i);
    for (size_t i = 0; i < offset.size(); ++i)
      offset[i] = loadFrom(head, layout.groupOffset, 0, int64_t(i));
  }

  size_t groupOf(int k, int v) const {
    const int row = layout.groups()->axis == Axis::Key ? layout.groupRowOf(k)
                                                       : k / layout.groupKeys();
    return size_t(row * layout.groupColumns() + v / layout.groupValues());
  }
  /// `x` over the scales that belong to no group.
  double over(int k, int v, double x) const {
    const double step = key[k] * value[v] * whole;
    return step == 0 ? 0 : x / step;
  }
  double encode(int k, int v, double x) const {
    if (layout.isPivot(k))
      return x;
    double y = over(k, v, x);
    if (group.empty())
      return y;
    const size_t at = groupOf(k, v);
    if (!offset.empty())
      y -= offset[at];
    return group[at] == 0 ? 0 : y / group[at];
  }
  double decode(int k, int v, double code) const {
    if (layout.isPivot(k))
      return code;
    double y = code;
    if (!group.empty()) {
      y *= group[groupOf(k, v)];
      if (!offset.empty())
        y += offset[groupOf(k, v)];
    }
    return y * key[k] * value[v] * whole;
  }
  /// What a difference of 1 between two codes is between their elements.
  double unit(int k, int v) const {
    if (layout.isPivot(k))
      return 1;
    const double own = group.empty() ? 1 : group[groupOf(k, v)];
    return own * key[k] * value[v] * whole;
  }

private:
  const SlotLayout &layout;
  std::vector<double> key, value, group, offset;
  double whole = 1;
};

/// What a code of `code` in a row is when it has been stored.
double roundIn(const SlotLayout &layout, int key, double code) {
  if (layout.rowBits.empty())
    return roundTo(layout.codes.type, code);
  const double unit = std::exp2(kMaxRowBits - layout.rowBits[key]);
  const double largest = layout.reachOfRow(key);
  return std::clamp(std::nearbyint(code / unit) * unit, -largest, largest);
}

/// A step of the float nearest to `code`, whose type has so many fraction bits
/// and no smaller exponent.
double floatStep(double code, int fractionBits, int smallestExponent) {
  const int exponent = code == 0 ? smallestExponent : std::ilogb(code);
  return std::ldexp(1, std::max(exponent, smallestExponent) - fractionBits);
}

double floatStep(ElementType type, double code) {
  switch (type) {
  case ElementType::F32:
    return floatStep(code, 23, -126);
  case ElementType::F16:
    return floatStep(code, 10, -14);
  case ElementType::BF16:
    return floatStep(code, 7, -126);
  default: {
    const SmallFloat format = smallFloat(type);
    return floatStep(code, format.fractionBits, 1 - format.bias);
  }
  }
}

/// All levels that a code may stand for, in rising order.
std::vector<double> levelsOf(const SlotLayout &layout) {
  const ElementType type = layout.codes.type;
  if (isTable(type))
    return {layout.tables.levels.begin(), layout.tables.levels.end()};
  std::vector<double> levels;
  if (isCodebook(type))
    for (double level : codebookLevels(type))
      levels.insert(levels.end(), {-level, level});
  std::sort(levels.begin(), levels.end());
  return levels;
}

/// Half the distance between the neighbours of a level, at an end the distance
/// to its only one.
double levelWidth(const std::vector<double> &levels, double level) {
  const size_t last = levels.size() - 1;
  const size_t at = std::min<size_t>(
      std::lower_bound(levels.begin(), levels.end(), level) - levels.begin(),
      last);
  const size_t low = at == 0 ? 0 : at - 1, high = std::min(at + 1, last);
  return (levels[high] - levels[low]) / double(std::max<size_t>(high - low, 1));
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
    if (scale.fit == ScaleFit::Static)
      return;
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
        storeScale(region, int64_t(line),
                   scaleOf(index, lines[line]) / weightOf(scale, line));
    if (scale.axis == Axis::Key)
      for (int k = 0; k < layout.keyDim; ++k)
        if (layout.isPivot(k))
          storeScale(region, k, 1);
    load(scale.axis);
    if (scale.fit == ScaleFit::LeastSquares) {
      refit(region, scale.axis);
      load(scale.axis);
    }
    if (scale.fit == ScaleFit::KeptNorm)
      keepNorm(region, scale.axis); // for reading: codes are of the fitted one
  }

  /// A row that weighs more has a smaller scale (STEPQuant eq. 12).
  double weightOf(const ScaleSpec &scale, size_t line) const {
    const bool isWeighed =
        scale.axis == Axis::Key && scale.fit == ScaleFit::SqrtMeanAbs;
    return isWeighed ? std::sqrt(layout.weightOf(int(line))) : 1;
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
    if (layout.hasPivots() && &region == &layout.valueScale)
      scale = std::max(scale, kSmallestBesidePivots);
    storeTo(head, region, 0, at, saturate(region.type, scale));
  }

  /// With the codes that the scales give and a = code * the other scales, the
  /// scale c of a line that makes sum w^2 (x - c a)^2 least, w being what a row
  /// weighs, is sum w^2 a x / sum w^2 a^2.
  void refit(const Region &region, Axis axis) {
    struct Sums {
      double ax = 0, aa = 0;
    };
    std::vector<Sums> lines(region.width);
    for (int k = 0; k < layout.keyDim; ++k)
      for (int v = 0; v < layout.valueDim && !layout.isPivot(k); ++v) {
        const int line = axis == Axis::Key ? k : v;
        const double scale = loadFrom(head, region, 0, line);
        if (scale == 0)
          continue;
        const double x = dense[size_t(k) * layout.valueDim + v];
        const double code = roundIn(layout, k, scales.encode(k, v, x));
        const double a = scales.decode(k, v, code) / scale;
        const double weight = layout.weightOf(k) * layout.weightOf(k);
        lines[line].ax += weight * a * x;
        lines[line].aa += weight * a * a;
      }
    for (size_t line = 0; line < lines.size(); ++line)
      if (lines[line].aa > 0)
        storeScale(region, int64_t(line), lines[line].ax / lines[line].aa);
  }

  /// The stored scale of a line becomes the one under which its codes, those of
  /// the scale that was fitted, have the norm of what they stand for.
  void keepNorm(const Region &region, Axis axis) {
    std::vector<double> before(region.width), after(region.width);
    for (int k = 0; k < layout.keyDim; ++k)
      for (int v = 0; v < layout.valueDim; ++v) {
        const int line = axis == Axis::Key ? k : v;
        const double x = dense[size_t(k) * layout.valueDim + v];
        const double y = scales.decode(
            k, v, roundTo(layout.codes.type, scales.encode(k, v, x)));
        before[line] += x * x;
        after[line] += y * y;
      }
    for (int64_t line = 0; line < region.width; ++line)
      if (after[line] > 0)
        storeScale(region, line,
                   loadFrom(head, region, 0, line) *
                       std::sqrt(before[line] / after[line]));
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
      if (!offsets.empty())
        storeScale(offsets, int64_t(group), offsetOf(groups[group], group));
    }
    scales.loadGroups(head);
  }

  /// Integer code -2^(bits - 1) is the lowest element; levels of a table lie
  /// around the middle.
  double offsetOf(const Statistic &line, size_t group) const {
    if (isTable(layout.codes.type))
      return (line.high + line.low) / 2;
    return line.low + (maxCode(layout.codes.type) + 1) *
                          loadFrom(head, layout.groupScale, 0, int64_t(group));
  }

  /// Rows of few bits must reach as far as others under the last scale, though
  /// their largest code is a little less.
  template <typename Line>
  std::vector<Statistic> gather(size_t index, int64_t count, Line line) const {
    const bool reach =
        !layout.rowBits.empty() && index + 1 == layout.scales.size();
    std::vector<Statistic> lines(count);
    for (int k = 0; k < layout.keyDim; ++k) {
      if (layout.isPivot(k))
        continue;
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
      return line.largest / layout.largestOver(index);
    case ScaleFit::SqrtMeanAbs:
      return std::max(std::sqrt(line.sum / double(line.count)),
                      kSmallestSqrtMean);
    case ScaleFit::MinMax:
      return (line.high - line.low) /
             (isTable(layout.codes.type) ? 2
                                         : 2 * maxCode(layout.codes.type) + 1);
    case ScaleFit::RootMeanSquare:
    case ScaleFit::KeptNorm:
      return std::sqrt(line.squares / double(line.count));
    case ScaleFit::Static:
      break; // nothing to fit
    }
    return 0;
  }

  const SlotLayout &layout;
  const std::vector<double> &dense;
  uint8_t *head;
  Scales scales;
};

} // namespace

static Scales storedScales(const SlotLayout &layout, const uint8_t *head) {
  Scales scales(layout);
  scales.loadKeys(head);
  scales.loadValues(head);
  scales.loadHead(head);
  scales.loadGroups(head);
  return scales;
}

std::vector<double> decant::decodeCodes(const SlotLayout &layout,
                                        const uint8_t *head) {
  const Scales scales = storedScales(layout, head);
  const CodeTable codes(layout);
  std::vector<double> dense(size_t(layout.keyDim) * layout.valueDim);
  for (int k = 0; k < layout.keyDim; ++k)
    for (int v = 0; v < layout.valueDim; ++v)
      dense[size_t(k) * layout.valueDim + v] =
          scales.decode(k, v, codes.load(head, k, v));
  return dense;
}

std::vector<double> decant::codeWidths(const SlotLayout &layout,
                                       const uint8_t *head) {
  const Scales scales = storedScales(layout, head);
  const ElementType type = layout.codes.type;
  const CodeTable codes(layout);
  const std::vector<double> levels = levelsOf(layout);
  auto widthOf = [&](int k, int v) -> double {
    if (!layout.rowBits.empty() && !layout.isPivot(k))
      return std::exp2(kMaxRowBits - layout.rowBits[k]);
    if (isInteger(type) && !layout.isPivot(k))
      return 1;
    const double code = codes.load(head, k, v);
    return levels.empty()
               ? floatStep(layout.isPivot(k) ? ElementType::F16 : type, code)
               : levelWidth(levels, code);
  };
  std::vector<double> widths(size_t(layout.keyDim) * layout.valueDim);
  for (int k = 0; k < layout.keyDim; ++k)
    for (int v = 0; v < layout.valueDim; ++v)
      widths[size_t(k) * layout.valueDim + v] =
          std::fabs(widthOf(k, v) * scales.unit(k, v));
  return widths;
}

void decant::encodeCodes(const SlotLayout &layout,
                         const std::vector<double> &dense, uint8_t *head,
                         uint32_t seed) {
  Fit fit(layout, dense, head);
  const Scales &scales = fit.run();
  const ElementType type = layout.codes.type;
  const CodeTable codes(layout);
  NoiseSource noise{seed, 0, layout.firstHead};
  std::memcpy(&noise.tokens, head + layout.cursor.offset + sizeof(uint64_t),
              sizeof(noise.tokens));
  const CodeRange range =
      layout.usesAllCodes() ? CodeRange::All : CodeRange::Symmetric;
  for (int k = 0; k < layout.paddedKey; ++k)
    for (int v = 0; v < layout.paddedValue; ++v) {
      if (k >= layout.keyDim || v >= layout.valueDim) {
        // Of levels none need be 0: what reads them knows of padding.
        codes.store(head, k, v, 0);
        continue;
      }
      double code = scales.encode(k, v, dense[size_t(k) * layout.valueDim + v]);
      if (layout.rounding == Rounding::Stochastic)
        code = roundStochastic(type, code, roundingNoise(noise, k, v), range);
      if (isWideFloat(type))
        code = saturate(type, code);
      if (layout.isPivot(k))
        code = saturate(ElementType::F16, code);
      codes.store(head, k, v, code);
    }
}
