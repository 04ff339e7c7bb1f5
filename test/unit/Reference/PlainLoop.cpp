//===- PlainLoop.cpp - gated delta rules as plain loops -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "PlainLoop.h"

#include "decant/Reference/Codec.h"

#include <cmath>

using namespace decant;
using namespace decant::test;

namespace {

std::vector<double> row(const TraceTensor &tensor, int64_t first, int length) {
  std::vector<double> result(length);
  for (int i = 0; i < length; ++i)
    result[i] = tensor.element(first + i);
  return result;
}

std::vector<double> normalized(std::vector<double> x) {
  double sum = 1e-6f;
  for (double element : x)
    sum += element * element;
  for (double &element : x)
    element /= std::sqrt(sum);
  return x;
}

} // namespace

PlainRun decant::test::runPlainLoop(const Trace &trace,
                                    const SlotLayout *layout) {
  const TraceTensor &q = trace.tensors.at("q"), &k = trace.tensors.at("k");
  const TraceTensor &v = trace.tensors.at("v"), &g = trace.tensors.at("g");
  const TraceTensor &beta = trace.tensors.at("beta");
  const int64_t tokens = q.shape[0];
  const int keyHeads = q.shape[1], keyDim = q.shape[2];
  const int heads = v.shape[1], valueDim = v.shape[2];
  const int decays = g.shape.size() == 3 ? keyDim : 1;

  const double scale = static_cast<float>(1 / std::sqrt(double(keyDim)));
  PlainRun run;
  run.outputs.resize(tokens * heads * valueDim);
  for (int head = 0; head < heads; ++head) {
    const int keyHead = head / (heads / keyHeads);
    std::vector<double> state(keyDim * valueDim);
    std::vector<uint8_t> stored(layout ? layout->headBytes : 0);
    for (int64_t t = 0; t < tokens; ++t) {
      const auto qt =
          normalized(row(q, (t * keyHeads + keyHead) * keyDim, keyDim));
      const auto kt =
          normalized(row(k, (t * keyHeads + keyHead) * keyDim, keyDim));
      const auto vt = row(v, (t * heads + head) * valueDim, valueDim);
      const auto gt = row(g, (t * heads + head) * decays, decays);
      const double bt = beta.element(t * heads + head);

      for (int i = 0; i < keyDim; ++i)
        for (int j = 0; j < valueDim; ++j)
          state[i * valueDim + j] *= std::exp(gt[decays == 1 ? 0 : i]);
      std::vector<double> update = vt;
      for (int i = 0; i < keyDim; ++i)
        for (int j = 0; j < valueDim; ++j)
          update[j] -= state[i * valueDim + j] * kt[i];
      for (int i = 0; i < keyDim; ++i)
        for (int j = 0; j < valueDim; ++j)
          state[i * valueDim + j] += kt[i] * bt * update[j];
      double *output = &run.outputs[(t * heads + head) * valueDim];
      for (int i = 0; i < keyDim; ++i)
        for (int j = 0; j < valueDim; ++j)
          output[j] += state[i * valueDim + j] * qt[i] * scale;

      if (layout && (t + 1) % layout->window == 0) {
        encodeHead(*layout, state.data(), stored.data());
        state = decodeHead(*layout, stored.data());
      }
    }
    run.states.insert(run.states.end(), state.begin(), state.end());
  }
  return run;
}
