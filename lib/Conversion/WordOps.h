//===- WordOps.h - 32-bit words in IR ---------------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A lane's packed vectors travel as 32-bit words through NVIDIA instructions.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CONVERSION_WORDOPS_H
#define DECANT_CONVERSION_WORDOPS_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace decant {

class WordOps {
public:
  explicit WordOps(mlir::ImplicitLocOpBuilder &b) : b(b) {}

protected:
  /// Address spaces of NVVM.
  static constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3,
                            kClusterSpace = 7;

  mlir::Value word(uint32_t value);
  /// (fields & mask) | rest. The assembler makes two instructions of an `and`
  /// and an `or` with constants, since one instruction holds one constant.
  mlir::Value masked(mlir::Value fields, uint32_t mask, mlir::Value rest);
  /// sum | part << at; null: nothing yet.
  mlir::Value orInto(mlir::Value sum, mlir::Value part, int64_t at);
  mlir::Value shiftRight(mlir::Value value, int bits);
  mlir::Value permute(mlir::Value low, mlir::Value high, uint32_t selector);
  /// What neither dialects nor intrinsics have, on words.
  mlir::Value assemble(llvm::StringRef text, llvm::StringRef constraints,
                       mlir::ValueRange operands, bool hasSideEffects);

  llvm::SmallVector<mlir::Value> elementsOf(mlir::Value vector);
  llvm::SmallVector<mlir::Value> wordsOf(mlir::Value vector);
  mlir::Value fromWords(llvm::ArrayRef<mlir::Value> words, mlir::Type type);

  mlir::Value pointer(mlir::Value memref, unsigned space);
  /// The address of an element, which a memref op cannot hand to an
  /// instruction: base + row-major offset.
  mlir::Value pointer(mlir::Value memref, mlir::ValueRange indices,
                      unsigned space);
  /// The address of element `first` + `second`, summed in this order, so that
  /// what several addresses share comes first.
  mlir::Value pointerTo(mlir::Value memref, mlir::Value first,
                        mlir::Value second, unsigned space);

  mlir::ImplicitLocOpBuilder &b;
};

} // namespace decant

#endif // DECANT_CONVERSION_WORDOPS_H
