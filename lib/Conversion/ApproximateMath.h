//===- ApproximateMath.h - a GPU's own functions ----------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In:  exp, sqrt, rsqrt and divisions of f32 whose fast-math flags allow
//      approximations (afn).
// Out: the instructions that NVIDIA's GPUs have for them: within 2 units in the
//      last place, plus 2^-24 |x| of exp x (PTX ISA: ex2, rsqrt, sqrt and
//      div.approx). A correctly rounded root and division take forty
//      instructions and a call.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CONVERSION_APPROXIMATEMATH_H
#define DECANT_CONVERSION_APPROXIMATEMATH_H

namespace mlir {
class Operation;
class RewritePatternSet;
} // namespace mlir

namespace decant {

/// Allows approximations to all ops below `root`.
void allowApproximations(mlir::Operation *root);
bool mayBeApproximated(mlir::Operation *op);
void populateApproximateMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace decant

#endif // DECANT_CONVERSION_APPROXIMATEMATH_H
