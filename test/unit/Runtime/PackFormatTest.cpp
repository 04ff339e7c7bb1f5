//===- PackFormatTest.cpp - packs, whole and damaged ----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestPack.h"
#include "decant/Core/ImageHeader.h"
#include "decant/Runtime/Pack.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace decant;
using namespace decant::test;

namespace {

constexpr size_t kFixedBytes = 40;

uint64_t littleAt(const std::string &bytes, size_t offset, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i)
    value |= uint64_t(uint8_t(bytes[offset + i])) << (8 * i);
  return value;
}
void setLittle(std::string &bytes, size_t offset, uint64_t value, int count) {
  for (int i = 0; i < count; ++i)
    bytes[offset + i] = char(value >> (8 * i));
}

class PackFormat : public testing::Test {
protected:
  /// "" for a sound pack whose every image can be read.
  std::string problemOf(const std::string &bytes) {
    Expected<std::unique_ptr<Pack>> pack =
        Pack::open(folder.write("test.pack", bytes));
    const Status status = pack ? (*pack)->verify() : pack.status();
    if (!status.ok())
      EXPECT_EQ(status.code(), StatusCode::InvalidInput);
    return status.message();
  }
  void expectProblem(const std::string &bytes, const std::string &text) {
    const std::string problem = problemOf(bytes);
    EXPECT_NE(problem.find(text), std::string::npos)
        << "found:    " << problem << "\nexpected: " << text;
    EXPECT_NE(problem.find("test.pack: "), std::string::npos) << problem;
  }

  /// The file with another index, and hash and lengths that fit it.
  std::string withIndex(const nlohmann::json &index) {
    std::string text = index.dump();
    const size_t blobs = kFixedBytes + littleAt(sound, 24, 8);
    std::string bytes =
        sound.substr(0, kFixedBytes) + text + sound.substr(blobs);
    setLittle(bytes, 16, bytes.size(), 8);
    setLittle(bytes, 24, text.size(), 8);
    const std::string hashed = bytes.substr(0, 32) + text;
    setLittle(bytes, 32, XXH3_64bits(hashed.data(), hashed.size()), 8);
    return bytes;
  }
  nlohmann::json index() {
    return nlohmann::json::parse(
        sound.substr(kFixedBytes, littleAt(sound, 24, 8)));
  }

  TemporaryFolder folder;
  const std::string sound = testPackBytes();
};

TEST_F(PackFormat, GivesBackEveryImage) {
  auto pack = Pack::open(folder.write("test.pack", sound));
  ASSERT_TRUE(pack.ok()) << pack.status().message();
  const PackIndex &index = (*pack)->index();
  ASSERT_EQ(index.specs.size(), 2u);
  ASSERT_EQ(index.variants.size(), 8u);
  EXPECT_EQ(index.specs[1].name, "other");
  EXPECT_EQ(index.fileBytes, int64_t(sound.size()));
  EXPECT_EQ(index.variants[1].maxRows, std::vector<int64_t>({64}));
  EXPECT_EQ(index.variants[2].maxRows, std::vector<int64_t>({kAnyRows}));
  EXPECT_EQ(index.variants[3].kernels, PackKernels::Transfer);
  EXPECT_TRUE(index.variants[4].maxRows.empty());
  EXPECT_EQ(index.describe(1),
            "variant 1 (layer, 1 token per step, decode, ptx for sm_90a)");

  const KernelImage wanted[] = {
      variantFor("sm_90a", 4), variantFor("sm_90a", 16),
      variantFor("sm_90a", 8), transferFor("sm_90a"),
      variantFor("sm_90a", 2), variantFor("sm_80", 8),
      transferFor("sm_80"),    variantFor("sm_80", 8, "other")};
  for (int i = 0; i < 8; ++i) {
    const Expected<KernelImage> found = (*pack)->image(i);
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(serialize(*found), serialize(wanted[i])) << i;
    EXPECT_EQ(index.variants[size_t(i)].slotBytes, wanted[i].layout.slotBytes);
  }
  const Expected<KernelImage> beyond = (*pack)->image(8);
  EXPECT_NE(
      beyond.status().message().find("found variant 8; allowed are 0 to 7"),
      std::string::npos);
}

TEST_F(PackFormat, StoresEqualCodeOnce) {
  PackBuilder builder = testPack();
  ASSERT_TRUE(builder.bytes().ok());
  const PackIndex &index = builder.index();
  // Kernels of equal specs, and transfer kernels of two targets: the code of
  // the test's images does not name its target there.
  EXPECT_EQ(index.variants[7].code, index.variants[5].code);
  EXPECT_NE(index.variants[7].header, index.variants[5].header);
  EXPECT_EQ(index.variants[6].code, index.variants[3].code);
  EXPECT_EQ(builder.sharedBytes(), int64_t(variantFor("sm_80", 8).code.size() +
                                           transferFor("sm_80").code.size()));
  EXPECT_EQ(index.blobs.size(), 2u * 8 - 2);
}

TEST_F(PackFormat, ReadsOnlyWhatIsAskedFor) {
  auto pack = Pack::open(folder.write("test.pack", sound));
  ASSERT_TRUE(pack.ok());
  EXPECT_EQ((*pack)->counters().images, 0);
  EXPECT_EQ((*pack)->counters().bytes, 0);
  ASSERT_TRUE((*pack)->image(2).ok());
  EXPECT_EQ((*pack)->counters().images, 1);
  EXPECT_EQ((*pack)->counters().bytes,
            int64_t(imageHeader(variantFor("sm_90a", 8)).size() +
                    variantFor("sm_90a", 8).code.size()));
  EXPECT_EQ((*pack)->counters().bytes, (*pack)->index().bytesOf(2));
}

// A damaged image does not keep the others from being used.
TEST_F(PackFormat, NamesTheVariantThatIsDamaged) {
  auto whole = Pack::open(folder.write("whole.pack", sound));
  const PackIndex index = (*whole)->index();
  std::string bytes = sound;
  const PackBlob &code = index.blobs[size_t(index.variants[1].code)];
  bytes[size_t(code.offset + code.bytes - 1)] ^= 1;
  auto pack = Pack::open(folder.write("test.pack", bytes));
  ASSERT_TRUE(pack.ok());
  EXPECT_TRUE((*pack)->image(0).ok());
  EXPECT_TRUE((*pack)->image(2).ok());
  const Status status = (*pack)->image(1).status();
  EXPECT_NE(status.message().find("test.pack: variant 1 (layer, 1 token per "
                                  "step, decode, ptx for sm_90a): code: hash "
                                  "mismatch: bytes "),
            std::string::npos)
      << status.message();
}

// The fixed part byte by byte, the index at every seventh byte, the blobs at
// both ends and in between; one bit of each, and of the fixed part also all.
TEST_F(PackFormat, NoByteMayChange) {
  ASSERT_EQ(problemOf(sound), "");
  const std::string path = folder.write("flipped.pack", sound);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  auto put = [&](size_t place, int flip) {
    file.seekp(std::streamoff(place));
    file.put(char(sound[place] ^ flip));
    file.flush();
  };
  auto whole = Pack::open(path);
  ASSERT_TRUE(whole.ok());
  std::vector<size_t> places;
  const size_t blobs = kFixedBytes + littleAt(sound, 24, 8);
  for (size_t i = 0; i < blobs; i += i < kFixedBytes ? 1 : 7)
    places.push_back(i);
  for (const PackBlob &blob : (*whole)->index().blobs)
    for (int64_t part : {int64_t(0), blob.bytes / 3, blob.bytes - 1})
      places.push_back(size_t(blob.offset + part));
  for (size_t place : places)
    for (int flip : {1 << place % 8, 255}) {
      if (flip == 255 && place >= kFixedBytes)
        continue;
      put(place, flip);
      Expected<std::unique_ptr<Pack>> pack = Pack::open(path);
      EXPECT_FALSE(pack.ok() && (*pack)->verify().ok())
          << "byte " << place << " ^ " << flip;
      EXPECT_TRUE(pack.ok() || place < blobs) << place;
      put(place, 0);
    }
  EXPECT_TRUE((*whole)->verify().ok());
}

TEST_F(PackFormat, NoByteMayBeMissing) {
  for (size_t length = 0; length < sound.size();
       length += length < 100 ? 1 : 997)
    EXPECT_NE(problemOf(sound.substr(0, length)), "") << length;
  expectProblem("", "pack: bad magic");
  expectProblem(sound.substr(0, 39), "truncated: 39 bytes, and the fixed part "
                                     "alone has 40");
  expectProblem(sound.substr(0, sound.size() - 1),
                "truncated: " + std::to_string(sound.size() - 1) +
                    " bytes, and it states " + std::to_string(sound.size()));
  expectProblem(sound + "x", "1 bytes too long");
}

TEST_F(PackFormat, SaysWhatItIsInstead) {
  expectProblem(serialize(decodeImage(8)), "pack: bad magic: the file does not "
                                           "start as a pack does");
  std::string bytes = sound;
  setLittle(bytes, 8, 2, 4);
  expectProblem(bytes, "format version 2, and this build reads version 1");
  bytes = sound;
  setLittle(bytes, 24, ~uint64_t(0), 8);
  expectProblem(bytes, "an index of 18446744073709551615 bytes in a file of");
  EXPECT_EQ(Pack::open("/nowhere/at.all").status().message(),
            "/nowhere/at.all: cannot open: No such file or directory");
  EXPECT_NE(Pack::open("/").status().message().find("/: is not a file"),
            std::string::npos);
}

TEST_F(PackFormat, ChecksAnIndexThatWasWrittenWrong) {
  ASSERT_EQ(problemOf(withIndex(index())), "");
  auto expectRefused = [&](auto change, const std::string &text) {
    nlohmann::json changed = index();
    change(changed);
    expectProblem(withIndex(changed), text);
  };
  using Json = nlohmann::json;
  expectRefused(
      [](Json &i) { i.erase("specs"); },
      "pack: index field \"specs\": found nothing, expected an array");
  expectRefused(
      [](Json &i) { i["variants"][2]["spec"] = 2; },
      "\"variants[2].spec\": found 2, expected an integer from 0 to 1");
  expectRefused([](Json &i) { i["variants"][0]["code"] = 99; },
                "\"variants[0].code\": found 99");
  expectRefused([](Json &i) { i["variants"][0]["kind"] = "wasm"; },
                "\"variants[0].kind\": found \"wasm\"");
  expectRefused([](Json &i) { i["blobs"][0]["xxh3"] = "12"; },
                "\"blobs[0].xxh3\": found \"12\", expected 16 hexadecimal");
  expectRefused([](Json &i) { i["blobs"][0]["bytes"] = -1; },
                "\"blobs[0].bytes\": found -1");
  expectRefused([](Json &i) { i["blobs"].push_back(i["blobs"][0]); },
                "the index lists");
  expectRefused([](Json &i) { i["variants"] = Json::array(); },
                "pack: found no variant");
  // A variant twice, another spec of the same name, batches in disorder.
  expectRefused([](Json &i) { i["variants"].push_back(i["variants"][0]); },
                "variant 8 (layer, 1 token per step, decode, ptx for sm_90a) "
                "and variant 0 have one schedule");
  expectRefused([](Json &i) { i["specs"][1]["name"] = "layer"; },
                "specs 0 and 1 are both named \"layer\", with 1 tokens per "
                "step; each needs a name of its own");
  expectRefused([](Json &i) { i["variants"][1]["batches"][0]["max_rows"] = 8; },
                "and variant 0 are both for batches of up to 8 rows");
  expectRefused(
      [](Json &i) { i["variants"][2]["batches"][0]["max_rows"] = 100; },
      "\"layer\" has no variant for sm_90a that takes batches of more than 100 "
      "rows");
  expectRefused(
      [](Json &i) { i["variants"][3]["batches"] = {{{"max_rows", 0}}}; },
      "variant 3 (layer, 1 token per step, transfer, ptx for sm_90a) has "
      "batches");
  expectRefused([](Json &i) { i["variants"][1]["order"] = "fragments"; },
                "one sequence cannot be decoded by both");
  // The index and the header of an image disagree.
  expectRefused([](Json &i) { i["variants"][4]["target"] = "sm_86"; },
                "header: it is ptx for sm_90a");
}

TEST_F(PackFormat, RefusesToWriteWhatDoesNotGoTogether) {
  PackBuilder builder;
  EXPECT_EQ(builder.bytes().status().message(),
            "pack: found no variant; one or more are expected");
  ASSERT_TRUE(builder.add(variantFor("sm_90a", 4), {kAnyRows}).ok());
  KernelImage other = variantFor("sm_90a", 8);
  other.specText += " of other gates";
  EXPECT_EQ(builder.add(other).message(),
            "pack: two specs are named \"layer\", with 1 tokens per step, and "
            "their texts differ; each needs a name of its own");
  ASSERT_TRUE(builder.add(variantFor("sm_90a", 8), {kAnyRows}).ok());
  EXPECT_NE(builder.bytes().status().message().find(
                "both for batches of any number of rows"),
            std::string::npos);
}

} // namespace
