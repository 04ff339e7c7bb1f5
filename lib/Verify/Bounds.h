//===- Bounds.h - how far a kernel may be from the rule -----------*- C++
//-*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every step is compared with what float64 makes of the state that the kernel
// itself had stored before it, so no error comes from the step before: what is
// left is one step's arithmetic, the rounding of one record, or one fold.
// Errors are norms over all heads and tokens of a case, relative to the norm of
// what was expected.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_VERIFY_BOUNDS_H
#define DECANT_LIB_VERIFY_BOUNDS_H

#include "decant/Runtime/Program.h"

namespace decant {

struct VerifyBounds {
  double output = 0;
  double state = 0; // of a step without a fold, and of carried vectors
  /// The same against the rule in which records are not rounded.
  double plainState = 0;
  /// A fold's error is at most the codec's times `foldFactor`, and in
  /// quadrature `foldRounding`.
  double foldFactor = 1, foldRounding = 0;

  double fold(double codec) const;
};

VerifyBounds verifyBounds(const DecodeSpec &spec, const SlotLayout &layout,
                          const ProgramInfo &program);

/// By how much |x - expected| is more than what rounding `expected` to `type`
/// explains: half the distance of the two numbers around it.
double beyondRounding(ElementType type, double x, double expected);

} // namespace decant

#endif // DECANT_LIB_VERIFY_BOUNDS_H
