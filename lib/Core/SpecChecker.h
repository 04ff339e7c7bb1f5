//===- SpecChecker.h - gathers contradictions -------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_CORE_SPECCHECKER_H
#define DECANT_LIB_CORE_SPECCHECKER_H

#include "decant/Core/DecodeSpec.h"

#include <fmt/format.h>

namespace decant {

/// Gathers issues; every helper says what was found and what is allowed.
class SpecChecker {
public:
  std::vector<SpecIssue> issues;

  void add(const char *path, std::string message) {
    issues.push_back({path, std::move(message)});
  }
  void range(const char *path, int found, int low, int high) {
    if (found < low || found > high)
      add(path, fmt::format("found {}; allowed: an integer from {} to {}",
                            found, low, high));
  }
  void real(const char *path, double found, double low, double high) {
    // Written so that NaN fails.
    if (!(found >= low && found <= high))
      add(path, fmt::format("found {}; allowed: a number from {} to {}", found,
                            low, high));
  }
  void floating(const char *path, ElementType found) {
    if (!isWideFloat(found))
      add(path,
          fmt::format("found {}; allowed: f32, f16 or bf16", toString(found)));
  }
};

/// What is wrong with how the state is stored, plans included (StateCheck.cpp).
void checkFormat(const DecodeSpec &spec, SpecChecker &check);

} // namespace decant

#endif // DECANT_LIB_CORE_SPECCHECKER_H
