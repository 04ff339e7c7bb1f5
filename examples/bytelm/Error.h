//===- Error.h - what is wrong with an input --------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BYTELM_ERROR_H
#define BYTELM_ERROR_H

#include <fmt/format.h>
#include <stdexcept>

namespace bytelm {

/// One paragraph: the file, field or argument, what was found, what is allowed.
/// main() prints it and ends with 2.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The input was fine and the work did not succeed; main() ends with 1.
struct JobError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename... Args>
[[noreturn]] void wrongInput(fmt::format_string<Args...> text, Args &&...args) {
  throw InputError(fmt::format(text, std::forward<Args>(args)...));
}

} // namespace bytelm

#endif // BYTELM_ERROR_H
