//===- BundledTest.cpp - records that are built in ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This program has test/Tuning/records embedded as the library has
// presets/records, by the same CMake script. The compiler's build changes with
// every change of its sources, and a built-in record is always of an older one:
// it has to serve all the same, and say so.
//
//===----------------------------------------------------------------------===//

#include "Records.h"
#include "decant/Spec/Presets.h"
#include "decant/Tune/RecordStore.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace decant;
using namespace decant::test;
namespace fs = std::filesystem;

namespace {

using Lines = std::vector<std::string>;
const std::string kSource = "bundled, h200";

class Bundled : public testing::Test {
protected:
  void SetUp() override {
    const std::vector<EmbeddedFile> files = embeddedRecords();
    ASSERT_EQ(files.size(), 1u);
    EXPECT_EQ(files[0].name, "h200");
    Expected<TuningFile> file =
        parseTuningFile(std::string(files[0].text), "h200");
    ASSERT_TRUE(file.ok()) << file.status().message();
    record = file->records.front();
    folder = testing::TempDir() + "decant-bundled-" + std::to_string(getpid());
    fs::remove_all(folder);
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  void write(const TuningRecord &mine) const {
    std::ofstream(folder + "/a.json") << toJson(TuningFile{{mine}, {}});
  }
  RecordLookup find(const TuningKey &key) const {
    return RecordStore::open({folder, "", true}).find(key);
  }

  TuningRecord record;
  std::string folder;
};

TEST_F(Bundled, ServeUnderTheirOwnKey) {
  const RecordLookup found = find(record.key);
  ASSERT_TRUE(found.record);
  EXPECT_EQ(found.source, kSource);
  EXPECT_EQ(found.differences, Lines());
}

TEST_F(Bundled, OutliveTheCompilerAndTheDriverThatMadeThem) {
  TuningKey key = record.key;
  key.compiler = "decant 0.1.0 (LLVM 22.1.8, build 0123)";
  RecordLookup found = find(key);
  ASSERT_TRUE(found.record);
  EXPECT_EQ(found.source, kSource);
  EXPECT_EQ(found.record->schedule, record.schedule);
  EXPECT_EQ(found.differences,
            Lines{"compiler " + record.key.compiler + " in the record, " +
                  key.compiler + " here"});
  key.device.driver = "590.1";
  found = find(key);
  ASSERT_TRUE(found.record);
  EXPECT_EQ(found.differences.size(), 2u);
}

TEST_F(Bundled, AreNotForOtherDevicesOrSpecs) {
  TuningKey key = record.key;
  key.device.name = "NVIDIA H100";
  RecordLookup found = find(key);
  EXPECT_FALSE(found.record);
  EXPECT_EQ(found.differences,
            Lines{kSource + ": device NVIDIA H200 in the record, NVIDIA H100 "
                            "here"});
  key = record.key;
  key.specHash = "ffffffffffffffff";
  EXPECT_FALSE(find(key).record);
}

TEST_F(Bundled, ComeLast) {
  TuningRecord mine = record;
  mine.summary = "mine";
  write(mine);
  EXPECT_EQ(find(record.key).source, "user, " + folder + "/a.json");
  // With the same difference too.
  TuningKey key = record.key;
  key.compiler = "another";
  EXPECT_EQ(find(key).source, "user, " + folder + "/a.json");
}

} // namespace
