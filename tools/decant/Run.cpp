//===- Run.cpp - decant run -----------------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decodes a trace with the compiled kernel and compares every output and the
// final state with the rule in float64 with an unquantized state. What float64
// arithmetic with the same stored format (codes, scales, compensators, records)
// gives stands beside it: that part of the error is the format's, the rest is
// the kernel's.
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "Progress.h"
#include "SpecArguments.h"
#include "TraceDecoder.h"
#include "Verify/ReferenceProgram.h"
#include "decant/Engine.h"
#include "decant/Reference/ReferenceRun.h"
#include "decant/Runtime/Pack.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <optional>

using namespace decant;
using namespace decant::tool;

namespace {

struct RunOptions {
  SpecSource spec;
  std::string trace, pack;
  std::string device = "cpu";
  std::optional<int64_t> tokens;
  std::optional<double> maxError;
};

struct Errors {
  double output = 0, state = 0;
};

/// The largest of the heads' mean errors, each as a part of what float64 with
/// the same format leaves; 1 where both are 0.
double worstMeanErrorRatio(const std::vector<double> &decoded,
                           const ReferenceRun &format,
                           const ReferenceRun &exact, int heads) {
  const auto own = meanErrorPerHead(decoded, exact.states, heads);
  const auto best = meanErrorPerHead(format.states, exact.states, heads);
  double worst = 0;
  for (int head = 0; head < heads; ++head) {
    const double ratio = own[head] == best[head] ? 1 : own[head] / best[head];
    // Not std::max, which would drop a NaN.
    if (!(ratio <= worst))
      worst = ratio;
  }
  return worst;
}

/// Everything that the report tells of.
struct Run {
  DecodeSpec spec;
  DeviceInfo device;
  ProgramInfo program;
  PrepareReport prepare;
  std::optional<PackReport> pack; // in place of it, with --pack
  int64_t tokens = 0, steps = 0;
  Errors kernel, format; // against float64
  double stateRatio = 0;
  double stateRatioExactRecords = 0; // where the reference rounds no record
  StepTime step;
};

Expected<int64_t> tokensToDecode(const RunOptions &options,
                                 const TraceView &view) {
  const int64_t tokens = options.tokens.value_or(view.tokens);
  if (tokens < 1 || tokens > view.tokens)
    return Status::invalid(
        fmt::format("--tokens: found {}; allowed are 1 to {}, the tokens of {}",
                    tokens, view.tokens, options.trace));
  return tokens;
}

Status checkMaxError(const RunOptions &options) {
  if (options.maxError &&
      !(std::isfinite(*options.maxError) && *options.maxError >= 0))
    return Status::invalid(
        fmt::format("--max-error: found {}; allowed is a number from 0",
                    *options.maxError));
  return {};
}

/// The kernels of the spec, from the cache, the compiler or --pack.
Expected<std::unique_ptr<Program>> prepare(const RunOptions &options,
                                           Engine &engine,
                                           std::shared_ptr<Device> device,
                                           Run &run) {
  if (options.pack.empty())
    return engine.prepare(run.spec, std::move(device), &run.prepare);
  DECANT_ASSIGN(const std::unique_ptr<Pack> pack, Pack::open(options.pack));
  PackQuery query;
  query.spec = run.spec.name;
  query.specText = canonicalText(run.spec);
  LoadOptions load;
  load.spills = SpillPolicy::Refuse;
  run.pack.emplace();
  return programFromPack(*pack, std::move(device), query, load, &*run.pack);
}

/// Fills in every error of `run`.
Status compareWithReference(const DecodedTrace &decoded, const TraceView &view,
                            const SlotLayout &layout, Run &run) {
  const HeadShape &heads = run.spec.heads;
  DECANT_ASSIGN(const ReferencePrograms rules, referencePrograms(run.spec));
  Progress progress("float64 reference", 3);
  progress.update(0);
  DECANT_ASSIGN(const ReferenceRun exact,
                runReference(rules.exact, view, heads, run.tokens));
  progress.update(1);
  DECANT_ASSIGN(const ReferenceRun format,
                runReference(rules.stored, view, heads, run.tokens, layout,
                             decoded.folds));
  progress.update(2);
  DECANT_ASSIGN(const ReferenceRun exactRecords,
                runReference(rules.exact, view, heads, run.tokens, layout,
                             decoded.folds));
  run.kernel = {relativeError(decoded.outputs, exact.outputs),
                relativeError(decoded.states, exact.states)};
  run.format = {relativeError(format.outputs, exact.outputs),
                relativeError(format.states, exact.states)};
  run.stateRatio =
      worstMeanErrorRatio(decoded.states, format, exact, heads.value);
  run.stateRatioExactRecords =
      worstMeanErrorRatio(decoded.states, exactRecords, exact, heads.value);
  return {};
}

Expected<Run> runTrace(const RunOptions &options) {
  DECANT_TRY(checkMaxError(options));
  Run run;
  DECANT_ASSIGN(run.spec, readSpec(options.spec));
  DECANT_ASSIGN(const Trace trace, readTrace(options.trace));
  DECANT_ASSIGN(const RuleInfo rule, describeRule(run.spec));
  DECANT_ASSIGN(const TraceView view, bindTrace(trace, run.spec, rule.inputs));
  DECANT_ASSIGN(run.tokens, tokensToDecode(options, view));

  DECANT_ASSIGN(Engine engine,
                Engine::create(EngineOptions::fromEnvironment()));
  DECANT_ASSIGN(const std::shared_ptr<Device> device,
                engine.openDevice(options.device));
  run.device = device->info();
  DECANT_ASSIGN(const std::unique_ptr<Program> program,
                prepare(options, engine, device, run));
  run.program = program->info();
  DECANT_ASSIGN(TraceDecoder decoder,
                TraceDecoder::create(*program, device, run.spec, view));
  DECANT_ASSIGN(const DecodedTrace decoded, decoder.decode(run.tokens));
  run.steps = decoded.steps;
  DECANT_ASSIGN(run.step, decoder.measure());

  DECANT_TRY(compareWithReference(decoded, view, program->layout(), run));
  return run;
}

int64_t compiledImages(const PrepareReport &prepare) {
  return std::count_if(prepare.images.begin(), prepare.images.end(),
                       [](const ImageReport &image) { return image.compiled; });
}

Json toJson(const Run &run, const RunOptions &options) {
  Json json;
  json["spec"] = run.spec.name;
  json["device"] = options.device;
  json["device_name"] = run.device.name;
  json["target"] = run.program.target;
  json["trace"] = options.trace;
  json["tokens"] = run.tokens;
  json["heads"] = run.program.heads;
  json["key_dim"] = run.program.keyDim;
  json["value_dim"] = run.program.valueDim;
  json["codes"] = toString(run.spec.state.codes);
  json["window"] = run.program.window;
  json["tokens_per_step"] = run.program.tokensPerStep;
  json["steps"] = run.steps;
  json["compensators"] = run.program.compensators;
  json["records"] = toString(run.spec.window.records);
  json["bytes_per_state"] = run.program.stateBytesPerHead;
  json["bits_per_element"] = run.program.bitsPerElement;
  json["slot_bytes"] = run.program.slotBytes;
  json["output_error"] = run.kernel.output;
  json["state_error"] = run.kernel.state;
  json["state_mean_error_ratio"] = run.stateRatio;
  json["state_mean_error_ratio_exact_records"] = run.stateRatioExactRecords;
  json["reference"] = {{"output_error", run.format.output},
                       {"state_error", run.format.state}};
  json["step_us"] = run.step.microseconds;
  json["step_timing"] = run.step.method;
  if (run.pack) {
    json["prepare"] = {{"pack", options.pack},
                       {"read_ms", run.pack->readMs},
                       {"read_bytes", run.pack->bytes},
                       {"load_ms", run.pack->loadMs}};
    return json;
  }
  json["prepare"] = {{"cache", run.prepare.warm() ? "warm" : "cold"},
                     {"compiled", compiledImages(run.prepare)},
                     {"lookup_ms", run.prepare.lookupMs()},
                     {"compile_ms", run.prepare.compileMs()},
                     {"link_ms", run.prepare.linkMs()},
                     {"load_ms", run.prepare.loadMs}};
  return json;
}

std::string toText(const Run &run, const RunOptions &options) {
  const ProgramInfo &program = run.program;
  std::string text = fmt::format(
      "{} on {} ({}, {}): {} tokens, {} heads of {} x {}\n", run.spec.name,
      options.device, run.device.name, program.target, run.tokens,
      program.heads, program.keyDim, program.valueDim);
  std::string window = fmt::format("window {}", program.window);
  if (program.compensators > 0)
    window += fmt::format(", {} compensators", program.compensators);
  if (program.window > 1)
    window += fmt::format(", {} records", toString(run.spec.window.records));
  if (program.tokensPerStep > 1)
    window += fmt::format(", {} steps of up to {} tokens", run.steps,
                          program.tokensPerStep);
  text += fmt::format("state    {}, {}; {} bytes per head, {:.4g} bits per "
                      "element\n\n",
                      toString(run.spec.state.codes), window,
                      program.stateBytesPerHead, program.bitsPerElement);
  constexpr const char *kRow = "{:<30} {:>10} {:>10}\n";
  auto number = [](double value) { return fmt::format("{:.2e}", value); };
  text += fmt::format(kRow, "error against float64", "outputs", "state");
  text += fmt::format(kRow, "this kernel", number(run.kernel.output),
                      number(run.kernel.state));
  text += fmt::format(kRow, "float64 with the same format",
                      number(run.format.output), number(run.format.state));
  text += fmt::format("{:<30} {:>10} {:>10.4f}\n\n",
                      "ratio of mean state errors", "", run.stateRatio);
  text += fmt::format("step     {:.1f} us ({})\n", run.step.microseconds,
                      run.step.method);
  if (run.pack)
    return text + fmt::format("kernels  {} bytes from {} in {:.1f} ms, loaded "
                              "in {:.1f} ms\n",
                              run.pack->bytes, options.pack, run.pack->readMs,
                              run.pack->loadMs);
  const PrepareReport &prepare = run.prepare;
  if (prepare.warm())
    text +=
        fmt::format("kernels  from the cache in {:.1f} ms", prepare.lookupMs());
  else if (prepare.compileMs() > 0)
    text += fmt::format("kernels  compiled in {:.0f} ms", prepare.compileMs());
  else
    text += "kernels  from the cache";
  if (prepare.linkMs() > 0)
    text += fmt::format(", linked in {:.0f} ms", prepare.linkMs());
  return text + fmt::format(", loaded in {:.1f} ms\n", run.prepare.loadMs);
}

Status judge(const Run &run, const RunOptions &options) {
  if (!std::isfinite(run.kernel.output) || !std::isfinite(run.kernel.state))
    return Status::failed(fmt::format(
        "{}: the kernel's outputs or its final state are not finite",
        run.spec.name));
  if (options.maxError && run.kernel.output > *options.maxError)
    return Status::failed(
        fmt::format("{}: the output error is {:.3e}; --max-error allows {:.3e}",
                    run.spec.name, run.kernel.output, *options.maxError));
  return {};
}

} // namespace

Command decant::tool::addRun(CLI::App &root) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *app = root.add_subcommand(
      "run", "Decode a trace and compare it with the rule in float64");
  addSpecArguments(*app, options->spec, "A spec file or a preset's name");
  app->add_option("--trace", options->trace,
                  "A safetensors file with q, k, v, g and beta of one sequence")
      ->required()
      ->option_text("FILE");
  app->add_option("--device", options->device, "cpu (the default) or cuda:N")
      ->option_text("DEVICE");
  app->add_option("--pack", options->pack,
                  "Take the kernels from this pack, and compile nothing")
      ->option_text("FILE");
  app->add_option("--tokens", options->tokens, "Decode the first N tokens only")
      ->option_text("N");
  app->add_option("--max-error", options->maxError,
                  "Fail when the relative error of the outputs exceeds X")
      ->option_text("X");
  return {app, [options](const Invocation &) -> Expected<Report> {
            DECANT_ASSIGN(const Run run, runTrace(*options));
            Report report;
            report.json = toJson(run, *options);
            report.text = toText(run, *options);
            report.warnings = run.prepare.warnings;
            if (!run.prepare.targetNote.empty())
              report.warnings.push_back(run.prepare.targetNote);
            if (run.pack && !run.pack->choice.note.empty())
              report.warnings.push_back(run.pack->choice.note);
            report.verdict = judge(run, *options);
            return report;
          }};
}
