//===- HostKernels.h - CUDA C++ compiled for the host -----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_EXECUTION_HOSTKERNELS_H
#define DECANT_TEST_UNIT_EXECUTION_HOSTKERNELS_H

#include <string>
#include <vector>

namespace decant::test {

/// What `--emit cuda` prints, any number of times, compiled by this build's
/// compiler with HostCuda.h and opened as one library. Throws where that fails.
class HostKernels {
public:
  struct Text {
    std::string name; // of the function that launches it
    std::string real; // float or double
    std::string text;
  };
  explicit HostKernels(const std::vector<Text> &texts);

  /// `args` are pointers to what the kernel's arguments point to.
  using Launch = void (*)(unsigned blocks, unsigned threads, void *const *args);
  Launch find(const std::string &name) const;

private:
  void *library = nullptr;
};

} // namespace decant::test

#endif // DECANT_TEST_UNIT_EXECUTION_HOSTKERNELS_H
