//===- Network.cpp - bytes in, logits out ---------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Network.h"

#include "Parallel.h"

#include <cstring>

using namespace bytelm;

namespace {

constexpr float kNormEpsilon = 1e-6f;
/// Rows of a product for which a second thread pays.
constexpr int64_t kGrain = 32;

auto silu(const Matrix &x) { return x.array() / (1 + (-x.array()).exp()); }

Matrix softplus(const Matrix &x) {
  // Beyond 20 the exponential's share is below half an ulp of x.
  return (x.array() > 20).select(x.array(), x.array().exp().log1p());
}

/// x / sqrt(mean of squares) * weight, row by row.
template <typename Rows> Matrix rms(const Rows &x, const Vector &weight) {
  Matrix result = x;
  for (int64_t i = 0; i < result.rows(); ++i)
    result.row(i).array() *=
        weight.array() /
        std::sqrt(result.row(i).squaredNorm() / float(x.cols()) + kNormEpsilon);
  return result;
}

/// Grows only, so that a chunk of the same size allocates nothing.
void reserve(Matrix &matrix, int64_t rows, int64_t cols) {
  if (matrix.rows() < rows || matrix.cols() != cols)
    matrix.resize(rows, cols);
}

} // namespace

Network::Network(const Model &model,
                 std::vector<std::unique_ptr<LayerStates>> states, int rows,
                 int threads)
    : model(model), states(std::move(states)), rows(rows), threads(threads) {
  for (const Block &block : model.blocks)
    raw.push_back(Matrix::Zero((kTaps - 1) * rows, block.shape.qkvWidth()));
}

template <typename Body> void Network::forRows(Body body) {
  forRanges(count, kGrain, threads, body);
}

void Network::embed(const uint8_t *bytes, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    x.row(i) = model.emb.row(bytes[i]);
}

void Network::projectInputs(const Block &block, int64_t begin, int64_t end) {
  const int64_t n = end - begin, history = int64_t(kTaps - 1) * rows;
  Matrix &into = raw[&block - model.blocks.data()];
  const Matrix h = rms(x.middleRows(begin, n), block.n1);
  into.middleRows(history + begin, n).noalias() = h * block.qkv.transpose();
  z.middleRows(begin, n).noalias() = h * block.z.transpose();
  const Matrix b = h * block.b.transpose();
  Eigen::Map<Matrix>(beta.data() + begin * b.cols(), n, b.cols()) =
      (1 / (1 + (-b.array()).exp())).matrix();
  Matrix a;
  if (block.shape.kind == LayerKind::Gdn) {
    a.noalias() = h * block.a.transpose();
  } else {
    const Matrix low = h * block.f1.transpose();
    a.noalias() = low * block.f2.transpose();
  }
  a.rowwise() += block.dtBias;
  Eigen::Map<Matrix>(decay.data() + begin * a.cols(), n, a.cols()) =
      (softplus(a).array().rowwise() * block.negExpALog.array()).matrix();
}

void Network::convolve(const Block &block, Matrix &qkv, int64_t begin,
                       int64_t end) {
  const Matrix taps = block.conv.transpose(); // [taps, channels]
  const Matrix &from = raw[&block - model.blocks.data()];
  for (int64_t i = begin; i < end; ++i) {
    Vector sum = Vector::Zero(qkv.cols());
    for (int tap = 0; tap < kTaps; ++tap)
      sum.array() +=
          taps.row(tap).array() * from.row(i + int64_t(tap) * rows).array();
    qkv.row(i) = sum.array() / (1 + (-sum.array()).exp());
  }
}

void Network::finishBlock(const Block &block, int64_t begin, int64_t end) {
  const int64_t n = end - begin;
  const LayerShape &shape = block.shape;
  // [rows, heads of dim] is [rows * heads, dim], each head with its own norm.
  const Eigen::Map<const Matrix> heads(output.data() +
                                           begin * shape.valueWidth(),
                                       n * shape.valueHeads, shape.dim);
  const Matrix normed = rms(heads, block.onorm);
  const Matrix gate = z.middleRows(begin, n);
  const Matrix gated =
      (Eigen::Map<const Matrix>(normed.data(), n, shape.valueWidth()).array() *
       silu(gate))
          .matrix();
  x.middleRows(begin, n).noalias() += gated * block.out.transpose();

  const Matrix h = rms(x.middleRows(begin, n), block.n2);
  const Matrix ab = h * block.up.transpose();
  const int64_t half = ab.cols() / 2;
  const Matrix a = ab.leftCols(half);
  const Matrix hidden = (silu(a) * ab.rightCols(half).array()).matrix();
  x.middleRows(begin, n).noalias() += hidden * block.down.transpose();
}

void Network::predict(int64_t begin, int64_t end) {
  const Matrix h = rms(x.middleRows(begin, end - begin), model.nf);
  logits.middleRows(begin, end - begin).noalias() = h * model.head.transpose();
}

const Matrix &Network::forward(const uint8_t *bytes, int tokens) {
  count = int64_t(tokens) * rows;
  const int64_t history = int64_t(kTaps - 1) * rows;
  reserve(x, count, model.width);
  reserve(logits, count, kVocabulary);
  forRows([&](int64_t begin, int64_t end) { embed(bytes, begin, end); });
  for (const Block &block : model.blocks) {
    const LayerShape &shape = block.shape;
    Matrix &before = raw[&block - model.blocks.data()];
    if (before.rows() < history + count)
      before.conservativeResize(history + count, shape.qkvWidth());
    reserve(mixed, count, shape.qkvWidth());
    reserve(z, count, shape.valueWidth());
    reserve(output, count, shape.valueWidth());
    reserve(decay, count, shape.decayWidth());
    reserve(beta, count, shape.valueHeads);
    forRows(
        [&](int64_t begin, int64_t end) { projectInputs(block, begin, end); });
    // Reads rows of other threads: the loop above is done by now.
    forRows([&](int64_t begin, int64_t end) {
      convolve(block, mixed, begin, end);
    });
    std::memmove(before.data(), before.data() + count * before.cols(),
                 history * before.cols() * sizeof(float));
    StateInputs inputs;
    inputs.tokens = tokens;
    inputs.rows = rows;
    inputs.qkv = mixed.data();
    inputs.decay = decay.data();
    inputs.beta = beta.data();
    inputs.out = output.data();
    states[&block - model.blocks.data()]->decode(inputs);
    forRows(
        [&](int64_t begin, int64_t end) { finishBlock(block, begin, end); });
  }
  forRows([&](int64_t begin, int64_t end) { predict(begin, end); });
  return logits;
}
