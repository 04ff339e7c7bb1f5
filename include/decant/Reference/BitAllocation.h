//===- BitAllocation.h - who gets how many bits -----------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: what each key row costs at each width, and a budget. Out: the widths with
// the least sum of costs. Rows climb one step after the other, the one that
// gains most per bit first; where costs fall ever more slowly with bits, as
// those of rounding do, no other choice is better.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_REFERENCE_BITALLOCATION_H
#define DECANT_REFERENCE_BITALLOCATION_H

#include "decant/Core/DecodeSpec.h"

#include <array>
#include <vector>

namespace decant {

/// Costs at widths kMinRowBits .. kMaxRowBits.
using CostByBits = std::array<double, kMaxRowBits - kMinRowBits + 1>;

/// `budget` is the sum of all bits that may be given out, at least kMinRowBits
/// per row.
std::vector<uint8_t> allocateBits(const std::vector<CostByBits> &costs,
                                  int64_t budget);

/// The same for rows of heads of `keyDim` each, of which `pivots` of every head
/// become pivots, those that cost most at kMaxRowBits. `areWhole`: all others
/// have kMaxRowBits, whatever the budget is.
std::vector<uint8_t> allocateRows(const std::vector<CostByBits> &costs,
                                  int keyDim, int pivots, int64_t budget,
                                  bool areWhole);

/// The same for heads of `headRows` rows: where rows fill slabs, which tensor
/// cores read (SlotLayout.h), the rows of a slab have equal bits. Those whose
/// errors cost about as much share one.
std::vector<uint8_t> allocateSlabBits(const std::vector<CostByBits> &costs,
                                      int64_t budget, int headRows);

} // namespace decant

#endif // DECANT_REFERENCE_BITALLOCATION_H
