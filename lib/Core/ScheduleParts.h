//===- ScheduleParts.h - what all schedules share ---------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CORE_SCHEDULEPARTS_H
#define DECANT_CORE_SCHEDULEPARTS_H

#include "decant/Core/Schedule.h"

#include <algorithm>
#include <initializer_list>
#include <string>

namespace decant {

constexpr int kWarp = 32;
constexpr int kHopperShared = 227 * 1024;
/// Products of eight terms each that the warps of a fit bring together at a
/// time.
constexpr int kProductsTogether = 5;
/// Registers of tensor-core kernels were counted to the last one where they
/// were timed.
constexpr int kTimedMajor = 9;

inline bool isPowerOfTwo(int value) {
  return value > 0 && (value & (value - 1)) == 0;
}

/// Whether one of the scales is fitted in one of these ways.
inline bool fitsAs(const SlotLayout &layout,
                   std::initializer_list<ScaleFit> fits) {
  return std::any_of(
      layout.scales.begin(), layout.scales.end(), [&](const ScaleSpec &scale) {
        return std::find(fits.begin(), fits.end(), scale.fit) != fits.end();
      });
}

/// Heads that have a byte each in a slot's header.
constexpr int kExchangingHeads = kSlotHeaderBytes - kExchangeBytes;

/// That exchange their rows where it was measured, on an H200: what start while
/// a block folds.
constexpr int kExchangedBlocks = 2048;

/// Whether rows can be exchanged, which takes a fold that a step makes.
inline bool canExchange(const SlotLayout &layout) {
  return layout.window > 1 && layout.tokensPerStep == 1 &&
         layout.valueHeads <= kExchangingHeads;
}

/// Why strategy mma of `schedule` cannot run `layout`; empty when it can.
std::string whyNotMma(const Schedule &schedule, const SlotLayout &layout);

} // namespace decant

#endif // DECANT_CORE_SCHEDULEPARTS_H
