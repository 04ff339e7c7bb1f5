//===- LaneBuffers.h - memory for values of all lanes -----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CONVERSION_LANEBUFFERS_H
#define DECANT_CONVERSION_LANEBUFFERS_H

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <map>

namespace decant {

/// Buffers in one piece of memory that a function allocates when it is called.
/// On the heap: with many lanes they are larger than what can be asked of the
/// stack of any thread that calls the engine.
class LaneBuffers {
public:
  /// Emits the allocation before `loop`, the release behind it; views of the
  /// buffers go between the two.
  LaneBuffers(mlir::ImplicitLocOpBuilder &b, mlir::Operation *loop);

  /// A buffer of this type, which may have held something else before.
  mlir::Value take(mlir::MemRefType type);
  /// The buffer's content is not needed any more.
  void giveBack(mlir::Value buffer);
  /// Sets the allocation's size, when all buffers are known.
  void finish();

private:
  mlir::ImplicitLocOpBuilder &b;
  mlir::Operation *loop;
  mlir::Operation *size; // constant
  mlir::Value memory;
  int64_t bytes = 0, align = 64;
  std::map<int64_t, llvm::SmallVector<int64_t>> free; // offsets by size
  llvm::DenseMap<mlir::Value, std::pair<int64_t, int64_t>> places;
};

} // namespace decant

#endif // DECANT_CONVERSION_LANEBUFFERS_H
