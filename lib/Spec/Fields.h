//===- Fields.h - every field of a spec file --------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one table of what a spec file may say: the reader validates with it,
// fills defaults from it and drops inherited fields by it, and the JSON Schema
// is printed from it.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_SPEC_FIELDS_H
#define DECANT_LIB_SPEC_FIELDS_H

#include "decant/Core/DecodeSpec.h"

#include "JsonText.h"

#include <cassert>
#include <optional>
#include <string>
#include <vector>

namespace decant::spec {

enum class NumberKind { Integer, Real };

struct NumberRange {
  NumberKind kind;
  double low, high; // both included
};

/// The field has a meaning only when its sibling holds one of these words.
struct Condition {
  std::string sibling;
  std::vector<std::string> words;
};

enum class Presence {
  Required, // under its condition, if it has one
  Optional,
};

enum class TextRule { None, Words, Line, Any };

/// A word that users know and that is not allowed, with the reason.
struct Refusal {
  std::string word, reason;
};

/// A field accepts the union of what its parts below accept.
struct Field {
  std::string name;
  std::string about;

  TextRule text = TextRule::None;
  std::vector<std::string> words; // for TextRule::Words
  std::vector<Refusal> refused = {};
  std::optional<NumberRange> number;
  std::vector<Field> members = {};            // not empty: an object
  std::vector<std::string> exactlyOneOf = {}; // members that exclude another
  std::vector<Field> element = {};            // one entry: an array of these
  int maxElements = 0;

  Presence presence = Presence::Required;
  std::optional<Condition> onlyWhen = {};
  Json fallback = nullptr;          // null: none
  std::string fallbackSibling = {}; // the sibling whose value is the default
  bool fromMethod = false;          // a method preset may supply it
};

/// The root object.
const Field &specFields();

/// The member of `object` called `name`, or null.
const Field *findMember(const Field &object, const std::string &name);

/// What `field` accepts, for messages: "group or modulo".
std::string describe(const Field &field);

/// Every value of an enum that has words in spec files.
template <typename T> std::vector<T> enumValues();

template <typename T> std::vector<std::string> wordsOf() {
  std::vector<std::string> words;
  for (T value : enumValues<T>())
    words.push_back(toString(value));
  return words;
}

/// The value that `word` names; validation has been done.
template <typename T> T enumFrom(const std::string &word) {
  for (T value : enumValues<T>())
    if (word == toString(value))
      return value;
  assert(false && "a word that validation let through");
  return enumValues<T>().front();
}

} // namespace decant::spec

#endif // DECANT_LIB_SPEC_FIELDS_H
