//===- Files.h - text files that a spec names -------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a path. Out: its text, or why there is none.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_SPEC_FILES_H
#define DECANT_LIB_SPEC_FILES_H

#include "decant/Core/Status.h"

#include <string>

namespace decant::spec {

/// No spec or rule comes near this; a wrong path may lead to gigabytes.
constexpr size_t kMaxFileBytes = 4u << 20;

/// The file's bytes. Errors begin with the path.
Expected<std::string> readTextFile(const std::string &path);

} // namespace decant::spec

#endif // DECANT_LIB_SPEC_FILES_H
