//===- Lowering.cpp - mapped IR to code, for tests ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "Conversion/LowerToLLVM.h"
#include "Target/EmitObject.h"
#include "Target/EmitPTX.h"
#include "Target/Register.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace decant;
using namespace decant::test;

using Emit = llvm::function_ref<Expected<std::string>(mlir::ModuleOp)>;

static Expected<std::string> lower(const std::string &mapped,
                                   const TargetInfo &target, Emit emit) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(&context,
                                        [&](mlir::Diagnostic &diagnostic) {
                                          errors += diagnostic.str() + "; ";
                                          return mlir::success();
                                        });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(mapped, &context);
  if (!module)
    return Status::invalid("test IR: " + errors);
  mlir::PassManager passes(&context);
  buildLowerToLLVM(passes, target);
  if (mlir::failed(passes.run(*module)))
    return Status::failed("lowering: " + errors);
  return emit(*module);
}

Expected<std::string> test::toPtx(const std::string &mapped,
                                  const TargetInfo &target) {
  return lower(mapped, target,
               [&](mlir::ModuleOp module) { return emitPtx(module, target); });
}

Expected<std::string> test::toPtx(const std::string &mapped,
                                  const std::string &name) {
  DECANT_ASSIGN(const TargetInfo target, lookupTarget(name));
  return toPtx(mapped, target);
}

static Expected<std::string> toHost(const std::string &mapped,
                                    const std::string &arch, ObjectForm form) {
  DECANT_ASSIGN(TargetInfo target, lookupTarget("x86-64"));
  target.arch = arch;
  return lower(mapped, target, [&](mlir::ModuleOp module) {
    return emitHostObject(module, target, form);
  });
}

Expected<std::string> test::toObject(const std::string &mapped,
                                     const std::string &arch) {
  return toHost(mapped, arch, ObjectForm::Object);
}

Expected<std::string> test::toAssembly(const std::string &mapped,
                                       const std::string &arch) {
  return toHost(mapped, arch, ObjectForm::Assembly);
}

struct LoadedObject::Jit {
  std::unique_ptr<llvm::orc::LLJIT> orc;
};

LoadedObject::LoadedObject(std::unique_ptr<Jit> jit) : jit(std::move(jit)) {}
LoadedObject::LoadedObject(LoadedObject &&) noexcept = default;
LoadedObject::~LoadedObject() = default;

static Status toStatus(llvm::Error error) {
  return Status::failed(llvm::toString(std::move(error)));
}

Expected<LoadedObject> LoadedObject::load(const std::string &object) {
  auto orc = llvm::orc::LLJITBuilder()
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .create();
  if (!orc)
    return toStatus(orc.takeError());
  auto process = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*orc)->getDataLayout().getGlobalPrefix());
  if (!process)
    return toStatus(process.takeError());
  (*orc)->getMainJITDylib().addGenerator(std::move(*process));
  if (llvm::Error error = (*orc)->addObjectFile(
          llvm::MemoryBuffer::getMemBufferCopy(object, "test.o")))
    return toStatus(std::move(error));
  return LoadedObject(std::make_unique<Jit>(Jit{std::move(*orc)}));
}

Status LoadedObject::call(const std::string &function, std::vector<Arg> args,
                          int64_t first, int64_t last) const {
  auto address = jit->orc->lookup(function + "_packed");
  if (!address)
    return toStatus(address.takeError());
  std::vector<void *> places;
  for (Arg &arg : args)
    places.push_back(&arg);
  address->toPtr<void(void **, int64_t, int64_t)>()(places.data(), first, last);
  return {};
}
