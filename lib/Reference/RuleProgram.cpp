//===- RuleProgram.cpp - a token's work as a list of steps ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/RuleProgram.h"

#include <algorithm>
#include <cassert>
#include <limits>

using namespace decant;

RuleProgram::RuleProgram(int keyDim, int valueDim)
    : keys(keyDim), values(valueDim) {}

RuleProgram::Value RuleProgram::allocate(int length) {
  const Value value = {static_cast<int>(memory.size()), length};
  memory.resize(memory.size() + length);
  return value;
}

RuleProgram::Value RuleProgram::addInput(const RuleInput &input) {
  inputList.push_back(input);
  const int length = input.kind == RuleInput::Scalar      ? 1
                     : input.kind == RuleInput::KeyVector ? keys
                                                          : values;
  inputValues.push_back(allocate(length));
  return inputValues.back();
}

RuleProgram::Value RuleProgram::addCarried() {
  carriedValues.push_back(allocate(keys));
  return carriedValues.back();
}

RuleProgram::Value
RuleProgram::addConstant(const std::vector<double> &elements) {
  const Value value = allocate(static_cast<int>(elements.size()));
  std::copy(elements.begin(), elements.end(), memory.begin() + value.offset);
  return value;
}

RuleProgram::Value
RuleProgram::addElementwise(Function function,
                            const std::vector<Value> &operands, int length) {
  Instruction instruction;
  instruction.function = function;
  assert(operands.size() <= instruction.operands.size());
  std::copy(operands.begin(), operands.end(), instruction.operands.begin());
  instruction.operandCount = static_cast<int>(operands.size());
  instruction.result = allocate(length);
  instructions.push_back(instruction);
  return instruction.result;
}

RuleProgram::Value RuleProgram::addDot(Value a, Value b) {
  Instruction instruction;
  instruction.opcode = Opcode::Dot;
  instruction.operands = {a, b};
  instruction.result = allocate(1);
  instructions.push_back(instruction);
  return instruction.result;
}

RuleProgram::Value RuleProgram::addRead(State state, Value key) {
  return addReadOf(Opcode::Read, state, key, values);
}

RuleProgram::Value RuleProgram::addReadKey(State state, Value value) {
  return addReadOf(Opcode::ReadKey, state, value, keys);
}

RuleProgram::Value RuleProgram::addReadOf(Opcode opcode, State state,
                                          Value vector, int width) {
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.operands = {vector};
  instruction.from = state;
  instruction.result = allocate(width);
  instructions.push_back(instruction);
  return instruction.result;
}

RuleProgram::State RuleProgram::addStateChange(Opcode opcode, State from,
                                               Value a, Value b) {
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.operands = {a, b};
  instruction.from = from;
  instruction.to = {stateCount++};
  instructions.push_back(instruction);
  return instruction.to;
}

RuleProgram::State RuleProgram::addWrite(State state, Value key, Value value) {
  return addStateChange(Opcode::Write, state, key, value);
}
RuleProgram::State RuleProgram::addScalarDecay(State state, Value factor) {
  return addStateChange(Opcode::ScalarDecay, state, factor, {});
}
RuleProgram::State RuleProgram::addKeyDecay(State state, Value factors) {
  return addStateChange(Opcode::KeyDecay, state, factors, {});
}
RuleProgram::State RuleProgram::addValueDecay(State state, Value factors) {
  return addStateChange(Opcode::ValueDecay, state, factors, {});
}

void RuleProgram::finish(State state, Value output,
                         const std::vector<Value> &left) {
  assert(left.size() == carriedValues.size());
  lastState = state;
  outputValue = output;
  leftValues = left;

  const auto touchesState = [](const Instruction &instruction) {
    return instruction.opcode != Opcode::Elementwise &&
           instruction.opcode != Opcode::Dot;
  };
  std::vector<size_t> lastUse(stateCount, 0);
  for (size_t i = 0; i < instructions.size(); ++i)
    if (touchesState(instructions[i]))
      lastUse[instructions[i].from.index] = i;
  lastUse[state.index] = std::numeric_limits<size_t>::max();

  bufferOf.assign(stateCount, 0);
  spareBuffers.clear();
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instruction &instruction = instructions[i];
    if (!touchesState(instruction) || instruction.opcode == Opcode::Read ||
        instruction.opcode == Opcode::ReadKey)
      continue;
    if (lastUse[instruction.from.index] == i) {
      bufferOf[instruction.to.index] = bufferOf[instruction.from.index];
      continue;
    }
    spareBuffers.emplace_back(size_t(keys) * values);
    bufferOf[instruction.to.index] = static_cast<int>(spareBuffers.size());
  }
}

double *RuleProgram::buffer(State state, double *firstState) {
  const int index = bufferOf[state.index];
  return index == 0 ? firstState : spareBuffers[index - 1].data();
}

void RuleProgram::runElementwise(const Instruction &instruction) {
  double *result = &memory[instruction.result.offset];
  std::array<const double *, 3> operands = {};
  std::array<int, 3> strides = {};
  const double unused = 0;
  for (int i = 0; i < 3; ++i) {
    const bool used = i < instruction.operandCount;
    operands[i] = used ? &memory[instruction.operands[i].offset] : &unused;
    strides[i] = used && instruction.operands[i].length > 1;
  }
  for (int i = 0; i < instruction.result.length; ++i)
    result[i] = instruction.function(operands[0][i * strides[0]],
                                     operands[1][i * strides[1]],
                                     operands[2][i * strides[2]]);
}

void RuleProgram::runOnState(const Instruction &instruction,
                             double *firstState) {
  const double *a = &memory[instruction.operands[0].offset];
  const double *b = &memory[instruction.operands[1].offset];
  const double *from = buffer(instruction.from, firstState);
  if (instruction.opcode == Opcode::Read) {
    double *result = &memory[instruction.result.offset];
    std::fill_n(result, values, 0.0);
    for (int k = 0; k < keys; ++k)
      for (int v = 0; v < values; ++v)
        result[v] += from[k * values + v] * a[k];
    return;
  }
  if (instruction.opcode == Opcode::ReadKey) {
    double *result = &memory[instruction.result.offset];
    for (int k = 0; k < keys; ++k) {
      result[k] = 0;
      for (int v = 0; v < values; ++v)
        result[k] += from[k * values + v] * a[v];
    }
    return;
  }
  double *to = buffer(instruction.to, firstState);
  for (int k = 0; k < keys; ++k) {
    const double *source = from + k * values;
    double *target = to + k * values;
    switch (instruction.opcode) {
    case Opcode::Write:
      for (int v = 0; v < values; ++v)
        target[v] = source[v] + a[k] * b[v];
      break;
    case Opcode::ValueDecay:
      for (int v = 0; v < values; ++v)
        target[v] = source[v] * a[v];
      break;
    default: {
      const double factor = instruction.opcode == Opcode::KeyDecay ? a[k] : *a;
      for (int v = 0; v < values; ++v)
        target[v] = source[v] * factor;
    }
    }
  }
}

void RuleProgram::step(const std::vector<std::vector<double>> &inputs,
                       double *state, double *output, double *carried) {
  assert(bufferOf.size() == size_t(stateCount) && "finish() comes first");
  assert(carriedValues.empty() || carried);
  for (size_t i = 0; i < carriedValues.size(); ++i)
    std::copy_n(carried + i * keys, keys,
                memory.begin() + carriedValues[i].offset);
  for (size_t i = 0; i < inputValues.size(); ++i)
    std::copy_n(inputs[i].begin(), inputValues[i].length,
                memory.begin() + inputValues[i].offset);
  for (const Instruction &instruction : instructions) {
    if (instruction.opcode == Opcode::Elementwise) {
      runElementwise(instruction);
    } else if (instruction.opcode == Opcode::Dot) {
      double sum = 0;
      for (int i = 0; i < instruction.operands[0].length; ++i)
        sum += memory[instruction.operands[0].offset + i] *
               memory[instruction.operands[1].offset + i];
      memory[instruction.result.offset] = sum;
    } else {
      runOnState(instruction, state);
    }
  }
  std::copy_n(memory.begin() + outputValue.offset, values, output);
  for (size_t i = 0; i < leftValues.size(); ++i)
    std::copy_n(memory.begin() + leftValues[i].offset, keys,
                carried + i * keys);
  const double *last = buffer(lastState, state);
  if (last != state)
    std::copy_n(last, size_t(keys) * values, state);
}
