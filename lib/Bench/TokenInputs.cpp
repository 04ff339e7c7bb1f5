//===- TokenInputs.cpp - random inputs of one layer -----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TokenInputs.h"

#include "Core/Parallel.h"
#include "decant/Core/Numeric.h"
#include "decant/Core/RuleInfo.h"

#include <cmath>
#include <numeric>
#include <random>
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace decant;
using namespace decant::bench;

namespace {

/// The numbers of one row of one input. Wide layers take millions, so these are
/// made by hand: the library's distributions cost several times as much.
class Random {
public:
  /// Of one row, or of what rows share.
  Random(const std::string &name, int64_t token, int64_t row)
      : engine(XXH3_64bits_withSeed(name.data(), name.size(),
                                    uint64_t(token) * 0x9E3779B97F4A7C15u +
                                        uint64_t(row))) {}

  double uniform(double low, double high) {
    return low + (high - low) * unit();
  }
  /// Box and Muller's, two at a time.
  double normal() {
    if (hasSpare) {
      hasSpare = false;
      return spare;
    }
    const double radius = std::sqrt(-2 * std::log(1 - unit()));
    const double angle = 2 * 3.14159265358979324 * unit();
    spare = radius * std::sin(angle);
    hasSpare = true;
    return radius * std::cos(angle);
  }

private:
  /// In [0, 1).
  double unit() { return double(engine() >> 11) * 0x1p-53; }

  std::mt19937_64 engine;
  double spare = 0;
  bool hasSpare = false;
};

/// The decay's input for a retention exp(-rate) with a log-uniform rate from
/// 1e-4 to 4.6. Where A_log and dt_bias take part, they spread about as wide
/// around these inputs.
double decayInput(const InputSpec &inputs, Random &random) {
  const double rate = std::exp(random.uniform(std::log(1e-4), std::log(4.6)));
  switch (inputs.decay) {
  case DecayForm::Log:
    return -rate;
  case DecayForm::Linear:
    return std::exp(-rate);
  case DecayForm::Softplus:
  case DecayForm::LowerBound:
    return random.normal();
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
    return random.normal();
  if (name == "decay")
    return decayInput(inputs, random);
  if (name == "A_log")
    return random.uniform(-1, 1);
  if (name == "dt_bias")
    return random.uniform(-6, 0);
  if (isBeta(name) && inputs.beta == BetaForm::Sigmoid)
    return 2 * random.normal();
  if (name[0] == 'g')
    return -random.uniform(0.001, 1);
  // beta, and a rule's own numbers, which are gates more often than not.
  return random.uniform(0.05, 0.95);
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

/// What an input of so many rows has, without its numbers.
static TokenInputs shapeOf(const DecodeSpec &spec,
                           const std::vector<KernelArg> &arguments,
                           int64_t rows) {
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
    tensor.bytes.resize((tensor.perRow ? rows : 1) * tensor.rowBytes());
  }
  return inputs;
}

/// Row `number` of a token into place `at`.
static void fillRow(const DecodeSpec &spec, InputTensor &tensor, int64_t token,
                    int64_t number, int64_t at) {
  // What rows share is the same for every token, and every tensor has numbers
  // of its own, so that one more of them leaves the others alone.
  Random random(tensor.name, tensor.perRow ? token : 0, number);
  const std::vector<Vector> vectors = vectorsOf(spec, tensor);
  std::vector<double> values(tensor.width);
  for (double &value : values)
    value = element(tensor.name, spec.inputs, !vectors.empty(), random);
  normalize(vectors, values);
  const int64_t size = elementBytes(tensor.type);
  uint8_t *bytes = &tensor.bytes[at * tensor.rowBytes()];
  for (int64_t i = 0; i < tensor.width; ++i)
    storeElement(tensor.type, values[i], bytes + i * size);
}

TokenInputs decant::bench::makeRows(const DecodeSpec &spec,
                                    const std::vector<KernelArg> &arguments,
                                    const std::vector<int64_t> &rows, int token,
                                    unsigned threads) {
  TokenInputs inputs = shapeOf(spec, arguments, int64_t(rows.size()));
  for (InputTensor &tensor : inputs.tensors)
    if (!tensor.perRow)
      fillRow(spec, tensor, token, 0, 0);
  parallelFor(rows.size(), threads, [&](size_t at) {
    for (InputTensor &tensor : inputs.tensors)
      if (tensor.perRow)
        fillRow(spec, tensor, token, rows[at], int64_t(at));
  });
  return inputs;
}

TokenInputs decant::bench::makeToken(const DecodeSpec &spec,
                                     const std::vector<KernelArg> &arguments,
                                     int64_t rows, int token,
                                     unsigned threads) {
  std::vector<int64_t> all(rows);
  std::iota(all.begin(), all.end(), 0);
  return makeRows(spec, arguments, all, token, threads);
}
