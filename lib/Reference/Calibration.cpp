//===- Calibration.cpp - which key rows matter ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/Calibration.h"

#include "decant/Core/SlotLayout.h"
#include "decant/Reference/Codec.h"
#include "decant/Reference/TraceTokens.h"

#include <algorithm>
#include <cmath>

using namespace decant;

namespace {

/// An error's size, as part of the state's root mean square: small enough for a
/// rule that is not linear in its state, and far above float64's roundings.
constexpr double kErrorPart = 1e-4;
/// Outputs below this part of the head's mean square count as that much.
constexpr double kLeastOutput = 1e-3;

double meanSquare(const double *elements, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i)
    sum += elements[i] * elements[i];
  return sum / double(count);
}

/// A head of the spec alone, all of its rows at each width that it can have.
struct UniformLayout {
  int bits;
  SlotLayout layout;
};
std::vector<UniformLayout> uniformLayouts(DecodeSpec spec) {
  std::vector<UniformLayout> layouts;
  spec.heads.key = spec.heads.value = 1;
  spec.window.length = 1; // no records
  spec.tokensPerStep = 1;
  spec.state.bits.mean = spec.state.bits.pivots = 0;
  spec.state.tables = {};
  for (int bits = kMinRowBits; bits <= kMaxRowBits; ++bits) {
    spec.state.bits.widths.assign(spec.heads.keyDim, uint8_t(bits));
    if (check(spec).empty())
      layouts.push_back({bits, makeSlotLayout(spec, RecordShape())});
  }
  return layouts;
}

/// One head of one trace.
class HeadCalibration {
public:
  HeadCalibration(const RuleProgram &program, TraceTokens &inputs, int head,
                  int64_t tokens, const CalibrationOptions &options)
      : program(program), inputs(inputs), head(head), tokens(tokens),
        options(options), keyDim(program.keyDim()),
        valueDim(program.valueDim()) {}

  /// Runs the head once to know how large its outputs are.
  void measureOutputs() {
    restart();
    std::vector<double> output(valueDim);
    for (int64_t token = 0; token < tokens; ++token) {
      program.step(inputs.at(head, token), state.data(), output.data(),
                   carried.data());
      squares.push_back(meanSquare(output.data(), valueDim));
      mean += squares.back() / double(tokens);
    }
  }

  /// Adds what became of errors in rows first .. first + valueDim, from every
  /// `horizon` tokens on.
  void followErrors(int first, double *lifetime, double *impact) {
    const int rows = std::min(valueDim, keyDim - first);
    restart();
    std::vector<double> output(valueDim), disturbed(state), other(valueDim);
    std::vector<double> aside;
    double size = 0;
    // The first tokens after a restart of the state itself are followed too: a
    // state is young once, but its errors are not special.
    for (int64_t token = 0; token < tokens; ++token) {
      aside = carried;
      program.step(inputs.at(head, token), state.data(), output.data(),
                   carried.data());
      if (size > 0) {
        program.step(inputs.at(head, token), disturbed.data(), other.data(),
                     aside.data());
        const double unit = 1 / (squares[token] + kLeastOutput * mean + kTiny);
        for (int row = 0; row < rows; ++row) {
          double length = 0;
          for (int k = 0; k < keyDim; ++k) {
            const size_t at = size_t(k) * valueDim + row;
            const double error = (disturbed[at] - state[at]) / size;
            length += error * error;
          }
          const double seen = (other[row] - output[row]) / size;
          lifetime[first + row] += length;
          impact[first + row] += seen * seen * unit;
        }
      }
      if (token % options.horizon == 0) {
        disturbed = state;
        size = kErrorPart *
               std::sqrt(meanSquare(state.data(), state.size()) + kTiny);
        for (int row = 0; row < rows; ++row)
          disturbed[size_t(first + row) * valueDim + row] += size;
      }
    }
  }

  /// Adds each row's mean squared error at each width, over some states.
  void measureDistortion(const std::vector<UniformLayout> &layouts,
                         CostByBits *distortion, int64_t count) {
    if (layouts.empty())
      return;
    restart();
    std::vector<double> output(valueDim);
    std::vector<uint8_t> bytes(layouts.back().layout.headBytes);
    for (int64_t token = 0; token < tokens; ++token) {
      program.step(inputs.at(head, token), state.data(), output.data(),
                   carried.data());
      // `count` states, the last token's among them.
      if ((token + 1) * count / tokens == token * count / tokens)
        continue;
      for (const auto &[bits, layout] : layouts) {
        encodeHead(layout, state.data(), bytes.data());
        const std::vector<double> stored = decodeHead(layout, bytes.data());
        for (int k = 0; k < keyDim; ++k) {
          double sum = 0;
          for (int v = 0; v < valueDim; ++v) {
            const double error = stored[size_t(k) * valueDim + v] -
                                 state[size_t(k) * valueDim + v];
            sum += error * error;
          }
          distortion[k][bits - kMinRowBits] += sum / valueDim / double(count);
        }
      }
    }
  }

private:
  static constexpr double kTiny = 1e-60; // a square beside zeros

  void restart() {
    state.assign(size_t(keyDim) * valueDim, 0);
    carried.assign(program.carriedSize(), 0);
  }

  RuleProgram program;
  TraceTokens &inputs;
  int head;
  int64_t tokens;
  const CalibrationOptions &options;
  int keyDim, valueDim;
  std::vector<double> state, carried, squares;
  double mean = 0; // of squares
};

} // namespace

std::vector<CostByBits> RowStatistics::costs() const {
  std::vector<CostByBits> result = distortion;
  for (size_t row = 0; row < result.size(); ++row)
    for (double &cost : result[row])
      cost *= impact[row];
  return result;
}

Expected<RowStatistics> decant::calibrate(const RuleProgram &program,
                                          const std::vector<TraceView> &traces,
                                          const DecodeSpec &spec,
                                          const CalibrationOptions &options) {
  const size_t rows = size_t(spec.heads.value) * spec.heads.keyDim;
  RowStatistics result;
  result.lifetime.resize(rows);
  result.impact.resize(rows);
  result.distortion.resize(rows);
  std::vector<UniformLayout> layouts;
  if (spec.state.bits.mean > 0)
    layouts = uniformLayouts(spec);
  for (const TraceView &trace : traces) {
    DECANT_ASSIGN(TraceTokens inputs,
                  TraceTokens::bind(program, trace, spec.heads));
    result.tokens += trace.tokens;
    for (int head = 0; head < spec.heads.value; ++head) {
      options.progress(head);
      const size_t first = size_t(head) * spec.heads.keyDim;
      HeadCalibration own(program, inputs, head, trace.tokens, options);
      own.measureOutputs();
      for (int row = 0; row < spec.heads.keyDim; row += spec.heads.valueDim)
        own.followErrors(row, &result.lifetime[first], &result.impact[first]);
      own.measureDistortion(layouts, &result.distortion[first],
                            std::min<int64_t>(options.snapshots, trace.tokens));
    }
  }
  int64_t restarts = 0;
  for (const TraceView &trace : traces)
    restarts += (trace.tokens + options.horizon - 1) / options.horizon;
  for (size_t row = 0; row < rows; ++row) {
    result.lifetime[row] /= double(restarts);
    result.impact[row] /= double(restarts);
    for (double &error : result.distortion[row])
      error /= double(traces.size());
  }
  return result;
}
