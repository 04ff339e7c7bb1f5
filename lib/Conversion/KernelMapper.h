//===- KernelMapper.h - what both mappings share ----------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CONVERSION_KERNELMAPPER_H
#define DECANT_CONVERSION_KERNELMAPPER_H

#include "Decant/Decant.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace decant {

/// Copies a tiled kernel op by op into the function of a target, which says
/// what becomes of the decant ops.
class KernelMapper {
public:
  KernelMapper(KernelOp source, mlir::ImplicitLocOpBuilder &builder)
      : source(source), b(builder) {}
  virtual ~KernelMapper() = default;

protected:
  /// Emits what a decant op becomes; false when `op` is to be copied.
  virtual bool mapDecantOp(mlir::Operation *op) = 0;

  void mapBody() {
    for (mlir::Operation &op : source.getBody().front())
      mapOp(&op);
  }

  mlir::Value index(int64_t value) {
    return mlir::arith::ConstantIndexOp::create(b, value);
  }

  void mapOp(mlir::Operation *op) {
    if (mapDecantOp(op))
      return;
    if (op->getNumRegions() == 0) {
      b.clone(*op, mapping);
      return;
    }
    // An scf op: copied without its body, whose ops are then mapped into it.
    mlir::Operation *copy = b.insert(op->cloneWithoutRegions(mapping));
    mapping.map(op->getResults(), copy->getResults());
    for (auto [from, to] : llvm::zip(op->getRegions(), copy->getRegions())) {
      if (from.empty())
        continue;
      mlir::OpBuilder::InsertionGuard guard(b);
      llvm::SmallVector<mlir::Location> locations(from.getNumArguments(),
                                                  b.getLoc());
      mlir::Block *block =
          b.createBlock(&to, {}, from.getArgumentTypes(), locations);
      mapping.map(from.getArguments(), block->getArguments());
      for (mlir::Operation &inner : from.front())
        mapOp(&inner);
    }
  }

  KernelOp source;
  mlir::ImplicitLocOpBuilder &b;
  mlir::IRMapping mapping;
};

} // namespace decant

#endif // DECANT_CONVERSION_KERNELMAPPER_H
