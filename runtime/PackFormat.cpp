//===- PackFormat.cpp - the bytes of a pack's index -----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PackFormat.h"

#include "Core/FileBytes.h"
#include "Core/HeaderFields.h"

#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

using namespace decant;
using nlohmann::json;

namespace {

constexpr char kMagic[] = "DECPAK\x1a\n";
constexpr size_t kMagicBytes = 8, kHashOffset = 32;
constexpr uint32_t kFormatVersion = 1;
/// Far beyond any pack, and sums of two lengths cannot wrap.
constexpr int64_t kMaxBytes = int64_t(1) << 42;
constexpr int64_t kMaxInt = std::numeric_limits<int>::max();

/// Of the fixed part but for the hash itself, and of the index.
uint64_t hashOfIndex(const std::string &fixed, const std::string &index) {
  return hashOfBoth(std::string_view(fixed).substr(0, kHashOffset), index);
}

std::string hexOf(uint64_t hash) { return fmt::format("{:016x}", hash); }

uint64_t readHash(FieldReader &in, const char *name) {
  const std::string text = in.text(name);
  uint64_t hash = 0;
  bool good = text.size() == 16;
  for (char c : text) {
    const bool digit = c >= '0' && c <= '9', letter = c >= 'a' && c <= 'f';
    good = good && (digit || letter);
    hash = hash << 4 | uint64_t(digit ? c - '0' : c - 'a' + 10);
  }
  if (!good) {
    const json found = text;
    in.refuse(name, "16 hexadecimal digits", &found);
  }
  return hash;
}

/// kAnyRows is 0 in the file: a bound of no rows has no use.
int64_t boundToFile(int64_t maxRows) {
  return maxRows == kAnyRows ? 0 : maxRows;
}

json variantToJson(const PackVariant &variant) {
  json rows = json::array();
  for (int64_t bound : variant.maxRows)
    rows.push_back({{"max_rows", boundToFile(bound)}});
  return {{"spec", variant.spec},
          {"kernels", toString(variant.kernels)},
          {"target", variant.target},
          {"kind", toString(variant.kind)},
          {"ptx_isa", variant.ptxIsa},
          {"schedule", variant.schedule},
          {"order", toString(variant.order)},
          {"slot_bytes", variant.slotBytes},
          {"compiler", variant.compiler},
          {"batches", std::move(rows)},
          {"header", variant.header},
          {"code", variant.code}};
}

PackVariant variantFromJson(FieldReader in, const PackIndex &index) {
  const int64_t lastBlob = int64_t(index.blobs.size()) - 1;
  PackVariant variant;
  variant.spec = int(in.integer("spec", 0, int64_t(index.specs.size()) - 1));
  variant.kernels =
      in.named("kernels", {PackKernels::Decode, PackKernels::Transfer});
  variant.target = in.text("target");
  variant.kind =
      in.named("kind", {CodeKind::Ptx, CodeKind::Cubin, CodeKind::HostObject});
  variant.ptxIsa = int(in.integer("ptx_isa", 0, kMaxInt));
  variant.schedule = in.text("schedule");
  variant.order = in.named(
      "order", {CodeOrder::Rows, CodeOrder::Fragments, CodeOrder::Columns});
  variant.slotBytes = in.integer("slot_bytes", 1, kMaxBytes);
  variant.compiler = in.text("compiler");
  in.array("batches", [&](FieldReader batch) {
    const int64_t bound = batch.integer("max_rows", 0, kMaxBytes);
    variant.maxRows.push_back(bound == 0 ? kAnyRows : bound);
  });
  variant.header = int(in.integer("header", 0, lastBlob));
  variant.code = int(in.integer("code", 0, lastBlob));
  return variant;
}

Status refuse(const std::string &message) {
  return Status::invalid("pack: " + message);
}

} // namespace

const char *decant::toString(PackKernels kernels) {
  return kernels == PackKernels::Decode ? "decode" : "transfer";
}

uint64_t decant::hashSpecText(const std::string &text) {
  // Of the text that an image's header holds: one that is not UTF-8 is another
  // once it has been read back.
  const std::string quoted =
      json(text).dump(-1, ' ', false, json::error_handler_t::replace);
  return pack::hashOf(json::parse(quoted).get<std::string>());
}

uint64_t pack::hashOf(const std::string &bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string PackIndex::describe(int number) const {
  const PackVariant &variant = variants[size_t(number)];
  const PackSpec &spec = specs[size_t(variant.spec)];
  return fmt::format(
      "variant {} ({}, {} token{} per step, {}, {} for {})", number, spec.name,
      spec.tokensPerStep, spec.tokensPerStep == 1 ? "" : "s",
      toString(variant.kernels), toString(variant.kind), variant.target);
}

int64_t PackIndex::bytesOf(int number) const {
  const PackVariant &variant = variants[size_t(number)];
  return blobs[size_t(variant.header)].bytes +
         blobs[size_t(variant.code)].bytes;
}

std::string pack::writeIndex(PackIndex &index) {
  json specs = json::array(), variants = json::array(), blobs = json::array();
  for (const PackSpec &spec : index.specs)
    specs.push_back({{"name", spec.name},
                     {"tokens_per_step", spec.tokensPerStep},
                     {"text_xxh3", hexOf(spec.textHash)}});
  for (const PackVariant &variant : index.variants)
    variants.push_back(variantToJson(variant));
  for (const PackBlob &blob : index.blobs)
    blobs.push_back({{"bytes", blob.bytes}, {"xxh3", hexOf(blob.hash)}});
  const json all = {{"specs", std::move(specs)},
                    {"variants", std::move(variants)},
                    {"blobs", std::move(blobs)}};
  const std::string text =
      all.dump(-1, ' ', false, json::error_handler_t::replace);

  index.fileBytes = kFixedBytes + int64_t(text.size());
  for (PackBlob &blob : index.blobs) {
    blob.offset = index.fileBytes;
    index.fileBytes += blob.bytes;
  }
  std::string bytes(kMagic, kMagicBytes);
  storeLittle(bytes, kFormatVersion, 4);
  storeLittle(bytes, 0, 4);
  storeLittle(bytes, uint64_t(index.fileBytes), 8);
  storeLittle(bytes, text.size(), 8);
  storeLittle(bytes, hashOfIndex(bytes, text), 8);
  return bytes + text;
}

Expected<pack::FixedPart> pack::readFixedPart(const std::string &bytes,
                                              int64_t fileBytes) {
  const std::string magic(kMagic, kMagicBytes);
  if (bytes.compare(0, kMagicBytes, magic, 0,
                    std::min(bytes.size(), kMagicBytes)) != 0 ||
      bytes.empty())
    return refuse("bad magic: the file does not start as a pack does");
  if (int64_t(bytes.size()) < kFixedBytes)
    return refuse(fmt::format("truncated: {} bytes, and the fixed part alone "
                              "has {}",
                              bytes.size(), kFixedBytes));
  const uint64_t version = loadLittle(bytes, 8, 4);
  if (version != kFormatVersion)
    return refuse(fmt::format("format version {}, and this build reads "
                              "version {}; write the pack again",
                              version, kFormatVersion));
  FixedPart part;
  const uint64_t stated = loadLittle(bytes, 16, 8);
  const uint64_t indexBytes = loadLittle(bytes, 24, 8);
  part.hash = loadLittle(bytes, kHashOffset, 8);
  if (stated > uint64_t(fileBytes))
    return refuse(fmt::format("truncated: {} bytes, and it states {}",
                              fileBytes, stated));
  if (stated < uint64_t(fileBytes))
    return refuse(
        fmt::format("{} bytes too long", uint64_t(fileBytes) - stated));
  if (indexBytes > stated - uint64_t(kFixedBytes))
    return refuse(fmt::format("an index of {} bytes in a file of {}",
                              indexBytes, stated));
  part.fileBytes = int64_t(stated);
  part.indexBytes = int64_t(indexBytes);
  return part;
}

Expected<PackIndex> pack::readIndex(const std::string &fixed,
                                    const std::string &text) {
  const uint64_t stated = loadLittle(fixed, kHashOffset, 8);
  if (const uint64_t found = hashOfIndex(fixed, text); found != stated)
    return refuse(fmt::format("index: hash mismatch: its bytes hash to {}, the "
                              "file states {}; it was damaged",
                              hexOf(found), hexOf(stated)));
  const json all = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (all.is_discarded())
    return refuse("the index is not JSON");

  Status error;
  PackIndex index;
  FieldReader in(&all, "", error, "pack: index");
  in.array("specs", [&](FieldReader spec) {
    index.specs.push_back(
        {spec.text("name"),
         int(spec.integer("tokens_per_step", 1, kMaxTokensPerStep)),
         readHash(spec, "text_xxh3")});
  });
  int64_t end = kFixedBytes + int64_t(text.size());
  in.array("blobs", [&](FieldReader blob) {
    const int64_t bytes = blob.integer("bytes", 0, kMaxBytes - end);
    index.blobs.push_back({end, bytes, readHash(blob, "xxh3")});
    end += bytes;
  });
  in.array("variants", [&](FieldReader variant) {
    index.variants.push_back(variantFromJson(std::move(variant), index));
  });
  DECANT_TRY(error);
  index.fileBytes = int64_t(loadLittle(fixed, 16, 8));
  if (end != index.fileBytes)
    return refuse(fmt::format("the index lists {} bytes, and the file has {}",
                              end, index.fileBytes));
  DECANT_TRY(checkIndex(index));
  return index;
}
