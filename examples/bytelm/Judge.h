//===- Judge.h - what a stored state costs ----------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: two models that read the same bytes. Out: how far what they expect next
// lies apart. With p the next-byte distribution of the fp32 state and p' that
// of the state under test, per token:
//
//     KL              sum over bytes of p log(p / p'), nats
//     bits per byte   -log2 of the probability of the byte that follows
//     agreement       whether both have the same most likely byte
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_JUDGE_H
#define BYTELM_JUDGE_H

#include "Reference.h"

namespace bytelm {

/// A mean, and how often it was asked.
struct Mean {
  double sum = 0;
  int64_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  double value() const { return count ? sum / double(count) : 0; }
};

struct Verdict {
  /// The prompt, which the model did not write itself, is not judged.
  static constexpr int kFirstToken = 64;
  static constexpr int kCurveTokens = 512;

  Mean kl, klSecondHalf, agree, bits, bitsReference;
  std::vector<Mean> klCurve;     // of kCurveTokens tokens each
  std::vector<Mean> klPerStream; // whose spread says how sure the mean is
  double referenceSeconds = 0, seconds = 0;
};

/// Runs all of `streams` through both.
Verdict judge(Reference &reference, Network &network, const Streams &streams);

} // namespace bytelm

#endif // BYTELM_JUDGE_H
