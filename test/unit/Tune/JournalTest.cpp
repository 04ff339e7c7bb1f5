//===- JournalTest.cpp - measurements that outlive an interruption --------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tune/Journal.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

using namespace decant;
using namespace decant::tune;

namespace {

class JournalTest : public testing::Test {
protected:
  void SetUp() override {
    path = testing::TempDir() + "decant-journal-" + std::to_string(getpid());
    std::filesystem::remove(path);
  }
  void TearDown() override { std::filesystem::remove(path); }

  Journal open() const { return Journal::open(path, device, "build").take(); }
  std::string bytes() const {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }

  std::string path;
  DeviceClass device = {"NVIDIA H200", "sm_90a", "4.9 TB/s", "580.159.04"};
};

TEST_F(JournalTest, KeepsWhatWasAdded) {
  {
    Journal journal = open();
    EXPECT_EQ(journal.resumed(), 0u);
    EXPECT_FALSE(journal.find("a"));
    ASSERT_TRUE(journal.add("a", {{1.5, 1e-9}, ""}).ok());
    ASSERT_TRUE(journal.add("b", {{}, "refused: \"why\"\n"}).ok());
    ASSERT_TRUE(journal.add("a", {{2.5}, "again"}).ok());
  }
  Journal journal = open();
  EXPECT_EQ(journal.resumed(), 2u);
  ASSERT_TRUE(journal.find("a"));
  EXPECT_EQ(journal.find("a")->numbers, std::vector<double>{2.5});
  EXPECT_EQ(journal.find("b")->text, "refused: \"why\"\n");
}

TEST_F(JournalTest, EveryCutOfTheFileIsRead) {
  {
    Journal journal = open();
    ASSERT_TRUE(journal.add("a", {{1}, ""}).ok());
    ASSERT_TRUE(journal.add("b", {{2}, ""}).ok());
  }
  const std::string whole = bytes();
  for (size_t length = 0; length <= whole.size(); ++length) {
    std::ofstream(path, std::ios::binary | std::ios::trunc)
        << whole.substr(0, length);
    // As many entries as have their line ends, and room for more.
    const size_t lines =
        std::count(whole.begin(), whole.begin() + length, '\n');
    Journal journal = open();
    ASSERT_EQ(journal.resumed(), lines == 0 ? 0 : lines - 1) << length;
    ASSERT_TRUE(journal.add("c", {{3}, ""}).ok());
    ASSERT_EQ(open().resumed(), lines == 0 ? 1 : lines) << length;
  }
}

TEST_F(JournalTest, AnotherDriverBeginsAnew) {
  ASSERT_TRUE(open().add("a", {{1}, ""}).ok());
  device.driver = "590.10";
  EXPECT_EQ(open().resumed(), 0u);
  device.driver = "580.159.04"; // what was there is gone
  EXPECT_EQ(open().resumed(), 0u);
}

TEST_F(JournalTest, RemovesItself) {
  Journal journal = open();
  ASSERT_TRUE(journal.add("a", {{1}, ""}).ok());
  journal.remove();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(JournalTest, AFolderThatIsMissingIsNamed) {
  const auto journal = Journal::open("/nowhere/x.journal", device, "build");
  ASSERT_FALSE(journal.ok());
  EXPECT_NE(journal.status().message().find("/nowhere/x.journal"),
            std::string::npos);
}

TEST(MemoryJournal, NeedsNoFile) {
  Journal journal;
  ASSERT_TRUE(journal.add("a", {{1}, ""}).ok());
  EXPECT_TRUE(journal.find("a"));
  journal.remove();
}

} // namespace
