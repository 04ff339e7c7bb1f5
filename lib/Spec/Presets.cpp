//===- Presets.cpp - specs and rules that come with Decant ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: the embedded files. Out: the list that users see, and single texts.
//
//===----------------------------------------------------------------------===//
#include "decant/Spec/Presets.h"

#include "JsonText.h"
#include "Suggest.h"

#include <fmt/format.h>

#include <algorithm>

namespace decant {

const char *toString(PresetKind kind) {
  switch (kind) {
  case PresetKind::Rule:
    return "rule";
  case PresetKind::Method:
    return "method";
  case PresetKind::Model:
    return "model";
  }
  return "invalid";
}

/// What the first comment of a .mlir file says, up to its first colon or full
/// stop at the end of a line. Of a heading such as
/// "//===- kda.mlir - decay per key channel -*- MLIR -*-===//" the middle.
static std::string firstComment(std::string_view text) {
  std::string comment;
  size_t start = text.find("//");
  while (start < text.size() && text.compare(start, 2, "//") == 0) {
    size_t end = std::min(text.find('\n', start), text.size());
    std::string line(text.substr(start, end - start));
    start = end + 1;
    if (size_t mode = line.find("-*-"); mode != std::string::npos)
      line.resize(mode);
    bool heading = line.find("===") != std::string::npos;
    size_t first = line.find_first_not_of("/=- ");
    if (first == std::string::npos)
      break;
    line = line.substr(first, line.find_last_not_of("/=- :.") - first + 1);
    if (size_t dash = line.find(".mlir - "); dash != std::string::npos)
      line = line.substr(dash + 8);
    comment += (comment.empty() ? "" : " ") + line;
    char last = text[end - 1];
    if (heading || last == ':' || last == '.')
      break;
  }
  return comment;
}

static std::string description(const PresetFile &file) {
  if (file.kind == PresetKind::Rule)
    return firstComment(file.text);
  Expected<spec::Json> json = spec::parseJson(std::string(file.text));
  if (!json.ok() || !json->is_object())
    return "";
  return json->value("description", "");
}

std::vector<PresetInfo> listPresets() {
  std::vector<PresetInfo> list;
  for (const PresetFile &file : presetFiles())
    list.push_back({file.kind, std::string(file.name), description(file)});
  return list;
}

Expected<std::string> presetText(PresetKind kind, const std::string &name) {
  std::vector<std::string> names;
  for (const PresetFile &file : presetFiles()) {
    if (file.kind != kind)
      continue;
    if (file.name == name)
      return std::string(file.text);
    names.emplace_back(file.name);
  }
  return Status::invalid(fmt::format(
      "found {} preset {}{}; allowed: {}", toString(kind), spec::show(name),
      spec::didYouMean(name, names), spec::join(names)));
}

} // namespace decant
