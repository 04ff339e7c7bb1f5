//===- PlainLoop.h - gated delta rules as plain loops -----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a trace. Out: outputs and final states of the gated delta rule (g one
// number per head) or KDA (g one number per key), in float64, written out as
// nested loops: an oracle that shares no code with the interpreter.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_REFERENCE_PLAINLOOP_H
#define DECANT_TEST_UNIT_REFERENCE_PLAINLOOP_H

#include "decant/Core/SlotLayout.h"
#include "decant/Reference/Trace.h"

#include <vector>

namespace decant::test {

struct PlainRun {
  std::vector<double> outputs; // [tokens, value heads, value dim]
  std::vector<double> states;  // [value heads, key dim, value dim]
};

/// Decodes with log decays, beta as given, q and k normalized with 1e-6 inside
/// the root and q scaled by 1 / sqrt(key dim), both constants as f32. With a
/// layout, every layout->window tokens the state is stored and read back.
PlainRun runPlainLoop(const Trace &trace, const SlotLayout *layout);

} // namespace decant::test

#endif // DECANT_TEST_UNIT_REFERENCE_PLAINLOOP_H
