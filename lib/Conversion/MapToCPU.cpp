//===- MapToCPU.cpp - with which instructions, on the host ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MapToCPU: a block becomes a loop iteration.
// In:  tiled kernels of one lane.
// Out: func.func @kernel(arguments..., %first: i64, %last: i64), which runs
// blocks
//      first <= block < last; no decant op is left. Scratch is on the stack.
//
//===----------------------------------------------------------------------===//

#include "KernelMapper.h"
#include "decant/Compiler/Passes.h"

namespace decant {
#define GEN_PASS_DEF_MAPTOCPU
#include "decant/Compiler/Passes.h.inc"
} // namespace decant

using namespace mlir;
using namespace decant;

namespace {

constexpr int64_t kScratchAlign = 64; // a cache line, a zmm register

class CpuMapper : public KernelMapper {
public:
  using KernelMapper::KernelMapper;

  LogicalResult run() {
    auto lanes = source.getLanes();
    if (!lanes || llvm::any_of(*lanes, [](int64_t n) { return n != 1; }))
      return source.emitError("must have lanes = [1, 1] for the host");
    createFunction();
    source.walk([&](ScratchOp scratch) {
      mapping.map(scratch.getResult(),
                  memref::AllocaOp::create(b,
                                           cast<MemRefType>(scratch.getType()),
                                           b.getI64IntegerAttr(kScratchAlign)));
    });
    auto loop = scf::ForOp::create(b, first, last, index(1));
    func::ReturnOp::create(b);
    b.setInsertionPointToStart(loop.getBody());
    block = loop.getInductionVar();
    mapBody();
    return success();
  }

private:
  void createFunction() {
    Block &body = source.getBody().front();
    SmallVector<Type> types(body.getArgumentTypes());
    types.append(2, b.getI64Type());
    auto function = func::FuncOp::create(b, source.getSymName(),
                                         b.getFunctionType(types, {}));
    Block *entry = function.addEntryBlock();
    b.setInsertionPointToStart(entry);
    mapping.map(body.getArguments(), entry->getArguments().drop_back(2));
    auto bound = [&](Value value) {
      return arith::IndexCastOp::create(b, b.getIndexType(), value);
    };
    first = bound(entry->getArguments().drop_back(1).back());
    last = bound(entry->getArguments().back());
  }

  bool mapDecantOp(Operation *op) override {
    if (auto ids = dyn_cast<BlockOp>(op)) {
      Value heads = index(ids.getHeads());
      mapping.map(ids.getRow(), arith::DivUIOp::create(b, block, heads));
      mapping.map(ids.getHead(), arith::RemUIOp::create(b, block, heads));
    } else if (auto lane = dyn_cast<LaneOp>(op)) {
      mapping.map(lane.getResult(), index(0));
    } else if (auto reduce = dyn_cast<LaneReduceOp>(op)) {
      mapping.map(reduce.getResult(), mapping.lookup(reduce.getValue()));
    } else if (isa<BarrierOp, ScratchOp, ReturnOp>(op)) {
      // One lane waits for nobody; scratch is allocated at the entry.
    } else {
      return false;
    }
    return true;
  }

  Value first, last, block;
};

struct MapToCPUPass : public decant::impl::MapToCPUBase<MapToCPUPass> {
  void runOnOperation() override {
    ImplicitLocOpBuilder b(getOperation().getLoc(), &getContext());
    for (KernelOp kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      b.setInsertionPointToEnd(getOperation().getBody());
      if (failed(CpuMapper(kernel, b).run()))
        return signalPassFailure();
      kernel.erase();
    }
  }
};

} // namespace
