//===- MapToGPU.cpp - with which instructions, on NVIDIA ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MapToGPU: a lane becomes a thread.
// In:  tiled kernels with `lanes`.
// Out: one gpu.module of gpu.func; no decant op is left. Thread t is key lane
//      t mod keyLanes, or value lane t mod valueLanes (value_first); sums over
//      these neighbours are shuffles, the others also cross warps
//      (LaneReductions.h).
//
//===----------------------------------------------------------------------===//

#include "KernelMapper.h"
#include "LaneReductions.h"
#include "WarpOps.h"
#include "decant/Compiler/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace decant {
#define GEN_PASS_DEF_MAPTOGPU
#include "decant/Compiler/Passes.h.inc"
} // namespace decant

using namespace mlir;
using namespace decant;

namespace {

constexpr int64_t kSharedAlign = 16;

/// Where a kernel's scratch arrays go in its shared memory: one after another.
/// The areas of its reductions follow.
struct SharedPlan {
  llvm::DenseMap<Operation *, int64_t> offsets;
  int64_t bytes = 0;
};

SharedPlan planScratch(KernelOp kernel) {
  SharedPlan plan;
  kernel.walk([&](ScratchOp scratch) {
    plan.offsets[scratch] = plan.bytes;
    auto type = cast<MemRefType>(scratch.getType());
    plan.bytes +=
        llvm::alignTo(type.getNumElements() * type.getElementTypeBitWidth() / 8,
                      kSharedAlign);
  });
  return plan;
}

class GpuMapper : public KernelMapper {
public:
  /// `calledBytes`: of shared memory, per function that kernels call.
  GpuMapper(KernelOp source, ImplicitLocOpBuilder &builder,
            llvm::StringMap<int64_t> &calledBytes)
      : KernelMapper(source, builder), calledBytes(calledBytes),
        called(source.getCalled()) {}

  LogicalResult run() {
    auto laneCounts = source.getLanes();
    if (!laneCounts || laneCounts->size() != 2)
      return source.emitError("has no lanes; decant-tile-kernel comes before "
                              "decant-map-to-gpu");
    const int64_t keys = (*laneCounts)[0], values = (*laneCounts)[1];
    grid = source.getValueFirst() ? LaneGrid{values, keys, VectorAxis::Value}
                                  : LaneGrid{keys, values, VectorAxis::Key};
    plan = planScratch(source);
    reductions.emplace(source, grid);
    reductionPlace.offset = plan.bytes;
    plan.bytes += reductions->sharedBytes();
    source.walk([&](CallOp call) {
      plan.bytes = std::max(plan.bytes, calledBytes.lookup(call.getCallee()));
    });
    if (called)
      calledBytes[source.getSymName()] = plan.bytes;
    Expected<TargetInfo> target =
        lookupTarget(source.getTarget()->getName().str());
    if (!target)
      return source.emitError(target.status().message());
    if (plan.bytes > target->maxSharedBytes)
      return source.emitError("kernel @")
             << source.getSymName() << " needs " << plan.bytes
             << " bytes of shared memory; " << target->name << " allows "
             << target->maxSharedBytes
             << " per block: a shorter window or fewer compensators need less";

    createFunction();
    if (source->hasAttr("dependent_launch"))
      waitForKernelAhead();
    mapBody();
    return success();
  }

private:
  void createFunction() {
    Block &body = source.getBody().front();
    auto type = b.getFunctionType(TypeRange(body.getArgumentTypes()), {});
    if (called)
      enter(func::FuncOp::create(b, source.getSymName(), type));
    else
      enter(createKernel(type));
    Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
    Value count = index(grid.inner);
    reductionPlace.innerLane = arith::RemUIOp::create(b, thread, count);
    reductionPlace.outerLane = arith::DivUIOp::create(b, thread, count);
    if (plan.bytes == 0)
      return;
    auto space = gpu::AddressSpaceAttr::get(b.getContext(),
                                            gpu::AddressSpace::Workgroup);
    shared = gpu::DynamicSharedMemoryOp::create(
        b, MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                           MemRefLayoutAttrInterface(), space));
    reductionPlace.shared = shared;
  }

  /// Nothing that the kernel ahead writes may be read before. The next kernel
  /// may come as soon as all blocks of this one have.
  void waitForKernelAhead() {
    for (auto kind : {NVVM::GridDepActionKind::wait,
                      NVVM::GridDepActionKind::launch_dependents})
      NVVM::GriddepcontrolOp::create(b, kind);
  }

  gpu::GPUFuncOp createKernel(FunctionType type) {
    auto function = gpu::GPUFuncOp::create(b, source.getSymName(), type);
    function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                      b.getUnitAttr());
    function.setKnownBlockSizeAttr(
        b.getDenseI32ArrayAttr({int32_t(grid.threads()), 1, 1}));
    function->setAttr("dynamic_shared_bytes", b.getI64IntegerAttr(plan.bytes));
    for (const char *name : {"blocks_per_sm", "dependent_launch"})
      if (Attribute value = source->getAttr(name))
        function->setAttr(name, value);
    return function;
  }

  void enter(FunctionOpInterface function) {
    if (function.isExternal())
      function.addEntryBlock();
    mapping.map(source.getBody().getArguments(), function.getArguments());
    b.setInsertionPointToStart(&function.getFunctionBody().front());
  }

  bool mapDecantOp(Operation *op) override {
    if (auto block = dyn_cast<BlockOp>(op)) {
      Value id = gpu::BlockIdOp::create(b, gpu::Dimension::x);
      Value heads = index(block.getHeads());
      if (block.getSplit() > 1)
        id = arith::DivUIOp::create(b, id, index(block.getSplit()));
      mapping.map(block.getRow(), arith::DivUIOp::create(b, id, heads));
      mapping.map(block.getHead(), arith::RemUIOp::create(b, id, heads));
    } else if (auto slice = dyn_cast<SliceOp>(op)) {
      Value id = gpu::BlockIdOp::create(b, gpu::Dimension::x);
      mapping.map(slice.getResult(),
                  arith::RemUIOp::create(b, id, index(slice.getSplit())));
    } else if (auto blocks = dyn_cast<BlocksOp>(op)) {
      mapping.map(blocks.getResult(),
                  gpu::GridDimOp::create(b, gpu::Dimension::x));
    } else if (auto lane = dyn_cast<LaneOp>(op); lane && lane.getAnew()) {
      mapping.map(lane.getResult(),
                  gpu::LaneIdOp::create(b, b.getIndexAttr(kWarp)));
    } else if (lane) {
      mapping.map(lane.getResult(), lane.getAxis().getAxis() == grid.innerAxis
                                        ? reductionPlace.innerLane
                                        : reductionPlace.outerLane);
    } else if (auto barrier = dyn_cast<BarrierOp>(op)) {
      if (barrier.getWarp())
        NVVM::SyncWarpOp::create(
            b, arith::ConstantOp::create(b, b.getI32IntegerAttr(-1)));
      else
        gpu::BarrierOp::create(b);
    } else if (auto scratch = dyn_cast<ScratchOp>(op)) {
      mapping.map(scratch.getResult(),
                  view(cast<MemRefType>(scratch.getType()), plan.offsets[op]));
    } else if (auto reduce = dyn_cast<LaneReduceOp>(op)) {
      mapping.map(reduce.getResult(),
                  reductions->map(b, reduce, mapping.lookup(reduce.getValue()),
                                  reductionPlace));
    } else if (auto shift = dyn_cast<LaneShiftOp>(op)) {
      Value x = mapping.lookup(shift.getValue());
      Value distance = arith::ConstantOp::create(
          b, b.getI32IntegerAttr(shift.getDistance()));
      Value warp = arith::ConstantOp::create(b, b.getI32IntegerAttr(kWarp));
      mapping.map(
          shift.getResult(),
          gpu::ShuffleOp::create(b, x, distance, warp, gpu::ShuffleMode::DOWN)
              .getShuffleResult());
    } else if (mapWarpOp(op, b, mapping)) {
      // tensor cores, packed codes and copies: WarpOps.cpp
    } else if (auto call = dyn_cast<CallOp>(op)) {
      SmallVector<Value> inputs;
      for (Value input : call.getInputs())
        inputs.push_back(mapping.lookup(input));
      func::CallOp::create(b, call.getCallee(), TypeRange(), inputs);
    } else if (isa<ReturnOp>(op)) {
      if (called)
        func::ReturnOp::create(b);
      else
        gpu::ReturnOp::create(b);
    } else {
      return false;
    }
    return true;
  }

  Value view(MemRefType type, int64_t offset) {
    return memref::ViewOp::create(b, type, shared, index(offset), ValueRange{});
  }

  llvm::StringMap<int64_t> &calledBytes;
  bool called;
  LaneGrid grid;
  SharedPlan plan;
  std::optional<LaneReductions> reductions;
  LaneReductions::Place reductionPlace;
  Value shared;
};

struct MapToGPUPass : public decant::impl::MapToGPUBase<MapToGPUPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ImplicitLocOpBuilder b(module.getLoc(), &getContext());
    b.setInsertionPointToStart(module.getBody());
    auto kernels = gpu::GPUModuleOp::create(b, "kernels");
    llvm::StringMap<int64_t> calledBytes; // callees come first
    for (KernelOp kernel :
         llvm::make_early_inc_range(module.getOps<KernelOp>())) {
      b.setInsertionPointToEnd(kernels.getBody());
      if (failed(GpuMapper(kernel, b, calledBytes).run()))
        return signalPassFailure();
      kernel.erase();
    }
  }
};

} // namespace
