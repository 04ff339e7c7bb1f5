//===- SlotKernel.h - a kernel whose blocks have a slot ---------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all kernels over a pool of slots share: arguments that are bare pointers
// and strides, a block for each row and head, the row's slot, and rows without
// one.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_SLOTKERNEL_H
#define DECANT_TRANSFORMS_SLOTKERNEL_H

#include "Decant/Decant.h"

#include <map>

namespace decant {

class SlotKernel {
public:
  /// Builds before `source`, a kernel over a !decant.window.
  SlotKernel(KernelOp source, SlotLayout layout);

protected:
  using Body = llvm::function_ref<void(mlir::OpBuilder &, mlir::Location)>;

  //===--- arguments, in the order in which they are added ----------------===//
  void addArgument(llvm::StringRef name, mlir::Type type);
  void addPointer(llvm::StringRef name, mlir::Type element);
  void addIndex(llvm::StringRef name);

  //===--- the kernel -----------------------------------------------------===//
  /// With the arguments added so far; builds inside it from here on.
  KernelOp createKernel(llvm::StringRef name);
  /// Strides arrive as i64 and are used as index, which is 64 bits everywhere.
  void enterBlock();
  /// Runs `live` for a row that has a slot, `padding`, if any, for others.
  void ifLive(Body live, Body padding);
  void finish(KernelOp kernel);

  //===--- values ---------------------------------------------------------===//
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value loadIndex(mlir::Value memref, mlir::Value place);
  /// The block's part of the row's slot.
  mlir::Value openSlot();
  void touchHeader(mlir::Value slot);

  KernelOp source;
  HeadsAttr heads;
  InputsAttr inputs;
  SlotLayout layout;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::MLIRContext *context;
  std::map<std::string, mlir::Value> args;
  mlir::Value row, head; // the block's

private:
  std::vector<std::string> names;
  llvm::SmallVector<mlir::Type> types;
  mlir::Value slotNumber, header;
};

} // namespace decant

#endif // DECANT_TRANSFORMS_SLOTKERNEL_H
