//===- PackIndex.h - what a pack holds ------------------------ -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pack is one file with the kernels of one or several specs, for several
// targets, each perhaps cut in several ways. It is what one ships: the runtime
// reads the index, and then the few images that a device needs, and no others.
//
//    0  magic "DECPAK\x1a\n"     a text-mode copy breaks the last two bytes
//    8  u32 format version       16  u64 bytes of the file
//   12  u32 0                    24  u64 bytes of the index
//   32  u64 XXH3-64 of bytes 0 .. 31 and of the index
//   40  index, JSON | blob 0 | blob 1 | ...
//
//   index   specs      name, tokens per step, hash of the text
//           variants   spec, target, schedule, batches, ...; its header, its
//           |          code: two blobs, by their numbers
//           blobs      length and XXH3-64 of each, in the order of the file
//
// All integers are little-endian. Blobs follow one another without gaps, so
// every byte belongs to the fixed part, the index or one blob, and each of
// these has a hash: damage is found when what it hit is read, and named. A blob
// is the header of an image or its code, stored once however many variants have
// it.
//
// A variant's `maxRows` are the bounds of the batches that it is the pick for
// (BatchRules.h). Of one spec on one target:
//
//   schedule A   {8, kAnyRows}     rows 1 .. 8, and more than 64
//   schedule B   {64}              rows 9 .. 64
//   schedule C   {}                a candidate: a tuner may time it
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_RUNTIME_PACKINDEX_H
#define DECANT_RUNTIME_PACKINDEX_H

#include "decant/Core/KernelImage.h"
#include "decant/Runtime/BatchRules.h"

namespace decant {

enum class PackKernels { Decode, Transfer };
const char *toString(PackKernels kernels);

struct PackSpec {
  std::string name;
  int tokensPerStep = 1;
  uint64_t textHash = 0; // hashSpecText() of the canonical text
};

struct PackVariant {
  int spec = 0; // its number
  PackKernels kernels = PackKernels::Decode;
  std::string target;
  CodeKind kind = CodeKind::Ptx;
  int ptxIsa = 0;
  std::string schedule;
  CodeOrder order = CodeOrder::Rows;
  int64_t slotBytes = 0;
  std::string compiler;
  std::vector<int64_t> maxRows; // ascending; of decode kernels only
  int header = 0, code = 0;     // numbers of blobs
};

struct PackBlob {
  int64_t offset = 0; // from the file's start; not stored, but summed up
  int64_t bytes = 0;
  uint64_t hash = 0;
};

struct PackIndex {
  std::vector<PackSpec> specs;
  std::vector<PackVariant> variants;
  std::vector<PackBlob> blobs;
  int64_t fileBytes = 0;

  /// "bytelm-gdn, 1 token per step, decode, ptx for sm_90a", for messages.
  std::string describe(int variant) const;
  /// Bytes of a variant's header and code.
  int64_t bytesOf(int variant) const;
};

uint64_t hashSpecText(const std::string &canonicalText);

} // namespace decant

#endif // DECANT_RUNTIME_PACKINDEX_H
