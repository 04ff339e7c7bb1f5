//===- Compiler.cpp - spec in, image out ----------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "decant/Compiler/Compiler.h"
#include "Conversion/LowerToLLVM.h"
#include "Import/ImportSpec.h"
#include "KernelTable.h"
#include "Target/EmitCuda.h"
#include "Target/EmitObject.h"
#include "Target/EmitPTX.h"
#include "Target/Register.h"
#include "decant/Compiler/Passes.h"
#include "decant/Spec/SpecReader.h"

#include "mlir/Pass/PassManager.h"

#include <chrono>
#include <fmt/format.h>
#include <numeric>

using namespace mlir;
using namespace decant;

namespace {

/// A context of its own for one compile, whose errors become one Status.
class Session {
public:
  Session() : context(makeRegistry(), MLIRContext::Threading::DISABLED) {
    handler = context.getDiagEngine().registerHandler([this](Diagnostic &diag) {
      collect(diag);
      return success();
    });
    context.loadAllAvailableDialects();
  }

  MLIRContext context;

  /// The errors so far. They come from the user's rule or from a limit that a
  /// target has, so they are about the input.
  Status error(const DecodeSpec &spec) const {
    return Status::invalid(
        fmt::format("{}: {}", spec.name, fmt::join(messages, "; ")));
  }

private:
  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  void collect(Diagnostic &diag) {
    if (diag.getSeverity() != DiagnosticSeverity::Error)
      return;
    std::string place;
    if (auto file = dyn_cast<FileLineColLoc>(diag.getLocation()))
      place = fmt::format("{}:{}:{}: ", file.getFilename().str(),
                          file.getLine(), file.getColumn());
    messages.push_back(place + diag.str());
  }

  DiagnosticEngine::HandlerID handler = 0;
  std::vector<std::string> messages;
};

class StopWatch {
public:
  double milliseconds() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double, std::milli> passed = now - start;
    start = now;
    return passed.count();
  }

private:
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
};

/// Fragments where tensor cores serve the spec: windows, whose steps only read
/// the codes, and codes that a fold rounds with scales. Columns for states that
/// a GPU's step holds, all columns in one block or not.
CodeOrder defaultOrder(const DecodeSpec &spec, const RecordShape &record,
                       const TargetInfo &target, bool sumsOverValues) {
  const SlotLayout layout = makeSlotLayout(spec, record, CodeOrder::Fragments);
  const bool suits = layout.window > 1 || !isWideFloat(layout.codes.type);
  if (suits)
    return mmaSchedule(layout, target) ? CodeOrder::Fragments : CodeOrder::Rows;
  const SlotLayout columns = makeSlotLayout(spec, record, CodeOrder::Columns);
  const bool held =
      target.kind == TargetKind::Nvidia &&
      holdsState(defaultSchedule(columns, target, sumsOverValues), columns);
  return held ? CodeOrder::Columns : CodeOrder::Rows;
}

/// What `schedule` reads best: fragments by tensor cores; a state that it holds
/// along its neighbouring lanes, by rows or columns.
CodeOrder orderFor(const Schedule &schedule, const DecodeSpec &spec,
                   const RecordShape &record) {
  if (schedule.strategy == Strategy::Mma)
    return CodeOrder::Fragments;
  const bool columns =
      schedule.threads() > 1 && schedule.lanes == LaneOrder::KeyFirst &&
      holdsState(schedule, makeSlotLayout(spec, record, CodeOrder::Columns));
  return columns ? CodeOrder::Columns : CodeOrder::Rows;
}

/// Runs the pipeline from `rule` on, one stage at a time, up to `last`.
/// `atStage`, when given, sees the module after each stage.
Expected<OwningOpRef<ModuleOp>>
runStages(const DecodeSpec &spec, CompileOptions options, Session &session,
          Stage last, CompileTimes *times,
          llvm::function_ref<void(Stage, ModuleOp)> atStage) {
  StopWatch watch;
  OwningOpRef<ModuleOp> module =
      importSpec(spec, options.target, &session.context);
  if (!module)
    return session.error(spec);
  auto finish = [&](Stage stage) {
    if (times)
      times->stages.emplace_back(toString(stage), watch.milliseconds());
    if (atStage)
      atStage(stage, *module);
  };
  finish(Stage::Rule);
  // Of the rule: kernels that only move states have no reads, but its layout.
  const bool wholeHeads = needsWholeHeads(*module);
  const bool alongValues = readsKeys(*module);
  for (Stage stage : allStages()) {
    if (stage <= Stage::Rule || stage > last || stage == Stage::Image)
      continue;
    // The bytes of a slot follow from what a token adds to it.
    if (stage == Stage::Formatted && !options.order) {
      const RecordShape record = recordShapeOf(*module);
      if (alongValues) // neither tensor cores nor held states serve it
        options.order = CodeOrder::Rows;
      else
        options.order =
            options.schedule
                ? orderFor(*options.schedule, spec, record)
                : defaultOrder(spec, record, options.target, wholeHeads);
    }
    PassManager manager(&session.context);
    buildPipeline(manager, options, Stage(int(stage) - 1), stage);
#ifdef NDEBUG
    // Every rule, format and schedule was checked on the way in. After each
    // pass, verifying would be a tenth of a compile.
    manager.enableVerifier(false);
#endif
    if (failed(manager.run(*module)))
      return session.error(spec);
    finish(stage);
  }
  return module;
}

Status checkTarget(const DecodeSpec &spec) {
  std::string text;
  for (const SpecIssue &issue : check(spec))
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", issue.path,
                        issue.message);
  return text.empty() ? Status() : Status::invalid(spec.name + ": " + text);
}

} // namespace

const char *decant::toString(Stage stage) {
  switch (stage) {
  case Stage::Spec:
    return "spec";
  case Stage::Rule:
    return "rule";
  case Stage::Windowed:
    return "windowed";
  case Stage::Formatted:
    return "formatted";
  case Stage::Scheduled:
    return "scheduled";
  case Stage::Tiled:
    return "tiled";
  case Stage::Mapped:
    return "mapped";
  case Stage::LLVM:
    return "llvm";
  case Stage::Image:
    return "image";
  }
  return "";
}

const std::vector<Stage> &decant::allStages() {
  static const std::vector<Stage> stages = {
      Stage::Spec,      Stage::Rule,      Stage::Windowed,
      Stage::Formatted, Stage::Scheduled, Stage::Tiled,
      Stage::Mapped,    Stage::LLVM,      Stage::Image};
  return stages;
}

double CompileTimes::total() const {
  return std::accumulate(
      stages.begin(), stages.end(), 0.0,
      [](double sum, const auto &stage) { return sum + stage.second; });
}

Expected<RuleInfo> decant::describeRule(const DecodeSpec &spec) {
  DECANT_TRY(checkTarget(spec));
  Session session;
  RuleInfo info;
  auto inputs = ruleInputs(spec, &session.context);
  if (!inputs)
    return session.error(spec);
  info.inputs = *inputs;
  CompileOptions options;
  options.target = knownTargets().front();
  auto module = runStages(spec, options, session, Stage::Windowed, nullptr,
                          [&](Stage stage, ModuleOp module) {
                            if (stage == Stage::Windowed)
                              info.record = recordShapeOf(module);
                          });
  if (!module)
    return module.status();
  return info;
}

Expected<KernelImage> decant::compile(const DecodeSpec &spec,
                                      const CompileOptions &options,
                                      CompileTimes *times) {
  DECANT_TRY(checkTarget(spec));
  Session session;
  KernelImage image;
  image.specName = spec.name;
  image.specText = canonicalText(spec);
  image.target = options.target.name;
  image.compiler = compilerVersion();
  image.pad = spec.inputs.pad;
  auto module = runStages(spec, options, session, Stage::LLVM, times,
                          [&](Stage stage, ModuleOp module) {
                            if (stage == Stage::Scheduled)
                              describeKernels(module, spec, image);
                            if (stage == Stage::Mapped)
                              describeLaunch(module, image);
                          });
  if (!module)
    return module.status();

  StopWatch watch;
  const bool cpu = options.target.kind == TargetKind::Cpu;
  DECANT_ASSIGN(image.code, cpu ? emitHostObject(**module, options.target,
                                                 ObjectForm::Object)
                                : emitPtx(**module, options.target));
  image.kind = cpu ? CodeKind::HostObject : CodeKind::Ptx;
  image.ptxIsa = options.target.ptxIsa;
  if (times)
    times->stages.emplace_back(toString(Stage::Image), watch.milliseconds());
  return image;
}

Expected<std::string> decant::emit(const DecodeSpec &spec,
                                   const CompileOptions &options, Stage stage) {
  DECANT_TRY(checkTarget(spec));
  if (stage == Stage::Spec)
    return specToJson(spec);
  Session session;
  auto module = runStages(spec, options, session, stage, nullptr, nullptr);
  if (!module)
    return module.status();
  if (stage == Stage::Image)
    return options.target.kind == TargetKind::Cpu
               ? emitHostObject(**module, options.target, ObjectForm::Assembly)
               : emitPtx(**module, options.target);
  std::string text;
  llvm::raw_string_ostream stream(text);
  (*module)->print(stream);
  return text;
}

Expected<CudaSource> decant::emitCuda(const DecodeSpec &spec) {
  DECANT_TRY(checkTarget(spec));
  Session session;
  // Nothing of stage `rule` depends on the target.
  auto module = importSpec(spec, knownTargets().front(), &session.context);
  if (!module)
    return session.error(spec);
  return printCuda(*module->getOps<DecodeOp>().begin(), spec.name);
}
