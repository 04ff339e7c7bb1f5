//===- KernelImage.h - what crosses from compiler to runtime ----*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CORE_KERNELIMAGE_H
#define DECANT_CORE_KERNELIMAGE_H

#include "decant/Core/Schedule.h"

#include <cstdint>
#include <string>
#include <vector>

namespace decant {

enum class ArgKind { Pointer, Int64 };
const char *toString(ArgKind kind);

/// One kernel argument. Arguments are matched by name (KernelEntry lists them),
/// so that caller and kernel cannot disagree on order.
struct KernelArg {
  std::string name;
  ArgKind kind = ArgKind::Pointer;
  ElementType type = ElementType::F32; // pointee; meaningless for Int64
  int align = 1; // bytes that the pointer, and every stride times the element
                 // size, must be a multiple of
  bool writable = false;
  int64_t rowWidth = 0; // elements of one row, for row inputs; else 0
};

/// One kernel function of an image.
///
/// Names of arguments, in units of elements unless said:
///   state (bytes), slots (i32), state_stride (bytes per slot), slots_stride,
///   rows; qkv or q, k, v; decay; beta; A_log, dt_bias; out; for each of these
///   row inputs `<name>_stride` per row (heads and dims are contiguous); a
///   rule's extra inputs under their own names, without a stride where they
///   belong to the layer.
///   commit: min_fill (heads whose window holds fewer tokens are left alone).
///   pack, unpack: dense, dense_row, dense_head, dense_key, dense_value
///   (strides in elements).
struct KernelEntry {
  std::string role;   // "step", "commit", "pack_f32", "unpack_bf16", ...
  std::string symbol; // function name in the code
  std::vector<KernelArg> args;
  int blocksPerRow = 1;         // grid = rows * blocksPerRow blocks
  int threads = 1;              // per block
  int sharedBytes = 0;          // dynamic shared memory per block
  bool dependentLaunch = false; // the code waits for the kernel ahead of it
};

enum class CodeKind { Ptx, Cubin, HostObject };
const char *toString(CodeKind kind);

struct KernelImage {
  std::string specName;
  std::string specText; // canonicalText() of the spec
  std::string target;
  CodeKind kind = CodeKind::Ptx;
  int ptxIsa = 0; // of the code, 0 for host objects
  std::string scheduleText;
  std::string compiler; // version of Decant and LLVM
  SlotLayout layout;
  PadPolicy pad = PadPolicy::Negative;
  std::vector<KernelEntry> entries;
  std::string code;

  const KernelEntry *find(const std::string &role) const;
};

/// One self-checking file: magic, version, length, XXH3 hash, JSON header,
/// code. load() names what is wrong with a damaged one.
std::string serialize(const KernelImage &image);
Expected<KernelImage> deserialize(const std::string &bytes);

} // namespace decant

#endif // DECANT_CORE_KERNELIMAGE_H
