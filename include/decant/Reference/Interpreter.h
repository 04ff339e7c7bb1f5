//===- Interpreter.h - from a rule's IR to float64 --------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a decant.decode, the rule with the input conventions in front (stage
// `rule`). Out: a program that runs it in float64: the oracle of every numeric
// test. f32 arithmetic is not rounded; a constant keeps its f32 value, and
// arith.truncf rounds to its result type, since the spec asks for that.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_REFERENCE_INTERPRETER_H
#define DECANT_REFERENCE_INTERPRETER_H

#include "decant/Core/Status.h"
#include "decant/Reference/RuleProgram.h"

namespace decant {

class DecodeOp;

/// Ops of decant's rule dialect and element-wise ops of arith and math are
/// known; any other is an error that names it.
Expected<RuleProgram> buildRuleProgram(DecodeOp decode);

} // namespace decant

#endif // DECANT_REFERENCE_INTERPRETER_H
