//===- Bounds.cpp - how far a kernel may be from the rule -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bounds.h"

#include <algorithm>
#include <cmath>

using namespace decant;

namespace {

/// f32: a rounding is 2^-24 = 6e-8, and a sum over K <= 256 keys gathers
/// sqrt(K) of them, since they are independent.
constexpr double kF32 = 1e-6;

/// Half a step of a number just above a power of two; 0 for f32, whose steps
/// kF32 has.
double unitOf(ElementType type) {
  switch (type) {
  case ElementType::F16:
    return std::ldexp(1.0, -11);
  case ElementType::BF16:
    return std::ldexp(1.0, -8);
  default:
    return 0;
  }
}

/// What rounding costs in norm: errors are spread evenly over half a step, so
/// their root mean square is below half of that.
double normOf(ElementType type) { return unitOf(type) / 2; }

} // namespace

double VerifyBounds::fold(double codec) const {
  return std::hypot(foldFactor * codec, foldRounding);
}

VerifyBounds decant::verifyBounds(const DecodeSpec &spec,
                                  const SlotLayout &layout,
                                  const ProgramInfo &program) {
  const bool windowed = layout.window > 1;
  const bool keyDecays = layout.record.keyDecay == DecayShape::Vector;
  const bool valueDecays = layout.record.valueDecay == DecayShape::Vector;
  VerifyBounds bounds;
  bounds.output = kF32;
  if (program.tensorCores) {
    // An operand of a product is two f16 numbers, which leave 2^-22 of it;
    // beside bf16 codes two bf16 numbers, which leave 2^-17. Under a vector
    // decay the keys of all terms are rounded once more, to f16; the products
    // that make a score may cancel, and then their errors stand beside little.
    bounds.output += std::ldexp(1.0, -22);
    if (layout.codes.type == ElementType::BF16)
      bounds.output += std::ldexp(1.0, -17);
    if (keyDecays)
      bounds.output += 4 * normOf(ElementType::F16);
  }

  // A rule may write what it reads, so a read's error goes into the state.
  bounds.state = bounds.plainState = bounds.output;
  if (windowed) {
    const double unit = unitOf(spec.window.records);
    // Float64 rounds keys and values as the kernel does, but where they differ
    // by e, the two fall on different sides of a tie e / (2 unit) of the time
    // and are then 2 unit apart; for keys and for values.
    bounds.state += std::sqrt(2 * 2 * unit * bounds.output);
    bounds.plainState += 2 * unit;
    // A token's own decays along an axis are kept in the records' type, which
    // the float64 rule does not round.
    bounds.state += (int(keyDecays) + int(valueDecays)) * unit;
    bounds.plainState += (int(keyDecays) + int(valueDecays)) * unit;
  }

  // The tokens of one step read one another's records and decays.
  if (program.tokensPerStep > 1)
    bounds.output = bounds.state;

  // A fold differs from the codec where an element lies so near to a tie that
  // f32 falls on the other side, hardly ever: 1.01. A fit of compensators
  // decides between directions that are nearly as good: 1.02 over a window, 1.1
  // where the state is folded at every token, since what it fits is then mostly
  // what rounding had left.
  if (layout.compensators == 0)
    bounds.foldFactor = 1.01;
  else
    bounds.foldFactor = windowed ? 1.02 : 1.1;
  bounds.foldRounding = bounds.state;
  // Tensor cores multiply decays into terms, which they hold in f16 or, beside
  // records or codes of bf16, in that, and round once more.
  const bool bf16 = layout.codes.type == ElementType::BF16 ||
                    layout.recordKeys.type == ElementType::BF16;
  if (program.tensorCores)
    bounds.foldRounding += normOf(bf16 ? ElementType::BF16 : ElementType::F16);
  return bounds;
}

double decant::beyondRounding(ElementType type, double x, double expected) {
  const double distance = std::fabs(x - expected);
  double half = 0;
  if (type != ElementType::F32) {
    const bool f16 = type == ElementType::F16;
    int exponent = 0;
    std::frexp(expected, &exponent);
    const int fractionBits = f16 ? 10 : 7;
    half = std::ldexp(0.5,
                      std::max(exponent - 1, f16 ? -14 : -126) - fractionBits);
  }
  // Not std::max, which would drop a NaN.
  return distance <= half ? 0 : distance - half;
}
