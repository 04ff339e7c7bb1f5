//===- Safetensors.h - the weights of a folder ------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: bytelm-*.safetensors of a folder. Out: every tensor by name, as floats.
// A file is wrong as a whole: nothing of it is used before all of it is
// checked.
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_SAFETENSORS_H
#define BYTELM_SAFETENSORS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bytelm {

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> values; // the last axis is the fastest
  std::string file;          // for messages
};

std::string toText(const std::vector<int64_t> &shape);

struct Weights {
  std::map<std::string, Tensor> tensors;
  std::string folder;
  uint64_t fingerprint = 0; // of the files' bytes
};

/// Throws InputError.
Weights readWeights(const std::string &folder);

/// A whole file; `what` is for messages. Throws InputError.
std::string readFile(const std::string &path, const char *what);
/// FNV-1a, carried on from `hash`.
uint64_t fingerprint(const std::string &bytes,
                     uint64_t hash = 0xcbf29ce484222325);

} // namespace bytelm

#endif // BYTELM_SAFETENSORS_H
