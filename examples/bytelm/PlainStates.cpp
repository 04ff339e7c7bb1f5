//===- PlainStates.cpp - the recurrence in fp32 ---------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parallel.h"
#include "States.h"

#include <cmath>

using namespace bytelm;

namespace {

using Row = Eigen::Map<Eigen::RowVectorXf>;
using ConstRow = Eigen::Map<const Eigen::RowVectorXf>;

class PlainStates : public LayerStates {
public:
  PlainStates(const LayerShape &shape, int rows, int threads)
      : shape(shape), threads(threads),
        states(Matrix::Zero(int64_t(rows) * shape.valueWidth(), shape.dim)) {}

  void decode(const StateInputs &inputs) override {
    const int64_t heads = int64_t(inputs.rows) * shape.valueHeads;
    // A head's state stays in the cache for all of its tokens.
    forRanges(heads, inputs.tokens > 1 ? 1 : heads, threads,
              [&](int64_t begin, int64_t end) {
                for (int64_t head = begin; head < end; ++head)
                  decodeHead(inputs, head);
              });
  }

  StateInfo info() const override {
    StateInfo info;
    info.spec = "plain fp32";
    info.bytesPerHead = info.slotBytes =
        int64_t(shape.dim) * shape.dim * sizeof(float);
    info.slotBytes *= shape.valueHeads;
    return info;
  }

private:
  void decodeHead(const StateInputs &inputs, int64_t which) {
    const int dim = shape.dim, head = int(which % shape.valueHeads);
    const int keyHead = head / (shape.valueHeads / shape.keyHeads);
    const bool perKey = shape.kind == LayerKind::Kda;
    Eigen::Map<Matrix> S(states.data() + which * dim * dim, dim, dim);
    Eigen::RowVectorXf q, k, read(dim), u(dim);
    for (int token = 0; token < inputs.tokens; ++token) {
      const int64_t row =
          int64_t(token) * inputs.rows + which / shape.valueHeads;
      const float *qkv = inputs.qkv + row * shape.qkvWidth();
      const float *g = inputs.decay + row * shape.decayWidth();
      const ConstRow v(qkv + 2 * shape.keyWidth() + head * dim, dim);
      q = ConstRow(qkv + keyHead * dim, dim);
      k = ConstRow(qkv + shape.keyWidth() + keyHead * dim, dim);
      constexpr float kEpsilon = 1e-6f;
      q /= std::sqrt((q.squaredNorm() + kEpsilon) * dim);
      k /= std::sqrt(k.squaredNorm() + kEpsilon);

      read.setZero();
      for (int i = 0; i < dim; ++i) {
        S.row(i) *= std::exp(perKey ? g[head * dim + i] : g[head]);
        read += k[i] * S.row(i);
      }
      u = inputs.beta[row * shape.valueHeads + head] * (v - read);
      Row out(inputs.out + row * shape.valueWidth() + head * dim, dim);
      out.setZero();
      for (int i = 0; i < dim; ++i) {
        S.row(i) += k[i] * u;
        out += q[i] * S.row(i);
      }
    }
  }

  LayerShape shape;
  int threads;
  Matrix states; // [rows, value heads, key channel] x value channel
};

} // namespace

std::unique_ptr<LayerStates> bytelm::plainStates(const LayerShape &shape,
                                                 int rows, int threads) {
  return std::make_unique<PlainStates>(shape, rows, threads);
}

std::vector<std::unique_ptr<LayerStates>>
bytelm::plainLayers(const Model &model, int rows, int threads) {
  std::vector<std::unique_ptr<LayerStates>> result;
  for (const Block &block : model.blocks)
    result.push_back(plainStates(block.shape, rows, threads));
  return result;
}
