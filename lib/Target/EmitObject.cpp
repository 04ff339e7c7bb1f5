//===- EmitObject.cpp - stage llvm to a host object -----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitObject.h"

#include "Codegen.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace decant;

void decant::initializeHost() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

/// "+avx2,-avx512f,...", sorted.
static std::string hostFeatures() {
  std::vector<std::string> features;
  for (const auto &feature : llvm::sys::getHostCPUFeatures())
    features.push_back((feature.second ? "+" : "-") + feature.first().str());
  std::sort(features.begin(), features.end(),
            [](const std::string &a, const std::string &b) {
              return a.compare(1, std::string::npos, b, 1, std::string::npos) <
                     0;
            });
  return llvm::join(features, ",");
}

std::string decant::hostCpuName() {
  const std::string features = hostFeatures();
  return fmt::format("{}-{:016x}", llvm::sys::getHostCPUName().str(),
                     XXH3_64bits(features.data(), features.size()));
}

/// Adds `f_packed` for `f` and hides `f`.
static Status addPackedWrapper(llvm::Function &function) {
  llvm::LLVMContext &context = function.getContext();
  llvm::Type *word = llvm::Type::getInt64Ty(context);
  const size_t count = function.arg_size();
  if (!function.getReturnType()->isVoidTy() || count < 2 ||
      function.getArg(count - 2)->getType() != word ||
      function.getArg(count - 1)->getType() != word)
    return Status::internal(fmt::format(
        "function '{}' of stage llvm: found {} arguments; a host "
        "function returns nothing and ends in (i64 first, i64 last)",
        function.getName().str(), count));
  llvm::Type *pointer = llvm::PointerType::getUnqual(context);
  auto *type = llvm::FunctionType::get(llvm::Type::getVoidTy(context),
                                       {pointer, word, word}, false);
  auto *wrapper = llvm::Function::Create(
      type, llvm::GlobalValue::ExternalLinkage,
      function.getName() + kPackedSuffix, function.getParent());
  llvm::IRBuilder<> builder(
      llvm::BasicBlock::Create(context, "entry", wrapper));
  llvm::SmallVector<llvm::Value *> values;
  for (size_t i = 0; i + 2 < count; ++i) {
    llvm::Value *place =
        builder.CreateConstInBoundsGEP1_64(pointer, wrapper->getArg(0), i);
    llvm::Value *address = builder.CreateLoad(pointer, place);
    values.push_back(
        builder.CreateLoad(function.getArg(i)->getType(), address));
  }
  values.push_back(wrapper->getArg(1));
  values.push_back(wrapper->getArg(2));
  builder.CreateCall(&function, values);
  builder.CreateRetVoid();
  function.setLinkage(llvm::GlobalValue::InternalLinkage);
  // Its own place in assembly and profiles is worth one call per launch.
  function.addFnAttr(llvm::Attribute::NoInline);
  return {};
}

static void addCpuName(llvm::Module &module, const std::string &name) {
  llvm::Constant *text =
      llvm::ConstantDataArray::getString(module.getContext(), name);
  new llvm::GlobalVariable(module, text->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::ExternalLinkage, text,
                           kHostCpuSymbol);
}

static Status finishHostModule(llvm::Module &module, const Machine &machine) {
  llvm::SmallVector<llvm::Function *> entries;
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && function.hasExternalLinkage())
      entries.push_back(&function);
  for (llvm::Function *function : entries)
    DECANT_TRY(addPackedWrapper(*function));
  // Passes ask the function, not the target machine, what the processor has.
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.cpu);
    function.addFnAttr("target-features", machine.features);
    // LLVM keeps to 256 bits on some processors that have 512.
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  return {};
}

/// LLVM 22 does not end where a shuffle crosses lanes of 128 bits (two vectors
/// of 20 bytes interleaved, say) and the processor is one that it counts as
/// fast there, which all of Intel's with AVX-512 are: one way to lower it gives
/// it back as it was (llvm-project issue 224266). Others take another way.
constexpr const char *kNoFastShuffles = ",-fast-variable-crosslane-shuffle";

Expected<std::string> decant::emitHostObject(mlir::ModuleOp module,
                                             const TargetInfo &target,
                                             ObjectForm form) {
  if (target.kind != TargetKind::Cpu)
    return Status::invalid(fmt::format(
        "target: '{}' is not a CPU, which host objects are for", target.name));
  initializeHost();
  Machine machine;
  machine.triple = llvm::Triple(llvm::sys::getProcessTriple());
  const bool native = target.arch == "native";
  machine.cpu = native ? llvm::sys::getHostCPUName().str() : target.arch;
  machine.features = native ? hostFeatures() : "";
  if (machine.triple.isX86())
    machine.features += kNoFastShuffles;
  auto finish = [&](llvm::Module &code) {
    addCpuName(code, native ? hostCpuName() : "");
    return finishHostModule(code, machine);
  };
  Expected<std::string> code = generateCode(
      module, machine,
      form == ObjectForm::Object ? llvm::CodeGenFileType::ObjectFile
                                 : llvm::CodeGenFileType::AssemblyFile,
      finish);
  if (!code)
    return code.status().within("host code for " + target.name);
  return code;
}
