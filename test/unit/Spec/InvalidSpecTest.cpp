//===- InvalidSpecTest.cpp - what is said about wrong specs ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test/Spec/invalid/NAME.expect names a spec (a file beside it, or a
// preset), overrides, and what the message must contain: where, the JSON path,
// what was found, what is allowed.
//
//===----------------------------------------------------------------------===//
#include "TestFiles.h"

#include "decant/Spec/SpecReader.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace decant::test {
namespace {

constexpr const char *kFolder = "Spec/invalid";

class InvalidSpec : public testing::TestWithParam<std::string> {};

TEST_P(InvalidSpec, SaysWhereWhatAndWhatElse) {
  auto wanted = nlohmann::json::parse(
      readFile(testPath(std::string(kFolder) + "/" + GetParam() + ".expect")));
  SpecSource source;
  source.spec = wanted.at("spec");
  if (source.spec.find(".json") != std::string::npos)
    source.spec = testPath(std::string(kFolder) + "/" + source.spec);
  source.overrides = wanted.value("set", std::vector<std::string>());

  Expected<DecodeSpec> spec = readSpec(source);
  ASSERT_FALSE(spec.ok());
  EXPECT_EQ(spec.status().code(), StatusCode::InvalidInput);
  for (const std::string part : wanted.at("expect"))
    EXPECT_NE(spec.status().message().find(part), std::string::npos)
        << "expected: " << part << "\nin: " << spec.status().message();
}

INSTANTIATE_TEST_SUITE_P(Files, InvalidSpec,
                         testing::ValuesIn(filesIn(kFolder, ".expect")),
                         [](const auto &info) { return testName(info.param); });

// A wrong spec without an expectation would be tested by nobody.
TEST(InvalidSpecs, EveryFileHasAnExpectation) {
  std::vector<std::string> expectations = filesIn(kFolder, ".expect");
  for (const std::string &name : filesIn(kFolder, ".json"))
    EXPECT_TRUE(
        std::binary_search(expectations.begin(), expectations.end(), name))
        << name;
  EXPECT_GE(expectations.size(), 40u);
}

} // namespace
} // namespace decant::test
