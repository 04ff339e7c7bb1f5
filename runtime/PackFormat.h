//===- PackFormat.h - the bytes of a pack's index ------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fixed part and the index, in both directions; PackIndex.h draws them.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_PACKFORMAT_H
#define DECANT_RUNTIME_PACKFORMAT_H

#include "decant/Runtime/PackIndex.h"

namespace decant::pack {

constexpr int64_t kFixedBytes = 40;

/// What the fixed part says about the rest.
struct FixedPart {
  int64_t fileBytes = 0, indexBytes = 0;
  uint64_t hash = 0;
};

/// `bytes` are the first ones of a file of `fileBytes` bytes, kFixedBytes of
/// them or all there are.
Expected<FixedPart> readFixedPart(const std::string &bytes, int64_t fileBytes);

/// `fixed` are the bytes of the fixed part, `index` those of the index.
Expected<PackIndex> readIndex(const std::string &fixed,
                              const std::string &index);

/// Fixed part and index; fills in the blobs' offsets and the file's length.
std::string writeIndex(PackIndex &index);

/// The rules that no single field can break: numbers that name something, no
/// variant twice, picks that cover every batch and share their slots.
Status checkIndex(const PackIndex &index);

uint64_t hashOf(const std::string &bytes);

} // namespace decant::pack

#endif // DECANT_RUNTIME_PACKFORMAT_H
