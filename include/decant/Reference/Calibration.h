//===- Calibration.h - which key rows matter --------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a rule, traces of one layer, the format that its state will have. Out:
// for each key row of each head how long an error in it lives, what it does to
// the outputs meanwhile, and how large it is at each width.
//
// An error E in a state goes on as E <- A_t E, where A_t is what the rule does
// to a state: decays and, for delta rules, corrections. So a second state that
// starts as S + e I, with another row of the identity in each column, shows all
// rows' errors at once: column i of its difference is what became of an error
// in row i, and element i of its output's difference what a read sees of it.
// Both runs are the rule itself in float64, so any rule can be asked.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_REFERENCE_CALIBRATION_H
#define DECANT_REFERENCE_CALIBRATION_H

#include "decant/Reference/BitAllocation.h"
#include "decant/Reference/RuleProgram.h"
#include "decant/Reference/TraceView.h"

#include <functional>
#include <vector>

namespace decant {

/// Means over all restarts and snapshots; [value heads, key dim].
struct RowStatistics {
  /// Sum over later tokens of the squared length of an error that was one unit.
  std::vector<double> lifetime;
  /// Sum over later tokens of its squared part of the outputs, over what the
  /// head's outputs square to on average per element.
  std::vector<double> impact;
  /// Mean squared error of an element of the row when all rows have that width;
  /// 0 where the format has no such rows.
  std::vector<CostByBits> distortion;
  int64_t tokens = 0;

  /// What each row costs: impact times distortion.
  std::vector<CostByBits> costs() const;
};

struct CalibrationOptions {
  int64_t horizon = 512; // tokens that an error is followed
  int snapshots = 8;     // states per trace and head that are encoded
  std::function<void(int head)> progress = [](int) {};
};

/// `program` is the rule of `spec`, each of `traces` one sequence.
Expected<RowStatistics> calibrate(const RuleProgram &program,
                                  const std::vector<TraceView> &traces,
                                  const DecodeSpec &spec,
                                  const CalibrationOptions &options = {});

} // namespace decant

#endif // DECANT_REFERENCE_CALIBRATION_H
