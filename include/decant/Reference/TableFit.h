//===- TableFit.h - the numbers that plans bring ----------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a rule, traces of one layer, the format that its state will have. Out:
// the numbers of its plan that are no bits of rows (Core/DecodeSpec.h,
// PlanTables). States are those of the rule in float64: nothing that is stored
// feeds back.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_REFERENCE_TABLEFIT_H
#define DECANT_REFERENCE_TABLEFIT_H

#include "decant/Reference/Calibration.h"

namespace decant {

/// What rows weigh in fits: the 1/8-th power of how strongly reads see an error
/// of one unit in them, over the geometric mean of the head's rows (STEPQuant
/// section 3, whose gamma is 0.25).
std::vector<float> fitWeights(const RowStatistics &rows,
                              const HeadShape &heads);

/// Levels for codes of `spec`'s type, by k-means of elements as the format's
/// scale and offset leave them. An element weighs what its error would: the
/// square of its scale times the impact of its row.
Expected<std::vector<float>> fitLevels(const RuleProgram &program,
                                       const std::vector<TraceView> &traces,
                                       const DecodeSpec &spec,
                                       const RowStatistics &rows,
                                       const CalibrationOptions &options = {});

/// Static scales: the largest element of each block of a key row, over all
/// states and over the heads of a cluster, by the largest code. Heads form up
/// to four clusters, by how large their states are.
Expected<std::vector<float>>
fitStaticScales(const RuleProgram &program,
                const std::vector<TraceView> &traces, const DecodeSpec &spec);

} // namespace decant

#endif // DECANT_REFERENCE_TABLEFIT_H
