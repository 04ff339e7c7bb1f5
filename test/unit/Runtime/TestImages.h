//===- TestImages.h - a layer's two images, by hand ----------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Images as the compiler makes them, with code that FakeCuda.c can load. The
// argument order is shuffled on purpose: a caller may rely on names alone.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_RUNTIME_TESTIMAGES_H
#define DECANT_TEST_UNIT_RUNTIME_TESTIMAGES_H

#include "decant/Core/KernelImage.h"

namespace decant {
namespace test {

constexpr int kKeyHeads = 2, kValueHeads = 4, kKeyDim = 32, kValueDim = 48;

inline KernelArg pointerArg(const char *name, ElementType type, int align,
                            int64_t rowWidth = 0) {
  KernelArg arg;
  arg.name = name;
  arg.type = type;
  arg.align = align;
  arg.rowWidth = rowWidth;
  return arg;
}

inline KernelArg int64Arg(const char *name) {
  KernelArg arg;
  arg.name = name;
  arg.kind = ArgKind::Int64;
  return arg;
}

inline void setCode(KernelImage &image) {
  for (const KernelEntry &entry : image.entries)
    image.code +=
        "fn " + entry.symbol + " args=" + std::to_string(entry.args.size()) +
        " regs=64 local=0 shared=" + std::to_string(entry.sharedBytes) +
        " threads=1024\n";
}

inline KernelImage emptyImage(int window) {
  DecodeSpec spec;
  spec.rule = {"gated_delta", "a rule"};
  spec.heads = {kKeyHeads, kValueHeads, kKeyDim, kValueDim, HeadMap::Group};
  spec.window.length = window;
  KernelImage image;
  image.specName = "layer";
  image.specText = "a spec";
  image.target = "sm_90";
  image.ptxIsa = 80;
  image.scheduleText = "strategy = simt";
  image.compiler = "decant 0.1.0, test";
  RecordShape record;
  record.keyDecay = DecayShape::Scalar;
  image.layout = makeSlotLayout(spec, record);
  return image;
}

/// step, and commit with a window; qkv packed, softplus gates.
inline KernelImage decodeImage(int window) {
  KernelImage image = emptyImage(window);
  KernelEntry step;
  step.role = "step";
  step.symbol = "decant_step";
  step.blocksPerRow = kValueHeads;
  step.threads = 128;
  step.sharedBytes = 1024;
  step.args = {
      int64Arg("rows"),
      pointerArg("out", ElementType::BF16, 16, kValueHeads * kValueDim),
      pointerArg("state", ElementType::I8, 16),
      int64Arg("state_stride"),
      pointerArg("qkv", ElementType::BF16, 16,
                 2 * kKeyHeads * kKeyDim + kValueHeads * kValueDim),
      int64Arg("qkv_stride"),
      pointerArg("decay", ElementType::BF16, 2, kValueHeads),
      int64Arg("decay_stride"),
      pointerArg("beta", ElementType::BF16, 2, kValueHeads),
      int64Arg("beta_stride"),
      pointerArg("A_log", ElementType::F32, 4),
      pointerArg("dt_bias", ElementType::F32, 4),
      pointerArg("slots", ElementType::F32, 4),
      int64Arg("slots_stride"),
      int64Arg("out_stride"),
  };
  step.args[1].writable = step.args[2].writable = true;
  image.entries.push_back(step);
  if (window > 1) {
    KernelEntry commit;
    commit.role = "commit";
    commit.symbol = "decant_commit";
    commit.blocksPerRow = kValueHeads;
    commit.threads = 256;
    commit.args = {
        int64Arg("min_fill"),     pointerArg("slots", ElementType::F32, 4),
        int64Arg("slots_stride"), pointerArg("state", ElementType::I8, 16),
        int64Arg("state_stride"), int64Arg("rows")};
    image.entries.push_back(commit);
  }
  setCode(image);
  return image;
}

inline KernelImage transferImage(int window) {
  KernelImage image = emptyImage(window);
  for (const char *role :
       {"pack_f32", "pack_bf16", "unpack_f32", "unpack_bf16"}) {
    KernelEntry entry;
    entry.role = role;
    entry.symbol = std::string("decant_") + role;
    entry.blocksPerRow = kValueHeads;
    entry.threads = 64;
    ElementType type = std::string(role).find("bf16") == std::string::npos
                           ? ElementType::F32
                           : ElementType::BF16;
    entry.args = {pointerArg("state", ElementType::I8, 16),
                  int64Arg("state_stride"),
                  pointerArg("slots", ElementType::F32, 4),
                  int64Arg("slots_stride"),
                  pointerArg("dense", type, elementBytes(type)),
                  int64Arg("dense_row"),
                  int64Arg("dense_head"),
                  int64Arg("dense_key"),
                  int64Arg("dense_value"),
                  int64Arg("rows")};
    image.entries.push_back(entry);
  }
  setCode(image);
  return image;
}

} // namespace test
} // namespace decant

#endif // DECANT_TEST_UNIT_RUNTIME_TESTIMAGES_H
