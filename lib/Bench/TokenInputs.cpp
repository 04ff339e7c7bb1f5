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

/// Whether an input of this name is a gate, whatever its width. A rule's own
/// decays begin with g and come as logarithms.
bool isGate(const std::string &name) {
  return name == "decay" || isBeta(name) || isGateParameter(name) ||
         name[0] == 'g';
}

double element(const std::string &name, const InputSpec &inputs, bool ofVector,
               Random &random) {
  if (ofVector)
    return normal(random);
  if (name == "decay")
    return decayInput(inputs, random);
  if (name == "A_log")
    return uniform(random, -1, 1);
  if (name == "dt_bias")
    return uniform(random, -6, 0);
  if (isBeta(name) && inputs.beta == BetaForm::Sigmoid)
    return 2 * normal(random);
  if (name[0] == 'g')
    return -uniform(random, 0.001, 1);
  // beta, and a rule's own numbers, which are gates more often than not.
  return uniform(random, 0.05, 0.95);
}

/// The vectors that a row of an input is made of.
struct Vector {
  int64_t width = 0;
  bool normed = false; // by the step
};
std::vector<Vector> vectorsOf(const DecodeSpec &spec,
                              const InputTensor &tensor) {
  const HeadShape &heads = spec.heads;
  const bool normed = spec.inputs.qkNorm != QkNorm::None;
  const std::vector<Vector> keys(heads.key, {heads.keyDim, normed});
  const std::vector<Vector> values(heads.value, {heads.valueDim, false});
  if (hasKeyHeads(tensor.name))
    return keys;
  if (withoutNumber(tensor.name) == "v")
    return values;
  if (tensor.name == "qkv") {
    std::vector<Vector> all = keys;
    all.insert(all.end(), keys.begin(), keys.end());
    all.insert(all.end(), values.begin(), values.end());
    return all;
  }
  if (isGate(tensor.name) || !tensor.perRow || tensor.width <= heads.value)
    return {};
  return std::vector<Vector>(heads.value, {tensor.width / heads.value, false});
}

/// Vectors that no step norms get length 1. What a rule writes along one of
/// them after it has read along another then adds as much as it was told, and
/// states stay as large as they are in a layer that was trained: of lengths of
/// sqrt(K), or of elements of one sign, a rule like RWKV-7 makes states that
/// grow tenfold at every token, out of range and with every difference in them.
void normalize(const std::vector<Vector> &vectors, std::vector<double> &row) {
  double *values = row.data();
  for (const Vector &vector : vectors) {
    double squares = 0;
    for (int64_t i = 0; i < vector.width; ++i)
      squares += values[i] * values[i];
    for (int64_t i = 0; i < vector.width && !vector.normed; ++i)
      values[i] /= std::sqrt(squares);
    values += vector.width;
  }
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
    const std::vector<Vector> vectors = vectorsOf(spec, tensor);
    const int64_t ofRow = tensor.width;
    const int64_t size = elementBytes(tensor.type);
    std::vector<double> values(ofRow);
    for (int64_t row = 0; row < (tensor.perRow ? rows : 1); ++row) {
      for (double &value : values)
        value = element(tensor.name, spec.inputs, !vectors.empty(), random);
      normalize(vectors, values);
      tensor.bytes.resize((row + 1) * ofRow * size);
      for (int64_t i = 0; i < ofRow; ++i)
        storeElement(tensor.type, values[i],
                     &tensor.bytes[(row * ofRow + i) * size]);
    }
  }
  return inputs;
}
