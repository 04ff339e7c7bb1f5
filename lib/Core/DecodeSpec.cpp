//===- DecodeSpec.cpp - what is asked of a kernel -------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a DecodeSpec from any maker. Out: its contradictions, and the text that
// stands for it in cache keys. Nothing here knows JSON: the paths in issues are
// the field names of the spec file because that is what users can look up.
//
//===----------------------------------------------------------------------===//
#include "decant/Core/DecodeSpec.h"

#include <fmt/format.h>

#include <algorithm>

namespace decant {

int elementBits(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return 32;
  case ElementType::F16:
  case ElementType::BF16:
    return 16;
  case ElementType::I8:
  case ElementType::E4M3:
  case ElementType::E5M2:
  case ElementType::E8M0:
    return 8;
  case ElementType::I6:
  case ElementType::E3M2:
  case ElementType::E2M3:
    return 6;
  case ElementType::I4:
  case ElementType::E2M1:
  case ElementType::L4:
    return 4;
  case ElementType::L3:
  case ElementType::I3:
    return 3;
  case ElementType::I2:
    return 2;
  }
  assert(false && "unknown element type");
  return 0;
}

int elementBytes(ElementType type) {
  assert(elementBits(type) % 8 == 0 && "elements share bytes");
  return elementBits(type) / 8;
}

bool isInteger(ElementType type) {
  return type >= ElementType::I8 && type <= ElementType::I2;
}

bool isWideFloat(ElementType type) { return type <= ElementType::BF16; }

bool isCodebook(ElementType type) {
  return type == ElementType::L4 || type == ElementType::L3;
}

bool isSmallFloat(ElementType type) {
  return type >= ElementType::E4M3 && type <= ElementType::E2M1;
}

int maxCode(ElementType type) {
  assert(isInteger(type) && "only integer codes are bounded");
  return (1 << (elementBits(type) - 1)) - 1;
}

bool isGrouped(const ScaleSpec &scale) {
  return scale.block > 0 || scale.fit == ScaleFit::MinMax;
}

bool operator==(const RuleRef &a, const RuleRef &b) {
  return a.name == b.name && a.text == b.text;
}

//===----------------------------------------------------------------------===//
// Names, spelled as in the spec file
//===----------------------------------------------------------------------===//

const char *toString(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return "f32";
  case ElementType::F16:
    return "f16";
  case ElementType::BF16:
    return "bf16";
  case ElementType::I8:
    return "int8";
  case ElementType::I6:
    return "int6";
  case ElementType::I4:
    return "int4";
  case ElementType::I3:
    return "int3";
  case ElementType::I2:
    return "int2";
  case ElementType::E4M3:
    return "e4m3";
  case ElementType::E5M2:
    return "e5m2";
  case ElementType::E3M2:
    return "e3m2";
  case ElementType::E2M3:
    return "e2m3";
  case ElementType::E2M1:
    return "e2m1";
  case ElementType::E8M0:
    return "e8m0";
  case ElementType::L4:
    return "lloyd4";
  case ElementType::L3:
    return "lloyd3";
  }
  return "invalid";
}

const char *toString(Axis axis) {
  switch (axis) {
  case Axis::Key:
    return "key";
  case Axis::Value:
    return "value";
  case Axis::Head:
    return "head";
  }
  return "invalid";
}

const char *toString(ScaleFit fit) {
  switch (fit) {
  case ScaleFit::AbsMax:
    return "absmax";
  case ScaleFit::SqrtMeanAbs:
    return "sqrt_mean_abs";
  case ScaleFit::MinMax:
    return "minmax";
  case ScaleFit::LeastSquares:
    return "least_squares";
  case ScaleFit::RootMeanSquare:
    return "rms";
  }
  return "invalid";
}

const char *toString(Rotation rotation) {
  switch (rotation) {
  case Rotation::None:
    return "none";
  case Rotation::Key:
    return "key";
  case Rotation::Value:
    return "value";
  case Rotation::Both:
    return "both";
  }
  return "invalid";
}

const char *toString(Rounding rounding) {
  return rounding == Rounding::Nearest ? "nearest" : "stochastic";
}

int rotationBlock(int dim) { return dim & -dim; }

const char *toString(BitsRule rule) {
  return rule == BitsRule::Even ? "even" : "lifetime";
}

const char *toString(HeadMap map) {
  return map == HeadMap::Group ? "group" : "modulo";
}

const char *toString(InputLayout layout) {
  return layout == InputLayout::PackedQkv ? "packed_qkv" : "separate";
}

const char *toString(DecayForm form) {
  switch (form) {
  case DecayForm::Log:
    return "log";
  case DecayForm::Linear:
    return "linear";
  case DecayForm::Softplus:
    return "softplus";
  case DecayForm::LowerBound:
    return "lower_bound";
  }
  return "invalid";
}

const char *toString(BetaForm form) {
  return form == BetaForm::Value ? "value" : "sigmoid";
}

const char *toString(QkNorm norm) {
  switch (norm) {
  case QkNorm::None:
    return "none";
  case QkNorm::L2EpsInside:
    return "l2_eps_inside";
  case QkNorm::L2EpsOutside:
    return "l2_eps_outside";
  }
  return "invalid";
}

const char *toString(PadPolicy policy) {
  switch (policy) {
  case PadPolicy::None:
    return "none";
  case PadPolicy::Negative:
    return "negative";
  case PadPolicy::NonPositive:
    return "non_positive";
  }
  return "invalid";
}

std::string digitsOf(const std::vector<uint8_t> &rowBits) {
  std::string digits;
  for (uint8_t bits : rowBits)
    digits += char('0' + bits);
  return digits;
}

std::optional<std::vector<uint8_t>> rowBitsOf(const std::string &digits) {
  std::vector<uint8_t> rowBits;
  for (char digit : digits) {
    if (digit < '0' + kMinRowBits || digit > '0' + kMaxRowBits)
      return std::nullopt;
    rowBits.push_back(uint8_t(digit - '0'));
  }
  return rowBits;
}

std::vector<uint8_t> evenRowBits(double mean, int64_t rows) {
  const int low = std::clamp(int(mean), kMinRowBits, kMaxRowBits);
  const double share = std::clamp(mean - low, 0.0, 1.0);
  std::vector<uint8_t> widths;
  for (int64_t row = 0; row < rows; ++row) {
    // One more where the sum of shares passes a whole number.
    const bool more = int64_t(share * double(row + 1) + 1e-9) >
                      int64_t(share * double(row) + 1e-9);
    widths.push_back(uint8_t(std::min(low + more, kMaxRowBits)));
  }
  return widths;
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//
namespace {

/// Gathers issues; every helper says what was found and what is allowed.
class Checker {
public:
  std::vector<SpecIssue> issues;

  void add(const char *path, std::string message) {
    issues.push_back({path, std::move(message)});
  }
  void range(const char *path, int found, int low, int high) {
    if (found < low || found > high)
      add(path, fmt::format("found {}; allowed: an integer from {} to {}",
                            found, low, high));
  }
  void real(const char *path, double found, double low, double high) {
    // Written so that NaN fails.
    if (!(found >= low && found <= high))
      add(path, fmt::format("found {}; allowed: a number from {} to {}", found,
                            low, high));
  }
  void floating(const char *path, ElementType found) {
    if (!isWideFloat(found))
      add(path,
          fmt::format("found {}; allowed: f32, f16 or bf16", toString(found)));
  }
};

void checkHeads(const HeadShape &heads, Checker &check) {
  check.range("heads.key", heads.key, 1, kMaxHeads);
  check.range("heads.value", heads.value, 1, kMaxHeads);
  if (heads.key > 0 && heads.value > 0 && heads.value % heads.key != 0)
    check.add("heads.value",
              fmt::format("found {}, with heads.key {}; allowed: a multiple of "
                          "heads.key, since every query/key head serves the "
                          "same number of value heads",
                          heads.value, heads.key));
  check.range("heads.key_dim", heads.keyDim, kMinDim, kMaxDim);
  check.range("heads.value_dim", heads.valueDim, kMinDim, kMaxDim);
}

void checkInputs(const InputSpec &inputs, Checker &check) {
  check.floating("inputs.type", inputs.type);
  check.floating("inputs.output", inputs.output);
  check.floating("inputs.gate_type", inputs.gateType);
  check.floating("inputs.beta_round", inputs.betaRound);
  if (inputs.decay == DecayForm::LowerBound)
    check.real("inputs.lower_bound", inputs.lowerBound, -kMaxReal, -kMinReal);
  else if (inputs.lowerBound != 0)
    check.add("inputs.lower_bound",
              fmt::format("found {} beside inputs.decay {}; allowed: only when "
                          "inputs.decay is lower_bound",
                          inputs.lowerBound, toString(inputs.decay)));
  if (inputs.betaScale != 1 && inputs.betaScale != 2)
    check.add("inputs.beta_scale",
              fmt::format("found {}; allowed: 1, or 2 for negative eigenvalues",
                          inputs.betaScale));
  if (inputs.qkNorm != QkNorm::None)
    check.real("inputs.norm_eps", inputs.normEps, kMinReal, 1);
  check.real("inputs.scale", inputs.scale, kMinReal, kMaxReal);
}

/// What one scale may be, whatever stands beside it.
void checkScale(const StateSpec &state, size_t index, Checker &check) {
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
  constexpr int kBlocks[] = {16, 32, 64, 128};
  const bool isBlock = std::find(std::begin(kBlocks), std::end(kBlocks),
                                 scale.block) != std::end(kBlocks);
  if (scale.block != 0 && !isBlock)
    add("block", fmt::format("found {}; allowed: 16, 32, 64 or 128, or no "
                             "blocks",
                             scale.block));
  if (scale.block != 0 && scale.fit != ScaleFit::AbsMax &&
      scale.fit != ScaleFit::MinMax)
    add("fit", fmt::format("found {} beside blocks; allowed: absmax or minmax",
                           toString(scale.fit)));
  if (scale.block != 0 && scale.axis == Axis::Head)
    add("block", fmt::format("found {} on axis head; allowed: blocks of key "
                             "rows or value columns",
                             scale.block));
  // Only these map what is left to encode onto the codes: an unbounded rms
  // where levels are meant for it.
  const bool fits =
      scale.fit == ScaleFit::AbsMax || scale.fit == ScaleFit::MinMax ||
      scale.fit == ScaleFit::LeastSquares ||
      (scale.fit == ScaleFit::RootMeanSquare && isCodebook(state.codes));
  if (last && !fits)
    add("fit",
        fmt::format("found {} in the last scale; allowed: absmax, "
                    "least_squares, minmax for integers or rms for codebooks, "
                    "which map the elements to what {} can hold",
                    toString(scale.fit), toString(state.codes)));
  if (scale.fit == ScaleFit::LeastSquares &&
      (!last || scale.block || scale.axis == Axis::Head ||
       !isWideFloat(scale.type)))
    add("fit", "found least_squares; allowed: only in the last scale, of key "
               "rows or value columns without blocks, of type f32, f16 or "
               "bf16");
  if (!last && isGrouped(scale))
    add(scale.block ? "block" : "fit",
        fmt::format("found {} in scale {} of {}; allowed: only in the last one",
                    scale.block ? "blocks" : "minmax", index + 1,
                    state.scales.size()));
  if (scale.fit != ScaleFit::MinMax)
    return;
  if (!isInteger(state.codes))
    add("fit", fmt::format("found minmax beside state.codes {}; allowed: only "
                           "when state.codes is an integer type, whose codes "
                           "are evenly spaced",
                           toString(state.codes)));
  if (scale.axis == Axis::Head)
    add("fit", "found minmax on axis head; allowed: minmax of key rows, of "
               "value columns or of blocks of them");
  if (!isWideFloat(scale.type))
    add("type", fmt::format("found {} beside fit minmax; allowed: f32, f16 or "
                            "bf16, since offsets have signs and fractions",
                            toString(scale.type)));
}

void checkState(const StateSpec &state, Checker &check) {
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

void checkRotation(const DecodeSpec &spec, Checker &check) {
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

void checkRowBits(const DecodeSpec &spec, Checker &check) {
  const RowBits &bits = spec.state.bits;
  if (bits.widths.empty()) {
    if (bits.mean > 0)
      check.add("state.plan",
                "missing beside state.bits; allowed: a plan that `decant "
                "calibrate` made from traces, or state.bits.by even");
    return;
  }
  const std::vector<ScaleSpec> &scales = spec.state.scales;
  if (spec.state.codes != ElementType::I8)
    check.add("state.codes",
              fmt::format("found {}; allowed: int8 where key rows differ in "
                          "bits, since all use its scales",
                          toString(spec.state.codes)));
  if (scales.empty() || scales.back().axis != Axis::Value ||
      scales.back().fit != ScaleFit::AbsMax || isGrouped(scales.back()))
    check.add(
        "state.scale",
        "found no scale on the value axis at the end; allowed: one there, "
        "absmax without blocks, where key rows differ in bits, since all "
        "share it");
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
  const int64_t rows = int64_t(spec.heads.value) * spec.heads.keyDim;
  if (int64_t(bits.widths.size()) != rows)
    check.add("state.plan",
              fmt::format("found bits of {} key rows; allowed: {}, since there "
                          "are {} value heads of key dim {}",
                          bits.widths.size(), rows, spec.heads.value,
                          spec.heads.keyDim));
  double sum = 0;
  for (uint8_t width : bits.widths) {
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

void checkCompensators(const WindowSpec &window, Checker &check) {
  const ElementType type = window.compensatorType;
  if (type != ElementType::F16 && type != ElementType::BF16 &&
      type != ElementType::I8 && type != ElementType::E4M3)
    check.add("window.compensator_type",
              fmt::format("found {}; allowed: f16, bf16, or int8 or e4m3 with "
                          "a scale",
                          toString(type)));
  check.range("window.compensator_rounds", window.compensatorRounds, 1,
              kMaxCompensatorRounds);
}

} // namespace

std::vector<SpecIssue> check(const DecodeSpec &spec) {
  Checker check;
  if (spec.rule.text.empty())
    check.add("rule", "found an empty text; allowed: the MLIR text of one "
                      "decant.rule");
  checkHeads(spec.heads, check);
  checkInputs(spec.inputs, check);
  checkState(spec.state, check);
  checkRotation(spec, check);
  checkRowBits(spec, check);
  check.range("window.length", spec.window.length, 1, kMaxWindow);
  check.range("window.compensators", spec.window.compensators, 0,
              kMaxCompensators);
  check.floating("window.records", spec.window.records);
  checkCompensators(spec.window, check);
  check.range("tokens_per_step", spec.tokensPerStep, 1, kMaxTokensPerStep);
  // Tokens that may be taken back have to be records: a fold cannot be undone.
  if (spec.tokensPerStep > 1 && spec.tokensPerStep > spec.window.length)
    check.add("tokens_per_step",
              fmt::format("found {} with window.length {}; allowed: up to "
                          "window.length, since a step's tokens stay records "
                          "until they are accepted (set window.length to {} or "
                          "more)",
                          spec.tokensPerStep, spec.window.length,
                          spec.tokensPerStep));
  return check.issues;
}

//===----------------------------------------------------------------------===//
// Text form
//===----------------------------------------------------------------------===//

/// `text` on one line; different texts give different lines.
static std::string onOneLine(const std::string &text) {
  std::string line;
  line.reserve(text.size());
  for (char c : text) {
    if (c == '\n')
      line += "\\n";
    else if (c == '\\')
      line += "\\\\";
    else
      line += c;
  }
  return line;
}

std::string canonicalText(const DecodeSpec &spec) {
  std::string text = "spec = 1\n";
  auto field = [&text](const std::string &path, const auto &value) {
    text += fmt::format("{} = {}\n", path, value);
  };
  // The rule's name is a label like the spec's own: a path that differs between
  // machines must not change the key of equal code.
  field("rule.text", onOneLine(spec.rule.text));

  field("heads.key", spec.heads.key);
  field("heads.value", spec.heads.value);
  field("heads.key_dim", spec.heads.keyDim);
  field("heads.value_dim", spec.heads.valueDim);
  field("heads.map", toString(spec.heads.map));

  // fmt prints the shortest decimal that reads back as the same double.
  const InputSpec &inputs = spec.inputs;
  field("inputs.type", toString(inputs.type));
  field("inputs.output", toString(inputs.output));
  field("inputs.layout", toString(inputs.layout));
  field("inputs.decay", toString(inputs.decay));
  field("inputs.gate_type", toString(inputs.gateType));
  field("inputs.lower_bound", inputs.lowerBound);
  field("inputs.beta", toString(inputs.beta));
  field("inputs.beta_scale", inputs.betaScale);
  field("inputs.beta_round", toString(inputs.betaRound));
  field("inputs.qk_norm", toString(inputs.qkNorm));
  field("inputs.norm_eps", inputs.normEps);
  field("inputs.scale", inputs.scale);
  field("inputs.pad", toString(inputs.pad));

  field("state.codes", toString(spec.state.codes));
  if (spec.state.rotation != Rotation::None)
    field("state.rotate", toString(spec.state.rotation));
  if (spec.state.rounding != Rounding::Nearest)
    field("state.round", toString(spec.state.rounding));
  field("state.scale", spec.state.scales.size());
  for (size_t i = 0; i < spec.state.scales.size(); ++i) {
    const ScaleSpec &scale = spec.state.scales[i];
    field(fmt::format("state.scale.{}", i),
          fmt::format("{} {} {}{}", toString(scale.axis), toString(scale.fit),
                      toString(scale.type),
                      scale.block ? fmt::format(" block {}", scale.block)
                                  : std::string()));
  }
  const std::vector<uint8_t> &widths = spec.state.bits.widths;
  field("state.bits", widths.empty() ? "" : digitsOf(widths));
  field("window.length", spec.window.length);
  field("window.compensators", spec.window.compensators);
  field("window.records", toString(spec.window.records));
  field("window.compensator_type", toString(spec.window.compensatorType));
  field("window.compensator_rounds", spec.window.compensatorRounds);
  field("tokens_per_step", spec.tokensPerStep);
  return text;
}

} // namespace decant
