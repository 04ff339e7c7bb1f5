//===- Trace.cpp - recorded inputs of a layer -----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// safetensors: u64 header length | JSON header | data. The header maps each
// tensor's name to {"dtype", "shape", "data_offsets": [begin, end]}, offsets
// counted from the start of the data; the tensors cover the data without gaps.
//
//===----------------------------------------------------------------------===//
#include "decant/Reference/Trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

using namespace decant;
using nlohmann::json;

namespace {

constexpr size_t kLengthBytes = 8;
/// The format's own limit on its header.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

constexpr TraceType kTypes[] = {TraceType::F64,  TraceType::F32, TraceType::F16,
                                TraceType::BF16, TraceType::I64, TraceType::I32,
                                TraceType::I16,  TraceType::I8,  TraceType::U8};

std::string typeNames() {
  std::vector<std::string> names;
  for (TraceType type : kTypes)
    names.push_back(toString(type));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// What the header says of one tensor.
struct Entry {
  std::string name;
  TraceType type;
  std::vector<int64_t> shape;
  uint64_t begin, end;
};

/// The JSON text of a field for a message; whatever stands there may be long.
std::string quote(const json &value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  constexpr size_t kLongest = 60;
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

/// Parses the header. JSON readers keep one of two equal keys; here a second
/// one is an error, since which data a name means must not be a matter of
/// taste.
Expected<json> parseHeader(const std::string &text) {
  std::vector<std::set<std::string>> keys;
  std::string repeated;
  json header;
  try {
    header =
        json::parse(text, [&](int, json::parse_event_t event, json &parsed) {
          if (event == json::parse_event_t::object_start)
            keys.emplace_back();
          else if (event == json::parse_event_t::object_end)
            keys.pop_back();
          else if (event == json::parse_event_t::key &&
                   !keys.back().insert(parsed.get<std::string>()).second)
            repeated = parsed.get<std::string>();
          return true;
        });
  } catch (const json::exception &error) {
    return Status::invalid(
        fmt::format("the header is not JSON: {}", error.what()));
  }
  if (!repeated.empty())
    return Status::invalid(fmt::format(
        "the header has the name '{}' twice; names must differ", repeated));
  if (!header.is_object())
    return Status::invalid(fmt::format(
        "the header is {}, not a JSON object of tensors", quote(header)));
  return header;
}

/// A list of non-negative integers, which a shape and data_offsets are.
Expected<std::vector<int64_t>> parseSizes(const json &entry,
                                          const char *field) {
  const auto found = entry.find(field);
  if (found == entry.end())
    return Status::invalid(fmt::format("field '{}' is missing", field));
  std::vector<int64_t> sizes;
  bool sound = found->is_array();
  for (const json &size : sound ? *found : json::array()) {
    sound &= size.is_number_integer() &&
             (!size.is_number_unsigned() ||
              size.get<uint64_t>() <= uint64_t(INT64_MAX)) &&
             size.get<int64_t>() >= 0;
    if (!sound)
      break;
    sizes.push_back(size.get<int64_t>());
  }
  if (!sound)
    return Status::invalid(
        fmt::format("'{}' is {}; allowed is a list of integers from 0 up",
                    field, quote(*found)));
  return sizes;
}

/// elements * bytes of a shape; nothing if that is beyond 64 bits.
std::optional<uint64_t> byteCount(const std::vector<int64_t> &shape,
                                  int bytes) {
  uint64_t count = bytes;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return 0;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(count, uint64_t(size), &count))
      return std::nullopt;
  return count;
}

Expected<Entry> parseEntry(const std::string &name, const json &entry) {
  if (!entry.is_object())
    return Status::invalid(fmt::format(
        "found {}; allowed is an object with dtype, shape and data_offsets",
        quote(entry)));
  Entry result;
  result.name = name;

  const auto dtype = entry.find("dtype");
  if (dtype == entry.end())
    return Status::invalid("field 'dtype' is missing");
  const auto type =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](TraceType type) {
        return dtype->is_string() &&
               dtype->get_ref<const std::string &>() == toString(type);
      });
  if (type == std::end(kTypes))
    return Status::invalid(
        fmt::format("dtype is {}; known are {}", quote(*dtype), typeNames()));
  result.type = *type;

  DECANT_ASSIGN(result.shape, parseSizes(entry, "shape"));
  DECANT_ASSIGN(const std::vector<int64_t> offsets,
                parseSizes(entry, "data_offsets"));
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    return Status::invalid(
        fmt::format("data_offsets are {}; allowed is [begin, end] with begin "
                    "<= end",
                    shapeText(offsets)));
  result.begin = offsets[0];
  result.end = offsets[1];

  const std::optional<uint64_t> bytes =
      byteCount(result.shape, elementBytes(result.type));
  if (!bytes || *bytes != result.end - result.begin)
    return Status::invalid(fmt::format(
        "data_offsets {} span {} bytes, but shape {} of {} needs {}",
        shapeText(offsets), result.end - result.begin, shapeText(result.shape),
        toString(result.type),
        bytes ? fmt::format("{}", *bytes) : "more than 2^64"));
  return result;
}

Status checkCoverage(std::vector<Entry> entries, uint64_t dataBytes) {
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t covered = 0;
  const Entry *previous = nullptr;
  for (const Entry &entry : entries) {
    if (entry.end > dataBytes)
      return Status::invalid(fmt::format(
          "tensor '{}' ends at byte {} of the data, but the file has only {} "
          "bytes of data; it may be truncated",
          entry.name, entry.end, dataBytes));
    if (entry.begin < covered)
      return Status::invalid(
          fmt::format("tensor '{}' starts at byte {} of the data, inside "
                      "tensor '{}', which ends at {}; tensors must not overlap",
                      entry.name, entry.begin, previous->name, covered));
    if (entry.begin > covered)
      return Status::invalid(
          fmt::format("bytes {} to {} of the data, before tensor '{}', belong "
                      "to no tensor; gaps are not allowed",
                      covered, entry.begin, entry.name));
    covered = entry.end;
    previous = &entry;
  }
  if (covered != dataBytes)
    return Status::invalid(fmt::format(
        "the tensors end at byte {} of the data, but the file has {} bytes of "
        "data; bytes behind the last tensor are not allowed",
        covered, dataBytes));
  return {};
}

Expected<std::vector<Entry>> parseEntries(const json &header) {
  std::vector<Entry> entries;
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__")
      continue;
    Expected<Entry> parsed = parseEntry(name, entry);
    if (!parsed)
      return parsed.status().within(fmt::format("tensor '{}'", name));
    entries.push_back(parsed.take());
  }
  return entries;
}

Expected<Trace> parse(const std::string &bytes) {
  if (bytes.size() < kLengthBytes)
    return Status::invalid(
        fmt::format("the file has {} bytes; a safetensors file has at least {}",
                    bytes.size(), kLengthBytes));
  uint64_t headerBytes;
  std::memcpy(&headerBytes, bytes.data(), sizeof(headerBytes));
  const uint64_t rest = bytes.size() - kLengthBytes;
  const uint64_t most = std::min(rest, kMaxHeaderBytes);
  if (headerBytes > most)
    return Status::invalid(fmt::format(
        "the header is said to have {} bytes; a file of {} bytes can have at "
        "most {}. The file is truncated or not in the safetensors format",
        headerBytes, bytes.size(), most));

  DECANT_ASSIGN(const json header,
                parseHeader(bytes.substr(kLengthBytes, headerBytes)));
  DECANT_ASSIGN(const std::vector<Entry> entries, parseEntries(header));
  DECANT_TRY(checkCoverage(entries, rest - headerBytes));

  const char *data = bytes.data() + kLengthBytes + headerBytes;
  Trace trace;
  for (const Entry &entry : entries)
    trace.tensors[entry.name] = {
        entry.type, entry.shape,
        std::vector<uint8_t>(data + entry.begin, data + entry.end)};
  return trace;
}

} // namespace

Expected<Trace> decant::parseTrace(const std::string &bytes,
                                   const std::string &file) {
  Expected<Trace> trace = parse(bytes);
  if (!trace)
    return trace.status().within(file);
  trace->file = file;
  return trace;
}

Expected<Trace> decant::readTrace(const std::string &path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream bytes;
  // A directory opens but does not read.
  if (!stream || !(bytes << stream.rdbuf()))
    return Status::invalid(
        fmt::format("{}: the trace cannot be read (no such file, a folder, an "
                    "empty file or no permission)",
                    path));
  return parseTrace(bytes.str(), path);
}
