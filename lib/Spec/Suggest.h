//===- Suggest.h - the word that was probably meant -------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Words for messages.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_SPEC_SUGGEST_H
#define DECANT_LIB_SPEC_SUGGEST_H

#include <string>
#include <vector>

namespace decant::spec {

/// ` (did you mean "length"?)` for the word nearest to `found`, or "" when none
/// is near.
std::string didYouMean(const std::string &found,
                       const std::vector<std::string> &words);

/// "a, b or c".
std::string join(const std::vector<std::string> &words,
                 const std::string &last = "or");

} // namespace decant::spec

#endif // DECANT_LIB_SPEC_SUGGEST_H
