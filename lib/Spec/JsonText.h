//===- JsonText.h - strict JSON, and values in messages ---------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: any bytes. Out: a JSON value, or the line and column (of a syntax error)
// or the path (of a repeated field) where it stops being one.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_SPEC_JSONTEXT_H
#define DECANT_LIB_SPEC_JSONTEXT_H

#include "decant/Core/Status.h"

#include <nlohmann/json.hpp>

#include <string>

namespace decant::spec {

using Json = nlohmann::json;

/// Repeated fields and nesting beyond kMaxDepth are errors too.
Expected<Json> parseJson(const std::string &text);
constexpr size_t kMaxDepth = 32;

/// `value` for a message: compact, shortened when long, always valid UTF-8.
std::string show(const Json &value);
/// "a string", "an object", ...
std::string typeName(const Json &value);

bool isUtf8(const std::string &text);

/// `text` with everything replaced that a terminal should not get.
std::string printable(const std::string &text);

/// `path` with one more step: a name, quoted if it has odd characters.
std::string joinPath(const std::string &path, const std::string &name);

} // namespace decant::spec

#endif // DECANT_LIB_SPEC_JSONTEXT_H
