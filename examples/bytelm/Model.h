//===- Model.h - a byte-level model with recurrent layers -------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: the weights of a folder. Out: the layers, every tensor with the shape
// that it must have. Sizes come from the tensors themselves:
//
//     x = emb[byte]
//     for each block:
//       x += mix(rms(x; n1))
//       x += down(silu(a) * b)      [a, b] = up(rms(x; n2)), split in halves
//     logits = head(rms(x; nf))
//
//     mix: q, k, v = split(silu(conv(qkv(h))))    4 taps over time, per channel
//          beta = sigmoid(b(h))
//          g    = -exp(A_log) softplus(a(h) + dt_bias)         a GDN layer
//                 -exp(A_log) softplus(f2(f1(h)) + dt_bias)    a KDA layer
//          o    = the recurrence of q, k, v, g, beta           (States.h)
//          out(rms(o; onorm, per head) * silu(z(h)))
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_MODEL_H
#define BYTELM_MODEL_H

#include "Safetensors.h"

#include <Eigen/Core>

namespace bytelm {

using Matrix =
    Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::RowVectorXf;

constexpr int kVocabulary = 256;
constexpr int kTaps =
    4; // of the convolution; the last one is the current token

enum class LayerKind { Gdn, Kda };
const char *toString(LayerKind kind);

/// The heads of a layer's state; a key has as many channels as a value.
struct LayerShape {
  LayerKind kind = LayerKind::Gdn;
  int keyHeads = 0, valueHeads = 0, dim = 0;

  int keyWidth() const { return keyHeads * dim; }
  int valueWidth() const { return valueHeads * dim; }
  int qkvWidth() const { return 2 * keyWidth() + valueWidth(); }
  /// One decay per value head, or one per key channel of each.
  int decayWidth() const {
    return kind == LayerKind::Kda ? valueHeads * dim : valueHeads;
  }
};

struct Block {
  LayerShape shape;
  Vector n1, n2;
  Matrix qkv, z, b, out, conv; // conv is [channels, taps]
  Matrix a;                    // GDN
  Matrix f1, f2;               // KDA
  Vector negExpALog;           // -exp(A_log), repeated to the decay's width
  Vector dtBias, onorm;
  Matrix up, down;
};

struct Model {
  int width = 0;
  Matrix emb, head;
  Vector nf;
  std::vector<Block> blocks;
  uint64_t fingerprint = 0;
};

/// Throws InputError. Tensors that the model has no place for are an error.
Model buildModel(Weights weights);

} // namespace bytelm

#endif // BYTELM_MODEL_H
