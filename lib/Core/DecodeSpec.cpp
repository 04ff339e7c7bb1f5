//===- DecodeSpec.cpp - what is asked of a kernel -------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names of everything that a spec says, and the text that stands for a spec in
// cache keys.
//
//===----------------------------------------------------------------------===//
#include "decant/Core/DecodeSpec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

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
  case ElementType::T4:
    return 4;
  case ElementType::L3:
  case ElementType::T3:
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

bool isCodebook(ElementType type) { return type >= ElementType::L4; }

bool isTable(ElementType type) { return type >= ElementType::T4; }

bool isSmallFloat(ElementType type) {
  return type >= ElementType::E4M3 && type <= ElementType::E2M1;
}

int maxCode(ElementType type) {
  assert(isInteger(type) && "only integer codes are bounded");
  return (1 << (elementBits(type) - 1)) - 1;
}

bool isGrouped(const ScaleSpec &scale) {
  return scale.block > 0 || scale.fit == ScaleFit::MinMax ||
         scale.fit == ScaleFit::Static;
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
  case ElementType::T4:
    return "table4";
  case ElementType::T3:
    return "table3";
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
  case ScaleFit::KeptNorm:
    return "kept_norm";
  case ScaleFit::Static:
    return "static";
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

int rotationBlock(int dim, int most) {
  const int largest = dim & -dim;
  return most ? std::min(largest, most) : largest;
}

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

static constexpr char kPivotDigit = 'f';

std::string digitsOf(const std::vector<uint8_t> &rowBits) {
  std::string digits;
  for (uint8_t bits : rowBits)
    digits += bits == kPivotBits ? kPivotDigit : char('0' + bits);
  return digits;
}

std::optional<std::vector<uint8_t>> rowBitsOf(const std::string &digits) {
  std::vector<uint8_t> rowBits;
  for (char digit : digits) {
    const bool isWidth =
        digit >= '0' + kMinRowBits && digit <= '0' + kMaxRowBits;
    if (!isWidth && digit != kPivotDigit)
      return std::nullopt;
    rowBits.push_back(uint8_t(isWidth ? digit - '0' : kPivotBits));
  }
  return rowBits;
}

std::vector<uint8_t> evenRowBits(double mean, int64_t rows, int pivots) {
  if (pivots > 0) {
    const double left = mean * double(rows) - double(pivots) * kPivotBits;
    std::vector<uint8_t> widths =
        evenRowBits(left / double(rows - pivots), rows - pivots);
    for (int64_t pivot = 0; pivot < pivots; ++pivot)
      widths.insert(widths.begin() + pivot * rows / pivots, kPivotBits);
    return widths;
  }
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
  if (spec.state.rotationBlock)
    field("state.rotate_block", spec.state.rotationBlock);
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
  auto table = [&](const char *name, const std::vector<float> &numbers) {
    if (!numbers.empty())
      field(name, fmt::format("{}", fmt::join(numbers, " ")));
  };
  table("state.weights", spec.state.tables.weights);
  table("state.levels", spec.state.tables.levels);
  table("state.scales", spec.state.tables.scales);
  field("window.length", spec.window.length);
  field("window.compensators", spec.window.compensators);
  field("window.records", toString(spec.window.records));
  field("window.compensator_type", toString(spec.window.compensatorType));
  field("window.compensator_rounds", spec.window.compensatorRounds);
  field("tokens_per_step", spec.tokensPerStep);
  return text;
}

} // namespace decant
