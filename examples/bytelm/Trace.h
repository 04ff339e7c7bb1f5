//===- Trace.h - what layers hand to their states ---------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a model and one sequence. Out: a safetensors file per layer, as `decant
// run`, `eval` and `calibrate` read it: q, k, v in bf16 before their norm, [T,
// heads, dim]; g and beta in f32, [T, value heads], g with the dim behind it
// for KDA.
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_TRACE_H
#define BYTELM_TRACE_H

#include "Reference.h"

namespace bytelm {

/// Writes FOLDER/layerN-KIND.safetensors for every layer of the first stream
/// and returns the files' names. Throws InputError.
std::vector<std::string> writeTraces(const Model &model, const Streams &streams,
                                     const std::string &folder, int threads);

} // namespace bytelm

#endif // BYTELM_TRACE_H
