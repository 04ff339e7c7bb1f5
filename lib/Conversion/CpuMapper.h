//===- CpuMapper.h - the function that runs blocks --------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CONVERSION_CPUMAPPER_H
#define DECANT_CONVERSION_CPUMAPPER_H

#include "KernelMapper.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace decant {

constexpr int64_t kScratchAlign = 64; // a cache line, a zmm register

/// What host kernels of one lane and of many have in common: a function of the
/// kernel's arguments and a range of blocks, with scratch on its stack.
class CpuMapper : public KernelMapper {
public:
  using KernelMapper::KernelMapper;

protected:
  /// Creates the function and its loop over blocks; the builder is then inside
  /// the loop. Returns the loop.
  mlir::scf::ForOp createFunction() {
    mlir::Block &body = source.getBody().front();
    mlir::SmallVector<mlir::Type> types(body.getArgumentTypes());
    types.append(2, b.getI64Type());
    auto function = mlir::func::FuncOp::create(b, source.getSymName(),
                                               b.getFunctionType(types, {}));
    mlir::Block *entry = function.addEntryBlock();
    b.setInsertionPointToStart(entry);
    mapping.map(body.getArguments(), entry->getArguments().drop_back(2));
    auto bound = [&](mlir::Value value) {
      return mlir::arith::IndexCastOp::create(b, b.getIndexType(), value);
    };
    mlir::Value first = bound(entry->getArguments().drop_back(1).back());
    mlir::Value last = bound(entry->getArguments().back());
    source.walk([&](ScratchOp scratch) {
      mapping.map(scratch.getResult(),
                  mlir::memref::AllocaOp::create(
                      b, mlir::cast<mlir::MemRefType>(scratch.getType()),
                      b.getI64IntegerAttr(kScratchAlign)));
    });
    auto loop = mlir::scf::ForOp::create(b, first, last, index(1));
    mlir::func::ReturnOp::create(b);
    b.setInsertionPointToStart(loop.getBody());
    block = loop.getInductionVar();
    return loop;
  }

  bool mapDecantOp(mlir::Operation *op) override {
    if (auto ids = mlir::dyn_cast<BlockOp>(op)) {
      mlir::Value heads = index(ids.getHeads()), id = block;
      if (ids.getSplit() > 1)
        id = mlir::arith::DivUIOp::create(b, id, index(ids.getSplit()));
      mapping.map(ids.getRow(), mlir::arith::DivUIOp::create(b, id, heads));
      mapping.map(ids.getHead(), mlir::arith::RemUIOp::create(b, id, heads));
      return true;
    }
    if (auto slice = mlir::dyn_cast<SliceOp>(op)) {
      mapping.map(slice.getResult(), mlir::arith::RemUIOp::create(
                                         b, block, index(slice.getSplit())));
      return true;
    }
    // Scratch is allocated at the entry.
    return mlir::isa<ScratchOp, ReturnOp>(op);
  }

private:
  mlir::Value block;
};

} // namespace decant

#endif // DECANT_CONVERSION_CPUMAPPER_H
