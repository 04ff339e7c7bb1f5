//===- Safetensors.cpp - the weights of a folder --------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file is u64 header length | JSON header | data. The header maps a tensor's
// name to {"dtype", "shape", "data_offsets": [begin, end]}, offsets from the
// start of the data; the tensors cover the data without gaps.
//
//===----------------------------------------------------------------------===//

#include "Safetensors.h"

#include "Error.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

using namespace bytelm;
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kHalfBytes = 2;

struct Entry {
  std::string name;
  std::vector<int64_t> shape;
  uint64_t begin, end;
};

/// A JSON value for a message; it may be anything, and long.
std::string quote(const json &value) {
  const std::string text =
      value.dump(-1, ' ', false, json::error_handler_t::replace);
  constexpr size_t kLongest = 60;
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

json parseHeader(const std::string &file, const std::string &bytes,
                 uint64_t &dataBegin) {
  if (bytes.size() < kLengthBytes)
    wrongInput("{}: has {} bytes; a safetensors file begins with the length of "
               "its header in 8",
               file, bytes.size());
  uint64_t length;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > bytes.size() - kLengthBytes)
    wrongInput("{}: says that its header has {} bytes; the file has {} behind "
               "that number, it is truncated or no safetensors file",
               file, length, bytes.size() - kLengthBytes);
  dataBegin = kLengthBytes + length;
  json header;
  try {
    header =
        json::parse(bytes.begin() + kLengthBytes, bytes.begin() + dataBegin);
  } catch (const json::exception &error) {
    wrongInput("{}: the header is not JSON: {}", file, error.what());
  }
  if (!header.is_object())
    wrongInput("{}: the header is {}; allowed is an object of tensors", file,
               quote(header));
  return header;
}

std::vector<int64_t> sizesOf(const std::string &where, const json &entry,
                             const char *field) {
  const auto found = entry.find(field);
  if (found == entry.end())
    wrongInput("{}: field '{}' is missing", where, field);
  std::vector<int64_t> sizes;
  // 2^48 elements are beyond any memory, and products of a few stay in 64 bits
  // as long as each step is checked.
  constexpr int64_t kLargest = int64_t(1) << 48;
  for (const json &size : *found)
    if (found->is_array() && size.is_number_unsigned() &&
        size.get<uint64_t>() <= kLargest)
      sizes.push_back(size.get<int64_t>());
  if (!found->is_array() || sizes.size() != found->size())
    wrongInput("{}: '{}' is {}; allowed is a list of integers from 0 up", where,
               field, quote(*found));
  return sizes;
}

Entry parseEntry(const std::string &file, const std::string &name,
                 const json &entry) {
  const std::string where = fmt::format("{}: tensor '{}'", file, name);
  if (!entry.is_object())
    wrongInput("{}: is {}; allowed is an object with dtype, shape and "
               "data_offsets",
               where, quote(entry));
  const auto dtype = entry.find("dtype");
  if (dtype == entry.end())
    wrongInput("{}: field 'dtype' is missing", where);
  if (*dtype != "F16")
    wrongInput("{}: dtype is {}; this model's weights are \"F16\"", where,
               quote(*dtype));
  Entry result;
  result.name = name;
  result.shape = sizesOf(where, entry, "shape");
  const std::vector<int64_t> offsets = sizesOf(where, entry, "data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1])
    wrongInput("{}: data_offsets are {}; allowed is [begin, end] with begin <= "
               "end",
               where, toText(offsets));
  result.begin = offsets[0];
  result.end = offsets[1];
  uint64_t bytes = kHalfBytes;
  for (int64_t size : result.shape)
    if (__builtin_mul_overflow(bytes, uint64_t(size), &bytes))
      wrongInput("{}: shape {} is beyond any memory", where,
                 toText(result.shape));
  if (bytes != result.end - result.begin)
    wrongInput("{}: data_offsets {} span {} bytes; shape {} of F16 needs {}",
               where, toText(offsets), result.end - result.begin,
               toText(result.shape), bytes);
  return result;
}

void checkCoverage(const std::string &file, std::vector<Entry> entries,
                   uint64_t dataBytes) {
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t covered = 0;
  for (const Entry &entry : entries) {
    if (entry.end > dataBytes)
      wrongInput("{}: tensor '{}' ends at byte {} of the data; the file has {} "
                 "bytes of data, it may be truncated",
                 file, entry.name, entry.end, dataBytes);
    if (entry.begin != covered)
      wrongInput(
          "{}: tensor '{}' starts at byte {} of the data; the one before "
          "it ends at {}, and tensors neither overlap nor leave gaps",
          file, entry.name, entry.begin, covered);
    covered = entry.end;
  }
  if (covered != dataBytes)
    wrongInput("{}: its last tensor ends at byte {} of {} bytes of data; bytes "
               "that belong to no tensor are not allowed",
               file, covered, dataBytes);
}

/// IEEE half: 1 sign, 5 exponent and 10 fraction bits.
float toFloat(uint16_t half) {
  const int exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
  const float magnitude =
      exponent == 0 ? std::ldexp(float(fraction), -24)
                    : std::ldexp(float(fraction + 1024), exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

Tensor loadTensor(const std::string &file, const Entry &entry,
                  const char *data) {
  Tensor tensor{entry.shape, {}, file};
  tensor.values.resize((entry.end - entry.begin) / kHalfBytes);
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, data + entry.begin + i * kHalfBytes, kHalfBytes);
    // One such weight makes every output NaN and says nothing of where it was.
    if ((half & 0x7c00) == 0x7c00)
      wrongInput("{}: tensor '{}': element {} is infinite or NaN; allowed are "
                 "numbers",
                 file, entry.name, i);
    tensor.values[i] = toFloat(half);
  }
  return tensor;
}

void readTensors(const std::string &file, Weights &weights) {
  const std::string bytes = readFile(file, "weights");
  weights.fingerprint = fingerprint(bytes, weights.fingerprint);
  uint64_t dataBegin = 0;
  const json header = parseHeader(file, bytes, dataBegin);
  std::vector<Entry> entries;
  for (const auto &[name, entry] : header.items())
    if (name != "__metadata__")
      entries.push_back(parseEntry(file, name, entry));
  checkCoverage(file, entries, bytes.size() - dataBegin);
  for (const Entry &entry : entries) {
    const auto [at, isNew] = weights.tensors.emplace(
        entry.name, loadTensor(file, entry, bytes.data() + dataBegin));
    if (!isNew)
      wrongInput("{}: tensor '{}' is in {} too; a name stands for one tensor",
                 file, entry.name, at->second.file);
  }
}

} // namespace

std::string bytelm::toText(const std::vector<int64_t> &shape) {
  std::string text;
  for (int64_t size : shape)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
  return "[" + text + "]";
}

std::string bytelm::readFile(const std::string &path, const char *what) {
  std::error_code error;
  if (fs::is_directory(path, error))
    wrongInput("{}: is a folder; allowed is a file of {}", path, what);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (!file || (fs::file_size(path, error) > 0 && !(bytes << file.rdbuf())) ||
      file.bad())
    wrongInput("{}: the {} cannot be read ({})", path, what,
               std::generic_category().message(errno));
  return bytes.str();
}

uint64_t bytelm::fingerprint(const std::string &bytes, uint64_t hash) {
  for (unsigned char byte : bytes)
    hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

Weights bytelm::readWeights(const std::string &folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.rfind("bytelm-", 0) == 0 &&
        at->path().extension() == ".safetensors")
      files.push_back(at->path().string());
  }
  if (error)
    wrongInput("--model: {}: is not a folder that can be read ({})", folder,
               error.message());
  if (files.empty())
    wrongInput("--model: {}: has no file bytelm-*.safetensors", folder);
  std::sort(files.begin(), files.end());
  Weights weights;
  weights.folder = folder;
  weights.fingerprint = fingerprint("");
  for (const std::string &file : files)
    readTensors(file, weights);
  return weights;
}
