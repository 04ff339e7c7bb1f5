//===- RuleProgram.h - a token's work as a list of steps --------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: instructions in execution order, added once. Out: step(), which runs them
// for one token of one head in float64. Nothing is rounded except where an
// instruction says so. Without MLIR, so that the numeric tools and tests that
// run a program need not link it; Interpreter.h makes one from a decant.decode.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_REFERENCE_RULEPROGRAM_H
#define DECANT_REFERENCE_RULEPROGRAM_H

#include "decant/Core/RuleInfo.h"

#include <array>
#include <vector>

namespace decant {

class RuleProgram {
public:
  /// A function of up to three elements; those that it has no use for are 0.
  using Function = double (*)(double, double, double);
  /// A scalar or a vector.
  struct Value {
    int offset = 0; // into the values' memory
    int length = 1;
  };
  /// A state that an instruction made, or the token's first one.
  struct State {
    int index = 0;
  };

  RuleProgram(int keyDim, int valueDim);

  int keyDim() const { return keys; }
  int valueDim() const { return values; }
  /// What step() is given, in this order.
  const std::vector<RuleInput> &inputs() const { return inputList; }
  static State firstState() { return {}; }

  Value addInput(const RuleInput &input);
  /// A key vector that the token before has left.
  Value addCarried();
  Value addConstant(const std::vector<double> &elements);
  /// Element by element; an operand of length 1 goes with every element.
  Value addElementwise(Function function, const std::vector<Value> &operands,
                       int length);
  Value addDot(Value a, Value b);
  /// result = state^T key.
  Value addRead(State state, Value key);
  /// result = state value.
  Value addReadKey(State state, Value value);
  /// state + key value^T.
  State addWrite(State state, Value key, Value value);
  State addScalarDecay(State state, Value factor);
  State addKeyDecay(State state, Value factors);
  State addValueDecay(State state, Value factors);
  /// Ends the program. `output` is the token's output, `state` what remains, as
  /// does one of `left` for each carried vector.
  void finish(State state, Value output, const std::vector<Value> &left = {});

  /// Elements of all carried vectors.
  int carriedSize() const { return int(carriedValues.size()) * keys; }
  /// Runs one token. `inputs` has an array per input; `state` [keyDim,
  /// valueDim] and `carried` [carriedSize()] are read and replaced, `output`
  /// [valueDim] is written.
  void step(const std::vector<std::vector<double>> &inputs, double *state,
            double *output, double *carried = nullptr);

private:
  enum class Opcode {
    Elementwise,
    Dot,
    Read,
    ReadKey,
    Write,
    ScalarDecay,
    KeyDecay,
    ValueDecay
  };
  struct Instruction {
    Opcode opcode = Opcode::Elementwise;
    Function function = nullptr;
    std::array<Value, 3> operands;
    int operandCount = 0;
    Value result;
    State from, to; // of the instructions that touch a state
  };

  Value allocate(int length);
  Value addReadOf(Opcode opcode, State state, Value vector, int width);
  State addStateChange(Opcode opcode, State from, Value a, Value b);
  void runElementwise(const Instruction &instruction);
  void runOnState(const Instruction &instruction, double *firstState);
  double *buffer(State state, double *firstState);

  int keys, values;
  std::vector<RuleInput> inputList;
  std::vector<Value> inputValues;
  std::vector<Value> carriedValues, leftValues;
  std::vector<Instruction> instructions;
  std::vector<double> memory; // of the values, constants already in place
  int stateCount = 1;
  State lastState;
  Value outputValue;
  /// Buffer of each state. Buffer 0 is the caller's; a change whose old state
  /// nobody reads afterwards happens in place.
  std::vector<int> bufferOf;
  std::vector<std::vector<double>> spareBuffers; // buffers 1, 2, ...
};

} // namespace decant

#endif // DECANT_REFERENCE_RULEPROGRAM_H
