//===- Codegen.cpp - stage llvm to machine code ---------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Codegen.h"

#include "FatalErrors.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <fmt/format.h>

using namespace decant;

namespace {

/// Everything that one module's way through LLVM owns.
struct Job {
  Job() {
    // Without a handler, LLVM prints an error and exits.
    context.setDiagnosticHandlerCallBack(collect, &errors);
  }

  static void collect(const llvm::DiagnosticInfo *info, void *errors) {
    if (info->getSeverity() != llvm::DS_Error)
      return;
    llvm::raw_string_ostream stream(*static_cast<std::string *>(errors));
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info->print(printer);
    stream << "; ";
  }

  std::string errors;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
  llvm::SmallString<0> code;
};

Status createMachine(Job &job, const Machine &wanted) {
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(wanted.triple, error);
  if (!target)
    return Status::unavailable("target: " + error);
  // LLVM would print a warning and take its oldest processor instead.
  std::unique_ptr<llvm::MCSubtargetInfo> processors(
      target->createMCSubtargetInfo(wanted.triple, "", ""));
  if (!processors->isCPUStringValid(wanted.cpu))
    return Status::invalid(
        fmt::format("target: LLVM knows no processor '{}' of {}", wanted.cpu,
                    wanted.triple.str()));
  llvm::TargetOptions options;
  // Only what stage tiled writes as an fma is one: left to themselves, targets
  // would fuse different pairs and disagree in the last bit.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  job.machine.reset(target->createTargetMachine(
      wanted.triple, wanted.cpu, wanted.features, options, llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
  if (!job.machine)
    return Status::internal("target: LLVM has no machine for " +
                            wanted.triple.str());
  return {};
}

Status translate(Job &job, mlir::Operation *op, const Machine &wanted) {
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(op->getContext(),
                                        [&](mlir::Diagnostic &diagnostic) {
                                          errors += diagnostic.str() + "; ";
                                          return mlir::success();
                                        });
  job.module = mlir::translateModuleToLLVMIR(op, job.context, "decant");
  if (!job.module)
    return Status::internal("no LLVM IR from stage llvm: " + errors);
  job.module->setTargetTriple(wanted.triple);
  job.module->setDataLayout(job.machine->createDataLayout());
  return {};
}

void optimise(Job &job) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  // What is worth unrolling was unrolled in stage tiled; unrolling loops over
  // terms and rows again costs registers and most of the compile time.
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  llvm::PassBuilder builder(job.machine.get(), tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(*job.module, modules);
}

Status emitCode(Job &job, llvm::CodeGenFileType form) {
  llvm::raw_svector_ostream stream(job.code);
  llvm::legacy::PassManager passes;
  if (job.machine->addPassesToEmitFile(passes, stream, nullptr, form))
    return Status::internal("target: LLVM emits no code of this form for " +
                            job.machine->getTargetTriple().str());
  passes.run(*job.module);
  if (!job.errors.empty())
    return Status::failed("LLVM: " + job.errors);
  return {};
}

} // namespace

Expected<std::string>
decant::generateCode(mlir::Operation *op, const Machine &machine,
                     llvm::CodeGenFileType form,
                     llvm::function_ref<Status(llvm::Module &)> finish) {
  // A plain pointer: after a fatal error the job is in no state to be
  // destroyed, and is leaked.
  auto *job = new Job;
  bool finished = false;
  Status status = recoverFatalErrors([&]() -> Status {
    auto steps = [&]() -> Status {
      DECANT_TRY(createMachine(*job, machine));
      DECANT_TRY(translate(*job, op, machine));
      DECANT_TRY(finish(*job->module));
      optimise(*job);
      return emitCode(*job, form);
    };
    Status result = steps();
    finished = true;
    return result;
  });
  if (!finished)
    return status;
  std::unique_ptr<Job> owned(job);
  if (!status.ok())
    return status;
  return std::string(owned->code);
}
