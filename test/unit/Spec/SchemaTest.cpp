//===- SchemaTest.cpp - the schema says what the reader does --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Valid specs are changed at every place; schema and reader must agree on each
// result. The validator is the tests' own, so neither side judges itself.
//
//===----------------------------------------------------------------------===//
#include "MiniSchema.h"
#include "TestFiles.h"

#include "decant/Spec/Presets.h"
#include "decant/Spec/SpecReader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace decant::test {
namespace {

using Json = nlohmann::json;

Json committedSchema() {
  return Json::parse(readFile(testPath("../presets/schema.json")));
}

Expected<DecodeSpec> read(const Json &document) {
  return readSpecText({"spec", document.dump(), testPath("Spec/valid")});
}

/// Specs that both must accept, and that the tests below change.
std::vector<Json> validDocuments() {
  std::vector<Json> documents;
  for (const std::string &name : filesIn("Spec/valid", ".json"))
    documents.push_back(
        Json::parse(readFile(testPath("Spec/valid/" + name + ".json"))));
  for (const PresetFile &file : presetFiles())
    if (file.kind == PresetKind::Model)
      documents.push_back(Json::parse(file.text));
  return documents;
}

TEST(Schema, TheCommittedFileIsCurrent) {
  EXPECT_EQ(readFile(testPath("../presets/schema.json")), specSchema())
      << "presets/schema.json must be the text of specSchema()";
}

TEST(Schema, AcceptsEveryValidSpec) {
  for (const Json &document : validDocuments()) {
    EXPECT_TRUE(accepts(committedSchema(), document)) << document.dump();
    Expected<DecodeSpec> spec = read(document);
    EXPECT_TRUE(spec.ok()) << spec.status().message();
  }
}

/// What a schema cannot say, by a part of the reader's message.
bool beyondASchema(const std::string &message) {
  for (const char *reason :
       {"a multiple of heads.key", "in the last scale", "at most one per axis",
        "cannot be read", "found an empty text", "with control characters",
        // A method's fields are unknown to the schema.
        "state.scale: missing", "found a folder",
        "only when state.codes is int8",
        // What a plan is held against.
        "where key rows differ in bits", "the spec's heads.",
        "one per value head", "one per key row", "digits from 2 to 8",
        "beside state.bits", "bits per code in the mean", "state.plan: found",
        "one for all", "a plan with bits", "only alone",
        // A block's sizes, and beside which rotation; fewer pivots than rows.
        "state.rotate_block: found", "or no blocks", "state.bits.pivots: found",
        // More than rows and pivots can have.
        "state.bits.mean: found", "dims that 16 divides"})
    if (message.find(reason) != std::string::npos)
      return true;
  return false;
}

void expectAgreement(const Json &schema, const Json &document) {
  bool inSchema = accepts(schema, document);
  Expected<DecodeSpec> spec = read(document);
  if (spec.ok())
    EXPECT_TRUE(inSchema) << document.dump();
  else if (inSchema)
    EXPECT_TRUE(beyondASchema(spec.status().message()))
        << document.dump() << "\n"
        << spec.status().message();
}

/// Every value inside `document`, as JSON pointers.
std::vector<Json::json_pointer> placesIn(const Json &document) {
  std::vector<Json::json_pointer> places;
  const Json flat = document.flatten();
  for (const auto &[pointer, value] : flat.items())
    for (Json::json_pointer place(pointer); !place.empty();
         place = place.parent_pointer())
      if (std::find(places.begin(), places.end(), place) == places.end())
        places.push_back(place);
  return places;
}

TEST(Schema, AgreesWithTheReaderOnEveryReplacedValue) {
  const Json schema = committedSchema();
  const std::vector<Json> values = {nullptr,
                                    true,
                                    -5,
                                    0,
                                    1,
                                    2,
                                    1.5,
                                    4,
                                    16,
                                    17,
                                    64,
                                    65,
                                    256,
                                    257,
                                    1e-30,
                                    1e40,
                                    "",
                                    "x",
                                    "f32",
                                    "int8",
                                    "auto",
                                    "none",
                                    "log",
                                    "lower_bound",
                                    "kda",
                                    "step-bf16",
                                    "absmax",
                                    Json::array(),
                                    Json::object(),
                                    Json::array({1}),
                                    Json::object({{"text", "r"}})};
  int tried = 0;
  for (const Json &document : validDocuments())
    for (const auto &place : placesIn(document))
      for (const Json &value : values) {
        Json changed = document;
        changed[place] = value;
        expectAgreement(schema, changed);
        ++tried;
      }
  EXPECT_GT(tried, 5000);
}

TEST(Schema, AgreesWithTheReaderOnEveryRemovedValue) {
  const Json schema = committedSchema();
  int tried = 0;
  for (const Json &document : validDocuments())
    for (const auto &place : placesIn(document)) {
      Json changed = document;
      Json &parent = changed[place.parent_pointer()];
      if (parent.is_object())
        parent.erase(place.back());
      else
        parent.erase(std::stoul(place.back()));
      expectAgreement(schema, changed);
      ++tried;
    }
  EXPECT_GT(tried, 150);
}

TEST(Schema, AgreesWithTheReaderOnUnknownFields) {
  const Json schema = committedSchema();
  int tried = 0;
  for (const Json &document : validDocuments())
    for (const auto &place : placesIn(document)) {
      Json changed = document;
      if (!changed[place].is_object())
        continue;
      changed[place]["unheard_of"] = 1;
      EXPECT_FALSE(accepts(schema, changed)) << changed.dump();
      EXPECT_FALSE(read(changed).ok()) << changed.dump();
      ++tried;
    }
  EXPECT_GT(tried, 20);
}

/// Calls `visit` with every object schema and its place in a spec.
void walkObjects(const Json &schema, const Json::json_pointer &place,
                 const std::function<void(const Json &,
                                          const Json::json_pointer &)> &visit) {
  if (schema.contains("anyOf"))
    for (const Json &form : schema["anyOf"])
      walkObjects(form, place, visit);
  if (schema.contains("items"))
    walkObjects(schema["items"], place / 0, visit);
  if (!schema.contains("properties"))
    return;
  visit(schema, place);
  for (const auto &[name, member] : schema["properties"].items())
    walkObjects(member, place / name, visit);
}

/// Every word of the schema is one that the reader knows: in the document that
/// has it, nothing is said about its place but a contradiction.
TEST(Schema, EveryWordIsKnownToTheReader) {
  const Json schema = committedSchema();
  const Json base =
      Json::parse(readFile(testPath("Spec/valid/every-field.json")));
  int words = 0;
  walkObjects(
      schema, Json::json_pointer(),
      [&](const Json &object, const Json::json_pointer &place) {
        for (const auto &[name, member] : object["properties"].items()) {
          std::vector<Json> forms = {member};
          if (member.contains("anyOf"))
            forms = member["anyOf"].get<std::vector<Json>>();
          for (const Json &form : forms)
            for (const Json &word : form.value("enum", Json::array())) {
              Json document = base;
              document[place / name] = word;
              Expected<DecodeSpec> spec = read(document);
              ++words;
              if (!spec.ok())
                EXPECT_EQ(spec.status().message().find("found " + word.dump()),
                          std::string::npos)
                    << spec.status().message();
            }
        }
      });
  EXPECT_GE(words, 50);
}

} // namespace
} // namespace decant::test
