//===- SyntheticTokens.cpp - random tokens of a layer ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SyntheticTokens.h"

#include "decant/Core/Numeric.h"

#include <cmath>
#include <fmt/format.h>
#include <random>

using namespace decant;

namespace {

double uniform(std::mt19937 &random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}
double normal(std::mt19937 &random) {
  return std::normal_distribution<double>()(random);
}
/// A retention of exp(-rate), from 0.9999 to 0.01.
double rate(std::mt19937 &random) {
  return std::exp(uniform(random, std::log(1e-4), std::log(4.6)));
}

double decayInput(DecayForm form, std::mt19937 &random) {
  switch (form) {
  case DecayForm::Log:
    return -rate(random);
  case DecayForm::Linear:
    return std::exp(-rate(random));
  case DecayForm::Softplus: // A_log and dt_bias spread about as wide
  case DecayForm::LowerBound:
    return normal(random);
  }
  return 0;
}

void scaleTo(double norm, double *values, int width) {
  double squares = 0;
  for (int i = 0; i < width; ++i)
    squares += values[i] * values[i];
  for (int i = 0; i < width; ++i)
    values[i] *= norm / std::sqrt(squares);
}

} // namespace

SyntheticTokens::SyntheticTokens(const DecodeSpec &spec,
                                 std::vector<RuleInput> inputs, bool carries)
    : spec(spec), inputs(std::move(inputs)), carries(carries) {}

bool SyntheticTokens::ofLayer(const RuleInput &input) const {
  return isGateParameter(input.name) || input.source == RuleInput::Layer;
}

ElementType SyntheticTokens::typeOf(const RuleInput &input) const {
  if (ofLayer(input))
    return ElementType::F32;
  const bool gate = input.name == "decay" || isBeta(input.name) ||
                    input.source == RuleInput::Gate;
  return gate ? spec.inputs.gateType : spec.inputs.type;
}

int SyntheticTokens::widthOf(const RuleInput &input) const {
  return input.kind == RuleInput::Scalar      ? 1
         : input.kind == RuleInput::KeyVector ? spec.heads.keyDim
                                              : spec.heads.valueDim;
}

int SyntheticTokens::headsOf(const RuleInput &input) const {
  return hasKeyHeads(input.name) ? spec.heads.key : spec.heads.value;
}

SyntheticTokens::Token SyntheticTokens::token(int sequence,
                                              int64_t number) const {
  // Several rows of a batch decode one sequence, and then oracles do.
  constexpr size_t kMost = 64;
  const auto found = kept.find({sequence, number});
  if (found != kept.end())
    return found->second;
  if (kept.size() >= kMost)
    kept.clear();
  return kept[{sequence, number}] = make(sequence, number);
}

SyntheticTokens::Token SyntheticTokens::make(int sequence,
                                             int64_t number) const {
  Token result;
  for (const RuleInput &input : inputs) {
    const std::string &name = input.name;
    // Numbers of its own for every input, so that one more of them leaves the
    // others alone.
    std::vector<unsigned> words(name.begin(), name.end());
    if (!ofLayer(input))
      words.insert(words.end(), {unsigned(sequence), unsigned(number)});
    std::seed_seq seed(words.begin(), words.end());
    std::mt19937 random(seed);

    const int width = widthOf(input), heads = headsOf(input);
    const bool isValue = withoutNumber(name) == "v";
    std::vector<double> values(int64_t(width) * heads);
    for (double &x : values) {
      if (hasKeyHeads(name) || isValue) {
        x = normal(random);
        // A rule that sums keys beside its state may divide by q . z.
        if (carries && !isValue)
          x = std::fabs(x);
      } else if (name == "decay") {
        x = decayInput(spec.inputs.decay, random);
      } else if (name == "A_log") {
        x = uniform(random, -1, 1);
      } else if (name == "dt_bias") {
        x = uniform(random, -6, 0);
      } else if (isBeta(name) && spec.inputs.beta == BetaForm::Sigmoid) {
        x = 2 * normal(random);
      } else if (name[0] == 'g') { // a rule's own decays are logarithms
        x = -uniform(random, 0.001, 1);
      } else {
        x = uniform(random, 0.05, 0.95);
      }
    }
    // Keys and values of length 1 where no norm makes them so, and a rule's own
    // vectors of 1/2: I + b a^T then stretches by a quarter at most.
    const bool own = input.kind != RuleInput::Scalar && name != "decay" &&
                     name != "dt_bias" && !isBeta(name) && name[0] != 'g';
    const bool normed = hasKeyHeads(name) && spec.inputs.qkNorm != QkNorm::None;
    if (own && !normed)
      for (int head = 0; head < heads; ++head)
        scaleTo(hasKeyHeads(name) || isValue ? 1 : 0.5, &values[head * width],
                width);
    for (double &x : values)
      x = roundTo(typeOf(input), x);
    result.push_back(std::move(values));
  }
  return result;
}

std::vector<std::vector<double>> SyntheticTokens::ofHead(const Token &token,
                                                         int head) const {
  std::vector<std::vector<double>> result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int own =
        hasKeyHeads(inputs[i].name) ? keyHeadOf(spec.heads, head) : head;
    const int width = widthOf(inputs[i]);
    const auto begin = token[i].begin() + int64_t(own) * width;
    result.emplace_back(begin, begin + width);
  }
  return result;
}

Status SyntheticTokens::append(const Token &token, const std::string &argument,
                               std::vector<uint8_t> &bytes) const {
  std::vector<std::string> names = {argument};
  if (argument == "qkv")
    names = {"q", "k", "v"};
  for (const std::string &name : names) {
    bool found = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].name != name)
        continue;
      found = true;
      const ElementType type = typeOf(inputs[i]);
      const size_t size = elementBytes(type);
      for (double x : token[i]) {
        bytes.resize(bytes.size() + size);
        storeElement(type, x, &bytes[bytes.size() - size]);
      }
    }
    if (!found)
      return Status::internal(fmt::format(
          "the kernel takes \"{}\", which the rule does not", name));
  }
  return {};
}
