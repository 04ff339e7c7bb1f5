//===- Judge.cpp - what a stored state costs ------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Judge.h"

#include "Progress.h"

#include <chrono>

using namespace bytelm;

namespace {

/// Tokens that go through a layer at once. With 16 streams that is 1024 rows
/// per matrix product, some 20 MB of activations.
constexpr int kChunkTokens = 64;

using Clock = std::chrono::steady_clock;
using Logits = Eigen::Array<double, 1, Eigen::Dynamic>;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Differences of 1e-8 count, so all of it is double.
Logits logSoftmax(const Matrix &logits, int64_t row) {
  Logits values = logits.row(row).cast<double>().array();
  values -= values.maxCoeff();
  return values - std::log(values.exp().sum());
}

int mostLikely(const Logits &logits) {
  int index = 0;
  logits.maxCoeff(&index);
  return index;
}

/// Row `row` of token `token`, with the byte that follows or -1 at the end.
void compare(const Logits &exact, const Logits &own, int row, int token,
             int tokens, int following, Verdict &verdict) {
  if (token < Verdict::kFirstToken)
    return;
  const double kl = (exact.exp() * (exact - own)).sum();
  verdict.kl.add(kl);
  if (token >= tokens / 2)
    verdict.klSecondHalf.add(kl);
  verdict.klCurve[token / Verdict::kCurveTokens].add(kl);
  verdict.klPerStream[row].add(kl);
  verdict.agree.add(mostLikely(exact) == mostLikely(own));
  if (following < 0)
    return;
  verdict.bitsReference.add(-exact[following] / std::log(2.0));
  verdict.bits.add(-own[following] / std::log(2.0));
}

} // namespace

Verdict bytelm::judge(Reference &reference, Network &network,
                      const Streams &streams) {
  const int rows = streams.rows;
  Verdict verdict;
  verdict.klCurve.resize((streams.tokens - 1) / Verdict::kCurveTokens + 1);
  verdict.klPerStream.resize(rows);
  Progress progress("token", streams.tokens);
  for (int begin = 0; begin < streams.tokens; begin += kChunkTokens) {
    const int tokens = std::min(kChunkTokens, streams.tokens - begin);
    Clock::time_point start = Clock::now();
    const Matrix &exact = reference.next(tokens);
    verdict.referenceSeconds += secondsSince(start);
    start = Clock::now();
    const Matrix &own =
        network.forward(streams.bytes.data() + int64_t(begin) * rows, tokens);
    verdict.seconds += secondsSince(start);
    for (int i = 0; i < tokens * rows; ++i) {
      const int64_t following = int64_t(begin + 1) * rows + i;
      compare(logSoftmax(exact, i), logSoftmax(own, i), i % rows,
              begin + i / rows, streams.tokens,
              following < int64_t(streams.bytes.size())
                  ? streams.bytes[following]
                  : -1,
              verdict);
    }
    progress.update(begin + tokens,
                    fmt::format("KL so far {:.2e}", verdict.kl.value()));
  }
  reference.finish();
  return verdict;
}
