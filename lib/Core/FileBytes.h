//===- FileBytes.h - fixed parts of Decant's files --------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What images and packs have in common before their JSON: little-endian
// numbers, and one hash over what lies around the hash itself.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_CORE_FILEBYTES_H
#define DECANT_LIB_CORE_FILEBYTES_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#define XXH_INLINE_ALL // nothing to link with
#include <xxhash.h>

namespace decant {

inline void storeLittle(std::string &bytes, uint64_t value, int count) {
  for (int i = 0; i < count; ++i)
    bytes.push_back(static_cast<char>(value >> (8 * i)));
}

inline uint64_t loadLittle(const std::string &bytes, size_t offset, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i)
    value |= uint64_t(static_cast<unsigned char>(bytes[offset + i])) << (8 * i);
  return value;
}

/// XXH3 of one text and then the other.
inline uint64_t hashOfBoth(std::string_view first, std::string_view second) {
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(
      XXH3_createState(), XXH3_freeState);
  XXH3_64bits_reset(state.get());
  XXH3_64bits_update(state.get(), first.data(), first.size());
  XXH3_64bits_update(state.get(), second.data(), second.size());
  return XXH3_64bits_digest(state.get());
}

} // namespace decant

#endif // DECANT_LIB_CORE_FILEBYTES_H
