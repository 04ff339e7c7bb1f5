//===- Layers.cpp - method, spec and overrides become one document --------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Merging keeps an origin per leaf: a message can then name the override that
// is wrong and not the file that is fine.
//
//===----------------------------------------------------------------------===//
#include "Layers.h"

#include "Fields.h"

#include <fmt/format.h>

#include <algorithm>

namespace decant::spec {

Expected<Override> parseOverride(const std::string &text) {
  constexpr size_t kLongestLabel = 100;
  std::string shown = printable(text.substr(0, kLongestLabel));
  if (text.size() > kLongestLabel)
    shown += "...";
  Override result;
  // A rule file that the user types is relative to where it is typed.
  result.origin = {"--set " + shown, ""};

  size_t equals = text.find('=');
  if (equals == std::string::npos)
    return Status::invalid(result.origin.label +
                           ": found no \"=\"; allowed: path=value, such as "
                           "window.length=8");
  std::string path = text.substr(0, equals), value = text.substr(equals + 1);
  for (size_t start = 0; start <= path.size();) {
    size_t dot = std::min(path.find('.', start), path.size());
    result.steps.push_back(path.substr(start, dot - start));
    start = dot + 1;
  }
  if (std::find(result.steps.begin(), result.steps.end(), "") !=
      result.steps.end())
    return Status::invalid(result.origin.label +
                           ": found an empty step in the path; allowed: field "
                           "names and indices with a dot between them");
  if (result.steps.size() > kMaxDepth)
    return Status::invalid(
        fmt::format("{}: found a path of {} steps; allowed: at most {}",
                    result.origin.label, result.steps.size(), kMaxDepth));

  Expected<Json> json = parseJson(value);
  result.value = json.ok() ? json.take() : Json(value);
  // Text that means to be an object or array is a mistake, not a string.
  if (!json.ok() && !value.empty() && (value[0] == '{' || value[0] == '['))
    return Status::invalid(fmt::format("{}: the value: {}", result.origin.label,
                                       json.status().message()));
  return result;
}

void Layers::forget(const std::string &path) {
  origins.erase(path);
  std::string below = path + ".";
  for (auto it = origins.lower_bound(below);
       it != origins.end() && it->first.compare(0, below.size(), below) == 0;)
    it = origins.erase(it);
}

void Layers::put(Json &target, const Json &value, const std::string &path,
                 const Origin &origin) {
  if (!value.is_object()) {
    forget(path);
    target = value;
  } else {
    if (!target.is_object()) {
      forget(path);
      target = Json::object();
    }
    for (const auto &[name, member] : value.items())
      put(target[name], member, joinPath(path, name), origin);
    if (!value.empty())
      return;
  }
  origins[path] = origin;
  touched.insert(path);
}

void Layers::addDocument(const Json &layer, const Origin &origin) {
  touched.clear();
  put(merged, layer, "", origin);
  dropInherited();
}

Status Layers::addOverrides(const std::vector<Override> &overrides) {
  touched.clear();
  for (const Override &next : overrides) {
    Json *at = &merged;
    std::string path;
    for (const std::string &step : next.steps) {
      if (at->is_array()) {
        bool digits = step.size() <= 3 &&
                      std::all_of(step.begin(), step.end(),
                                  [](char c) { return c >= '0' && c <= '9'; });
        if (!digits || std::stoul(step) >= at->size())
          return Status::invalid(fmt::format(
              "{}: {}: found index {}; allowed: 0 to {}, since the array has "
              "{} entries",
              next.origin.label, path, show(step), int64_t(at->size()) - 1,
              at->size()));
        at = &(*at)[std::stoul(step)];
      } else if (at->is_object() || at->is_null()) {
        at = &(*at)[step]; // null becomes an object
      } else {
        return Status::invalid(fmt::format(
            "{}: {}: found {}, which is {} and has no field {}; allowed: "
            "--set '{}={{\"{}\": ...}}'",
            next.origin.label, path, show(*at), typeName(*at), show(step), path,
            printable(step)));
      }
      path = joinPath(path, step);
    }
    if (next.value.is_object())
      *at = nullptr; // replaced, not merged
    put(*at, next.value, path, next.origin);
  }
  dropInherited();
  return {};
}

const Origin &Layers::originOf(std::string path) const {
  // An object is where its first leaf is.
  std::string below = path + ".";
  auto leaf = origins.lower_bound(below);
  if (!origins.count(path) && leaf != origins.end() &&
      leaf->first.compare(0, below.size(), below) == 0)
    return leaf->second;
  while (true) {
    auto found = origins.find(path);
    if (found != origins.end())
      return found->second;
    size_t dot = path.rfind('.');
    if (dot == std::string::npos)
      return root;
    path.resize(dot);
  }
}

/// Drops the fields that this layer left without a meaning, unless it wrote
/// them itself: then they are a contradiction for validate() to report.
void Layers::dropInherited() {
  for (const Field &outer : specFields().members) {
    auto object = merged.find(outer.name);
    if (object == merged.end() || !object->is_object())
      continue;
    for (const Field &member : outer.members) {
      if (!member.onlyWhen || !object->contains(member.name))
        continue;
      std::string path = outer.name + "." + member.name;
      std::string governor = outer.name + "." + member.onlyWhen->sibling;
      auto writes = [&](const std::string &touchedPath) {
        return touchedPath == path ||
               touchedPath.compare(0, path.size() + 1, path + ".") == 0;
      };
      if (!touched.count(governor) ||
          std::any_of(touched.begin(), touched.end(), writes))
        continue;
      const auto in = [&](const std::vector<std::string> &words) {
        return std::find(words.begin(), words.end(),
                         (*object)[member.onlyWhen->sibling]) != words.end();
      };
      if (in(findMember(outer, member.onlyWhen->sibling)->words) &&
          !in(member.onlyWhen->words)) {
        object->erase(member.name);
        forget(path);
      }
    }
  }
}

} // namespace decant::spec
