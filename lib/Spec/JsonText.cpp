//===- JsonText.cpp - strict JSON, and values in messages -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parsing is nlohmann/json's; the builder behind it adds what a configuration
// format needs: no repeated keys, a depth limit, positions in errors.
//
//===----------------------------------------------------------------------===//
#include "JsonText.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace decant::spec {
namespace {

/// Builds a value from parse events. nlohmann's own builder keeps the last of
/// two equal keys in silence, and has no limit on depth.
class Builder : public nlohmann::json_sax<Json> {
public:
  explicit Builder(const std::string &text) : text(text) {}

  Json root;
  std::string error;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t &) override {
    return add(value);
  }
  bool string(string_t &value) override { return add(std::move(value)); }
  bool binary(binary_t &) override { return false; }

  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t &value) override {
    if (!levels.back().keys.insert(value).second) {
      error = joinPath(path(), value) +
              ": found twice in one object; allowed: each field once";
      return false;
    }
    levels.back().key = value;
    return true;
  }

  bool parse_error(std::size_t position, const std::string &,
                   const nlohmann::detail::exception &exception) override {
    std::string what = exception.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    if (size_t end = what.find("] "); end != std::string::npos)
      what.erase(0, end + 2);
    if (what.rfind("parse error", 0) == 0)
      if (size_t end = what.find(": "); end != std::string::npos)
        what.erase(0, end + 2);
    size_t seen = std::min(text.size(), position > 0 ? position - 1 : 0);
    size_t line = 1 + std::count(text.begin(), text.begin() + seen, '\n');
    size_t newline = seen > 0 ? text.rfind('\n', seen - 1) : std::string::npos;
    size_t column = newline == std::string::npos ? seen + 1 : seen - newline;
    error =
        fmt::format("line {}, column {}: {}", line, column, printable(what));
    return false;
  }

private:
  struct Level {
    Json *value;
    std::set<std::string> keys;
    std::string key; // that the next value belongs to
  };

  Json *place(Json value) {
    if (levels.empty()) {
      root = std::move(value);
      return &root;
    }
    Level &level = levels.back();
    if (level.value->is_object())
      return &((*level.value)[level.key] = std::move(value));
    level.value->push_back(std::move(value));
    return &level.value->back();
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json container) {
    if (levels.size() == kMaxDepth) {
      error = fmt::format("found more than {0} levels of nesting; allowed: {0}",
                          kMaxDepth);
      return false;
    }
    levels.push_back({place(std::move(container)), {}, {}});
    return true;
  }
  bool close() {
    levels.pop_back();
    return true;
  }
  std::string path() const {
    std::string path;
    for (size_t i = 0; i + 1 < levels.size(); ++i) {
      const Level &level = levels[i];
      path = joinPath(path, level.value->is_object()
                                ? level.key
                                : std::to_string(level.value->size() - 1));
    }
    return path;
  }

  const std::string &text;
  std::vector<Level> levels;
};

} // namespace

Expected<Json> parseJson(const std::string &text) {
  Builder builder(text);
  if (!Json::sax_parse(text, &builder))
    return Status::invalid(builder.error);
  return builder.root;
}

std::string show(const Json &value) {
  constexpr size_t kLongest = 60;
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kLongest)
    text = printable(text.substr(0, kLongest)) + "...";
  return printable(text);
}

std::string typeName(const Json &value) {
  switch (value.type()) {
  case Json::value_t::null:
    return "null";
  case Json::value_t::object:
    return "an object";
  case Json::value_t::array:
    return "an array";
  case Json::value_t::string:
    return "a string";
  case Json::value_t::boolean:
    return "a boolean";
  default:
    return "a number";
  }
}

bool isUtf8(const std::string &text) {
  // The writer is strict by default.
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::type_error &) {
    return false;
  }
}

std::string printable(const std::string &text) {
  // A round trip through the writer replaces what is not UTF-8.
  std::string valid =
      Json::parse(
          Json(text).dump(-1, ' ', false, Json::error_handler_t::replace))
          .get<std::string>();
  for (char &c : valid)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  return valid;
}

std::string joinPath(const std::string &path, const std::string &name) {
  bool plain = !name.empty() && name.size() <= 40 &&
               std::all_of(name.begin(), name.end(), [](unsigned char c) {
                 return std::isalnum(c) || c == '_' || c == '-' || c == '$';
               });
  std::string step = plain ? name : show(name);
  return path.empty() ? step : path + "." + step;
}

} // namespace decant::spec
