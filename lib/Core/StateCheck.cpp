//===- StateCheck.cpp - contradictions of how a state is stored -----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "SpecChecker.h"

#include <algorithm>
#include <cmath>

using namespace decant;

namespace {

bool isBlock(int elements) {
  return elements == 16 || elements == 32 || elements == 64 || elements == 128;
}

/// What one scale may be, whatever stands beside it.
void checkScale(const StateSpec &state, size_t index, SpecChecker &check) {
  const ScaleSpec &scale = state.scales[index];
  const bool last = index + 1 == state.scales.size();
  auto add = [&](const char *field, std::string message) {
    check.add(fmt::format("state.scale.{}.{}", index, field).c_str(),
              std::move(message));
  };
  if (!isWideFloat(scale.type) && scale.type != ElementType::E4M3 &&
      scale.type != ElementType::E8M0)
    add("type", fmt::format("found {}; allowed: f32, f16, bf16, e4m3 or e8m0",
                            toString(scale.type)));
  if (scale.block != 0 && !isBlock(scale.block))
    add("block", fmt::format("found {}; allowed: 16, 32, 64 or 128, or no "
                             "blocks",
                             scale.block));
  if (scale.block != 0 && scale.fit != ScaleFit::AbsMax &&
      scale.fit != ScaleFit::MinMax && scale.fit != ScaleFit::Static)
    add("fit", fmt::format("found {} beside blocks; allowed: absmax, minmax or "
                           "static",
                           toString(scale.fit)));
  if (scale.block != 0 && scale.axis == Axis::Head)
    add("block", fmt::format("found {} on axis head; allowed: blocks of key "
                             "rows or value columns",
                             scale.block));
  // Only these map what is left to encode onto the codes: an unbounded rms
  // where levels are meant for it.
  const bool fits =
      scale.fit == ScaleFit::AbsMax || scale.fit == ScaleFit::MinMax ||
      scale.fit == ScaleFit::LeastSquares || scale.fit == ScaleFit::Static ||
      ((scale.fit == ScaleFit::RootMeanSquare ||
        scale.fit == ScaleFit::KeptNorm) &&
       isCodebook(state.codes) && !isTable(state.codes));
  if (last && !fits)
    add("fit",
        fmt::format("found {} in the last scale; allowed: absmax, "
                    "least_squares, minmax for integers and tables, rms or "
                    "kept_norm for lloyd codes, or static, which map the "
                    "elements to what {} can hold",
                    toString(scale.fit), toString(state.codes)));
  const bool refits =
      scale.fit == ScaleFit::LeastSquares || scale.fit == ScaleFit::KeptNorm;
  if (refits && (!last || scale.block || scale.axis == Axis::Head ||
                 !isWideFloat(scale.type)))
    add("fit", fmt::format("found {}; allowed: only in the last scale, of key "
                           "rows or value columns without blocks, of type "
                           "f32, f16 or bf16",
                           toString(scale.fit)));
  if (scale.fit == ScaleFit::Static &&
      (state.scales.size() > 1 || scale.axis != Axis::Key ||
       scale.type != ElementType::F32 || !isInteger(state.codes)))
    add("fit", fmt::format("found static of axis {} and type {} as one of {} "
                           "scales of {}; allowed: only alone, of key rows or "
                           "blocks of them, of type f32, for integers",
                           toString(scale.axis), toString(scale.type),
                           state.scales.size(), toString(state.codes)));
  if (!last && isGrouped(scale))
    add(scale.block ? "block" : "fit",
        fmt::format("found {} in scale {} of {}; allowed: only in the last one",
                    scale.block ? "blocks" : toString(scale.fit), index + 1,
                    state.scales.size()));
  if (scale.fit != ScaleFit::MinMax)
    return;
  if (!isInteger(state.codes) && !isTable(state.codes))
    add("fit", fmt::format("found minmax beside state.codes {}; allowed: only "
                           "when state.codes is an integer type, whose codes "
                           "are evenly spaced, or a table",
                           toString(state.codes)));
  if (scale.axis == Axis::Head)
    add("fit", "found minmax on axis head; allowed: minmax of key rows, of "
               "value columns or of blocks of them");
  if (!isWideFloat(scale.type))
    add("type", fmt::format("found {} beside fit minmax; allowed: f32, f16 or "
                            "bf16, since offsets have signs and fractions",
                            toString(scale.type)));
}

void checkState(const StateSpec &state, SpecChecker &check) {
  if (state.codes == ElementType::E8M0)
    check.add("state.codes",
              "found e8m0; allowed: any other type, since powers of two "
              "without a sign are for scales");
  if (isWideFloat(state.codes)) {
    if (!state.scales.empty())
      check.add("state.scale",
                fmt::format("found {} scale{} beside state.codes {}; allowed: "
                            "only when state.codes has at most 8 bits",
                            state.scales.size(),
                            state.scales.size() == 1 ? "" : "s",
                            toString(state.codes)));
    return;
  }
  if (state.scales.empty()) {
    check.add("state.scale",
              fmt::format("found no scale beside state.codes {}; allowed: "
                          "one scale per axis, the last one absmax or minmax",
                          toString(state.codes)));
    return;
  }
  for (Axis axis : {Axis::Key, Axis::Value, Axis::Head}) {
    auto onAxis = [axis](const ScaleSpec &scale) {
      return scale.axis == axis && !isGrouped(scale);
    };
    auto count =
        std::count_if(state.scales.begin(), state.scales.end(), onAxis);
    if (count > 1)
      check.add("state.scale",
                fmt::format("found {} scales on the {} axis; allowed: at most "
                            "one per axis",
                            count, toString(axis)));
  }
  for (size_t i = 0; i < state.scales.size(); ++i)
    checkScale(state, i, check);
}

void checkRotation(const DecodeSpec &spec, SpecChecker &check) {
  const ElementType codes = spec.state.codes;
  if (spec.state.rounding == Rounding::Stochastic && !isInteger(codes) &&
      !isSmallFloat(codes))
    check.add("state.round",
              fmt::format("found stochastic beside state.codes {}; allowed: "
                          "only when state.codes is an integer or a float of "
                          "at most 8 bits",
                          toString(codes)));
  constexpr int kSmallest = 16;
  const Rotation rotation = spec.state.rotation;
  const int block = spec.state.rotationBlock;
  if (block != 0 && (!isBlock(block) || rotation == Rotation::None))
    check.add(
        "state.rotate_block",
        fmt::format("found {} beside state.rotate {}; allowed: 16, 32, 64 "
                    "or 128 where an axis is rotated",
                    block, toString(rotation)));
  if (rotation == Rotation::None)
    return;
  if (isWideFloat(spec.state.codes))
    check.add("state.rotate",
              fmt::format("found {} beside state.codes {}; allowed: only when "
                          "state.codes has at most 8 bits",
                          toString(rotation), toString(spec.state.codes)));
  auto axis = [&](Rotation other, const char *name, int dim) {
    if (rotation != other && rotationBlock(dim) < kSmallest)
      check.add("state.rotate",
                fmt::format("found {} with heads.{}_dim {}; allowed: dims that "
                            "{} divides",
                            toString(rotation), name, dim, kSmallest));
  };
  axis(Rotation::Value, "key", spec.heads.keyDim);
  axis(Rotation::Key, "value", spec.heads.valueDim);
}

/// What stands beside rows that differ in bits.
void checkBesideRowBits(const DecodeSpec &spec, SpecChecker &check) {
  const std::vector<uint8_t> &widths = spec.state.bits.widths;
  const std::vector<ScaleSpec> &scales = spec.state.scales;
  if (spec.state.codes != ElementType::I8)
    check.add("state.codes",
              fmt::format("found {}; allowed: int8 where key rows differ in "
                          "bits, since all use its scales",
                          toString(spec.state.codes)));
  // Groups of rows go with rows that all have the codes' own bits or none.
  const bool areWhole =
      std::all_of(widths.begin(), widths.end(), [](uint8_t bits) {
        return bits == kMaxRowBits || bits == kPivotBits;
      });
  const bool rowGroups = !scales.empty() && isGrouped(scales.back()) &&
                         scales.back().axis == Axis::Key &&
                         scales.back().fit != ScaleFit::Static;
  const bool columns = !scales.empty() && scales.back().axis == Axis::Value &&
                       (scales.back().fit == ScaleFit::AbsMax ||
                        scales.back().fit == ScaleFit::LeastSquares) &&
                       !isGrouped(scales.back());
  const bool heads =
      std::any_of(scales.begin(), scales.end(), [](const ScaleSpec &scale) {
        return scale.axis == Axis::Head;
      });
  if (heads || !(columns || (rowGroups && scales.size() == 1 && areWhole)))
    check.add(
        "state.scale",
        "found no scale on the value axis at the end; allowed: one there, "
        "absmax or least_squares without blocks, where key rows differ in "
        "bits, since all share it, and none of heads; or one of blocks of key "
        "rows alone, where every row has 8 bits or is a pivot");
  if (spec.state.rotation == Rotation::Key ||
      spec.state.rotation == Rotation::Both)
    check.add("state.rotate",
              fmt::format("found {}; allowed: none or value where key rows "
                          "differ in bits",
                          toString(spec.state.rotation)));
  if (spec.state.rounding == Rounding::Stochastic)
    check.add("state.round",
              "found stochastic; allowed: nearest where key rows "
              "differ in bits");
  if (spec.heads.keyDim % 8 != 0)
    check.add("heads.key_dim",
              fmt::format("found {}; allowed: a multiple of 8 where key rows "
                          "differ in bits",
                          spec.heads.keyDim));
}

void checkRowBits(const DecodeSpec &spec, SpecChecker &check) {
  const RowBits &bits = spec.state.bits;
  if (bits.pivots != 0)
    check.range("state.bits.pivots", bits.pivots, 0, spec.heads.keyDim - 1);
  const double most = kMaxRowBits + double(bits.pivots) *
                                        (kPivotBits - kMaxRowBits) /
                                        spec.heads.keyDim;
  if (bits.mean > most)
    check.add(
        "state.bits.mean",
        fmt::format("found {:.4g}; allowed: up to {:.4g}, where {} of {} key "
                    "rows have {} bits and the others {}",
                    bits.mean, most, bits.pivots, spec.heads.keyDim, kPivotBits,
                    kMaxRowBits));
  if (bits.widths.empty()) {
    if (bits.mean > 0)
      check.add("state.plan",
                "missing beside state.bits; allowed: a plan that `decant "
                "calibrate` made from traces, or state.bits.by even");
    return;
  }
  checkBesideRowBits(spec, check);
  const int64_t rows = int64_t(spec.heads.value) * spec.heads.keyDim;
  if (int64_t(bits.widths.size()) != rows)
    check.add("state.plan",
              fmt::format("found bits of {} key rows; allowed: {}, since there "
                          "are {} value heads of key dim {}",
                          bits.widths.size(), rows, spec.heads.value,
                          spec.heads.keyDim));
  double sum = 0;
  for (uint8_t width : bits.widths) {
    if (width != kPivotBits)
      check.range("state.plan", width, kMinRowBits, kMaxRowBits);
    sum += width;
  }
  const double mean = sum / double(bits.widths.size());
  if (bits.mean > 0 && mean > bits.mean + 1e-9)
    check.add("state.plan",
              fmt::format("found {:.4g} bits per code in the mean; allowed: up "
                          "to the {:.4g} of state.bits.mean",
                          mean, bits.mean));
}

/// Plans' numbers belong to formats that ask for them.
void checkTables(const DecodeSpec &spec, SpecChecker &check) {
  const StateSpec &state = spec.state;
  const PlanTables &tables = state.tables;
  const int64_t rows = int64_t(spec.heads.value) * spec.heads.keyDim;
  auto compare = [&](const char *what, const std::vector<float> &found,
                     int64_t expected, const char *why) {
    if (int64_t(found.size()) != expected)
      check.add("state.plan", fmt::format("found {} {}; allowed: {}{}",
                                          found.size(), what, expected, why));
  };
  auto positive = [&](const char *what, const std::vector<float> &numbers) {
    for (float number : numbers)
      if (!(number >= kMinReal && number <= kMaxReal)) {
        check.add("state.plan",
                  fmt::format("found a number of {} that is {}; allowed: {} to "
                              "{}",
                              what, number, kMinReal, kMaxReal));
        return;
      }
  };
  if (!tables.weights.empty())
    compare("weights", tables.weights, rows,
            fmt::format(", one per key row of {} value heads", spec.heads.value)
                .c_str());
  positive("weights", tables.weights);
  if (isTable(state.codes))
    compare("levels", tables.levels, int64_t(1) << elementBits(state.codes),
            fmt::format(" for state.codes {}", toString(state.codes)).c_str());
  else if (!tables.levels.empty())
    check.add("state.plan",
              fmt::format("found levels beside state.codes {}; allowed: only "
                          "for table4 and table3",
                          toString(state.codes)));
  for (size_t i = 0; i < tables.levels.size(); ++i)
    if (!(std::fabs(tables.levels[i]) <= 1) ||
        (i > 0 && !(tables.levels[i] > tables.levels[i - 1]))) {
      check.add("state.plan",
                fmt::format("found level {} that is {}; allowed: numbers from "
                            "-1 to 1, each above the one before it",
                            i, tables.levels[i]));
      break;
    }
  const bool isStatic =
      !state.scales.empty() && state.scales[0].fit == ScaleFit::Static;
  if (isStatic) {
    const int block = state.scales[0].block;
    const int64_t blocks = block ? (spec.heads.valueDim - 1) / block + 1 : 1;
    compare("scales", tables.scales, rows * blocks,
            fmt::format(" for fit static, {} per key row", blocks).c_str());
  } else if (!tables.scales.empty()) {
    check.add("state.plan", "found scales; allowed: only where a scale's fit "
                            "is static");
  }
  positive("scales", tables.scales);
}

} // namespace

void decant::checkFormat(const DecodeSpec &spec, SpecChecker &check) {
  checkState(spec.state, check);
  checkRotation(spec, check);
  checkRowBits(spec, check);
  checkTables(spec, check);
}
