//===- decant-opt.cpp - MLIR's opt with the decant dialect and passes -----===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion/LowerToLLVM.h"
#include "Target/Register.h"
#include "decant/Compiler/Passes.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  decant::registerDialects(registry);
  decant::registerDecantPasses();
  decant::registerLowerToLLVM();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Decant's optimizer driver\n", registry));
}
