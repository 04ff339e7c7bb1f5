//===- MiniSchema.h - a small JSON Schema validator -------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The keywords that specs need, written from the draft 2020-12 text and not
// from Decant's reader, which it is there to be compared with.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TEST_UNIT_SPEC_MINISCHEMA_H
#define DECANT_TEST_UNIT_SPEC_MINISCHEMA_H

#include <nlohmann/json.hpp>

namespace decant::test {

/// Throws std::invalid_argument at a keyword that it does not know.
bool accepts(const nlohmann::json &schema, const nlohmann::json &value);

} // namespace decant::test

#endif // DECANT_TEST_UNIT_SPEC_MINISCHEMA_H
