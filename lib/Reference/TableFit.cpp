//===- TableFit.cpp - the numbers that plans bring ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/TableFit.h"

#include "decant/Core/SlotLayout.h"
#include "decant/Reference/TraceTokens.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace decant;

namespace {

/// Calls `visit` with a head's state after every `every`-th token, the last
/// token's among them.
template <typename Visit>
Status forStates(RuleProgram program, const std::vector<TraceView> &traces,
                 const HeadShape &heads, int64_t every, Visit visit) {
  std::vector<double> output(heads.valueDim);
  for (const TraceView &trace : traces) {
    DECANT_ASSIGN(TraceTokens inputs, TraceTokens::bind(program, trace, heads));
    for (int head = 0; head < heads.value; ++head) {
      std::vector<double> state(size_t(heads.keyDim) * heads.valueDim, 0);
      std::vector<double> carried(program.carriedSize(), 0);
      for (int64_t token = 0; token < trace.tokens; ++token) {
        program.step(inputs.at(head, token), state.data(), output.data(),
                     carried.data());
        if ((trace.tokens - 1 - token) % every == 0)
          visit(head, state);
      }
    }
  }
  return {};
}

/// Weights over [-1, 1] in bins: k-means of bins is that of elements, but for
/// the width of a bin, which is far below the distance of levels.
class Histogram {
public:
  Histogram() : bins(kBins) {}

  void add(double x, double weight) {
    const double place = (x + 1) / 2 * kBins;
    bins[std::clamp(int(place), 0, kBins - 1)] += weight;
  }

  /// Each level becomes the mean of what is nearest to it, from even ones on.
  std::vector<float> means(int count) const {
    constexpr int kIterations = 50; // KVQuant's
    std::vector<double> levels(count);
    for (int i = 0; i < count; ++i)
      levels[i] = -1 + (2.0 * i + 1) / count;
    for (int iteration = 0; iteration < kIterations; ++iteration) {
      std::vector<double> sum(count), weight(count);
      int nearest = 0;
      for (int bin = 0; bin < kBins; ++bin) {
        const double x = -1 + (2.0 * bin + 1) / kBins;
        while (nearest + 1 < count &&
               x > (levels[nearest] + levels[nearest + 1]) / 2)
          ++nearest;
        sum[nearest] += bins[bin] * x;
        weight[nearest] += bins[bin];
      }
      for (int i = 0; i < count; ++i)
        if (weight[i] > 0)
          levels[i] = sum[i] / weight[i];
    }
    return {levels.begin(), levels.end()};
  }

private:
  static constexpr int kBins = 1 << 14;
  std::vector<double> bins;
};

/// A head of `spec` alone, without what a plan would bring.
SlotLayout bareLayout(const DecodeSpec &spec) {
  SlotLayout layout;
  layout.valueHeads = 1;
  layout.keyDim = layout.paddedKey = spec.heads.keyDim;
  layout.valueDim = layout.paddedValue = spec.heads.valueDim;
  layout.scales = spec.state.scales;
  return layout;
}

} // namespace

std::vector<float> decant::fitWeights(const RowStatistics &rows,
                                      const HeadShape &heads) {
  constexpr double kPower = 0.125, kFloor = 1e-20;
  std::vector<float> weights;
  for (int head = 0; head < heads.value; ++head) {
    std::vector<double> logs;
    for (int k = 0; k < heads.keyDim; ++k) {
      const size_t row = size_t(head) * heads.keyDim + k;
      const double seen = rows.impact[row] / (rows.lifetime[row] + kFloor);
      logs.push_back(kPower * std::log(std::max(seen, kFloor)));
    }
    const double mean =
        std::accumulate(logs.begin(), logs.end(), 0.0) / double(logs.size());
    for (double log : logs)
      weights.push_back(float(std::exp(log - mean)));
  }
  return weights;
}

Expected<std::vector<float>>
decant::fitLevels(const RuleProgram &program,
                  const std::vector<TraceView> &traces, const DecodeSpec &spec,
                  const RowStatistics &rows,
                  const CalibrationOptions &options) {
  const SlotLayout layout = bareLayout(spec);
  const bool isMinMax = spec.state.scales.back().fit == ScaleFit::MinMax;
  int64_t tokens = 0;
  for (const TraceView &trace : traces)
    tokens = std::max(tokens, trace.tokens);
  Histogram histogram;
  struct Range {
    double low = 0, high = 0;
    bool any = false;
  };
  auto gather = [&](int head, const std::vector<double> &state) {
    std::vector<Range> ranges(layout.groupRows() * layout.groupColumns());
    auto rangeOf = [&](int k, int v) -> Range & {
      return ranges[k / layout.groupKeys() * layout.groupColumns() +
                    v / layout.groupValues()];
    };
    auto forElements = [&](auto visit) {
      for (int k = 0; k < layout.keyDim; ++k)
        for (int v = 0; v < layout.valueDim; ++v)
          visit(k, state[size_t(k) * layout.valueDim + v], rangeOf(k, v));
    };
    forElements([&](int, double x, Range &range) {
      const double low = isMinMax ? x : -std::fabs(x);
      const double high = isMinMax ? x : std::fabs(x);
      range.low = range.any ? std::min(range.low, low) : low;
      range.high = range.any ? std::max(range.high, high) : high;
      range.any = true;
    });
    forElements([&](int k, double x, Range &range) {
      const double half = (range.high - range.low) / 2;
      if (half > 0)
        histogram.add((x - (range.high + range.low) / 2) / half,
                      half * half *
                          rows.impact[size_t(head) * layout.keyDim + k]);
    });
  };
  DECANT_TRY(forStates(
      program, traces, spec.heads,
      std::max<int64_t>(1, tokens / std::max(1, options.snapshots)), gather));
  std::vector<float> levels =
      histogram.means(1 << elementBits(spec.state.codes));
  for (size_t i = 1; i < levels.size(); ++i) // where a layer has too few values
    levels[i] = std::max(levels[i], std::nextafter(levels[i - 1], 2.0f));
  return levels;
}

Expected<std::vector<float>>
decant::fitStaticScales(const RuleProgram &program,
                        const std::vector<TraceView> &traces,
                        const DecodeSpec &spec) {
  constexpr int kClusters = 4;
  const SlotLayout layout = bareLayout(spec);
  const int64_t columns = layout.groupColumns();
  const int64_t each = layout.keyDim * columns;
  const int heads = spec.heads.value;
  std::vector<double> largest(heads * each), ofHead(heads);
  DECANT_TRY(forStates(
      program, traces, spec.heads, 1,
      [&](int head, const std::vector<double> &state) {
        for (int k = 0; k < layout.keyDim; ++k)
          for (int v = 0; v < layout.valueDim; ++v) {
            const double x = std::fabs(state[size_t(k) * layout.valueDim + v]);
            double &most =
                largest[head * each + k * columns + v / layout.groupValues()];
            most = std::max(most, x);
            ofHead[head] = std::max(ofHead[head], x);
          }
      }));
  std::vector<int> order(heads);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return ofHead[a] != ofHead[b] ? ofHead[a] < ofHead[b] : a < b;
  });
  std::vector<double> clusters(kClusters * each);
  std::vector<int> clusterOf(heads);
  for (int place = 0; place < heads; ++place) {
    const int head = order[place];
    clusterOf[head] = place * std::min(kClusters, heads) / heads;
    for (int64_t i = 0; i < each; ++i) {
      double &most = clusters[clusterOf[head] * each + i];
      most = std::max(most, largest[head * each + i]);
    }
  }
  std::vector<float> scales;
  for (int head = 0; head < heads; ++head)
    for (int64_t i = 0; i < each; ++i)
      scales.push_back(float(std::max(clusters[clusterOf[head] * each + i] /
                                          maxCode(spec.state.codes),
                                      kMinReal)));
  return scales;
}
