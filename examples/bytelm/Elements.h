//===- Elements.h - numbers in the types of a spec --------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_ELEMENTS_H
#define BYTELM_ELEMENTS_H

#include <Eigen/Core>

#include <decant-c/decant_runtime.h>

namespace bytelm {

inline int64_t elementBytes(int type) {
  return type == DECANT_F32 ? 4 : 2; // DECANT_F16, DECANT_BF16
}

/// Eigen's half and bfloat16 round to nearest, ties to even.
template <typename To, typename From>
void convert(const void *from, int64_t count, void *to) {
  using FromArray = Eigen::Array<From, 1, Eigen::Dynamic>;
  using ToArray = Eigen::Array<To, 1, Eigen::Dynamic>;
  Eigen::Map<ToArray>(static_cast<To *>(to), count) =
      Eigen::Map<const FromArray>(static_cast<const From *>(from), count)
          .template cast<To>();
}

inline void fromFloats(int type, const float *from, int64_t count, void *to) {
  if (type == DECANT_BF16)
    convert<Eigen::bfloat16, float>(from, count, to);
  else if (type == DECANT_F16)
    convert<Eigen::half, float>(from, count, to);
  else
    convert<float, float>(from, count, to);
}

inline void toFloats(int type, const void *from, int64_t count, float *to) {
  if (type == DECANT_BF16)
    convert<float, Eigen::bfloat16>(from, count, to);
  else if (type == DECANT_F16)
    convert<float, Eigen::half>(from, count, to);
  else
    convert<float, float>(from, count, to);
}

} // namespace bytelm

#endif // BYTELM_ELEMENTS_H
