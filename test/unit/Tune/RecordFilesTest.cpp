//===- RecordFilesTest.cpp - what is said about wrong tuning files --------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test/Tuning/invalid/NAME.json has one mistake; NAME.expect says what the
// message must contain.
//
//===----------------------------------------------------------------------===//

#include "../Spec/TestFiles.h"
#include "decant/Spec/Presets.h"
#include "decant/Spec/SpecReader.h"
#include "decant/Tune/TuningRecord.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace decant;
using namespace decant::test;

namespace {

constexpr const char *kFolder = "Tuning/invalid";

class InvalidTuning : public testing::TestWithParam<std::string> {};

TEST_P(InvalidTuning, SaysWhereWhatAndWhatElse) {
  const std::string path = testPath(std::string(kFolder) + "/" + GetParam());
  const auto wanted = nlohmann::json::parse(readFile(path + ".expect"));
  const Expected<TuningFile> file = readTuningFile(path + ".json");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), StatusCode::InvalidInput);
  const std::string message = file.status().message();
  EXPECT_EQ(message.find(path + ".json: "), 0u) << message;
  for (const std::string part : wanted.at("expect"))
    EXPECT_NE(message.find(part), std::string::npos)
        << "expected: " << part << "\nin: " << message;
}

INSTANTIATE_TEST_SUITE_P(Files, InvalidTuning,
                         testing::ValuesIn(filesIn(kFolder, ".expect")),
                         [](const auto &info) { return testName(info.param); });

TEST(TuningFiles, EveryWrongFileHasAnExpectation) {
  EXPECT_EQ(filesIn(kFolder, ".json"), filesIn(kFolder, ".expect"));
  EXPECT_GE(filesIn(kFolder, ".json").size(), 12u);
}

// What the wrong files were made from, so that each has one mistake only.
TEST(TuningFiles, TheSoundOneIsReadAndWrittenTheSame) {
  const std::string text = readFile(testPath("Tuning/sound.json"));
  const Expected<TuningFile> file = parseTuningFile(text, "sound.json");
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(nlohmann::json::parse(toJson(*file)), nlohmann::json::parse(text));
}

TEST(TuningFiles, AMissingFileIsNamed) {
  const Expected<TuningFile> file = readTuningFile("/nowhere/tuned.json");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.status().message().find("/nowhere/tuned.json"),
            std::string::npos);
}

// A record is for a spec's text: one whose preset has changed since would never
// be found.
TEST(TuningFiles, BundledOnesAreOfThePresetsAsTheyAre) {
  std::vector<std::string> presets;
  for (const PresetInfo &preset : listPresets())
    if (preset.kind == PresetKind::Model)
      presets.push_back(specHash(*readSpec({preset.name, {}})));
  EXPECT_GE(presets.size(), 7u);
  for (const EmbeddedFile &embedded : embeddedRecords()) {
    const Expected<TuningFile> file =
        parseTuningFile(std::string(embedded.text), std::string(embedded.name));
    ASSERT_TRUE(file.ok()) << file.status().message();
    for (const TuningRecord &record : file->records)
      EXPECT_EQ(std::count(presets.begin(), presets.end(), record.key.specHash),
                1)
          << "presets/records/" << embedded.name << ".json: " << record.key.spec
          << " is not a preset's text any more; tune it again";
  }
}

} // namespace
