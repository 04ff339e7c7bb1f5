//===- States.h - the recurrent states of one layer -------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the engine asks of a layer's state, once in plain fp32 and once by
// Decant. Per value head, with S [key channel, value channel]:
//
//     q, k divided by sqrt(sum of squares + 1e-6), q also by sqrt(dim)
//     S = exp(g) S;  u = beta (v - S^T k);  S += k u^T;  o = S^T q
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_STATES_H
#define BYTELM_STATES_H

#include "Model.h"

#include <memory>
#include <string>

namespace bytelm {

/// Some tokens of all rows (sequences): row r of token t is row t * rows + r of
/// every tensor, so that the rows of a token are one batch.
struct StateInputs {
  int tokens = 0, rows = 0;
  const float *qkv = nullptr;   // [q | k | v] behind each other
  const float *decay = nullptr; // g, [decay width]
  const float *beta = nullptr;  // [value heads]
  float *out = nullptr;         // o, [value width]
};

/// For reports.
struct StateInfo {
  std::string spec; // its name
  int64_t bytesPerHead = 0, slotBytes = 0;
  double bitsPerElement = 32;
  int window = 1, compensators = 0;
};

class LayerStates {
public:
  virtual ~LayerStates() = default;
  /// Decodes the tokens, each row from where it is to `tokens` further.
  virtual void decode(const StateInputs &inputs) = 0;
  virtual StateInfo info() const = 0;
};

/// The recurrence above in fp32: it knows nothing of Decant.
std::unique_ptr<LayerStates> plainStates(const LayerShape &shape, int rows,
                                         int threads);
/// The same for all layers.
std::vector<std::unique_ptr<LayerStates>> plainLayers(const Model &model,
                                                      int rows, int threads);

} // namespace bytelm

#endif // BYTELM_STATES_H
