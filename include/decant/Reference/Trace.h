//===- Trace.h - recorded inputs of a layer ---------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a safetensors file, from anywhere: nothing in it is trusted. Out: its
// tensors by name, as stored.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_REFERENCE_TRACE_H
#define DECANT_REFERENCE_TRACE_H

#include "decant/Core/Status.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace decant {

/// Element types of a trace file; the names are those of the file.
enum class TraceType { F64, F32, F16, BF16, I64, I32, I16, I8, U8 };
int elementBytes(TraceType type);
const char *toString(TraceType type);

struct TraceTensor {
  TraceType type = TraceType::F32;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes; // row-major, little-endian

  int64_t elements() const;
  /// The value at row-major position `index`. Exact but for integers beyond
  /// 2^53.
  double element(int64_t index) const;
};
/// "[256, 2, 128]".
std::string shapeText(const std::vector<int64_t> &shape);

struct Trace {
  std::string file; // for messages
  std::map<std::string, TraceTensor> tensors;
};

/// Reads `path`.
Expected<Trace> readTrace(const std::string &path);
/// Reads the bytes of a file; `file` is its name in messages.
Expected<Trace> parseTrace(const std::string &bytes, const std::string &file);

} // namespace decant

#endif // DECANT_REFERENCE_TRACE_H
