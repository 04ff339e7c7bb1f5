//===- PackBuilder.h - images into one pack ------------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: images, from a compiler or from another pack. Out: the bytes of a pack.
// Needs no compiler, so that a tuner on a machine without one can write a pack
// with what it has picked.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_PACKBUILDER_H
#define DECANT_RUNTIME_PACKBUILDER_H

#include "decant/Runtime/PackIndex.h"

#include <map>

namespace decant {

class PackBuilder {
public:
  /// Adds a decode or a transfer image. `maxRows` are the batches that a decode
  /// image is the pick for, none for a candidate; a transfer image has none.
  Status add(const KernelImage &image, std::vector<int64_t> maxRows = {});

  /// The whole file; says what does not go together.
  Expected<std::string> bytes();

  const PackIndex &index() const { return held; }
  /// Bytes that several variants have and the file has once.
  int64_t sharedBytes() const { return shared; }

private:
  int addBlob(std::string bytes);
  Expected<int> addSpec(const KernelImage &image);

  PackIndex held;
  std::vector<std::string> blobs;
  std::map<std::string, int> numbers; // of blobs, by their bytes
  int64_t shared = 0;
};

} // namespace decant

#endif // DECANT_RUNTIME_PACKBUILDER_H
