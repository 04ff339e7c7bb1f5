//===- TokenInputs.cpp - random inputs of one layer -----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TokenInputs.h"

#include "decant/Core/Numeric.h"
#include "decant/Core/RuleInfo.h"

#include <cmath>
#include <random>

using namespace decant;
using namespace decant::bench;

namespace {

using Random = std::mt19937;

double uniform(Random &random, double low, double high) {
  return std::uniform_real_distribution<float>(float(low), float(high))(random);
}
double normal(Random &random) {
  return std::normal_distribution<float>()(random);
}

/// The decay's input for a retention exp(-rate) with a log-uniform rate from
/// 1e-4 to 4.6. Where A_log and dt_bias take part, they spread about as wide
/// around these inputs.
double decayInput(const InputSpec &inputs, Random &random) {
  const double rate = std::exp(uniform(random, std::log(1e-4), std::log(4.6)));
  switch (inputs.decay) {
  case DecayForm::Log:
    return -rate;
  case DecayForm::Linear:
    return std::exp(-rate);
  case DecayForm::Softplus:
  case DecayForm::LowerBound:
    return normal(random);
  }
  return 0;
}

double element(const std::string &name, const InputSpec &inputs,
               Random &random) {
  if (hasKeyHeads(name) || withoutNumber(name) == "v" || name == "qkv")
    return normal(random);
  if (name == "decay")
    return decayInput(inputs, random);
  if (name == "A_log")
    return uniform(random, -1, 1);
  if (name == "dt_bias")
    return uniform(random, -6, 0);
  if (isBeta(name) && inputs.beta == BetaForm::Sigmoid)
    return 2 * normal(random);
  // A rule's own decays come as logarithms.
  if (name[0] == 'g')
    return -uniform(random, 0.001, 1);
  // beta, and a rule's own inputs, which are gates more often than not.
  return uniform(random, 0.05, 0.95);
}

} // namespace

TokenInputs TokenInputs::select(const std::vector<int64_t> &numbers) const {
  TokenInputs chosen;
  chosen.rows = int64_t(numbers.size());
  for (const InputTensor &tensor : tensors) {
    chosen.tensors.push_back(tensor);
    if (!tensor.perRow)
      continue;
    std::vector<uint8_t> &bytes = chosen.tensors.back().bytes;
    bytes.clear();
    for (int64_t number : numbers) {
      const auto row = tensor.bytes.begin() + number % rows * tensor.rowBytes();
      bytes.insert(bytes.end(), row, row + tensor.rowBytes());
    }
  }
  return chosen;
}

TokenInputs decant::bench::makeToken(const DecodeSpec &spec,
                                     const std::vector<KernelArg> &arguments,
                                     int64_t rows, int token) {
  TokenInputs inputs;
  inputs.rows = rows;
  int64_t decayWidth = 0;
  for (const KernelArg &arg : arguments) {
    if (arg.kind != ArgKind::Pointer || arg.writable || arg.name == "slots")
      continue;
    InputTensor tensor;
    tensor.name = arg.name;
    tensor.type = arg.type;
    tensor.width = arg.rowWidth;
    if (arg.name == "decay")
      decayWidth = arg.rowWidth;
    tensor.perRow = arg.rowWidth > 0;
    inputs.tensors.push_back(std::move(tensor));
  }
  for (InputTensor &tensor : inputs.tensors) {
    // The table gives no width for what rows share: a number per head, a bias
    // for each element of a row's decay, or what the rule itself asks for,
    // which is at most a vector per head.
    if (!tensor.perRow) {
      tensor.width = spec.heads.value;
      if (tensor.name == "dt_bias" && decayWidth > 0)
        tensor.width = decayWidth;
      else if (!isGateParameter(tensor.name))
        tensor.width *= std::max(spec.heads.keyDim, spec.heads.valueDim);
    }
    // What rows share is the same for every token, and every tensor has numbers
    // of its own, so that one more of them leaves the others alone.
    std::vector<unsigned> words(tensor.name.begin(), tensor.name.end());
    words.push_back(tensor.perRow ? unsigned(token) : 0);
    std::seed_seq seed(words.begin(), words.end());
    Random random(seed);
    const int64_t count = tensor.width * (tensor.perRow ? rows : 1);
    tensor.bytes.resize(count * elementBytes(tensor.type));
    for (int64_t i = 0; i < count; ++i)
      storeElement(tensor.type, element(tensor.name, spec.inputs, random),
                   &tensor.bytes[i * elementBytes(tensor.type)]);
  }
  return inputs;
}
