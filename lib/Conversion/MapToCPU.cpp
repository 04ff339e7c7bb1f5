//===- MapToCPU.cpp - with which instructions, on the host ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MapToCPU: a block becomes a loop iteration.
// In:  tiled kernels.
// Out: func.func @kernel(arguments..., %first: i64, %last: i64), which runs
//      blocks first <= block < last; no decant op is left. Scratch is on the
//      stack. With one lane the kernel's ops are copied; more lanes run in
//      lock step (LaneLoops.h).
//
//===----------------------------------------------------------------------===//

#include "CpuMapper.h"
#include "LaneLoops.h"
#include "LaneOps.h"
#include "decant/Compiler/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"

namespace decant {
#define GEN_PASS_DEF_MAPTOCPU
#include "decant/Compiler/Passes.h.inc"
} // namespace decant

using namespace mlir;
using namespace decant;

namespace {

class OneLaneMapper : public CpuMapper {
public:
  using CpuMapper::CpuMapper;

  void run() {
    createFunction();
    mapBody();
  }

private:
  bool mapDecantOp(Operation *op) override {
    if (auto lane = dyn_cast<LaneOp>(op)) {
      mapping.map(lane.getResult(), index(0));
      return true;
    }
    if (auto reduce = dyn_cast<LaneReduceOp>(op)) {
      mapping.map(reduce.getResult(), mapping.lookup(reduce.getValue()));
      return true;
    }
    // One lane waits for nobody.
    return isa<BarrierOp>(op) || CpuMapper::mapDecantOp(op) ||
           mapLaneOp(op, b, mapping);
  }
};

/// A magnitude is a maximum here: no host has an instruction for one.
void expandMagnitudes(KernelOp kernel) {
  kernel.walk([](LaneReduceOp reduce) {
    if (reduce.getKind() != ReduceKind::Magnitude)
      return;
    OpBuilder b(reduce);
    reduce.setOperand(
        math::AbsFOp::create(b, reduce.getLoc(), reduce.getValue()));
    reduce.setKind(ReduceKind::Max);
  });
}

LogicalResult mapKernel(KernelOp kernel, ImplicitLocOpBuilder &b) {
  expandMagnitudes(kernel);
  auto lanes = kernel.getLanes();
  if (!lanes || lanes->size() != 2)
    return kernel.emitError("has no lanes; decant-tile-kernel comes before "
                            "decant-map-to-cpu");
  const LaneCounts counts = {(*lanes)[0], (*lanes)[1]};
  if (counts.key < 1 || counts.value < 1)
    return kernel.emitError("has lanes = [")
           << counts.key << ", " << counts.value
           << "]; at least 1 along each axis is needed";
  if (counts.all() > 1)
    return mapLanes(kernel, counts, b);
  OneLaneMapper(kernel, b).run();
  return success();
}

/// A function becomes a part of each kernel that calls it: lanes in lock step
/// go through pieces of one body.
void inlineCalls(ModuleOp module) {
  module.walk([](CallOp call) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<KernelOp>(
        call, call.getCalleeAttr());
    auto kernel = call->getParentOfType<KernelOp>();
    Block &body = callee.getBody().front();
    IRMapping mapping;
    mapping.map(body.getArguments(), call.getInputs());
    OpBuilder b(call);
    for (Operation &op : body.without_terminator()) {
      OpBuilder::InsertionGuard guard(b);
      if (isa<ScratchOp>(op)) // belongs to the block, not to a branch
        b.setInsertionPointToStart(&kernel.getBody().front());
      b.clone(op, mapping);
    }
    call.erase();
  });
  for (KernelOp kernel : llvm::make_early_inc_range(module.getOps<KernelOp>()))
    if (kernel.getCalled())
      kernel.erase();
}

struct MapToCPUPass : public decant::impl::MapToCPUBase<MapToCPUPass> {
  void runOnOperation() override {
    inlineCalls(getOperation());
    ImplicitLocOpBuilder b(getOperation().getLoc(), &getContext());
    for (KernelOp kernel :
         llvm::make_early_inc_range(getOperation().getOps<KernelOp>())) {
      b.setInsertionPointToEnd(getOperation().getBody());
      if (failed(mapKernel(kernel, b)))
        return signalPassFailure();
      kernel.erase();
    }
  }
};

} // namespace
