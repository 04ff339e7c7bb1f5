//===- KernelImage.cpp - the image file -----------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a KernelImage. Out: one file, and back. All integers are little-endian.
//
//   0  magic "DECANT\x1a\n"     a text-mode copy breaks the last two bytes
//   8  u32 format version       16  u64 header bytes
//   12 u32 0                    24  u64 code bytes
//   32 u64 XXH3-64 of every other byte of the file
//   40 JSON header | code
//
// The hash is checked before the header is parsed, so what the header's checks
// meet is a file that was written wrong, not one that was damaged.
//
//===----------------------------------------------------------------------===//

#include "decant/Core/KernelImage.h"

#include "FileBytes.h"
#include "HeaderFields.h"
#include "decant/Core/ImageHeader.h"

#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

using namespace decant;
using nlohmann::json;

namespace {

constexpr char kMagic[] = "DECANT\x1a\n";
constexpr size_t kMagicBytes = 8, kHashOffset = 32, kPrefixBytes = 40;
constexpr uint32_t kFormatVersion = 4;

struct NamedRegion {
  const char *name;
  Region SlotLayout::*member;
};
constexpr NamedRegion kRegions[] = {
    {"codes", &SlotLayout::codes},
    {"key_scale", &SlotLayout::keyScale},
    {"value_scale", &SlotLayout::valueScale},
    {"head_scale", &SlotLayout::headScale},
    {"group_scale", &SlotLayout::groupScale},
    {"group_offset", &SlotLayout::groupOffset},
    {"comp_keys", &SlotLayout::compKeys},
    {"comp_values", &SlotLayout::compValues},
    {"comp_scale", &SlotLayout::compScale},
    {"cursor", &SlotLayout::cursor},
    {"carried", &SlotLayout::carried},
    {"total_key_decay", &SlotLayout::totalKeyDecay},
    {"total_value_decay", &SlotLayout::totalValueDecay},
    {"record_key_decay", &SlotLayout::recordKeyDecay},
    {"record_value_decay", &SlotLayout::recordValueDecay},
    {"record_keys", &SlotLayout::recordKeys},
    {"record_values", &SlotLayout::recordValues},
};

const std::initializer_list<ElementType> kElementTypes = {
    ElementType::F32,  ElementType::F16,  ElementType::BF16, ElementType::I8,
    ElementType::I6,   ElementType::I4,   ElementType::I3,   ElementType::I2,
    ElementType::E4M3, ElementType::E5M2, ElementType::E3M2, ElementType::E2M3,
    ElementType::E2M1, ElementType::E8M0, ElementType::L4,   ElementType::L3,
    ElementType::T4,   ElementType::T3};
const std::initializer_list<DecayShape> kDecayShapes = {
    DecayShape::None, DecayShape::Scalar, DecayShape::Vector};

/// Of every byte but those of the hash itself.
uint64_t hashFile(const std::string &bytes) {
  const std::string_view all = bytes;
  return hashOfBoth(all.substr(0, kHashOffset), all.substr(kPrefixBytes));
}

json layoutToJson(const SlotLayout &layout) {
  json scales = json::array();
  for (const ScaleSpec &scale : layout.scales)
    scales.push_back({{"axis", toString(scale.axis)},
                      {"fit", toString(scale.fit)},
                      {"type", toString(scale.type)},
                      {"block", scale.block}});
  json regions = json::object();
  for (const NamedRegion &entry : kRegions) {
    const Region &region = layout.*entry.member;
    regions[entry.name] = {{"offset", region.offset},
                           {"type", toString(region.type)},
                           {"count", region.count},
                           {"width", region.width}};
  }
  return {{"value_heads", layout.valueHeads},
          {"key_dim", layout.keyDim},
          {"value_dim", layout.valueDim},
          {"padded_key", layout.paddedKey},
          {"padded_value", layout.paddedValue},
          {"window", layout.window},
          {"compensators", layout.compensators},
          {"tokens_per_step", layout.tokensPerStep},
          {"compensator_rounds", layout.compensatorRounds},
          {"writes", layout.record.writes},
          {"key_decay", toString(layout.record.keyDecay)},
          {"value_decay", toString(layout.record.valueDecay)},
          {"carried_vectors", layout.record.carried},
          {"code_order", toString(layout.codeOrder)},
          {"scales", std::move(scales)},
          {"rotation", toString(layout.rotation)},
          {"rotation_block", layout.rotationBlock},
          {"rounding", toString(layout.rounding)},
          {"row_bits", digitsOf(layout.rowBits)},
          {"weights", layout.tables.weights},
          {"levels", layout.tables.levels},
          {"static_scales", layout.tables.scales},
          {"regions", std::move(regions)},
          {"head_bytes", layout.headBytes},
          {"slot_bytes", layout.slotBytes}};
}

json entryToJson(const KernelEntry &entry) {
  json args = json::array();
  for (const KernelArg &arg : entry.args)
    args.push_back({{"name", arg.name},
                    {"kind", toString(arg.kind)},
                    {"type", toString(arg.type)},
                    {"align", arg.align},
                    {"writable", arg.writable},
                    {"row_width", arg.rowWidth}});
  return {{"role", entry.role},
          {"symbol", entry.symbol},
          {"args", std::move(args)},
          {"blocks_per_row", entry.blocksPerRow},
          {"threads", entry.threads},
          {"shared_bytes", entry.sharedBytes},
          {"dependent_launch", entry.dependentLaunch}};
}

constexpr int64_t kMaxInt = std::numeric_limits<int>::max();
// Keeps every product of sizes below inside 64 bits: 2^20 x 2^20 x 4 bytes.
constexpr int64_t kMaxExtent = int64_t(1) << 20;
constexpr int64_t kMaxBytes = int64_t(1) << 42;

/// What a plan brought; `layout` has everything else.
PlanTables tablesFromJson(FieldReader in, const SlotLayout &layout) {
  auto numbers = [&](const char *name, bool optional, int64_t count) {
    std::vector<float> found = in.numbers(name);
    const int64_t length = int64_t(found.size());
    if (length != count && !(optional && length == 0)) {
      json shown = length;
      in.refuse(name, fmt::format("{} numbers", count), &shown);
    }
    return found;
  };
  const ElementType codes = layout.codes.type;
  const int64_t rows = int64_t(layout.valueHeads) * layout.keyDim;
  PlanTables tables;
  tables.weights = numbers("weights", true, rows);
  tables.levels = numbers(
      "levels", false, isTable(codes) ? int64_t(1) << elementBits(codes) : 0);
  tables.scales =
      numbers("static_scales", false,
              layout.hasStaticScales() ? rows * layout.groupColumns() : 0);
  return tables;
}

SlotLayout layoutFromJson(FieldReader in) {
  SlotLayout layout;
  layout.valueHeads = int(in.integer("value_heads", 1, kMaxExtent));
  layout.keyDim = int(in.integer("key_dim", 1, kMaxExtent));
  layout.valueDim = int(in.integer("value_dim", 1, kMaxExtent));
  layout.paddedKey = int(in.integer("padded_key", layout.keyDim, kMaxExtent));
  layout.paddedValue =
      int(in.integer("padded_value", layout.valueDim, kMaxExtent));
  layout.window = int(in.integer("window", 1, kMaxExtent));
  layout.compensators = int(in.integer("compensators", 0, kMaxExtent));
  layout.tokensPerStep =
      int(in.integer("tokens_per_step", 1, kMaxTokensPerStep));
  layout.compensatorRounds =
      int(in.integer("compensator_rounds", 1, kMaxExtent));
  layout.record.writes = int(in.integer("writes", 0, kMaxExtent));
  layout.record.keyDecay = in.named("key_decay", kDecayShapes);
  layout.record.valueDecay = in.named("value_decay", kDecayShapes);
  layout.record.carried = int(in.integer("carried_vectors", 0, kMaxExtent));
  layout.codeOrder =
      in.named("code_order",
               {CodeOrder::Rows, CodeOrder::Fragments, CodeOrder::Columns});
  in.array("scales", [&](FieldReader scale) {
    layout.scales.push_back(
        {scale.named("axis", {Axis::Key, Axis::Value, Axis::Head}),
         scale.named("fit",
                     {ScaleFit::AbsMax, ScaleFit::SqrtMeanAbs, ScaleFit::MinMax,
                      ScaleFit::LeastSquares, ScaleFit::RootMeanSquare,
                      ScaleFit::KeptNorm, ScaleFit::Static}),
         scale.named("type", kElementTypes),
         int(scale.integer("block", 0, kMaxExtent))});
  });
  layout.rotation = in.named("rotation", {Rotation::None, Rotation::Key,
                                          Rotation::Value, Rotation::Both});
  layout.rotationBlock = int(in.integer("rotation_block", 0, kMaxExtent));
  layout.rounding =
      in.named("rounding", {Rounding::Nearest, Rounding::Stochastic});
  layout.headBytes = in.integer("head_bytes", 1, kMaxBytes);
  const std::string digits = in.text("row_bits");
  const auto rowBits = rowBitsOf(digits);
  const size_t rows = size_t(layout.valueHeads) * layout.keyDim;
  if (rowBits && (digits.empty() || digits.size() == rows)) {
    layout.rowBits = *rowBits;
  } else {
    json found = digits;
    in.refuse("row_bits",
              fmt::format("nothing, or {} digits from {} to {} or f", rows,
                          kMinRowBits, kMaxRowBits),
              &found);
  }
  FieldReader regions = in.child("regions");
  for (const NamedRegion &entry : kRegions) {
    FieldReader field = regions.child(entry.name);
    Region &region = layout.*entry.member;
    region.type = field.named("type", kElementTypes);
    region.count = field.integer("count", 0, kMaxExtent);
    region.width = field.integer("width", 0, kMaxExtent);
    region.offset = field.integer("offset", 0, layout.headBytes);
    // A region beyond its head would make tools read the next one's bytes.
    const bool ownRows =
        entry.member == &SlotLayout::codes && !layout.rowBits.empty();
    const int64_t length = ownRows ? 0 : region.bytes();
    if (region.offset + length > layout.headBytes) {
      json end = region.offset + length;
      field.refuse("",
                   fmt::format("a region that ends within the head's {} bytes",
                               layout.headBytes),
                   &end);
    }
  }
  layout.tables = tablesFromJson(in, layout);
  layout.slotBytes =
      in.integer("slot_bytes",
                 layout.rowBits.empty()
                     ? kSlotHeaderBytes + layout.valueHeads * layout.headBytes
                     : layout.headOffset(layout.valueHeads),
                 std::numeric_limits<int64_t>::max());
  return layout;
}

KernelEntry entryFromJson(FieldReader in) {
  KernelEntry entry;
  entry.role = in.text("role");
  entry.symbol = in.text("symbol");
  entry.blocksPerRow = int(in.integer("blocks_per_row", 1, kMaxInt));
  entry.threads = int(in.integer("threads", 1, kMaxInt));
  entry.sharedBytes = int(in.integer("shared_bytes", 0, kMaxInt));
  entry.dependentLaunch = in.boolean("dependent_launch");
  in.array("args", [&](FieldReader field) {
    KernelArg arg;
    arg.name = field.text("name");
    arg.kind = field.named("kind", {ArgKind::Pointer, ArgKind::Int64});
    arg.type = field.named("type", kElementTypes);
    arg.align = int(field.integer("align", 1, kMaxExtent));
    if (arg.align & (arg.align - 1)) {
      json found = arg.align;
      field.refuse("align", "a power of two", &found);
    }
    arg.writable = field.boolean("writable");
    arg.rowWidth = field.integer("row_width", 0, kMaxBytes);
    entry.args.push_back(std::move(arg));
  });
  return entry;
}

} // namespace

const char *decant::toString(ArgKind kind) {
  return kind == ArgKind::Pointer ? "pointer" : "int64";
}

const char *decant::toString(CodeKind kind) {
  switch (kind) {
  case CodeKind::Ptx:
    return "ptx";
  case CodeKind::Cubin:
    return "cubin";
  case CodeKind::HostObject:
    return "host_object";
  }
  return "unknown";
}

const KernelEntry *KernelImage::find(const std::string &role) const {
  for (const KernelEntry &entry : entries)
    if (entry.role == role)
      return &entry;
  return nullptr;
}

std::string decant::imageHeader(const KernelImage &image) {
  json entries = json::array();
  for (const KernelEntry &entry : image.entries)
    entries.push_back(entryToJson(entry));
  json header = {
      {"spec_name", image.specName}, {"spec_text", image.specText},
      {"target", image.target},      {"kind", toString(image.kind)},
      {"ptx_isa", image.ptxIsa},     {"schedule", image.scheduleText},
      {"compiler", image.compiler},  {"layout", layoutToJson(image.layout)},
      {"pad", toString(image.pad)},  {"entries", std::move(entries)}};
  // A rule file may hold bytes that are not UTF-8 in a comment; JSON cannot,
  // and they must not stop the image from being written.
  return header.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string decant::serialize(const KernelImage &image) {
  const std::string text = imageHeader(image);
  std::string bytes;
  bytes.reserve(kPrefixBytes + text.size() + image.code.size());
  bytes.append(kMagic, kMagicBytes);
  storeLittle(bytes, kFormatVersion, 4);
  storeLittle(bytes, 0, 4);
  storeLittle(bytes, text.size(), 8);
  storeLittle(bytes, image.code.size(), 8);
  storeLittle(bytes, 0, 8); // the hash, once there is something to hash
  bytes += text;
  bytes += image.code;
  std::string hash;
  storeLittle(hash, hashFile(bytes), 8);
  bytes.replace(kHashOffset, hash.size(), hash);
  return bytes;
}

Expected<KernelImage> decant::imageFromHeader(const std::string &text,
                                              std::string code) {
  json header = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (header.is_discarded())
    return Status::invalid("kernel image: the header is not JSON");

  Status error;
  FieldReader in(&header, "", error);
  KernelImage image;
  image.specName = in.text("spec_name");
  image.specText = in.text("spec_text");
  image.target = in.text("target");
  image.kind =
      in.named("kind", {CodeKind::Ptx, CodeKind::Cubin, CodeKind::HostObject});
  image.ptxIsa = int(in.integer("ptx_isa", 0, kMaxInt));
  image.scheduleText = in.text("schedule");
  image.compiler = in.text("compiler");
  image.layout = layoutFromJson(in.child("layout"));
  image.pad = in.named(
      "pad", {PadPolicy::None, PadPolicy::Negative, PadPolicy::NonPositive});
  in.array("entries", [&](FieldReader entry) {
    image.entries.push_back(entryFromJson(std::move(entry)));
  });
  DECANT_TRY(error);
  image.code = std::move(code);
  return image;
}

Expected<KernelImage> decant::deserialize(const std::string &bytes) {
  auto refuse = [](const std::string &message) {
    return Status::invalid("kernel image: " + message);
  };
  std::string magic(kMagic, kMagicBytes);
  if (bytes.compare(0, kMagicBytes, magic, 0,
                    std::min(bytes.size(), kMagicBytes)) != 0)
    return refuse(
        "bad magic: the file does not start as a Decant kernel image does");
  if (bytes.size() < kPrefixBytes)
    return refuse(fmt::format("truncated: {} bytes, and the fixed part alone "
                              "has {}",
                              bytes.size(), kPrefixBytes));
  uint64_t version = loadLittle(bytes, 8, 4);
  if (version != kFormatVersion)
    return refuse(fmt::format("format version {}, and this build reads "
                              "version {}; compile the spec again",
                              version, kFormatVersion));
  uint64_t headerBytes = loadLittle(bytes, 16, 8);
  uint64_t codeBytes = loadLittle(bytes, 24, 8);
  uint64_t present = bytes.size() - kPrefixBytes;
  // Compared by subtraction: the sum of two damaged lengths may wrap.
  if (headerBytes > present || codeBytes > present - headerBytes)
    return refuse(fmt::format("truncated: {} bytes after the fixed part, and "
                              "it states {} of header and {} of code",
                              present, headerBytes, codeBytes));
  if (codeBytes != present - headerBytes)
    return refuse(
        fmt::format("{} bytes too long", present - headerBytes - codeBytes));
  uint64_t stated = loadLittle(bytes, kHashOffset, 8);
  if (uint64_t found = hashFile(bytes); found != stated)
    return refuse(fmt::format("hash mismatch: the bytes hash to {:016x}, the "
                              "file states {:016x}; it was damaged",
                              found, stated));

  return imageFromHeader(bytes.substr(kPrefixBytes, headerBytes),
                         bytes.substr(kPrefixBytes + headerBytes));
}
