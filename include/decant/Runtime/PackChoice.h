//===- PackChoice.h - which variants a device is to run ------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a pack's index, a device, and what a host wants to decode. Out: numbers
// of variants and the rules between them, or what the pack has instead. Reads
// no file.
//
// The device's own target comes first, as a cubin and then as PTX; then plain
// PTX of older targets, the nearest first, which later devices run too. What
// the driver is too old for is passed over.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_PACKCHOICE_H
#define DECANT_RUNTIME_PACKCHOICE_H

#include "decant/Runtime/Device.h"
#include "decant/Runtime/PackIndex.h"

namespace decant {

struct PackQuery {
  /// The spec's name in the pack; empty: by `specText`, or the only one.
  std::string spec;
  /// canonicalText() of a spec; when not empty, the name does not matter.
  std::string specText;
  int tokensPerStep = 0; // 0: whatever the one spec of that name has
  /// Batches that will be run: images of others are not read. The last rule
  /// takes whatever is larger.
  int64_t minRows = 1, maxRows = kAnyRows;
  bool transfer = true; // also pack and unpack, where the pack has them
};

struct PackChoice {
  int spec = 0;
  std::string target;
  std::vector<int> decode;      // numbers of variants
  std::vector<BatchRule> rules; // over their places in `decode`
  int transfer = -1;            // -1: the pack has none, or none is wanted
  /// Empty when the device's own target was there; else what runs in its place,
  /// for people.
  std::string note;
};

Expected<PackChoice> chooseFromPack(const PackIndex &index,
                                    const PackQuery &query,
                                    const DeviceInfo &device);

} // namespace decant

#endif // DECANT_RUNTIME_PACKCHOICE_H
