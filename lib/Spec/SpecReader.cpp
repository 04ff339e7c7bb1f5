//===- SpecReader.cpp - from a spec file to a DecodeSpec ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The order of things: find the text, parse it, stack method, spec and
// overrides, validate, fill defaults, convert, load the rule, check. Each step
// reports all that it finds; the next one runs only after a clean one.
//
//===----------------------------------------------------------------------===//
#include "decant/Spec/SpecReader.h"

#include "decant/Spec/Presets.h"

#include "Convert.h"
#include "Fields.h"
#include "Files.h"
#include "Layers.h"
#include "Plan.h"
#include "Suggest.h"
#include "Validate.h"
#include "decant/Core/CodeStore.h"

#include <fmt/format.h>

#include <filesystem>

namespace decant {

using namespace spec;

namespace {

/// A spec's text before anything is resolved.
struct Document {
  Origin origin;
  std::string text;
  std::string name; // of the spec, unless it says its own
  enum { File, Model, Method } kind = File;
};

/// Issues of one reading, each under the file, preset or override at fault.
class Report {
public:
  void add(const Origin &origin, const std::string &path,
           const std::string &message) {
    lines.push_back(origin.label + ": " + (path.empty() ? "" : path + ": ") +
                    message);
  }
  Status status() const {
    constexpr size_t kMost = 5;
    if (lines.empty())
      return {};
    if (lines.size() == 1)
      return Status::invalid(lines[0]);
    std::string text = fmt::format("{} mistakes in the spec:", lines.size());
    for (size_t i = 0; i < std::min(lines.size(), kMost); ++i)
      text += "\n  " + lines[i];
    if (lines.size() > kMost)
      text += fmt::format("\n  and {} more", lines.size() - kMost);
    return Status::invalid(text);
  }

private:
  std::vector<std::string> lines;
};

//===----------------------------------------------------------------------===//
// Where the document comes from
//===----------------------------------------------------------------------===//

/// Names are cut to what the field `name` allows.
std::string nameFor(const std::string &stem) {
  std::string name = printable(stem).substr(0, 200);
  return name.empty() ? "spec" : printable(name);
}

Expected<Document> findDocument(const std::string &spec) {
  if (spec.empty())
    return Status::invalid(
        "found an empty spec name; allowed: a file or a preset's name");
  std::filesystem::path path(spec);
  bool looksLikeFile =
      spec.find('/') != std::string::npos || path.extension() == ".json";
  std::vector<std::string> names;
  if (!looksLikeFile)
    for (const PresetFile &file : presetFiles()) {
      if (file.kind == PresetKind::Rule)
        continue;
      if (file.name == spec)
        return Document{{"preset " + spec, ""},
                        std::string(file.text),
                        spec,
                        file.kind == PresetKind::Model ? Document::Model
                                                       : Document::Method};
      names.emplace_back(file.name);
    }
  std::error_code ignored;
  if (!looksLikeFile && !std::filesystem::exists(path, ignored))
    return Status::invalid(fmt::format(
        "{}: found neither a preset nor a file of this name{}; allowed: a "
        "file, or one of the presets {}",
        printable(spec), didYouMean(spec, names), join(names)));
  DECANT_ASSIGN(std::string text, readTextFile(spec));
  return Document{{printable(spec), path.parent_path().string()},
                  std::move(text),
                  nameFor(path.stem().string()),
                  Document::File};
}

//===----------------------------------------------------------------------===//
// The steps in order
//===----------------------------------------------------------------------===//

/// The rule's text: a preset's, a file's, or the spec's own.
Expected<RuleRef> loadRule(const Json &json, const Layers &layers) {
  RuleRef rule;
  if (json.is_string()) {
    rule.name = json.get<std::string>();
    DECANT_ASSIGN(rule.text, presetText(PresetKind::Rule, rule.name));
    return rule;
  }
  if (json.contains("text")) {
    rule.text = json.at("text").get<std::string>();
    rule.name = "inline";
  } else {
    rule.name = json.at("file").get<std::string>();
    // Joining with an absolute path gives that path.
    auto path = std::filesystem::path(layers.originOf("rule.file").directory) /
                rule.name;
    DECANT_ASSIGN(rule.text, readTextFile(path.string()));
    if (!isUtf8(rule.text) || rule.text.find('\0') != std::string::npos)
      return Status::invalid(printable(path.string()) +
                             ": found bytes that are not text; allowed: MLIR "
                             "in UTF-8");
  }
  rule.name = json.value("name", rule.name);
  return rule;
}

/// Widths that no trace was asked for. Pivots are at the same places of every
/// head.
std::vector<uint8_t> evenWidths(const RowBits &bits, const HeadShape &heads) {
  std::vector<uint8_t> widths;
  if (bits.pivots == 0 || bits.pivots >= heads.keyDim) {
    // Whole slabs, which tensor cores read, where the rows make some.
    const int together = heads.keyDim % kSlabRows == 0 ? kSlabRows : 1;
    const int64_t rows = int64_t(heads.value) * heads.keyDim;
    for (uint8_t width : evenRowBits(bits.mean, rows / together))
      widths.insert(widths.end(), together, width);
    return widths;
  }
  for (int head = 0; head < heads.value; ++head) {
    const auto own = evenRowBits(bits.mean, heads.keyDim, bits.pivots);
    widths.insert(widths.end(), own.begin(), own.end());
  }
  return widths;
}

/// The numbers of the layer, bits of key rows among them: a plan's, or dealt
/// out. False for a plan that does not fit.
bool loadPlan(const Json &state, const Layers &layers, DecodeSpec &spec,
              Report &report) {
  RowBits &bits = spec.state.bits;
  if (bits.by == BitsRule::Even) {
    if (bits.mean > 0)
      bits.widths = evenWidths(bits, spec.heads);
    return true;
  }
  if (!state.contains("plan"))
    return true;
  const Json &plan = state.at("plan");
  Origin origin = layers.originOf("state.plan");
  std::string within = "state.plan.";
  Json file;
  if (plan.is_string()) {
    const auto path =
        std::filesystem::path(origin.directory) / plan.get<std::string>();
    Expected<Json> read = readPlanFile(path.string());
    if (!read.ok()) {
      report.add(origin, "state.plan", read.status().message());
      return false;
    }
    file = read.take();
    origin.label = printable(path.string());
    within = "";
  }
  std::vector<SpecIssue> issues;
  usePlan(plan.is_string() ? file : plan, spec, issues);
  for (const SpecIssue &issue : issues)
    report.add(origin, within + issue.path, issue.message);
  return issues.empty();
}

/// The method that `document` or an override asks for, as the lowest layer.
Status addMethod(const Json &document, const Origin &origin,
                 const std::vector<Override> &overrides, Layers &layers) {
  const Json *method =
      document.contains("preset") ? &document.at("preset") : nullptr;
  const Origin *asker = &origin;
  for (const Override &next : overrides)
    if (next.steps == std::vector<std::string>{"preset"}) {
      method = &next.value;
      asker = &next.origin;
    }
  if (!method)
    return {};
  // Without its method nothing else of the spec can be judged.
  Report report;
  for (const FieldIssue &issue :
       validateField(*findMember(specFields(), "preset"), *method, "preset"))
    report.add(*asker, issue.path, issue.message);
  DECANT_TRY(report.status());
  std::string name = method->get<std::string>();
  DECANT_ASSIGN(std::string text, presetText(PresetKind::Method, name));
  Origin methodOrigin{"preset " + name, ""};
  Expected<Json> json = parseJson(text);
  if (!json.ok())
    return json.status().within(methodOrigin.label);
  // The spec must say itself which format it is written in.
  Json supplied = Json::object();
  for (const Field &field : specFields().members)
    if (field.fromMethod && json->contains(field.name))
      supplied[field.name] = json->at(field.name);
  layers.addDocument(supplied, methodOrigin);
  return {};
}

/// Every issue of the merged document. A method by itself lacks the same
/// fields always, so one line names them all.
Status judge(const Document &source, const Layers &layers) {
  Report report;
  std::vector<std::string> lacking;
  for (const FieldIssue &issue : validate(layers.document()))
    if (issue.kind == IssueKind::Missing && source.kind == Document::Method)
      lacking.push_back(issue.path);
    else
      report.add(layers.originOf(issue.blame), issue.path, issue.message);
  if (!lacking.empty())
    report.add(source.origin, "",
               fmt::format("a method is not a complete spec: found no {}; "
                           "allowed: a spec file with \"preset\": \"{}\", or "
                           "the missing fields by --set",
                           join(lacking), source.name));
  return report.status();
}

Expected<DecodeSpec> read(const Document &source,
                          const std::vector<std::string> &overrideTexts,
                          bool planToCome = false) {
  Expected<Json> parsed = parseJson(source.text);
  if (!parsed.ok())
    return parsed.status().within(source.origin.label);
  std::vector<Override> overrides;
  for (const std::string &text : overrideTexts) {
    DECANT_ASSIGN(overrides.emplace_back(), parseOverride(text));
  }
  Layers layers(source.origin);
  if (!parsed->is_object()) {
    Report report;
    for (const FieldIssue &issue : validate(*parsed))
      report.add(source.origin, issue.path, issue.message);
    return report.status();
  }
  DECANT_TRY(addMethod(*parsed, source.origin, overrides, layers));
  layers.addDocument(*parsed, source.origin);
  DECANT_TRY(layers.addOverrides(overrides));
  DECANT_TRY(judge(source, layers));

  Json document = withDefaults(layers.document());
  DecodeSpec spec = convert(document);
  spec.name = document.value("name", source.name);
  Report report;
  Expected<RuleRef> rule = loadRule(document.at("rule"), layers);
  if (rule.ok())
    spec.rule = rule.take();
  else
    report.add(layers.originOf("rule.file"), "rule", rule.status().message());
  if (!planToCome && !loadPlan(document.at("state"), layers, spec, report))
    return report.status();
  for (const SpecIssue &issue : check(spec))
    if ((rule.ok() || issue.path != "rule") &&
        !(planToCome && issue.path == "state.plan"))
      report.add(layers.originOf(issue.path), issue.path, issue.message);
  DECANT_TRY(report.status());
  return spec;
}

} // namespace

Expected<DecodeSpec> readSpec(const SpecSource &source) {
  DECANT_ASSIGN(Document document, findDocument(source.spec));
  return read(document, source.overrides, source.planToCome);
}

Expected<DecodeSpec> readSpecText(const SpecText &source,
                                  const std::vector<std::string> &overrides) {
  return read({{source.label, source.directory},
               source.text,
               nameFor(source.label),
               Document::File},
              overrides);
}

} // namespace decant
