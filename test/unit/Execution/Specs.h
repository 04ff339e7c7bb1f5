//===- Specs.h - specs and the engine that compiles them --------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_EXECUTION_SPECS_H
#define DECANT_TEST_UNIT_EXECUTION_SPECS_H

#include "decant/Engine.h"

#include <stdexcept>

namespace decant::test {

/// The value, or an exception that GoogleTest shows as a failure.
template <typename T> T valueOf(Expected<T> expected) {
  if (!expected)
    throw std::runtime_error(expected.status().message());
  return expected.take();
}
void require(const Status &status);

/// One engine for all tests, with kernels in memory.
Engine &sharedEngine();

/// A small f32 layer (gated delta rule, 1 key head, 2 value heads, 32 x 24,
/// window 1) under `overrides`.
DecodeSpec makeSpec(const std::vector<std::string> &overrides = {});
/// The same with a rule of the test's own.
DecodeSpec makeSpecWithRule(const std::string &rule,
                            const std::vector<std::string> &overrides = {});

} // namespace decant::test

#endif // DECANT_TEST_UNIT_EXECUTION_SPECS_H
