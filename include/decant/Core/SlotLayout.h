//===- SlotLayout.h - the bytes of one sequence's state ---------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slot holds everything that one layer remembers of one sequence; it holds
// no pointer and no slot number, so memcpy copies, forks and ships it. All-zero
// bytes are an empty sequence.
//
//   slot   | header 64 B | head 0 | head 1 | ...            headBytes each
//   header | u32 version | u32 fill | u64 tokens | 0 ...    for hosts; kernels
//                                                           only write it
//   head   | codes | key scale | value scale | comp. keys | comp. values
//          | cursor | total key decay | total value decay
//          | record key decay | record value decay | record keys
//          | record values |
//
// Every region starts at a multiple of 16 bytes. codes are [key, value]
// row-major over the padded dims; padding elements are zero.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CORE_SLOTLAYOUT_H
#define DECANT_CORE_SLOTLAYOUT_H

#include "decant/Core/DecodeSpec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace decant {

/// How a decay acts along one axis of the state.
enum class DecayShape { None, Scalar, Vector };
const char *toString(DecayShape shape);

/// What one token adds to the window; derived from the rule's IR.
struct RecordShape {
  int writes = 1; // rank-1 terms per token
  DecayShape keyDecay = DecayShape::None;
  DecayShape valueDecay = DecayShape::None;
};

/// An array inside a head: `count` rows of `width` elements.
struct Region {
  int64_t offset = 0; // bytes from the head's start
  ElementType type = ElementType::F32;
  int64_t count = 0, width = 0;
  int64_t bytes() const { return count * width * elementBytes(type); }
  bool empty() const { return count * width == 0; }
};

constexpr uint32_t kSlotVersion = 1;
constexpr int64_t kSlotHeaderBytes = 64;
constexpr int64_t kSlotAlign = 16;

struct SlotLayout {
  int valueHeads = 0;
  int keyDim = 0, valueDim = 0; // as in the spec
  int paddedKey = 0;            // a multiple of 8
  int paddedValue = 0;          // a multiple of 16
  int window = 1;               // tokens
  int compensators = 0;
  RecordShape record;
  std::vector<ScaleSpec> scales; // in the order in which they were fitted

  Region codes;      // [paddedKey, paddedValue]
  Region keyScale;   // [1, paddedKey], empty without a key-axis scale
  Region valueScale; // [1, paddedValue]
  Region compKeys;   // f16 [compensators, paddedKey]
  Region compValues; // f16 [compensators, paddedValue]
  Region cursor;     // [1, 4] words: u32 fill, u32 0, u64 tokens; in f32 units
  Region totalKeyDecay; // f32 [1, 1 or paddedKey]: product over the window
  Region totalValueDecay;
  Region recordKeyDecay;   // [window, 1 or paddedKey]: each token's own decay
  Region recordValueDecay; // [window, 1 or paddedValue]
  Region recordKeys;       // [window * writes, paddedKey]
  Region recordValues;     // [window * writes, paddedValue]

  int64_t headBytes = 0;
  int64_t slotBytes = 0;

  /// Bytes of codes, scales and compensators of one head.
  int64_t stateBytesPerHead() const;
  /// stateBytesPerHead() * 8 / (keyDim * valueDim).
  double bitsPerElement() const;
  /// Every region with its name, in slot order; empty regions too.
  std::vector<std::pair<std::string, Region>> regions() const;
};

/// The layout for a spec whose rule has the given record shape. Windows of
/// length 1 have no records and no total decay.
SlotLayout makeSlotLayout(const DecodeSpec &spec, const RecordShape &record);

} // namespace decant

#endif // DECANT_CORE_SLOTLAYOUT_H
