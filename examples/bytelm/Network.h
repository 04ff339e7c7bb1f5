//===- Network.h - bytes in, logits out -------------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_NETWORK_H
#define BYTELM_NETWORK_H

#include "Model.h"
#include "States.h"

namespace bytelm {

/// Runs a model on some sequences side by side. Where the bytes are known
/// beforehand, many tokens go through a layer at once: its dense parts are then
/// products of large matrices, and only its states see token after token.
class Network {
public:
  /// `states` has one entry per block; the model must outlive the network.
  Network(const Model &model, std::vector<std::unique_ptr<LayerStates>> states,
          int rows, int threads);

  /// bytes[t * rows + r] is token t of row r, and the same row of the result
  /// its logits. Goes on from where the last call ended.
  const Matrix &forward(const uint8_t *bytes, int tokens);
  const std::vector<std::unique_ptr<LayerStates>> &layers() const {
    return states;
  }

private:
  void embed(const uint8_t *bytes, int64_t begin, int64_t end);
  void projectInputs(const Block &block, int64_t begin, int64_t end);
  void convolve(const Block &block, Matrix &qkv, int64_t begin, int64_t end);
  void finishBlock(const Block &block, int64_t begin, int64_t end);
  void predict(int64_t begin, int64_t end);
  /// body(begin, end) for all rows of this call, on all threads.
  template <typename Body> void forRows(Body body);

  const Model &model;
  std::vector<std::unique_ptr<LayerStates>> states;
  int rows, threads;
  int64_t count = 0; // tokens * rows of this call
  Matrix x, z, decay, beta, mixed, output, logits;
  /// Before the convolution, of each layer; the first (kTaps - 1) * rows rows
  /// are those of the tokens before this call.
  std::vector<Matrix> raw;
};

} // namespace bytelm

#endif // BYTELM_NETWORK_H
