//===- StoredSlot.h - what the bytes of a slot say ----------------*- C++
//-*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_VERIFY_STOREDSLOT_H
#define DECANT_LIB_VERIFY_STOREDSLOT_H

#include "decant/Core/SlotLayout.h"

#include <cstdint>
#include <vector>

namespace decant {

/// A host copy of a slot; the layout must outlive it. Threads may ask at the
/// same time, but not about one head.
class StoredSlot {
public:
  StoredSlot(const SlotLayout &layout, std::vector<uint8_t> bytes)
      : layout(&layout), content(std::move(bytes)), decoded(layout.valueHeads) {
  }

  const std::vector<uint8_t> &bytes() const { return content; }
  /// Tokens in a head's window; 0 without one.
  uint32_t fill(int head) const;
  /// The state of a head, [key dim, value dim], with its window, which is
  /// decoded once, or without.
  const std::vector<double> &state(int head) const;
  std::vector<double> checkpoint(int head) const;
  /// The vectors beside it, [vectors, key dim], as accepted tokens leave them.
  std::vector<double> carried(int head) const;

  /// `state` of a head as the float64 codec stores and reads it, with the token
  /// count of this slot.
  std::vector<double> throughCodec(int head,
                                   const std::vector<double> &state) const;

private:
  std::vector<uint8_t> headBytes(int head) const;

  const SlotLayout *layout;
  std::vector<uint8_t> content;
  mutable std::vector<std::vector<double>> decoded; // of heads, empty at first
};

} // namespace decant

#endif // DECANT_LIB_VERIFY_STOREDSLOT_H
