//===- EmitPTX.cpp - stage llvm to PTX ------------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmitPTX.h"

#include "Codegen.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

#include <fmt/format.h>
#include <mutex>

// One target's entry points; llvm/Support/TargetSelect.h would bring in those
// of every target that LLVM was built with.
extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

using namespace decant;

static void initializeNvptx() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

Expected<std::string> decant::emitPtx(mlir::ModuleOp module,
                                      const TargetInfo &target) {
  if (target.kind != TargetKind::Nvidia)
    return Status::invalid(fmt::format(
        "target: '{}' is not an NVIDIA GPU, which PTX is for", target.name));
  auto kernels = module.getOps<mlir::gpu::GPUModuleOp>();
  if (!llvm::hasSingleElement(kernels))
    return Status::internal("stage llvm holds no gpu.module or several; PTX is "
                            "made of exactly one");
  initializeNvptx();
  Machine machine;
  machine.triple = llvm::Triple("nvptx64-nvidia-cuda");
  machine.cpu = target.arch;
  machine.features = fmt::format("+ptx{}", target.ptxIsa);
  auto nothingMore = [](llvm::Module &) { return Status(); };
  Expected<std::string> ptx =
      generateCode(*kernels.begin(), machine,
                   llvm::CodeGenFileType::AssemblyFile, nothingMore);
  if (!ptx)
    return ptx.status().within("PTX for " + target.name);
  return ptx;
}
