//===- Presets.cpp - decant presets ---------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists what comes along, or prints one preset or the schema of spec files.
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "Spec/Suggest.h"
#include "decant/Spec/Presets.h"
#include "decant/Spec/SpecReader.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <optional>

using namespace decant;
using namespace decant::tool;

namespace {

struct PresetArguments {
  std::string kind, name;
  bool schema = false;
};

constexpr PresetKind kKinds[] = {PresetKind::Rule, PresetKind::Method,
                                 PresetKind::Model};

Expected<std::optional<PresetKind>> findKind(const std::string &name) {
  if (name.empty())
    return std::optional<PresetKind>();
  std::vector<std::string> names;
  for (const PresetKind kind : kKinds) {
    if (name == toString(kind))
      return std::optional<PresetKind>(kind);
    names.push_back(toString(kind));
  }
  return Status::invalid(fmt::format("KIND: found \"{}\"{}; allowed: {}", name,
                                     spec::didYouMean(name, names),
                                     spec::join(names)));
}

Report listAll(std::optional<PresetKind> only) {
  Report report;
  report.json["presets"] = Json::array();
  const std::vector<PresetInfo> presets = listPresets();
  size_t width = 0;
  for (const PresetInfo &preset : presets)
    width = std::max(width, preset.name.size());
  for (const PresetKind kind : kKinds) {
    if (only && *only != kind)
      continue;
    report.text += fmt::format("{}{}s:\n", report.text.empty() ? "" : "\n",
                               toString(kind));
    for (const PresetInfo &preset : presets) {
      if (preset.kind != kind)
        continue;
      report.text +=
          fmt::format("  {:<{}}  {}\n", preset.name, width, preset.description);
      report.json["presets"].push_back({{"kind", toString(kind)},
                                        {"name", preset.name},
                                        {"description", preset.description}});
    }
  }
  return report;
}

Expected<Report> runPresets(const PresetArguments &arguments) {
  Report report;
  if (arguments.schema) {
    if (!arguments.kind.empty())
      return Status::invalid(fmt::format(
          "--schema: found \"{}\" beside it; allowed: --schema alone, since "
          "all spec files have one schema",
          arguments.kind));
    report.text = specSchema();
    report.json = Json::parse(report.text);
    return report;
  }
  DECANT_ASSIGN(const std::optional<PresetKind> kind, findKind(arguments.kind));
  if (arguments.name.empty())
    return listAll(kind);
  DECANT_ASSIGN(report.text, presetText(*kind, arguments.name));
  report.json = {{"kind", arguments.kind},
                 {"name", arguments.name},
                 {"text", report.text}};
  return report;
}

} // namespace

Command decant::tool::addPresets(CLI::App &root) {
  auto arguments = std::make_shared<PresetArguments>();
  CLI::App *app = root.add_subcommand(
      "presets", "List the rules, methods and models that come along");
  app->add_option("KIND", arguments->kind, "rule, method or model")
      ->option_text(" ");
  app->add_option("NAME", arguments->name, "Print the text of this preset")
      ->option_text(" ");
  app->add_flag("--schema", arguments->schema,
                "Print the JSON Schema of spec files, for editors");
  return {app,
          [arguments](const Invocation &) { return runPresets(*arguments); }};
}
