//===- BatchRules.h - which variant decodes how many rows ----- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A layer's kernels may be cut in several ways that read and write the same
// slots: one is best for a few rows, another for many. What a tuner finds is a
// list of rules; of three variants, say:
//
//   rows      1 .. 8        9 .. 64       65 ...
//   rule    { 8, 0 }       { 64, 2 }     { kAnyRows, 1 }
//
// Rules over ranges, and no table of batch sizes: whatever a host runs has a
// variant, and none is looked up, compiled or loaded when it comes up.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_BATCHRULES_H
#define DECANT_RUNTIME_BATCHRULES_H

#include "decant/Core/Status.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace decant {

/// The bound of a last rule: however many rows there are.
constexpr int64_t kAnyRows = std::numeric_limits<int64_t>::max();

/// Batches of at most `maxRows` rows, and of more than the rule ahead of it
/// takes, run variant number `variant`.
struct BatchRule {
  int64_t maxRows = kAnyRows;
  int variant = 0;
};

/// Bounds go up, the last one is kAnyRows, and every rule names one of
/// `variants` variants; a variant may be named by several rules, or by none.
Status checkRules(const std::vector<BatchRule> &rules, size_t variants);

/// The variant for `rows` rows under rules that checkRules() accepts.
int variantForRows(const std::vector<BatchRule> &rules, int64_t rows);

/// "1..8: 0, 9..64: 2, 65..: 1", for people.
std::string toString(const std::vector<BatchRule> &rules);

} // namespace decant

#endif // DECANT_RUNTIME_BATCHRULES_H
