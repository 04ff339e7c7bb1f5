//===- Choose.h - from times to choices -------------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: what variants of a program took at some batches. Out: which of them each
// batch gets. No clock, no device: the same times give the same choice.
//
//   - A program's slots have one layout, so one order of codes is chosen for
//     all batches, and schedules among those of that order.
//   - The first variant of an order is its incumbent. It stays unless another
//     is faster by more than the noise of both, and by more than kLeastGain.
//   - Of those that beat it, all within noise of the fastest are equal; a
//     schedule that other batches get too goes first, then the earlier one.
//   - What an earlier run chose is held: it stays unless another is faster by
//     more than noise, so that tuning again changes what has changed.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_TUNE_CHOOSE_H
#define DECANT_LIB_TUNE_CHOOSE_H

#include "decant/Tune/TuningRecord.h"

namespace decant::tune {

/// Two runs of one kernel differ by up to a percent on a machine of its own; a
/// gain of less than two is not worth another kernel.
constexpr double kLeastGain = 0.02;

struct Variant {
  Schedule schedule;
  CodeOrder order = CodeOrder::Rows;
  /// One for each batch; none where it was not timed.
  std::vector<std::optional<StepTimes>> times;

  bool timedEverywhere() const;
};

/// What a difference between two times has to exceed.
double noiseOf(const StepTimes &a, const StepTimes &b);
/// Whether `a` is faster than `b` by more than that.
bool beats(const StepTimes &a, const StepTimes &b);

/// The geometric mean of a variant's times.
double meanTime(const Variant &variant);

struct BatchChoice {
  size_t variant = 0, against = 0;
  std::string why;
};

struct Choice {
  CodeOrder order = CodeOrder::Rows;
  std::vector<BatchChoice> batches;
  size_t forAll = 0; // the best single variant of that order
};

/// What was chosen before, by places in the list of variants; none for what is
/// not in it.
struct Held {
  std::optional<CodeOrder> order;
  std::vector<std::optional<size_t>> batches;
  std::optional<size_t> forAll;
};
Held heldFrom(const TuningRecord &record, const std::vector<Variant> &variants,
              const std::vector<int64_t> &batches);

/// `variants` in the order of preference, the one that is used without a tuner
/// first; it is timed at every batch.
Choice choose(const std::vector<Variant> &variants, const Held &held = {});

/// Ranges around `batches`, which ascend: two of them meet at their geometric
/// mean.
std::vector<TunedRange> rangesOf(const std::vector<Variant> &variants,
                                 const std::vector<int64_t> &batches,
                                 const Choice &choice);

} // namespace decant::tune

#endif // DECANT_LIB_TUNE_CHOOSE_H
