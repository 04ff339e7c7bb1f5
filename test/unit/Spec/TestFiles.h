//===- TestFiles.h - spec files that the tests read -------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Paths and texts of the files in test/, and equality of specs.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_SPEC_TESTFILES_H
#define DECANT_TEST_UNIT_SPEC_TESTFILES_H

#include "decant/Core/DecodeSpec.h"

#include <string>
#include <vector>

namespace decant::test {

/// The path of a file below test/.
std::string testPath(const std::string &relative);
std::string readFile(const std::string &path);
/// Names in the folder test/`folder` that end in `ending`, without the ending,
/// sorted.
std::vector<std::string> filesIn(const std::string &folder,
                                 const std::string &ending);
/// A name that GoogleTest accepts.
std::string testName(const std::string &name);

/// Every field, labels too.
bool equal(const DecodeSpec &a, const DecodeSpec &b);

} // namespace decant::test

#endif // DECANT_TEST_UNIT_SPEC_TESTFILES_H
