//===- Schema.cpp - the JSON Schema of spec files -------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: the table of Fields.h. Out: the same rules as a JSON Schema, except what
// a schema cannot say (heads.value a multiple of heads.key, the order of
// scales, rule files that exist), which check() and the reader add.
//
//===----------------------------------------------------------------------===//
#include "decant/Spec/SpecReader.h"

#include "Fields.h"

#include <algorithm>

namespace decant {

using namespace spec;

namespace {

// Fields in the order of the table.
using Ordered = nlohmann::ordered_json;

/// Whether an object lists what it requires in place. What a method may supply
/// is required at the root instead, of specs without a method.
enum class Requirements { InPlace, AtRoot };

Ordered schemaOf(const Field &field, Requirements requirements);

/// {name} is demanded, or refused, while `sibling` is one of `words`.
Ordered conditional(const std::string &sibling,
                    const std::vector<std::string> &words, Ordered then) {
  Ordered rule;
  rule["if"]["properties"][sibling]["enum"] = words;
  rule["if"]["required"] = {sibling};
  rule["then"] = std::move(then);
  return rule;
}

void addRequirements(const Field &object, Ordered &schema) {
  for (const Field &member : object.members) {
    if (member.presence != Presence::Required)
      continue;
    Ordered required;
    required["required"] = {member.name};
    if (member.onlyWhen)
      schema["allOf"].push_back(conditional(member.onlyWhen->sibling,
                                            member.onlyWhen->words, required));
    else if (!member.fromMethod)
      schema["required"].push_back(member.name);
  }
}

void addExclusions(const Field &object, Ordered &schema) {
  for (const Field &member : object.members) {
    if (!member.onlyWhen)
      continue;
    std::vector<std::string> others;
    const auto &words = member.onlyWhen->words;
    for (const std::string &word :
         findMember(object, member.onlyWhen->sibling)->words)
      if (std::find(words.begin(), words.end(), word) == words.end())
        others.push_back(word);
    Ordered refused;
    refused["properties"][member.name] = false;
    schema["allOf"].push_back(
        conditional(member.onlyWhen->sibling, others, refused));
  }
}

Ordered objectSchema(const Field &field, Requirements requirements) {
  Ordered schema;
  schema["type"] = "object";
  schema["additionalProperties"] = false;
  if (requirements == Requirements::InPlace)
    addRequirements(field, schema);
  for (const Field &member : field.members)
    schema["properties"][member.name] =
        schemaOf(member, member.fromMethod ? Requirements::AtRoot
                                           : Requirements::InPlace);
  addExclusions(field, schema);
  for (const std::string &name : field.exactlyOneOf)
    schema["oneOf"].push_back(Ordered{{"required", {name}}});
  return schema;
}

Ordered schemaOf(const Field &field, Requirements requirements) {
  std::vector<Ordered> forms;
  if (!field.words.empty())
    forms.push_back(Ordered{{"enum", field.words}});
  if (field.text == TextRule::Line)
    forms.push_back(
        Ordered{{"type", "string"}, {"minLength", 1}, {"maxLength", 256}});
  if (field.text == TextRule::Any)
    forms.push_back(Ordered{{"type", "string"}});
  if (field.number) {
    bool integer = field.number->kind == NumberKind::Integer;
    Ordered form{{"type", integer ? "integer" : "number"}};
    auto bound = [integer](double value) {
      return integer ? Ordered(int64_t(value)) : Ordered(value);
    };
    form["minimum"] = bound(field.number->low);
    form["maximum"] = bound(field.number->high);
    forms.push_back(std::move(form));
  }
  if (!field.members.empty())
    forms.push_back(objectSchema(field, requirements));
  if (!field.element.empty())
    forms.push_back(
        Ordered{{"type", "array"},
                {"minItems", 1},
                {"maxItems", field.maxElements},
                {"items", schemaOf(field.element[0], Requirements::InPlace)}});

  Ordered schema;
  if (!field.about.empty())
    schema["description"] = field.about;
  if (!field.fallbackSibling.empty())
    schema["description"] =
        field.about + "; the same as " + field.fallbackSibling + " when absent";
  if (!field.fallback.is_null())
    schema["default"] = field.fallback;
  if (forms.size() == 1)
    schema.update(forms[0]);
  else
    schema["anyOf"] = forms;
  return schema;
}

/// What a spec without "preset" must say itself.
Ordered withoutMethod(const Field &root) {
  Ordered rule;
  rule["if"]["not"]["required"] = {"preset"};
  Ordered &then = rule["then"];
  for (const Field &member : root.members) {
    if (!member.fromMethod)
      continue;
    if (member.presence == Presence::Required)
      then["required"].push_back(member.name);
    Ordered inside;
    addRequirements(member, inside);
    if (!inside.is_null())
      then["properties"][member.name] = inside;
  }
  return rule;
}

} // namespace

std::string specSchema() {
  Ordered schema;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "Decant spec";
  schema.update(schemaOf(specFields(), Requirements::InPlace));
  schema["allOf"].push_back(withoutMethod(specFields()));
  return schema.dump(2) + "\n";
}

} // namespace decant
