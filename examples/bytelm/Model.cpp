//===- Model.cpp - a byte-level model with recurrent layers ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model.h"

#include "Error.h"

using namespace bytelm;

namespace {

using Shape = std::vector<int64_t>;
/// Of a size that the tensor itself decides.
constexpr int64_t kAny = -1;

/// Takes tensors out of the weights, so that what nobody asked for remains.
class Taker {
public:
  explicit Taker(Weights &weights) : weights(weights) {}

  bool has(const std::string &name) const {
    return weights.tensors.count(name) > 0;
  }
  const Tensor &look(const std::string &name, const Shape &wanted) {
    const auto found = weights.tensors.find(name);
    if (found == weights.tensors.end())
      wrongInput("{}: tensor '{}' is missing in bytelm-*.safetensors",
                 weights.folder, name);
    const Tensor &tensor = found->second;
    bool fits = tensor.shape.size() == wanted.size();
    for (size_t i = 0; fits && i < wanted.size(); ++i)
      fits = wanted[i] == kAny ? tensor.shape[i] > 0
                               : tensor.shape[i] == wanted[i];
    if (!fits)
      wrongInput("{}: tensor '{}' has shape {}; this model needs {}",
                 tensor.file, name, toText(tensor.shape), wantedText(wanted));
    return tensor;
  }
  Matrix matrix(const std::string &name, const Shape &wanted) {
    const Tensor &tensor = look(name, wanted);
    const Matrix result = Eigen::Map<const Matrix>(
        tensor.values.data(), tensor.shape.front(), tensor.shape.back());
    weights.tensors.erase(name);
    return result;
  }
  Vector vector(const std::string &name, int64_t size) {
    const Vector result =
        Eigen::Map<const Vector>(look(name, {size}).values.data(), size);
    weights.tensors.erase(name);
    return result;
  }

private:
  static std::string wantedText(const Shape &wanted) {
    std::string text;
    for (int64_t size : wanted)
      text += (text.empty() ? "" : ", ") +
              (size == kAny ? "1 or more" : std::to_string(size));
    return "[" + text + "]";
  }

  Weights &weights;
};

/// Heads and dims, from the widths of three tensors.
LayerShape shapeOf(Taker &take, const std::string &mix, int width) {
  LayerShape shape;
  const bool gdn = take.has(mix + "a.weight"),
             kda = take.has(mix + "f1.weight");
  if (gdn == kda)
    wrongInput("layer '{}' has {}; a GDN layer has 'a.weight' and a KDA layer "
               "'f1.weight'",
               mix.substr(0, mix.size() - 1),
               gdn ? "both 'a.weight' and 'f1.weight'"
                   : "neither 'a.weight' nor 'f1.weight'");
  shape.kind = gdn ? LayerKind::Gdn : LayerKind::Kda;
  shape.valueHeads = int(take.look(mix + "A_log", {kAny}).shape[0]);
  shape.dim = int(take.look(mix + "onorm.weight", {kAny}).shape[0]);
  const Tensor &qkv = take.look(mix + "qkv.weight", {kAny, width});
  const int64_t keys = qkv.shape[0] - shape.valueWidth();
  shape.keyHeads = int(keys / (2 * shape.dim));
  if (shape.keyHeads < 1 || keys % (2 * shape.dim) != 0 ||
      shape.valueHeads % shape.keyHeads != 0 ||
      (kda && shape.keyHeads != shape.valueHeads))
    wrongInput("{}: tensor '{}qkv.weight' has {} rows; with {} value heads of "
               "{} channels (A_log, onorm) they are {} for v and 2 x {} for "
               "each of {} key heads of q and k",
               qkv.file, mix, qkv.shape[0], shape.valueHeads, shape.dim,
               shape.valueWidth(), shape.dim,
               kda ? "as many" : "a divisor of these");
  return shape;
}

Block buildBlock(Taker &take, const std::string &name, int width) {
  const std::string mix = name + "mix.";
  Block block;
  block.shape = shapeOf(take, mix, width);
  const LayerShape &shape = block.shape;
  block.n1 = take.vector(name + "n1.weight", width);
  block.n2 = take.vector(name + "n2.weight", width);
  block.qkv = take.matrix(mix + "qkv.weight", {shape.qkvWidth(), width});
  block.conv = take.matrix(mix + "conv", {shape.qkvWidth(), 1, kTaps});
  block.z = take.matrix(mix + "z.weight", {shape.valueWidth(), width});
  block.b = take.matrix(mix + "b.weight", {shape.valueHeads, width});
  block.out = take.matrix(mix + "out.weight", {width, shape.valueWidth()});
  if (shape.kind == LayerKind::Gdn) {
    block.a = take.matrix(mix + "a.weight", {shape.valueHeads, width});
  } else {
    block.f1 = take.matrix(mix + "f1.weight", {kAny, width});
    block.f2 =
        take.matrix(mix + "f2.weight", {shape.decayWidth(), block.f1.rows()});
  }
  const Vector aLog = take.vector(mix + "A_log", shape.valueHeads);
  block.negExpALog.resize(shape.decayWidth());
  for (int i = 0; i < shape.decayWidth(); ++i)
    block.negExpALog[i] =
        -std::exp(aLog[i / (shape.decayWidth() / shape.valueHeads)]);
  block.dtBias = take.vector(mix + "dt_bias", shape.decayWidth());
  block.onorm = take.vector(mix + "onorm.weight", shape.dim);
  block.up = take.matrix(name + "up.weight", {kAny, width});
  if (block.up.rows() % 2 != 0)
    wrongInput("tensor '{}up.weight' has {} rows; allowed is an even number, "
               "two halves of a gated layer",
               name, block.up.rows());
  block.down = take.matrix(name + "down.weight", {width, block.up.rows() / 2});
  return block;
}

} // namespace

const char *bytelm::toString(LayerKind kind) {
  return kind == LayerKind::Gdn ? "gdn" : "kda";
}

Model bytelm::buildModel(Weights weights) {
  Taker take(weights);
  Model model;
  model.fingerprint = weights.fingerprint;
  model.emb = take.matrix("emb.weight", {kVocabulary, kAny});
  model.width = int(model.emb.cols());
  model.head = take.matrix("head.weight", {kVocabulary, model.width});
  model.nf = take.vector("nf.weight", model.width);
  for (int i = 0; i == 0 || take.has(fmt::format("blocks.{}.n1.weight", i));
       ++i)
    model.blocks.push_back(
        buildBlock(take, fmt::format("blocks.{}.", i), model.width));
  if (!weights.tensors.empty()) {
    const auto &[name, tensor] = *weights.tensors.begin();
    wrongInput("{}: tensor '{}' is not one of this model of {} layers",
               tensor.file, name, model.blocks.size());
  }
  return model;
}
