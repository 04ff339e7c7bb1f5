//===- StoredSlot.cpp - what the bytes of a slot say ----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoredSlot.h"

#include "decant/Core/Numeric.h"
#include "decant/Reference/Codec.h"

#include <cstring>

using namespace decant;

std::vector<uint8_t> StoredSlot::headBytes(int head) const {
  const SlotLayout own = layout->ofHead(head);
  const auto begin = content.begin() + layout->headOffset(head);
  return {begin, begin + own.headBytes};
}

uint32_t StoredSlot::fill(int head) const {
  uint32_t fill = 0;
  if (!layout->cursor.empty() && layout->window > 1)
    std::memcpy(&fill,
                content.data() + layout->headOffset(head) +
                    layout->cursor.offset,
                sizeof(fill));
  return fill;
}

const std::vector<double> &StoredSlot::state(int head) const {
  if (decoded[head].empty())
    decoded[head] = decodeHead(layout->ofHead(head),
                               content.data() + layout->headOffset(head));
  return decoded[head];
}

std::vector<double> StoredSlot::checkpoint(int head) const {
  std::vector<uint8_t> bytes = headBytes(head);
  const uint32_t empty = 0;
  if (!layout->cursor.empty())
    std::memcpy(bytes.data() + layout->cursor.offset, &empty, sizeof(empty));
  return decodeHead(layout->ofHead(head), bytes.data());
}

std::vector<double> StoredSlot::carried(int head) const {
  std::vector<double> vectors;
  const Region &region = layout->carried;
  const uint8_t *first =
      content.data() + layout->headOffset(head) + region.offset;
  for (int row = 0; row < layout->record.carried; ++row)
    for (int key = 0; key < layout->keyDim; ++key)
      vectors.push_back(
          loadElement(region.type, first + (row * region.width + key) *
                                               elementBytes(region.type)));
  return vectors;
}

std::vector<double>
StoredSlot::throughCodec(int head, const std::vector<double> &state) const {
  std::vector<uint8_t> bytes = headBytes(head); // for its cursor
  const SlotLayout own = layout->ofHead(head);
  encodeHead(own, state.data(), bytes.data());
  return decodeHead(own, bytes.data());
}
