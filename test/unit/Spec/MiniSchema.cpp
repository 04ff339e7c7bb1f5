//===- MiniSchema.cpp - a small JSON Schema validator ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "MiniSchema.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace decant::test {

using Json = nlohmann::json;

namespace {

bool hasType(const std::string &type, const Json &value) {
  if (type == "object")
    return value.is_object();
  if (type == "array")
    return value.is_array();
  if (type == "string")
    return value.is_string();
  if (type == "number")
    return value.is_number();
  if (type == "integer")
    return value.is_number() &&
           std::trunc(value.get<double>()) == value.get<double>();
  throw std::invalid_argument("type " + type);
}

long countAccepting(const Json &schemas, const Json &value) {
  return std::count_if(schemas.begin(), schemas.end(), [&](const Json &schema) {
    return accepts(schema, value);
  });
}

bool acceptsProperties(const Json &schema, const Json &value) {
  if (!value.is_object())
    return true;
  const Json none = Json::object();
  const Json &properties =
      schema.contains("properties") ? schema["properties"] : none;
  for (const auto &[name, member] : value.items()) {
    if (properties.contains(name)) {
      if (!accepts(properties[name], member))
        return false;
    } else if (!schema.value("additionalProperties", true)) {
      return false;
    }
  }
  return true;
}

bool acceptsKeyword(const std::string &keyword, const Json &argument,
                    const Json &schema, const Json &value) {
  if (keyword == "description" || keyword == "title" || keyword == "default" ||
      keyword == "$schema" || keyword == "then" ||
      keyword == "additionalProperties")
    return true; // notes, or read with another keyword
  if (keyword == "type")
    return hasType(argument, value);
  if (keyword == "enum")
    return std::find(argument.begin(), argument.end(), value) != argument.end();
  if (keyword == "minimum")
    return !value.is_number() || value.get<double>() >= argument.get<double>();
  if (keyword == "maximum")
    return !value.is_number() || value.get<double>() <= argument.get<double>();
  if (keyword == "minLength")
    return !value.is_string() || value.get<std::string>().size() >= argument;
  if (keyword == "maxLength")
    return !value.is_string() || value.get<std::string>().size() <= argument;
  if (keyword == "minItems")
    return !value.is_array() || value.size() >= argument;
  if (keyword == "maxItems")
    return !value.is_array() || value.size() <= argument;
  if (keyword == "items")
    return !value.is_array() ||
           std::all_of(value.begin(), value.end(), [&](const Json &item) {
             return accepts(argument, item);
           });
  if (keyword == "properties")
    return acceptsProperties(schema, value);
  if (keyword == "required")
    return !value.is_object() ||
           std::all_of(argument.begin(), argument.end(), [&](const Json &name) {
             return value.contains(name.get<std::string>());
           });
  if (keyword == "allOf")
    return countAccepting(argument, value) == long(argument.size());
  if (keyword == "anyOf")
    return countAccepting(argument, value) > 0;
  if (keyword == "oneOf")
    return countAccepting(argument, value) == 1;
  if (keyword == "not")
    return !accepts(argument, value);
  if (keyword == "if")
    return !accepts(argument, value) || accepts(schema.at("then"), value);
  throw std::invalid_argument("keyword " + keyword);
}

} // namespace

bool accepts(const Json &schema, const Json &value) {
  if (schema.is_boolean())
    return schema.get<bool>();
  bool accepted = true;
  for (const auto &[keyword, argument] : schema.items())
    accepted = acceptsKeyword(keyword, argument, schema, value) && accepted;
  return accepted;
}

} // namespace decant::test
