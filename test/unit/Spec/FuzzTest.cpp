//===- FuzzTest.cpp - any bytes give a spec or a message ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Seeds are fixed, so a failure repeats. Under a sanitizer the same tests look
// for reads out of bounds.
//
//===----------------------------------------------------------------------===//
#include "TestFiles.h"

#include "decant/Spec/SpecReader.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

namespace decant::test {
namespace {

std::string validText() {
  return readFile(testPath("Spec/valid/every-field.json"));
}

Expected<DecodeSpec> readBytes(const std::string &text,
                               const std::vector<std::string> &overrides = {}) {
  return readSpecText({"fuzz", text, testPath("Spec/valid")}, overrides);
}

/// A message fit for any terminal and log, or a spec that check() accepts.
void expectClean(const Expected<DecodeSpec> &spec) {
  if (spec.ok()) {
    EXPECT_TRUE(check(*spec).empty());
    return;
  }
  const std::string &message = spec.status().message();
  EXPECT_EQ(spec.status().code(), StatusCode::InvalidInput) << message;
  EXPECT_FALSE(message.empty());
  EXPECT_NO_THROW((void)nlohmann::json(message).dump()) << "not UTF-8";
  for (char c : message)
    EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << message;
}

TEST(SpecFuzz, Truncations) {
  std::string text = validText();
  size_t end = text.find_last_of('}');
  for (size_t length = 0; length <= end; ++length) {
    Expected<DecodeSpec> spec = readBytes(text.substr(0, length));
    EXPECT_FALSE(spec.ok()) << length;
    expectClean(spec);
  }
}

TEST(SpecFuzz, ChangedBytes) {
  const std::string text = validText();
  std::mt19937 random(1);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string changed = text;
    int changes = 1 + int(random() % 3);
    for (int i = 0; i < changes; ++i)
      changed[random() % changed.size()] = char(random() % 256);
    Expected<DecodeSpec> spec = readBytes(changed);
    accepted += spec.ok();
    expectClean(spec);
  }
  // Changes inside the description or of white space are harmless ones; if all
  // or none were, the rounds would test nothing.
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 10000);
}

TEST(SpecFuzz, PiecesOfJson) {
  const std::vector<std::string> pieces = {
      "{",      "}",         "[",         "]",           ":",           ",",
      "\"a\"",  "\"heads\"", "\"state\"", "\"preset\"",  "\"scale\"",   "1",
      "-1e308", "null",      "true",      "\"\\u0000\"", "\"\\ud800\"", "\xff"};
  std::mt19937 random(2);
  for (int round = 0; round < 20000; ++round) {
    std::string text = round % 2 ? "{" : "";
    for (int i = int(random() % 12); i > 0; --i)
      text += pieces[random() % pieces.size()];
    expectClean(readBytes(text));
  }
}

TEST(SpecFuzz, DeepNesting) {
  for (const char *open : {"[", "{\"a\":", "{\"window\":", "[{\"a\":["}) {
    std::string text;
    for (int depth = 0; depth < 200000; ++depth)
      text += open;
    Expected<DecodeSpec> spec = readBytes(text);
    ASSERT_FALSE(spec.ok());
    EXPECT_NE(spec.status().message().find("levels of nesting"),
              std::string::npos)
        << spec.status().message();
  }
}

TEST(SpecFuzz, Overrides) {
  const std::vector<std::string> pieces = {
      "state", "scale", "window", "length", ".",  "=",    "0",
      "1",     "rule",  "preset", "[",      "{}", "null", "f32",
      "codes", "\"",    "\xff",   "\n",     "-1"};
  const std::string text = validText();
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::string> overrides(1 + random() % 2);
    for (std::string &next : overrides)
      for (int i = int(random() % 8); i > 0; --i)
        next += pieces[random() % pieces.size()];
    expectClean(readBytes(text, overrides));
  }
}

} // namespace
} // namespace decant::test
