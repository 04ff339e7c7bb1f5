//===- HostImages.cpp - small images for the CPU device -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostImages.h"

#include "../Target/Lowering.h"

using namespace decant;
using namespace decant::test;

static KernelArg pointer(const char *name, ElementType type) {
  KernelArg arg;
  arg.name = name;
  arg.type = type;
  arg.align = elementBytes(type);
  return arg;
}

static KernelArg integer(const char *name) {
  KernelArg arg;
  arg.name = name;
  arg.kind = ArgKind::Int64;
  return arg;
}

DecodeSpec test::smallSpec() {
  DecodeSpec spec;
  spec.name = "small";
  spec.rule = {"test", "a rule"};
  spec.heads = {1, 1, 16, 16, HeadMap::Group};
  return spec;
}

static KernelImage emptyImage(const DecodeSpec &spec) {
  KernelImage image;
  image.specName = spec.name;
  image.specText = canonicalText(spec);
  image.target = "x86-64";
  image.kind = CodeKind::HostObject;
  image.compiler = "test";
  image.layout = makeSlotLayout(spec, RecordShape());
  image.pad = spec.inputs.pad;
  return image;
}

Expected<KernelImage> test::decodeImage(const DecodeSpec &spec,
                                        const std::string &arch) {
  KernelImage image = emptyImage(spec);
  KernelEntry step;
  step.role = "step";
  step.symbol = "step";
  step.args = {pointer("state", ElementType::I8),
               integer("state_stride"),
               pointer("slots", ElementType::F32),
               integer("slots_stride"),
               integer("rows"),
               pointer("decay", ElementType::F32),
               integer("decay_stride"),
               pointer("out", ElementType::F32),
               integer("out_stride")};
  step.args[5].rowWidth = step.args[7].rowWidth = 1;
  step.args[0].writable = step.args[7].writable = true;
  image.entries = {step};
  DECANT_ASSIGN(image.code, toObject(R"(
module {
  func.func @step(%state: memref<70368744177664xi8>, %state_stride: i64, %slots: memref<70368744177664xi32>, %slots_stride: i64, %rows: i64,
                  %decay: memref<70368744177664xf32>, %decay_stride: i64, %out: memref<70368744177664xf32>, %out_stride: i64,
                  %first: i64, %last: i64) {
    %c1 = arith.constant 1 : index
    %three = arith.constant 3.0 : f32
    %from = arith.index_cast %first : i64 to index
    %to = arith.index_cast %last : i64 to index
    %ds = arith.index_cast %decay_stride : i64 to index
    %os = arith.index_cast %out_stride : i64 to index
    %ss = arith.index_cast %slots_stride : i64 to index
    scf.for %row = %from to %to step %c1 {
      %di = arith.muli %row, %ds : index
      %oi = arith.muli %row, %os : index
      %si = arith.muli %row, %ss : index
      %x = memref.load %decay[%di] : memref<70368744177664xf32>
      %slot = memref.load %slots[%si] : memref<70368744177664xi32>
      %s = arith.sitofp %slot : i32 to f32
      %y = arith.mulf %x, %three : f32
      %z = arith.addf %y, %s : f32
      memref.store %z, %out[%oi] : memref<70368744177664xf32>
    }
    return
  }
})",
                                     arch));
  return image;
}

Expected<KernelImage> test::transferImage(const DecodeSpec &spec) {
  KernelImage image = emptyImage(spec);
  std::string functions;
  for (const char *role :
       {"pack_f32", "pack_bf16", "unpack_f32", "unpack_bf16"}) {
    KernelEntry entry;
    entry.role = entry.symbol = role;
    entry.args = {integer("rows")};
    image.entries.push_back(entry);
    functions += "func.func @" + entry.symbol +
                 "(%rows: i64, %first: i64, %last: i64) { return }\n";
  }
  DECANT_ASSIGN(image.code, toObject("module {\n" + functions + "}"));
  return image;
}
