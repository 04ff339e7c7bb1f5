//===- HeaderFields.h - checked reading of JSON --------------- -*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: the JSON header of an image file, or a pack's index. Out: values of the
// right kind and range, or one error that names the field by its path, what was
// found and what is allowed.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_CORE_HEADERFIELDS_H
#define DECANT_LIB_CORE_HEADERFIELDS_H

#include "decant/Core/Status.h"

#include <fmt/format.h>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace decant {

/// Reads fields of one JSON object. The first wrong field is kept as `error`
/// and every later read returns a harmless value, so that a reader is a plain
/// list of fields with one check at its end.
class FieldReader {
public:
  /// `where` is what messages call the object.
  FieldReader(const nlohmann::json *object, std::string path, Status &error,
              const char *where = "kernel image: header")
      : object(object), path(std::move(path)), where(where), error(error) {
    if (object && !object->is_object())
      refuse("", "an object", object);
  }

  std::string text(const char *name) {
    const nlohmann::json *value = field(name);
    if (value && value->is_string())
      return value->get<std::string>();
    refuse(name, "a string", value);
    return {};
  }

  int64_t integer(const char *name, int64_t low, int64_t high) {
    const nlohmann::json *value = field(name);
    // Beyond int64 the parser yields an unsigned number.
    if (value && value->is_number_integer() &&
        !(value->is_number_unsigned() &&
          value->get<uint64_t>() >
              uint64_t(std::numeric_limits<int64_t>::max()))) {
      int64_t found = value->get<int64_t>();
      if (found >= low && found <= high)
        return found;
    }
    refuse(name, fmt::format("an integer from {} to {}", low, high), value);
    return low;
  }

  bool boolean(const char *name) {
    const nlohmann::json *value = field(name);
    if (value && value->is_boolean())
      return value->get<bool>();
    refuse(name, "true or false", value);
    return false;
  }

  std::vector<float> numbers(const char *name) {
    std::vector<float> found;
    const nlohmann::json *value = field(name);
    const bool isArray = value && value->is_array();
    if (isArray)
      for (const nlohmann::json &number : *value)
        if (number.is_number())
          found.push_back(number.get<float>());
    if (!isArray || found.size() != value->size())
      refuse(name, "an array of numbers", value);
    return found;
  }

  template <typename Enum>
  Enum named(const char *name, std::initializer_list<Enum> allowed) {
    const nlohmann::json *value = field(name);
    std::string choices;
    for (Enum choice : allowed) {
      if (value && value->is_string() &&
          value->get_ref<const std::string &>() == toString(choice))
        return choice;
      choices += std::string(choices.empty() ? "" : ", ") + toString(choice);
    }
    refuse(name, "one of " + choices, value);
    return *allowed.begin();
  }

  FieldReader child(const char *name) {
    return {field(name, "an object"), join(name), error, where};
  }

  template <typename Read> void array(const char *name, Read read) {
    const nlohmann::json *value = field(name);
    if (!value || !value->is_array())
      return refuse(name, "an array", value);
    for (size_t i = 0; i < value->size() && error.ok(); ++i)
      read(FieldReader(&(*value)[i], fmt::format("{}[{}]", join(name), i),
                       error, where));
  }

  void refuse(const char *name, const std::string &allowed,
              const nlohmann::json *found) {
    if (!error.ok())
      return;
    std::string shown =
        found ? found->dump(-1, ' ', false,
                            nlohmann::json::error_handler_t::replace)
              : "nothing";
    if (shown.size() > 60)
      shown = shown.substr(0, 57) + "...";
    error =
        Status::invalid(fmt::format("{} field \"{}\": found {}, expected {}",
                                    where, join(name), shown, allowed));
  }

private:
  const nlohmann::json *field(const char *name, const char *allowed = nullptr) {
    if (!error.ok() || !object || !object->is_object())
      return nullptr;
    auto found = object->find(name);
    if (found != object->end())
      return &*found;
    if (allowed)
      refuse(name, allowed, nullptr);
    return nullptr;
  }
  std::string join(const char *name) const {
    return path.empty() || !*name ? path + name : path + "." + name;
  }

  const nlohmann::json *object;
  std::string path;
  const char *where;
  Status &error;
};

} // namespace decant

#endif // DECANT_LIB_CORE_HEADERFIELDS_H
