//===- Eval.cpp - decant eval ---------------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Several specs over one trace: how the errors of outputs and states grow,
// token by token, and how many bits each one takes. A spec may have a label and
// fields of its own, "b16=bytelm-gdn,preset=step-bf16,window.length=4"; --set
// is for all.
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "ErrorChart.h"
#include "OutputFile.h"
#include "Progress.h"
#include "SpecErrors.h"
#include "decant/Reference/TraceView.h"
#include "decant/Spec/SpecReader.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <optional>

using namespace decant;
using namespace decant::tool;

namespace {

/// Enough for a smooth curve; a state is read and compared at each.
constexpr int64_t kPoints = 64;

struct EvalOptions {
  std::vector<std::string> specs, fields;
  std::string trace, plot;
  std::string device = "cpu";
  std::optional<int64_t> tokens;
};

/// Whether ",path=" begins at `comma`; the comma of a value's list does not.
bool beginsField(const std::string &text, size_t comma) {
  size_t end = comma + 1;
  while (end < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[end])) ||
          text[end] == '_' || text[end] == '.'))
    ++end;
  return end > comma + 1 && end < text.size() && text[end] == '=';
}

struct Argument {
  std::string label; // the argument itself where it has none
  SpecSource source;
};

Argument parseSpec(const std::string &argument,
                   const std::vector<std::string> &fields) {
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < argument.size(); ++i)
    if (argument[i] == ',' && beginsField(argument, i))
      parts.emplace_back();
    else
      parts.back() += argument[i];
  Argument result{argument, {}};
  const size_t equals = parts.front().find('=');
  result.source.spec = parts.front();
  if (equals != std::string::npos) {
    result.label = parts.front().substr(0, equals);
    result.source.spec = parts.front().substr(equals + 1);
  }
  result.source.overrides = fields;
  result.source.overrides.insert(result.source.overrides.end(),
                                 parts.begin() + 1, parts.end());
  return result;
}

struct Evaluated {
  std::string label;
  SpecErrors errors;
};

struct Evaluation {
  std::vector<Evaluated> specs;
  DeviceInfo device;
  int64_t tokens = 0;
};

struct LabelledSpec {
  std::string label;
  DecodeSpec spec;
};

Expected<std::vector<LabelledSpec>> readSpecs(const EvalOptions &options) {
  std::vector<LabelledSpec> specs;
  for (const std::string &text : options.specs) {
    const Argument argument = parseSpec(text, options.fields);
    DECANT_ASSIGN(DecodeSpec spec, readSpec(argument.source));
    specs.push_back({argument.label, std::move(spec)});
  }
  return specs;
}

/// The tokens of the trace, as the first spec reads it.
Expected<int64_t> tokensToDecode(const EvalOptions &options,
                                 const DecodeSpec &spec, const Trace &trace) {
  DECANT_ASSIGN(const RuleInfo rule, describeRule(spec));
  DECANT_ASSIGN(const TraceView view, bindTrace(trace, spec, rule.inputs));
  const int64_t tokens = options.tokens.value_or(view.tokens);
  if (tokens < 1 || tokens > view.tokens)
    return Status::invalid(
        fmt::format("--tokens: found {}; allowed are 1 to {}, the tokens of {}",
                    tokens, view.tokens, options.trace));
  return tokens;
}

Expected<Evaluation> evaluate(const EvalOptions &options) {
  Evaluation result;
  // All specs before any work: the last one may have the mistake.
  DECANT_ASSIGN(const std::vector<LabelledSpec> specs, readSpecs(options));
  DECANT_ASSIGN(const Trace trace, readTrace(options.trace));
  DECANT_ASSIGN(result.tokens,
                tokensToDecode(options, specs.front().spec, trace));
  DECANT_ASSIGN(Engine engine,
                Engine::create(EngineOptions::fromEnvironment()));
  DECANT_ASSIGN(const std::shared_ptr<Device> device,
                engine.openDevice(options.device));
  result.device = device->info();
  const int64_t every = (result.tokens + kPoints - 1) / kPoints;
  Progress progress("spec", int64_t(specs.size()));
  for (const auto &[label, spec] : specs) {
    progress.update(int64_t(result.specs.size()));
    DECANT_ASSIGN(SpecErrors errors, measureErrors(spec, trace, result.tokens,
                                                   every, engine, device));
    result.specs.push_back({label, std::move(errors)});
  }
  return result;
}

std::string labelOf(const Evaluated &spec) {
  return fmt::format("{} ({} bytes per state, {:.4g} bits per element)",
                     spec.label, spec.errors.program.stateBytesPerHead,
                     spec.errors.program.bitsPerElement);
}

ErrorChart chartOf(const Evaluation &evaluation, const EvalOptions &options) {
  ErrorChart chart;
  chart.title = fmt::format("{}, {} tokens, against float64", options.trace,
                            evaluation.tokens);
  chart.panels = {{"relative error of the state", {}},
                  {"relative error of the outputs", {}}};
  for (const ErrorPoint &point : evaluation.specs.front().errors.points)
    chart.tokens.push_back(point.token);
  for (const Evaluated &spec : evaluation.specs) {
    std::vector<double> states, outputs;
    for (const ErrorPoint &point : spec.errors.points) {
      states.push_back(point.state);
      outputs.push_back(point.output);
    }
    chart.panels[0].curves.push_back({labelOf(spec), std::move(states)});
    chart.panels[1].curves.push_back({labelOf(spec), std::move(outputs)});
  }
  return chart;
}

Json toJson(const Evaluation &evaluation, const EvalOptions &options) {
  Json json;
  json["trace"] = options.trace;
  json["tokens"] = evaluation.tokens;
  json["device"] = options.device;
  json["device_name"] = evaluation.device.name;
  json["specs"] = Json::array();
  for (const Evaluated &spec : evaluation.specs) {
    const SpecErrors &errors = spec.errors;
    Json entry;
    entry["label"] = spec.label;
    entry["spec"] = errors.spec.name;
    entry["codes"] = toString(errors.spec.state.codes);
    entry["window"] = errors.program.window;
    entry["compensators"] = errors.program.compensators;
    entry["bytes_per_state"] = errors.program.stateBytesPerHead;
    entry["bits_per_element"] = errors.program.bitsPerElement;
    entry["output_error"] = errors.output;
    entry["state_error"] = errors.state;
    entry["mean_state_error"] = errors.meanState;
    entry["points"] = Json::array();
    for (const ErrorPoint &point : errors.points)
      entry["points"].push_back({{"token", point.token},
                                 {"output_error", point.output},
                                 {"state_error", point.state}});
    json["specs"].push_back(std::move(entry));
  }
  return json;
}

std::string toText(const Evaluation &evaluation, const EvalOptions &options) {
  size_t width = 4;
  for (const Evaluated &spec : evaluation.specs)
    width = std::max(width, spec.label.size());
  constexpr const char *kRow = "{:<{}} {:>8} {:>7} {:>10} {:>10} {:>10}\n";
  std::string text = fmt::format("{} on {} ({}): {} tokens, errors against "
                                 "float64\n\n",
                                 options.trace, options.device,
                                 evaluation.device.name, evaluation.tokens);
  text += fmt::format(kRow, "spec", width, "bytes", "bits", "outputs",
                      "state, end", "mean");
  for (const Evaluated &spec : evaluation.specs)
    text += fmt::format(
        kRow, spec.label, width, spec.errors.program.stateBytesPerHead,
        fmt::format("{:.4g}", spec.errors.program.bitsPerElement),
        fmt::format("{:.2e}", spec.errors.output),
        fmt::format("{:.2e}", spec.errors.state),
        fmt::format("{:.2e}", spec.errors.meanState));
  return text;
}

/// A spec whose state is gone has no place on a chart; the rest has.
Status judge(const Evaluation &evaluation) {
  for (const Evaluated &spec : evaluation.specs)
    if (!std::isfinite(spec.errors.output) || !std::isfinite(spec.errors.state))
      return Status::failed(fmt::format(
          "{}: the kernel's outputs or its final state are not finite",
          spec.label));
  return {};
}

Expected<Report> runEval(const EvalOptions &options) {
  constexpr const char *kEnding = ".svg";
  const std::string &plot = options.plot;
  if (!plot.empty() &&
      (plot.size() < 5 || plot.compare(plot.size() - 4, 4, kEnding) != 0))
    return Status::invalid(
        fmt::format("--plot: found \"{}\"; allowed is a name that ends in {}",
                    plot, kEnding));
  DECANT_ASSIGN(const Evaluation evaluation, evaluate(options));
  Report report;
  report.json = toJson(evaluation, options);
  report.text = toText(evaluation, options);
  report.verdict = judge(evaluation);
  if (plot.empty())
    return report;
  DECANT_TRY(
      writeOutputFile(plot, toSvg(chartOf(evaluation, options)), "--plot"));
  report.json["plot"] = plot;
  return report;
}

} // namespace

Command decant::tool::addEval(CLI::App &root) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App *app = root.add_subcommand(
      "eval", "Draw the errors of several specs over the tokens of a trace");
  app->add_option("SPEC", options->specs,
                  "Spec files or presets' names, each perhaps with a label and "
                  "fields: LABEL=NAME,PATH=VALUE,...")
      ->required()
      ->option_text("...");
  app->add_option("--set", options->fields,
                  "Override one field of every spec; may be repeated")
      ->option_text("PATH=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_option("--trace", options->trace,
                  "A safetensors file with q, k, v, g and beta of one sequence")
      ->required()
      ->option_text("FILE");
  app->add_option("--device", options->device, "cpu (the default) or cuda:N")
      ->option_text("DEVICE");
  app->add_option("--tokens", options->tokens, "Decode the first N tokens only")
      ->option_text("N");
  app->add_option("--plot", options->plot, "Draw both errors over the tokens")
      ->option_text("FILE.svg");
  return {app, [options](const Invocation &) { return runEval(*options); }};
}
