//===- InputConventions.h - how raw inputs become a rule's arguments -*- C++
//-*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Engines hand over the same quantities in different forms (a log decay or the
// logits of one, q and k normalised or not). A rule is written for one form;
// the difference becomes ordinary arith and math ops in front of it.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_IMPORT_INPUTCONVENTIONS_H
#define DECANT_IMPORT_INPUTCONVENTIONS_H

#include "decant/Core/DecodeSpec.h"
#include "mlir/IR/Builders.h"

namespace decant {

/// The log decay g from the decay input and, for Softplus and LowerBound, the
/// head's A_log (f32) and dt_bias (as `raw`). `raw` is f32 or a vector.
mlir::Value buildLogDecay(mlir::OpBuilder &builder, mlir::Location loc,
                          const InputSpec &inputs, mlir::Value raw,
                          mlir::Value aLog, mlir::Value dtBias);

/// beta from its input: sigmoid, rounding, scale.
mlir::Value buildBeta(mlir::OpBuilder &builder, mlir::Location loc,
                      const InputSpec &inputs, mlir::Value raw);

/// q or k: normalised, then multiplied by `scale`.
mlir::Value buildNormalised(mlir::OpBuilder &builder, mlir::Location loc,
                            const InputSpec &inputs, mlir::Value raw,
                            double scale);

} // namespace decant

#endif // DECANT_IMPORT_INPUTCONVENTIONS_H
