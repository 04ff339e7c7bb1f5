//===- RelativeNorm.h - how far numbers are from others ---------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_REFERENCE_RELATIVENORM_H
#define DECANT_LIB_REFERENCE_RELATIVENORM_H

#include <cmath>
#include <cstdint>
#include <vector>

namespace decant {

/// ||x - expected|| / ||expected|| of what is added, part by part.
class RelativeNorm {
public:
  void add(double difference, double expected) {
    error += difference * difference;
    size += expected * expected;
  }
  void add(const double *x, const double *expected, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      add(x[i] - expected[i], expected[i]);
  }
  void add(const std::vector<double> &x, const double *expected) {
    add(x.data(), expected, int64_t(x.size()));
  }
  void add(const std::vector<double> &x, const std::vector<double> &expected) {
    add(x, expected.data());
  }
  void add(const RelativeNorm &other) {
    error += other.error;
    size += other.size;
  }
  /// 0 if nothing was added; the error itself where only zeros were expected.
  double value() const {
    return size == 0 ? std::sqrt(error) : std::sqrt(error / size);
  }
  double expectedNorm() const { return std::sqrt(size); }

private:
  double error = 0, size = 0;
};

} // namespace decant

#endif // DECANT_LIB_REFERENCE_RELATIVENORM_H
