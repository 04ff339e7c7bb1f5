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
#include "llvm/PassInfo.h"
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
  // On NVPTX, the highest level differs in two global value numberings, which
  // find nothing that ptxas would not.
  const auto level = wanted.triple.isNVPTX()
                         ? llvm::CodeGenOptLevel::Default
                         : llvm::CodeGenOptLevel::Aggressive;
  job.machine.reset(target->createTargetMachine(
      wanted.triple, wanted.cpu, wanted.features, options, llvm::Reloc::PIC_,
      std::nullopt, level));
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

/// What a kernel needs: nothing is left to inline, stage tiled unrolls what is
/// worth unrolling, and ptxas optimises again. On top of cleaning up, that is
/// loops in the form that the code generator knows best. The default pipeline
/// takes six times as long, and its vectors of scalars that stand beside each
/// other (SLP) cost registers.
constexpr const char *kKernelPasses =
    "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop(loop-rotate),early-cse)";

/// Host code is a few thousand instructions long where a lane holds a head, as
/// it does by default, and twenty times that where it runs a GPU's lanes in
/// step, as tests do. Such code has no loops worth the default pipeline's
/// passes over loops, which would take most of the compile time.
constexpr unsigned kLongCode = 10000;
constexpr const char *kLongCodePasses =
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
    "simplifycfg,loop-mssa(licm),gvn,instcombine<no-verify-fixpoint>,"
    "simplifycfg)";

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
  llvm::ModulePassManager passes;
  if (job.machine->getTargetTriple().isNVPTX())
    llvm::cantFail(builder.parsePassPipeline(passes, kKernelPasses));
  else if (job.module->getInstructionCount() > kLongCode)
    llvm::cantFail(builder.parsePassPipeline(passes, kLongCodePasses));
  else
    passes = builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3);
  passes.run(*job.module, modules);
}

/// Code generation without passes that the target would add and that leave
/// kernels as they are: they search for bases and strides that addresses share,
/// which KernelPointers and stage tiled have laid bare.
class CodegenPasses : public llvm::legacy::PassManager {
public:
  explicit CodegenPasses(const llvm::Triple &triple)
      : isKernel(triple.isNVPTX()) {}

  void add(llvm::Pass *pass) override {
    const llvm::PassInfo *info = llvm::Pass::lookupPassInfo(pass->getPassID());
    const llvm::StringRef name = info ? info->getPassArgument() : "";
    if (isKernel && (name == "loop-reduce" || name == "slsr" ||
                     name == "nary-reassociate" || name == "consthoist"))
      delete pass;
    else
      llvm::legacy::PassManager::add(pass);
  }

private:
  bool isKernel;
};

Status emitCode(Job &job, llvm::CodeGenFileType form) {
  llvm::raw_svector_ostream stream(job.code);
  CodegenPasses passes(job.machine->getTargetTriple());
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
