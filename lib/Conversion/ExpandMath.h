//===- ExpandMath.h - arithmetic for math functions ----------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: math ops on f32 scalars and vectors (f16 and bf16 are widened first).
// Out: arith, math.fma and the few math ops that every target has as an
// instruction (abs, sqrt, floor, ...). GPU and CPU get the same arithmetic, so
// that their results agree, and no math library is linked: libdevice may not be
// shipped, and a call per lane would undo the CPU's vectors.
//
// exp, exp2, log and what follows from them (log1p, expm1) are within a few
// units in the last place; the tests hold the bound.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CONVERSION_EXPANDMATH_H
#define DECANT_CONVERSION_EXPANDMATH_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace decant {

void populateExpandMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace decant

#endif // DECANT_CONVERSION_EXPANDMATH_H
