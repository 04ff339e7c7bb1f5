//===- KernelImageTest.cpp - image files, whole and damaged ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Core/KernelImage.h"

#include <cstring>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <random>
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace decant;
using nlohmann::json;

namespace {

KernelImage sampleImage() {
  DecodeSpec spec;
  spec.rule = {"gated_delta", "a rule"};
  spec.heads = {2, 4, 32, 48, HeadMap::Modulo};
  spec.window = {8, 2, ElementType::F16};
  spec.state.codes = ElementType::I8;
  spec.state.scales = {{Axis::Key, ScaleFit::SqrtMeanAbs, ElementType::F32},
                       {Axis::Value, ScaleFit::AbsMax, ElementType::BF16}};
  RecordShape record;
  record.writes = 2;
  record.keyDecay = DecayShape::Vector;
  KernelImage image;
  image.specName = "a \"layer\"\n";
  image.specText = "field = value\n";
  image.target = "sm_90a";
  image.kind = CodeKind::Cubin;
  image.ptxIsa = 86;
  image.scheduleText = "strategy = simt";
  image.compiler = "decant 0.1.0";
  image.layout = makeSlotLayout(spec, record, CodeOrder::Fragments);
  image.pad = PadPolicy::NonPositive;
  KernelEntry step;
  step.role = "step";
  step.symbol = "decant_step";
  step.blocksPerRow = 4;
  step.threads = 128;
  step.sharedBytes = 1000;
  step.dependentLaunch = true;
  KernelArg q;
  q.name = "q";
  q.type = ElementType::BF16;
  q.align = 16;
  q.rowWidth = int64_t(1) << 40;
  KernelArg rows;
  rows.name = "rows";
  rows.kind = ArgKind::Int64;
  rows.writable = true;
  step.args = {q, rows};
  KernelEntry bare;
  bare.role = "commit";
  bare.symbol = "c";
  image.entries = {step, bare};
  image.code = std::string("\0\x7f"
                           "ELF\xff code",
                           11);
  return image;
}

void appendLittle(std::string &bytes, uint64_t value, int count) {
  for (int i = 0; i < count; ++i)
    bytes.push_back(char(value >> (8 * i)));
}

/// The file as its documentation describes it, built without serialize().
std::string imageFile(const std::string &header, const std::string &code) {
  std::string front = "DECANT\x1a\n";
  appendLittle(front, 1, 4);
  appendLittle(front, 0, 4);
  appendLittle(front, header.size(), 8);
  appendLittle(front, code.size(), 8);
  std::string hashed = front + header + code, hash;
  appendLittle(hash, XXH3_64bits(hashed.data(), hashed.size()), 8);
  return front + hash + header + code;
}

json headerOf(const std::string &file) {
  uint64_t size = 0;
  std::memcpy(&size, file.data() + 16, 8);
  return json::parse(file.substr(40, size));
}

/// The message for a file whose header has the value at `pointer` replaced.
std::string messageFor(const std::string &pointer, const json &value) {
  json header = headerOf(serialize(sampleImage()));
  header.at(json::json_pointer(pointer)) = value;
  Expected<KernelImage> image = deserialize(imageFile(header.dump(), "code"));
  EXPECT_FALSE(image.ok()) << pointer;
  EXPECT_EQ(image.status().code(), StatusCode::InvalidInput);
  return image.status().message();
}

TEST(KernelImage, FindsEntriesByRole) {
  KernelImage image = sampleImage();
  ASSERT_NE(image.find("commit"), nullptr);
  EXPECT_EQ(image.find("commit")->symbol, "c");
  EXPECT_EQ(image.find("pack_f32"), nullptr);
}

TEST(KernelImage, EveryCodeOrderSurvives) {
  for (CodeOrder order :
       {CodeOrder::Rows, CodeOrder::Fragments, CodeOrder::Columns}) {
    KernelImage image = sampleImage();
    image.layout.codeOrder = order;
    Expected<KernelImage> read = deserialize(serialize(image));
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->layout.codeOrder, order);
  }
}

TEST(KernelImage, EveryFieldSurvives) {
  KernelImage in = sampleImage();
  Expected<KernelImage> read = deserialize(serialize(in));
  ASSERT_TRUE(read.ok()) << read.status().message();
  const KernelImage &out = *read;
  EXPECT_EQ(out.specName, in.specName);
  EXPECT_EQ(out.specText, in.specText);
  EXPECT_EQ(out.target, in.target);
  EXPECT_EQ(out.kind, in.kind);
  EXPECT_EQ(out.ptxIsa, in.ptxIsa);
  EXPECT_EQ(out.scheduleText, in.scheduleText);
  EXPECT_EQ(out.compiler, in.compiler);
  EXPECT_EQ(out.pad, in.pad);
  EXPECT_EQ(out.code, in.code);
  ASSERT_EQ(out.entries.size(), 2u);
  const KernelEntry &step = out.entries[0];
  EXPECT_EQ(step.role, "step");
  EXPECT_EQ(step.symbol, "decant_step");
  EXPECT_EQ(step.blocksPerRow, 4);
  EXPECT_EQ(step.threads, 128);
  EXPECT_EQ(step.sharedBytes, 1000);
  EXPECT_TRUE(step.dependentLaunch);
  ASSERT_EQ(step.args.size(), 2u);
  EXPECT_EQ(step.args[0].name, "q");
  EXPECT_EQ(step.args[0].kind, ArgKind::Pointer);
  EXPECT_EQ(step.args[0].type, ElementType::BF16);
  EXPECT_EQ(step.args[0].align, 16);
  EXPECT_EQ(step.args[0].rowWidth, int64_t(1) << 40);
  EXPECT_FALSE(step.args[0].writable);
  EXPECT_EQ(step.args[1].kind, ArgKind::Int64);
  EXPECT_TRUE(step.args[1].writable);

  const SlotLayout &a = in.layout, &b = out.layout;
  EXPECT_EQ(b.valueHeads, a.valueHeads);
  EXPECT_EQ(b.keyDim, a.keyDim);
  EXPECT_EQ(b.valueDim, a.valueDim);
  EXPECT_EQ(b.paddedKey, a.paddedKey);
  EXPECT_EQ(b.codeOrder, a.codeOrder);
  EXPECT_EQ(b.paddedValue, a.paddedValue);
  EXPECT_EQ(b.window, a.window);
  EXPECT_EQ(b.compensators, a.compensators);
  EXPECT_EQ(b.compensatorRounds, a.compensatorRounds);
  EXPECT_EQ(b.record.writes, 2);
  EXPECT_EQ(b.record.keyDecay, DecayShape::Vector);
  EXPECT_EQ(b.record.valueDecay, DecayShape::None);
  EXPECT_EQ(b.headBytes, a.headBytes);
  EXPECT_EQ(b.slotBytes, a.slotBytes);
  ASSERT_EQ(b.scales.size(), 2u);
  EXPECT_EQ(b.scales[0].fit, ScaleFit::SqrtMeanAbs);
  EXPECT_EQ(b.scales[1].axis, Axis::Value);
  EXPECT_EQ(b.scales[1].type, ElementType::BF16);
  auto left = a.regions(), right = b.regions();
  ASSERT_EQ(left.size(), 12u);
  for (size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(right[i].second.offset, left[i].second.offset) << left[i].first;
    EXPECT_EQ(right[i].second.type, left[i].second.type) << left[i].first;
    EXPECT_EQ(right[i].second.count, left[i].second.count) << left[i].first;
    EXPECT_EQ(right[i].second.width, left[i].second.width) << left[i].first;
  }
}

TEST(KernelImage, TheFileIsWhatItsDocumentationSays) {
  std::string file = serialize(sampleImage());
  EXPECT_EQ(file, imageFile(headerOf(file).dump(), sampleImage().code));
  EXPECT_EQ(serialize(deserialize(file).take()), file);
}

TEST(KernelImage, BytesThatAreNotUtf8DoNotStopAnImage) {
  KernelImage image = sampleImage();
  image.specText = "latin-1: \xe4";
  Expected<KernelImage> read = deserialize(serialize(image));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->specText, "latin-1: \xef\xbf\xbd"); // U+FFFD
}

TEST(KernelImage, NamesEachKindOfDamage) {
  std::string file = serialize(sampleImage());
  auto message = [](const std::string &bytes) {
    return deserialize(bytes).status().message();
  };
  auto has = [&](const std::string &bytes, const char *text) {
    EXPECT_NE(message(bytes).find(text), std::string::npos) << message(bytes);
  };
  has("", "truncated: 0 bytes");
  has("#!/bin/sh", "bad magic");
  has("DECANT\r\n" + file.substr(8), "bad magic");
  has(file.substr(0, 39), "truncated: 39 bytes");
  has(file.substr(0, file.size() - 1), "truncated");
  has(file + "x", "1 bytes too long");
  std::string newer = file;
  newer[8] = 4;
  has(newer, "format version 5, and this build reads version 4");
  std::string flipped = file;
  flipped.back() ^= 1;
  has(flipped, "hash mismatch");
  // Lengths whose sum wraps around to the right total.
  std::string wrapped = file;
  for (int i = 24; i < 32; ++i)
    wrapped[size_t(i)] = char(0xff);
  has(wrapped, "truncated");
  has(imageFile("{not json", ""), "not JSON");
  has(imageFile("[]", ""), "expected an object");
  // Deep nesting must not use up the stack.
  has(imageFile(std::string(200000, '['), ""), "not JSON");
}

TEST(KernelImage, EveryTruncationAndEveryFlippedBitIsRefused) {
  std::string file = serialize(sampleImage());
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(deserialize(file.substr(0, size)).ok()) << size;
  for (size_t at = 0; at < file.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = file;
      damaged[at] = char(damaged[at] ^ (1 << bit));
      EXPECT_FALSE(deserialize(damaged).ok()) << at << " bit " << bit;
    }
}

TEST(KernelImage, NamesTheHeaderFieldThatIsWrong) {
  EXPECT_EQ(messageFor("/kind", "elf"),
            "kernel image: header field \"kind\": found \"elf\", expected one "
            "of ptx, cubin, host_object");
  EXPECT_EQ(messageFor("/target", 90),
            "kernel image: header field \"target\": found 90, expected a "
            "string");
  EXPECT_EQ(messageFor("/entries/0/args/0/align", 3),
            "kernel image: header field \"entries[0].args[0].align\": found 3, "
            "expected a power of two");
  EXPECT_EQ(messageFor("/entries/1/threads", 0),
            "kernel image: header field \"entries[1].threads\": found 0, "
            "expected an integer from 1 to 2147483647");
  EXPECT_EQ(messageFor("/ptx_isa", 8.5),
            "kernel image: header field \"ptx_isa\": found 8.5, expected an "
            "integer from 0 to 2147483647");
  EXPECT_NE(messageFor("/ptx_isa", 18446744073709551615u)
                .find("found 18446744073709551615"),
            std::string::npos);
  EXPECT_NE(messageFor("/layout", 1).find("\"layout\": found 1"),
            std::string::npos);
  EXPECT_NE(messageFor("/entries", json::object()).find("an array"),
            std::string::npos);
  EXPECT_NE(
      messageFor("/entries/0/args/1/writable", "yes").find("true or false"),
      std::string::npos);
  EXPECT_NE(messageFor("/layout/regions/record_keys/count", 1 << 20)
                .find("ends within the head"),
            std::string::npos);
  EXPECT_NE(messageFor("/layout/slot_bytes", 64).find("layout.slot_bytes"),
            std::string::npos);

  json header = headerOf(serialize(sampleImage()));
  header["layout"]["regions"].erase("cursor");
  EXPECT_EQ(deserialize(imageFile(header.dump(), "")).status().message(),
            "kernel image: header field \"layout.regions.cursor\": found "
            "nothing, expected an object");
}

/// Headers with a right hash and random damage: any answer but a crash, and a
/// refusal that says whose header it is.
TEST(KernelImage, NoHeaderCrashesTheReader) {
  std::string header = headerOf(serialize(sampleImage())).dump();
  std::mt19937 random(1);
  const std::string alphabet = "0123456789-+.eE\"{}[]:,ntf \\u\xff";
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = header;
    for (unsigned edits = 1 + random() % 3; edits > 0; --edits)
      damaged[random() % damaged.size()] = alphabet[random() % alphabet.size()];
    Expected<KernelImage> image = deserialize(imageFile(damaged, ""));
    if (image.ok())
      continue; // the edit hit a name or a number that stays allowed
    ++refused;
    EXPECT_EQ(image.status().message().find("kernel image: "), 0u);
  }
  EXPECT_GT(refused, 10000);
}

} // namespace
