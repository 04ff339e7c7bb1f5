//===- Oracle.cpp - the same layer in float64 -----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"

#include "Verify/ReferenceProgram.h"
#include "decant/Core/Numeric.h"
#include "decant/Reference/Codec.h"
#include "decant/Reference/ReferenceRun.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace decant;
using namespace decant::test;

namespace {

RuleProgram programFor(const DecodeSpec &spec, Stored stored) {
  ReferencePrograms programs = valueOf(referencePrograms(spec));
  return stored == Stored::Exact ? programs.exact : programs.stored;
}

bool isGate(const RuleInput &input) {
  return input.name == "decay" || isBeta(input.name) ||
         input.source == RuleInput::Gate;
}
bool isOfLayer(const RuleInput &input) {
  return isGateParameter(input.name) || input.source == RuleInput::Layer;
}

int widthOf(const RuleInput &input, const HeadShape &heads) {
  return input.kind == RuleInput::Scalar      ? 1
         : input.kind == RuleInput::KeyVector ? heads.keyDim
                                              : heads.valueDim;
}

} // namespace

Oracle::Oracle(const DecodeSpec &spec, const SlotLayout &layout, int64_t rows,
               Stored stored)
    : states(rows * spec.heads.value * spec.heads.keyDim * spec.heads.valueDim),
      spec(spec), layout(layout), rowCount(rows), stored(stored),
      program(programFor(spec, stored)) {
  carried.resize(rows * spec.heads.value * program.carriedSize());
}

std::vector<double> Oracle::step(const Token &token) {
  const HeadShape &heads = spec.heads;
  const int64_t stateSize = int64_t(heads.keyDim) * heads.valueDim;
  std::vector<double> outputs(rowCount * heads.value * heads.valueDim);
  for (int64_t row = 0; row < rowCount; ++row)
    for (int head = 0; head < heads.value; ++head) {
      std::vector<std::vector<double>> inputs;
      for (const RuleInput &input : program.inputs()) {
        const bool shared = hasKeyHeads(input.name);
        const int64_t count = shared ? heads.key : heads.value;
        const int64_t index = shared ? keyHeadOf(heads, head) : head;
        const int64_t width = widthOf(input, heads);
        const int64_t first =
            ((isOfLayer(input) ? 0 : row * count) + index) * width;
        const auto begin = token.at(input.name).begin() + first;
        inputs.emplace_back(begin, begin + width);
      }
      const int64_t at = row * heads.value + head;
      program.step(inputs, &states[at * stateSize],
                   &outputs[at * heads.valueDim],
                   carried.data() + at * program.carriedSize());
    }
  if (stored == Stored::Format && ++fill == layout.window)
    store();
  ++tokens;
  return outputs;
}

void Oracle::store() {
  fill = 0;
  // A window's last token is counted before its fold, a token without a window
  // after it.
  states = throughCodec(layout, states, tokens + (layout.window > 1));
}

std::vector<double> test::throughCodec(const SlotLayout &layout,
                                       std::vector<double> states,
                                       int64_t tokens, uint32_t seed) {
  const int64_t size = int64_t(layout.keyDim) * layout.valueDim;
  std::vector<uint8_t> head(layout.headBytes);
  std::memcpy(head.data() + layout.cursor.offset + sizeof(tokens), &tokens,
              sizeof(tokens));
  int number = 0;
  for (size_t at = 0; at < states.size(); at += size) {
    const SlotLayout own = layout.ofHead(number++ % layout.valueHeads);
    encodeHead(own, &states[at], head.data(), seed);
    const std::vector<double> read = decodeHead(own, head.data());
    std::copy(read.begin(), read.end(), states.begin() + at);
  }
  return states;
}

Token test::makeToken(const Oracle &oracle, int token,
                      const std::vector<int> &identities) {
  const DecodeSpec &spec = oracle.layerSpec();
  const HeadShape &heads = spec.heads;
  // Without a norm, keys of norm 1 keep the rule's iteration stable.
  const double keySize =
      spec.inputs.qkNorm == QkNorm::None ? 1 / std::sqrt(heads.keyDim) : 1;
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> logRate(std::log(1e-4), std::log(4.6));
  std::uniform_real_distribution<double> unit(0.05, 0.95);
  Token result;
  for (const RuleInput &input : oracle.inputs()) {
    const std::string &name = input.name;
    const bool ofLayer = isOfLayer(input);
    const int64_t width = int64_t(widthOf(input, heads)) *
                          (hasKeyHeads(name) ? heads.key : heads.value);
    std::vector<double> &values = result[name];
    for (int64_t row = 0; row < (ofLayer ? 1 : oracle.rows()); ++row) {
      const int identity = ofLayer              ? -1
                           : identities.empty() ? int(row)
                                                : identities[row];
      std::seed_seq seed{identity + 1, ofLayer ? -1 : token,
                         int(name[0]) * 256 + int(name.back())};
      std::mt19937 random(seed);
      for (int64_t i = 0; i < width; ++i) {
        double x = normal(random);
        if (hasKeyHeads(name))
          x *= keySize;
        if (name == "decay" && spec.inputs.decay == DecayForm::Log)
          x = -std::exp(logRate(random));
        if (name == "decay" && spec.inputs.decay == DecayForm::Linear)
          x = std::exp(-std::exp(logRate(random)));
        if (isBeta(name) && spec.inputs.beta == BetaForm::Value)
          x = unit(random);
        values.push_back(roundTo(ofLayer         ? ElementType::F32
                                 : isGate(input) ? spec.inputs.gateType
                                                 : spec.inputs.type,
                                 x));
      }
    }
  }
  return result;
}

bool test::allFinite(const std::vector<double> &values) {
  for (double value : values)
    if (!std::isfinite(value))
      return false;
  return true;
}

Errors test::runBoth(Layer &layer, Oracle &oracle, int tokens) {
  Errors errors;
  std::vector<double> outputs, expected;
  auto append = [](std::vector<double> &to, const std::vector<double> &from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (int token = 0; token < tokens; ++token) {
    const Token inputs = makeToken(oracle, token);
    append(outputs, layer.step(inputs));
    append(expected, oracle.step(inputs));
  }
  const std::vector<double> states = layer.states();
  errors.finite = allFinite(outputs) && allFinite(states);
  errors.output = relativeError(outputs, expected);
  errors.state = relativeError(states, oracle.states);
  return errors;
}

FormatErrors test::runFormat(const DecodeSpec &spec, int64_t rows, int tokens) {
  Layer layer(spec, inOrder(rows));
  return runFormat(layer, spec, tokens);
}

FormatErrors test::runFormat(Layer &layer, const DecodeSpec &spec, int tokens) {
  const int64_t rows = layer.rows();
  Oracle exact(spec, layer.layout(), rows);
  Oracle codec(spec, layer.layout(), rows, Stored::Format);
  std::vector<double> outputs, exactOutputs, codecOutputs;
  auto append = [](std::vector<double> &to, const std::vector<double> &from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (int token = 0; token < tokens; ++token) {
    const Token inputs = makeToken(exact, token);
    append(outputs, layer.step(inputs));
    append(exactOutputs, exact.step(inputs));
    append(codecOutputs, codec.step(inputs));
  }
  FormatErrors errors;
  const std::vector<double> states = layer.states();
  errors.finite = allFinite(outputs) && allFinite(states);
  errors.kernel = relativeError(states, exact.states);
  errors.codec = relativeError(codec.states, exact.states);
  errors.output = relativeError(outputs, exactOutputs);
  errors.codecOutput = relativeError(codecOutputs, exactOutputs);
  return errors;
}
