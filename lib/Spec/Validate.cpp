//===- Validate.cpp - is this JSON a spec ---------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One walk over the document along the table; it reports and never stops, so
// that a user sees all mistakes at once.
//
//===----------------------------------------------------------------------===//
#include "Validate.h"

#include "Suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace decant::spec {
namespace {

constexpr size_t kLongestLine = 256;

bool contains(const std::vector<std::string> &words, const Json &value) {
  return value.is_string() &&
         std::find(words.begin(), words.end(),
                   value.get_ref<const std::string &>()) != words.end();
}

/// What `field`'s condition says in `object`. Open: the sibling itself is
/// missing or wrong, so nothing more can be said.
enum class Verdict { Applies, Forbidden, Open };

Verdict judge(const Field &field, const Field &parent, const Json &object) {
  if (!field.onlyWhen)
    return Verdict::Applies;
  auto sibling = object.find(field.onlyWhen->sibling);
  const Field *siblingField = findMember(parent, field.onlyWhen->sibling);
  if (sibling == object.end() || !contains(siblingField->words, *sibling))
    return Verdict::Open;
  return contains(field.onlyWhen->words, *sibling) ? Verdict::Applies
                                                   : Verdict::Forbidden;
}

class Validator {
public:
  std::vector<FieldIssue> issues;

  void visit(const Field &field, const Json &value, const std::string &path) {
    if (value.is_object() && !field.members.empty())
      return visitObject(field, value, path);
    if (value.is_array() && !field.element.empty())
      return visitArray(field, value, path);
    if (value.is_string() && field.text != TextRule::None)
      return visitText(field, value, path);
    if (value.is_number() && field.number)
      return visitNumber(field, value, path);
    wrong(path,
          fmt::format("found {}{}; allowed: {}", show(value),
                      value.is_null() ? "" : ", which is " + typeName(value),
                      describe(field)));
  }

private:
  void wrong(const std::string &path, std::string message) {
    issues.push_back({IssueKind::Wrong, path, std::move(message), path});
  }

  void visitText(const Field &field, const Json &value,
                 const std::string &path) {
    const auto &text = value.get_ref<const std::string &>();
    if (field.text == TextRule::Line) {
      bool control = std::any_of(text.begin(), text.end(), [](unsigned char c) {
        return c < 0x20 || c == 0x7f;
      });
      if (text.empty() || text.size() > kLongestLine || control)
        wrong(path, fmt::format("found {}{}; allowed: {}", show(value),
                                control ? " with control characters" : "",
                                describe(field)));
    } else if (field.text == TextRule::Words && !contains(field.words, value)) {
      for (const Refusal &refusal : field.refused)
        if (text == refusal.word)
          return wrong(path, fmt::format("found {}, which is out of scope: {}",
                                         show(value), refusal.reason));
      wrong(path, fmt::format("found {}{}; allowed: {}", show(value),
                              didYouMean(text, field.words), describe(field)));
    }
  }

  void visitNumber(const Field &field, const Json &value,
                   const std::string &path) {
    double number = value.get<double>();
    bool integral = std::trunc(number) == number;
    if (number < field.number->low || number > field.number->high ||
        (field.number->kind == NumberKind::Integer && !integral))
      wrong(path,
            fmt::format("found {}; allowed: {}", show(value), describe(field)));
  }

  void visitArray(const Field &field, const Json &value,
                  const std::string &path) {
    if (value.empty() || value.size() > size_t(field.maxElements))
      return wrong(path,
                   fmt::format("found an array of {} entries; allowed: {}",
                               value.size(), describe(field)));
    for (size_t i = 0; i < value.size(); ++i)
      visit(field.element[0], value[i], joinPath(path, std::to_string(i)));
  }

  void visitObject(const Field &field, const Json &value,
                   const std::string &path) {
    std::vector<std::string> names;
    for (const Field &member : field.members)
      names.push_back(member.name);
    for (const auto &[name, unused] : value.items())
      if (!findMember(field, name))
        wrong(joinPath(path, name),
              fmt::format("found an unknown field{}; allowed: {}",
                          didYouMean(name, names), join(names)));
    if (!field.exactlyOneOf.empty()) {
      auto present = std::count_if(
          field.exactlyOneOf.begin(), field.exactlyOneOf.end(),
          [&](const std::string &name) { return value.contains(name); });
      if (present != 1)
        wrong(path, fmt::format("found {} of the fields {}; allowed: exactly "
                                "one of them",
                                present, join(field.exactlyOneOf, "and")));
    }
    for (const Field &member : field.members)
      visitMember(field, member, value, path);
  }

  void visitMember(const Field &parent, const Field &member, const Json &object,
                   const std::string &parentPath) {
    std::string path = joinPath(parentPath, member.name);
    auto found = object.find(member.name);
    Verdict verdict = judge(member, parent, object);
    if (found == object.end()) {
      if (member.presence == Presence::Required && verdict == Verdict::Applies)
        missing(member, path, parentPath);
      return;
    }
    if (verdict != Verdict::Forbidden)
      return visit(member, *found, path);
    const std::string &sibling = member.onlyWhen->sibling;
    wrong(path,
          fmt::format("found {} beside {} {}; allowed: only when {} is {}",
                      show(*found), joinPath(parentPath, sibling),
                      show(object[sibling]), joinPath(parentPath, sibling),
                      join(member.onlyWhen->words)));
  }

  void missing(const Field &member, const std::string &path,
               const std::string &parentPath) {
    std::string when, blame = path;
    if (member.onlyWhen) {
      blame = joinPath(parentPath, member.onlyWhen->sibling);
      when = fmt::format(" when {} is {}", blame, join(member.onlyWhen->words));
    }
    issues.push_back({IssueKind::Missing, path,
                      fmt::format("missing, but required{}; allowed: {} ({})",
                                  when, describe(member), member.about),
                      blame});
  }
};

void fill(const Field &field, Json &object) {
  for (const Field &member : field.members) {
    auto found = object.find(member.name);
    if (found != object.end()) {
      if (!member.members.empty() && found->is_object())
        fill(member, *found);
      continue;
    }
    if (judge(member, field, object) != Verdict::Applies)
      continue;
    if (!member.fallbackSibling.empty())
      object[member.name] = object[member.fallbackSibling];
    else if (!member.fallback.is_null())
      object[member.name] = member.fallback;
  }
}

} // namespace

std::vector<FieldIssue> validateField(const Field &field, const Json &value,
                                      const std::string &path) {
  Validator validator;
  validator.visit(field, value, path);
  return std::move(validator.issues);
}

std::vector<FieldIssue> validate(const Json &document) {
  return validateField(specFields(), document, "");
}

Json withDefaults(Json document) {
  fill(specFields(), document);
  return document;
}

} // namespace decant::spec
