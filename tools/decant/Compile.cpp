//===- Compile.cpp - decant compile ---------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A spec to the text of any stage, to an image file, or, with neither asked
// for, to a report of what compiling it takes.
//
//===----------------------------------------------------------------------===//

#include "Command.h"

#include "CompilePack.h"
#include "OutputFile.h"
#include "Spec/Suggest.h"
#include "SpecArguments.h"
#include "Targets.h"
#include "decant/Compiler/Compiler.h"
#include "decant/Compiler/CudaSource.h"

#include <fmt/format.h>
#include <memory>
#include <optional>

using namespace decant;
using namespace decant::tool;

namespace {

struct CompileArguments {
  SpecSource spec;
  std::string target, form, kernels = "decode", schedule, output;
  PackArguments pack; // of --pack; without it, spec and schedule are its only
};

/// What --emit may ask for: a stage's text, the rule as CUDA C++, or the image
/// file. Machine code has two names, so that nobody gets host assembly for PTX.
struct Form {
  enum Content { Text, Cuda, ImageFile };
  const char *name;
  Stage stage;
  std::optional<TargetKind> onlyFor;
  Content content = Text;
};
const std::vector<Form> &forms() {
  static const std::vector<Form> all = {
      {"spec", Stage::Spec, {}},
      {"rule", Stage::Rule, {}},
      {"windowed", Stage::Windowed, {}},
      {"formatted", Stage::Formatted, {}},
      {"scheduled", Stage::Scheduled, {}},
      {"tiled", Stage::Tiled, {}},
      {"mapped", Stage::Mapped, {}},
      {"llvm", Stage::LLVM, {}},
      {"ptx", Stage::Image, TargetKind::Nvidia},
      {"asm", Stage::Image, TargetKind::Cpu},
      {"cuda", Stage::Rule, {}, Form::Cuda},
      {"image", Stage::Image, {}, Form::ImageFile},
  };
  return all;
}

Expected<const Form *> findForm(const std::string &name) {
  std::vector<std::string> names;
  for (const Form &form : forms()) {
    if (form.name == name)
      return &form;
    names.push_back(form.name);
  }
  return Status::invalid(fmt::format("--emit: found \"{}\"{}; allowed: {}",
                                     name, spec::didYouMean(name, names),
                                     spec::join(names)));
}

Expected<TargetInfo> targetOf(const CompileArguments &arguments,
                              const Form *form) {
  std::string name = arguments.target;
  const bool needsHost = form && form->onlyFor == TargetKind::Cpu;
  if (name.empty() && needsHost)
    name = targetNames(TargetKind::Cpu);
  DECANT_ASSIGN(const TargetInfo target, chooseTarget(name));
  if (!form || !form->onlyFor || *form->onlyFor == target.kind)
    return target;
  return Status::invalid(fmt::format(
      "--emit {}: the target is {}{}; allowed with --emit {}: --target {}",
      form->name, target.name,
      arguments.target.empty() ? ", since no GPU was found" : "", form->name,
      targetNames(*form->onlyFor)));
}

Expected<CompileOptions> optionsOf(const CompileArguments &arguments,
                                   const Form *form) {
  CompileOptions options;
  if (arguments.kernels == "transfer")
    options.kernels = KernelSet::Transfer;
  else if (arguments.kernels != "decode")
    return Status::invalid(
        fmt::format("--kernels: found \"{}\"; allowed: decode or transfer",
                    arguments.kernels));
  if (!arguments.schedule.empty()) {
    DECANT_ASSIGN(options.schedule, parseSchedule(arguments.schedule));
  }
  DECANT_ASSIGN(options.target, targetOf(arguments, form));
  return options;
}

/// `text` on stdout or in the file that -o names.
Expected<Report> deliver(const CompileArguments &arguments,
                         const DecodeSpec &spec, const CompileOptions &options,
                         const Form &form, std::string text) {
  Report report;
  report.json = {{"spec", spec.name},
                 {"target", options.target.name},
                 {"kernels", arguments.kernels},
                 {"emit", form.name},
                 {"bytes", text.size()}};
  if (!arguments.output.empty()) {
    DECANT_TRY(writeOutputFile(arguments.output, text));
    report.json["output"] = arguments.output;
    return report;
  }
  report.json["text"] = text;
  if (form.content != Form::ImageFile && !text.empty() && text.back() != '\n')
    text += '\n';
  report.text = std::move(text);
  return report;
}

Expected<Report> emitForm(const CompileArguments &arguments,
                          const DecodeSpec &spec, const CompileOptions &options,
                          const Form &form, const Invocation &invocation) {
  if (form.content == Form::Cuda) {
    DECANT_ASSIGN(CudaSource source, emitCuda(spec));
    return deliver(arguments, spec, options, form, std::move(source.text));
  }
  if (form.content == Form::Text) {
    DECANT_ASSIGN(std::string text, emit(spec, options, form.stage));
    return deliver(arguments, spec, options, form, std::move(text));
  }
  if (arguments.output.empty() && (invocation.json || stdoutIsTerminal()))
    return Status::invalid(
        fmt::format("--emit image: found no -o, and an image is not text for "
                    "{}; allowed: -o FILE, or stdout into a file or pipe",
                    invocation.json ? "a JSON object" : "a terminal"));
  DECANT_ASSIGN(const KernelImage image, compile(spec, options));
  return deliver(arguments, spec, options, form, serialize(image));
}

/// How long each stage took and what came out.
Expected<Report> compileAndReport(const CompileArguments &arguments,
                                  const DecodeSpec &spec,
                                  const CompileOptions &options) {
  CompileTimes times;
  DECANT_ASSIGN(const KernelImage image, compile(spec, options, &times));
  Report report;
  Json &json = report.json;
  json["spec"] = spec.name;
  json["target"] = image.target;
  json["kernels"] = arguments.kernels;
  json["schedule"] = image.scheduleText;
  json["code_kind"] = toString(image.kind);
  json["code_bytes"] = image.code.size();
  json["entries"] = Json::array();
  std::string entries;
  for (const KernelEntry &entry : image.entries) {
    json["entries"].push_back(entry.role);
    entries += (entries.empty() ? "" : ", ") + entry.role;
  }
  json["slot_bytes"] = image.layout.slotBytes;
  json["compile_ms"] = times.total();
  json["stages_ms"] = Json::object();
  report.text = fmt::format("{} for {}: {}, {} bytes of {}\nschedule {}\n\n",
                            spec.name, image.target, entries, image.code.size(),
                            toString(image.kind), image.scheduleText);
  for (const auto &[stage, milliseconds] : times.stages) {
    json["stages_ms"][stage] = milliseconds;
    report.text += fmt::format("{:<12} {:>9.1f} ms\n", stage, milliseconds);
  }
  report.text += fmt::format("{:<12} {:>9.1f} ms\n", "total", times.total());
  return report;
}

/// What belongs to packs alone, and what does not go with them.
Status checkWords(const CompileArguments &arguments) {
  const PackArguments &pack = arguments.pack;
  auto refuse = [](const char *option, const char *beside) {
    return Status::invalid(fmt::format(
        "{}: found {} {} --pack; allowed: {} {} --pack", option, option, beside,
        option, std::string(beside) == "beside" ? "without" : "beside"));
  };
  if (!pack.output.empty()) {
    if (!arguments.form.empty())
      return refuse("--emit", "beside");
    if (!arguments.output.empty())
      return refuse("-o", "beside");
    if (arguments.kernels != "decode")
      return refuse("--kernels", "beside");
    if (pack.mostCandidates < 0)
      return Status::invalid(
          fmt::format("--candidates: found {}; allowed: a number from 0",
                      pack.mostCandidates));
    return {};
  }
  if (!pack.tokensPerStep.empty())
    return refuse("--tokens-per-step", "without");
  if (!pack.candidates.empty())
    return refuse("--candidate", "without");
  if (pack.mostCandidates != 0)
    return refuse("--candidates", "without");
  if (!pack.records.empty())
    return refuse("--record", "without");
  if (!pack.cubins.empty())
    return refuse("--cubin", "without");
  if (pack.specs.size() > 1)
    return Status::invalid(
        fmt::format("SPEC: found {} and {}; allowed is one without --pack",
                    pack.specs[0].spec, pack.specs[1].spec));
  if (pack.schedules.size() > 1)
    return Status::invalid(
        "--schedule: found more than one; allowed is one without --pack");
  return {};
}

Expected<Report> runCompile(CompileArguments arguments,
                            const Invocation &invocation) {
  PackArguments &pack = arguments.pack;
  for (SpecSource &source : pack.specs)
    source.overrides = arguments.spec.overrides;
  DECANT_TRY(checkWords(arguments));
  if (!pack.output.empty()) {
    pack.targets = arguments.target;
    return compilePack(pack);
  }
  arguments.spec = pack.specs.front();
  if (!pack.schedules.empty())
    arguments.schedule = pack.schedules.front();
  const Form *form = nullptr;
  if (!arguments.form.empty()) {
    DECANT_ASSIGN(form, findForm(arguments.form));
  } else if (!arguments.output.empty()) {
    DECANT_ASSIGN(form, findForm("image")); // what a file is good for
  }
  DECANT_ASSIGN(const DecodeSpec spec, readSpec(arguments.spec));
  DECANT_ASSIGN(const CompileOptions options, optionsOf(arguments, form));
  return form ? emitForm(arguments, spec, options, *form, invocation)
              : compileAndReport(arguments, spec, options);
}

} // namespace

Command decant::tool::addCompile(CLI::App &root) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App *app = root.add_subcommand(
      "compile", "Compile a spec, to a report, any stage or an image file");
  app->add_option_function<std::vector<std::string>>(
         "SPEC",
         [arguments](const std::vector<std::string> &names) {
           for (const std::string &name : names)
             arguments->pack.specs.push_back({name, {}});
         },
         "A spec file or a preset's name; several with --pack")
      ->required()
      ->option_text(" ");
  addSpecOverrides(*app, arguments->spec.overrides);
  app->add_option("--target", arguments->target,
                  "x86-64 or a GPU target such as sm_90a; by default the GPU's "
                  "if there is one, else x86-64; several with --pack, with "
                  "commas between")
      ->option_text("TARGET");
  app->add_option(
         "--emit", arguments->form,
         "spec, rule, windowed, formatted, scheduled, tiled, mapped, "
         "llvm, ptx, asm or image; or cuda, the rule as plain CUDA C++ "
         "to check kernels against")
      ->option_text("STAGE");
  app->add_option("--kernels", arguments->kernels,
                  "decode (step and commit, the default) or transfer (pack and "
                  "unpack)")
      ->option_text("SET");
  auto addTexts = [app](const char *name, std::vector<std::string> &texts,
                        const char *what, const char *text) {
    app->add_option(name, texts, what)
        ->option_text(text)
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  addTexts("--schedule", arguments->pack.schedules,
           "A schedule as inspect prints it, in place of the default. With "
           "--pack it may be repeated as ROWS:TEXT: the schedule of batches of "
           "up to ROWS rows",
           "TEXT");
  app->add_option("-o,--output", arguments->output,
                  "Write to this file, an image unless --emit says otherwise")
      ->option_text("FILE");
  app->add_option("--pack", arguments->pack.output,
                  "Write a pack: decode and transfer kernels of every SPEC for "
                  "every target in one file, which the runtime alone loads")
      ->option_text("FILE");
  app->add_option("--tokens-per-step", arguments->pack.tokensPerStep,
                  "With --pack: each SPEC with each of these, \"1,4\"")
      ->option_text("N,...");
  addTexts("--candidate", arguments->pack.candidates,
           "With --pack: a further schedule, which a tuner may pick; may be "
           "repeated",
           "TEXT");
  app->add_option(
         "--candidates", arguments->pack.mostCandidates,
         "With --pack: for each SPEC and target the N schedules that a "
         "tuner would try first, so that decant-pack-tune or decant "
         "tune --pack has something to pick from")
      ->option_text("N");
  addTexts(
      "--record", arguments->pack.records,
      "With --pack: a tuner's file, whose records say which schedule which "
      "batches get, for each SPEC and target that it has; may be repeated",
      "FILE");
  app->add_option("--cubin", arguments->pack.cubins,
                  "With --pack: machine code beside the PTX of these targets, "
                  "or of \"all\", by an installed ptxas")
      ->option_text("TARGET,...");
  return {app, [arguments](const Invocation &invocation) {
            return runCompile(*arguments, invocation);
          }};
}
