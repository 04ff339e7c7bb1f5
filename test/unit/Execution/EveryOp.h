//===- EveryOp.h - a rule with every element-wise op ------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_EXECUTION_EVERYOP_H
#define DECANT_TEST_UNIT_EXECUTION_EVERYOP_H

#include <string>
#include <vector>

namespace decant::test {

/// The output is the sum of what every element-wise op that the reference knows
/// makes of x and y, which are within 0.25 .. 1, so that no result is so large
/// that it hides the others. Both are exact in f32 and in float64.
inline std::string everyOpRule() {
  std::string text = R"(
!key = tensor<?xf32, #decant.axis<key>>
!value = tensor<?xf32, #decant.axis<value>>
!truth = tensor<?xi1, #decant.axis<value>>
!half = tensor<?xf16, #decant.axis<value>>
!bfloat = tensor<?xbf16, #decant.axis<value>>
!state = !decant.state<?x?>
decant.rule @every_op(%S: !state, %q: !key, %k: !key, %v: !value, %w: !value) {
  %S1 = decant.write %S, %k, %v : !state
  %s0 = decant.read %S1, %q : !state
  %one = arith.constant 1.0 : f32
  %low = arith.constant 0.25 : f32
  %ones = decant.broadcast %one : !value
  %lows = decant.broadcast %low : !value
)";
  const auto bounded = [&](const std::string &name, const std::string &from) {
    text += "  %" + name + "a = math.absf %" + from + " : !value\n";
    text +=
        "  %" + name + "b = arith.minimumf %" + name + "a, %ones : !value\n";
    text += "  %" + name + " = arith.maximumf %" + name + "b, %lows : !value\n";
  };
  bounded("x", "v");
  bounded("y", "w");
  int count = 0;
  const auto add = [&](const std::string &op) {
    const std::string n = std::to_string(count), next = std::to_string(++count);
    text += "  %r" + n + " = " + op + " : !value\n";
    text += "  %s" + next + " = arith.addf %s" + n + ", %r" + n + " : !value\n";
  };
  for (const char *op :
       {"arith.negf", "math.absf", "math.atan", "math.ceil", "math.cos",
        "math.erf", "math.exp", "math.exp2", "math.expm1", "math.floor",
        "math.log", "math.log1p", "math.log2", "math.rsqrt", "math.sin",
        "math.sqrt", "math.tan", "math.tanh"})
    add(std::string(op) + " %x");
  for (const char *op : {"arith.addf", "arith.subf", "arith.mulf", "arith.divf",
                         "arith.remf", "arith.maximumf", "arith.minimumf",
                         "arith.maxnumf", "arith.minnumf", "math.powf"})
    add(std::string(op) + " %x, %y");
  add("math.copysign %x, %w");
  add("math.fma %x, %y, %x");
  for (const char *type : {"half", "bfloat"}) {
    text += std::string("  %") + type + " = arith.truncf %x : !value to !" +
            type + "\n  %" + type + "x = arith.extf %" + type + " : !" + type +
            " to !value\n";
    add(std::string("arith.mulf %") + type + "x, %y");
  }
  text += "  %nan = math.log %w : !value\n"; // where w < 0
  int number = 0;
  for (const char *predicate :
       {"false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt",
        "uge", "ult", "ule", "une", "uno", "true"})
    for (const char *other : {"y", "nan"}) {
      const std::string name = "c" + std::to_string(number++);
      text += "  %" + name + " = arith.cmpf " + predicate + ", %x, %" + other +
              " : !value\n  %" + name + "s = arith.select %" + name +
              ", %x, %y : !truth, !value\n";
      add("arith.mulf %" + name + "s, %x");
    }
  return text + "  decant.yield %S1, %s" + std::to_string(count) +
         " : !state\n}\n";
}

} // namespace decant::test

#endif // DECANT_TEST_UNIT_EXECUTION_EVERYOP_H
