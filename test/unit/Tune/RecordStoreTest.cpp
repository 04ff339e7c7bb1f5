//===- RecordStoreTest.cpp - whose record is taken ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Tune/RecordStore.h"
#include "Records.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace decant;
using namespace decant::test;
namespace fs = std::filesystem;

namespace {

using Lines = std::vector<std::string>;

class RecordStoreTest : public testing::Test {
protected:
  void SetUp() override {
    root = testing::TempDir() + "decant-records-" + std::to_string(getpid());
    fs::remove_all(root);
    folders = {root + "/user", root + "/site", false};
    fs::create_directories(folders.user);
    fs::create_directories(folders.site);
  }
  void TearDown() override { fs::remove_all(root); }

  static void write(const std::string &path, const std::string &text) {
    std::ofstream(path) << text;
  }
  static void write(const std::string &path, const TuningRecord &record) {
    write(path, toJson(TuningFile{{record}, {}}));
  }
  RecordLookup find(const TuningKey &key) const {
    return RecordStore::open(folders).find(key);
  }

  std::string root;
  RecordFolders folders;
};

TEST_F(RecordStoreTest, UserBeforeSite) {
  write(folders.user + "/a.json", recordOf("one", 4, 10));
  write(folders.site + "/a.json", recordOf("one", 6, 9));
  write(folders.site + "/b.json", recordOf("two", 2, 9));
  RecordLookup one = find(keyOf("one"));
  ASSERT_TRUE(one.record);
  EXPECT_EQ(one.record->schedule, scheduleText(4));
  EXPECT_EQ(one.source, "user, " + folders.user + "/a.json");
  EXPECT_EQ(one.differences, Lines());
  EXPECT_EQ(find(keyOf("two")).source, "site, " + folders.site + "/b.json");
}

TEST_F(RecordStoreTest, ASoundKeyBeforeTheUsersOtherDriver) {
  TuningRecord old = recordOf("one", 4, 10);
  old.key.device.driver = "580.95";
  write(folders.user + "/a.json", old);
  RecordLookup only = find(keyOf("one"));
  ASSERT_TRUE(only.record);
  EXPECT_EQ(only.differences,
            Lines{"driver 580.95 in the record, 580.159.04 here"});
  write(folders.site + "/a.json", recordOf("one", 6, 9));
  EXPECT_EQ(find(keyOf("one")).record->schedule, scheduleText(6));
}

TEST_F(RecordStoreTest, NoRecordOfAnotherDeviceOrSpec) {
  TuningRecord other = recordOf("one", 4, 10);
  other.key.device.name = "NVIDIA H100";
  write(folders.user + "/a.json", other);
  RecordLookup found = find(keyOf("one"));
  EXPECT_FALSE(found.record);
  EXPECT_EQ(found.differences,
            Lines{"user, " + folders.user +
                  "/a.json: device NVIDIA H100 in the record, NVIDIA H200 "
                  "here"});
  TuningKey changed = other.key; // the same name, another format
  changed.specHash = "ffff";
  found = find(changed);
  EXPECT_FALSE(found.record);
  ASSERT_EQ(found.differences.size(), 1u);
  EXPECT_NE(found.differences[0].find("spec hash"), std::string::npos);
  EXPECT_EQ(find(keyOf("two")).differences, Lines());
}

TEST_F(RecordStoreTest, AWrongFileIsLeftOutAndNamed) {
  write(folders.user + "/a.json", "{\"decant_tuning\": 7}");
  write(folders.user + "/b.json", recordOf("one", 4, 10));
  write(folders.user + "/notes.txt", "no records");
  const RecordStore store = RecordStore::open(folders);
  EXPECT_TRUE(store.find(keyOf("one")).record);
  ASSERT_EQ(store.warnings().size(), 1u);
  EXPECT_NE(store.warnings()[0].find(folders.user +
                                     "/a.json: decant_tuning: found 7"),
            std::string::npos)
      << store.warnings()[0];
}

TEST_F(RecordStoreTest, NoFoldersNoRecords) {
  folders = {"", root + "/nowhere", false};
  const RecordStore store = RecordStore::open(folders);
  EXPECT_FALSE(store.find(keyOf("one")).record);
  EXPECT_TRUE(store.warnings().empty());
}

TEST(DeviceClass, DriverVersionFromItsOwnWords) {
  EXPECT_EQ(driverVersionIn(
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  "
                "Tue Sep 23 10:11:16 UTC 2025\nGCC version: gcc 12.2.0\n"),
            "580.95.05");
  EXPECT_EQ(driverVersionIn("NVRM version: NVIDIA UNIX Open Kernel Module for "
                            "x86_64  580.159.04  Release Build\n"),
            "580.159.04");
  EXPECT_EQ(driverVersionIn("GCC 12\n"), "");
  EXPECT_EQ(driverVersionIn(""), "");
}

TEST(DeviceClass, BandwidthToTwoDigits) {
  // Twice 3.201 GHz by 6144 bits, and what two cards of one kind may differ by.
  EXPECT_EQ(bandwidthClass(4.9167e12), "4.9 TB/s");
  EXPECT_EQ(bandwidthClass(4.8903e12), "4.9 TB/s");
  EXPECT_EQ(bandwidthClass(3.35e12), "3.4 TB/s");
  EXPECT_EQ(bandwidthClass(863.7e9), "860 GB/s");
  EXPECT_EQ(bandwidthClass(8.0e12), "8 TB/s");
  EXPECT_EQ(bandwidthClass(0), "other");
}

} // namespace
