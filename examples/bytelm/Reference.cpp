//===- Reference.cpp - what the model says with an fp32 state -------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reference.h"

#include "Error.h"

#include <cstring>
#include <filesystem>
#include <unistd.h>

using namespace bytelm;
namespace fs = std::filesystem;

namespace {

/// streams.bin: so many sequences, one behind the other.
constexpr int kStreams = 16;

struct Header {
  char magic[16] = "bytelm logits 1"; // 15 characters and a zero
  uint64_t model = 0, streams = 0;
  uint32_t rows = 0, tokens = 0;
};
static_assert(sizeof(Header) == 40, "the file's layout");

constexpr int64_t kRowBytes = kVocabulary * sizeof(float);

} // namespace

Streams bytelm::readStreams(const std::string &path, int rows, int tokens,
                            int first) {
  const std::string all = readFile(path, "streams");
  const size_t length = all.size() / kStreams;
  if (all.empty() || all.size() % kStreams != 0)
    wrongInput("{}: has {} bytes; allowed is a multiple of {}, one sequence of "
               "bytes behind the other",
               path, all.size(), kStreams);
  if (rows < 1 || rows > kStreams)
    wrongInput("--streams: found {}; allowed are 1 to {}, those of {}", rows,
               kStreams, path);
  if (first < 0 || first + rows > kStreams)
    wrongInput("--stream: found {}; allowed are 0 to {}, those of {}", first,
               kStreams - rows, path);
  if (tokens < 1 || size_t(tokens) > length)
    wrongInput("--tokens: found {}; allowed are 1 to {}, those of a stream of "
               "{}",
               tokens, length, path);
  Streams streams;
  streams.rows = rows;
  streams.tokens = tokens;
  streams.fingerprint = fingerprint(all);
  const size_t kept = std::min(size_t(tokens) + 1, length);
  for (size_t token = 0; token < kept; ++token)
    for (int row = 0; row < rows; ++row)
      streams.bytes.push_back(uint8_t(all[(first + row) * length + token]));
  return streams;
}

Reference::Reference(const Model &model, const Streams &streams,
                     const std::string &file, int threads)
    : model(model), streams(streams), file(file) {
  if (!file.empty() && open())
    return;
  network = std::make_unique<Network>(
      model, plainLayers(model, streams.rows, threads), streams.rows, threads);
  if (file.empty())
    return;
  unfinished = fmt::format("{}.{}.unfinished", file, ::getpid());
  stored.open(unfinished, std::ios::binary | std::ios::out | std::ios::trunc);
  Header header;
  header.model = model.fingerprint;
  header.streams = streams.fingerprint;
  header.rows = streams.rows;
  header.tokens = streams.tokens;
  if (!stored.write(reinterpret_cast<const char *>(&header), sizeof(header)))
    wrongInput("--reference: {}: cannot be written ({})", unfinished,
               std::strerror(errno));
}

Reference::~Reference() {
  std::error_code ignored;
  if (!unfinished.empty())
    fs::remove(unfinished, ignored);
}

bool Reference::open() {
  std::error_code error;
  if (!fs::exists(file, error))
    return false;
  Header header;
  const Header wanted;
  stored.open(file, std::ios::binary | std::ios::in);
  if (!stored.read(reinterpret_cast<char *>(&header), sizeof(header)) ||
      std::memcmp(header.magic, wanted.magic, sizeof(header.magic)) != 0)
    wrongInput("--reference: {}: is no file of logits that this program wrote; "
               "name another one, it is then made",
               file);
  if (header.model != model.fingerprint ||
      header.streams != streams.fingerprint)
    wrongInput("--reference: {}: has the logits of {}; name another file, it "
               "is then made",
               file,
               header.model != model.fingerprint ? "another model"
                                                 : "other streams");
  const uint64_t bytes = fs::file_size(file, error);
  const uint64_t needed =
      sizeof(header) + uint64_t(header.rows) * header.tokens * kRowBytes;
  if (error || bytes != needed)
    wrongInput("--reference: {}: has {} bytes; {} streams of {} tokens need "
               "{}",
               file, bytes, header.rows, header.tokens, needed);
  if (int64_t(header.rows) < streams.rows ||
      int64_t(header.tokens) < streams.tokens) {
    stored.close();
    return false;
  }
  storedRows = int(header.rows);
  return true;
}

const Matrix &Reference::next(int tokens) {
  const int64_t rows = streams.rows;
  const uint8_t *bytes = streams.bytes.data() + at * rows;
  at += tokens;
  if (network) {
    const Matrix &computed = network->forward(bytes, tokens);
    if (stored.is_open())
      stored.write(reinterpret_cast<const char *>(computed.data()),
                   tokens * rows * kRowBytes);
    return computed;
  }
  logits.resize(tokens * rows, kVocabulary);
  for (int token = 0; token < tokens; ++token) {
    stored.read(
        reinterpret_cast<char *>(logits.data() + token * rows * kVocabulary),
        rows * kRowBytes);
    stored.seekg((storedRows - rows) * kRowBytes, std::ios::cur);
  }
  if (!stored)
    throw JobError(fmt::format("--reference: {}: cannot be read", file));
  return logits;
}

void Reference::finish() {
  if (unfinished.empty())
    return;
  stored.close();
  std::error_code error;
  if (stored)
    fs::rename(unfinished, file, error);
  if (!stored || error)
    throw JobError(fmt::format("--reference: {}: cannot be written ({})", file,
                               error ? error.message() : "no room?"));
  unfinished.clear();
}
