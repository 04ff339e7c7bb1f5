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
//      t mod keyLanes, so key lanes share a warp and sums along keys are
//      shuffles; sums along values also cross warps, through shared memory.
//
//===----------------------------------------------------------------------===//

#include "KernelMapper.h"
#include "WarpOps.h"
#include "decant/Compiler/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace decant {
#define GEN_PASS_DEF_MAPTOGPU
#include "decant/Compiler/Passes.h.inc"
} // namespace decant

using namespace mlir;
using namespace decant;

namespace {

constexpr int64_t kWarp = 32;
constexpr int64_t kSharedAlign = 16;

/// Where a kernel's shared memory goes: scratch arrays one after another, then
/// one area that all reductions across warps use in turn.
struct SharedPlan {
  llvm::DenseMap<Operation *, int64_t> offsets;
  int64_t reduceOffset = 0;
  int64_t bytes = 0;
};

struct Lanes {
  int64_t key, value;
  int64_t threads() const { return key * value; }
  /// Value lanes of a warp that can be summed by shuffles: all of them when
  /// every warp is full of them, else just one.
  int64_t perWarp() const {
    const int64_t fit = kWarp / key;
    return value % fit == 0 ? fit : 1;
  }
  /// Partial sums per key lane that are left after the shuffles.
  int64_t groups() const { return value / perWarp(); }
};

int64_t widthOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getDimSize(0) : 1;
}

SharedPlan planShared(KernelOp kernel, Lanes lanes) {
  SharedPlan plan;
  int64_t reduceFloats = 0;
  kernel.walk([&](Operation *op) {
    if (auto scratch = dyn_cast<ScratchOp>(op)) {
      plan.offsets[op] = plan.bytes;
      auto type = cast<MemRefType>(scratch.getType());
      plan.bytes += llvm::alignTo(type.getNumElements() *
                                      type.getElementTypeBitWidth() / 8,
                                  kSharedAlign);
    } else if (auto reduce = dyn_cast<LaneReduceOp>(op)) {
      if (reduce.getAxis().getAxis() == VectorAxis::Value && lanes.groups() > 1)
        reduceFloats = std::max(reduceFloats, widthOf(reduce.getType()) *
                                                  lanes.groups() * lanes.key);
    }
  });
  plan.reduceOffset = plan.bytes;
  plan.bytes += reduceFloats * 4;
  return plan;
}

class GpuMapper : public KernelMapper {
public:
  using KernelMapper::KernelMapper;

  LogicalResult run() {
    auto laneCounts = source.getLanes();
    if (!laneCounts || laneCounts->size() != 2)
      return source.emitError("has no lanes; decant-tile-kernel comes before "
                              "decant-map-to-gpu");
    lanes = {(*laneCounts)[0], (*laneCounts)[1]};
    plan = planShared(source, lanes);
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
    mapBody();
    return success();
  }

private:
  void createFunction() {
    Block &body = source.getBody().front();
    auto type = b.getFunctionType(TypeRange(body.getArgumentTypes()), {});
    auto function = gpu::GPUFuncOp::create(b, source.getSymName(), type);
    function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                      b.getUnitAttr());
    function.setKnownBlockSizeAttr(
        b.getDenseI32ArrayAttr({int32_t(lanes.threads()), 1, 1}));
    function->setAttr("dynamic_shared_bytes", b.getI64IntegerAttr(plan.bytes));
    if (Attribute blocks = source->getAttr("blocks_per_sm"))
      function->setAttr("blocks_per_sm", blocks);
    mapping.map(body.getArguments(), function.getArguments());
    b.setInsertionPointToStart(&function.getBody().front());

    Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
    Value count = index(lanes.key);
    laneIds[0] = arith::RemUIOp::create(b, thread, count);
    laneIds[1] = arith::DivUIOp::create(b, thread, count);
    if (plan.bytes == 0)
      return;
    auto space = gpu::AddressSpaceAttr::get(b.getContext(),
                                            gpu::AddressSpace::Workgroup);
    shared = gpu::DynamicSharedMemoryOp::create(
        b, MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                           MemRefLayoutAttrInterface(), space));
  }

  bool mapDecantOp(Operation *op) override {
    if (auto block = dyn_cast<BlockOp>(op)) {
      Value id = gpu::BlockIdOp::create(b, gpu::Dimension::x);
      Value heads = index(block.getHeads());
      mapping.map(block.getRow(), arith::DivUIOp::create(b, id, heads));
      mapping.map(block.getHead(), arith::RemUIOp::create(b, id, heads));
    } else if (auto lane = dyn_cast<LaneOp>(op)) {
      mapping.map(lane.getResult(), laneIds[int(lane.getAxis().getAxis())]);
    } else if (auto lane = dyn_cast<FreshLaneOp>(op)) {
      mapping.map(lane.getResult(), freshLane(lane.getAxis().getAxis()));
    } else if (isa<BarrierOp>(op)) {
      gpu::BarrierOp::create(b);
    } else if (auto scratch = dyn_cast<ScratchOp>(op)) {
      mapping.map(scratch.getResult(),
                  view(cast<MemRefType>(scratch.getType()), plan.offsets[op]));
    } else if (auto reduce = dyn_cast<LaneReduceOp>(op)) {
      mapping.map(reduce.getResult(), mapReduce(reduce));
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
    } else if (isa<ReturnOp>(op)) {
      gpu::ReturnOp::create(b);
    } else {
      return false;
    }
    return true;
  }

  /// A read of the register that no pass may merge with another.
  Value freshLane(VectorAxis axis) {
    auto assembly = LLVM::InlineAsmOp::create(
        b, b.getI32Type(), ValueRange{}, "mov.u32 $0, %tid.x;", "=r",
        /*has_side_effects=*/true, /*is_align_stack=*/false,
        LLVM::tailcallkind::TailCallKind::None,
        LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
        ArrayAttr());
    Value thread =
        arith::IndexCastUIOp::create(b, b.getIndexType(), assembly.getRes());
    Value count = index(lanes.key);
    return axis == VectorAxis::Key
               ? arith::RemUIOp::create(b, thread, count).getResult()
               : arith::DivUIOp::create(b, thread, count).getResult();
  }

  Value view(MemRefType type, int64_t offset) {
    return memref::ViewOp::create(b, type, shared, index(offset), ValueRange{});
  }

  Value combine(ReduceKind kind, Value x, Value y) {
    if (kind == ReduceKind::Add)
      return arith::AddFOp::create(b, x, y);
    return arith::MaxNumFOp::create(b, x, y);
  }

  /// One instruction: the bits of floats that are not negative are ordered as
  /// they are.
  Value largestOfWarp(Value x) {
    Value bits = arith::BitcastOp::create(b, b.getI32Type(), x);
    Value all = arith::ConstantOp::create(b, b.getI32IntegerAttr(-1));
    Value most = NVVM::ReduxOp::create(b, b.getI32Type(), bits,
                                       NVVM::ReduxKind::UMAX, all);
    return arith::BitcastOp::create(b, b.getF32Type(), most);
  }

  SmallVector<Value> elementsOf(Value value) {
    if (!isa<VectorType>(value.getType()))
      return {value};
    SmallVector<Value> elements;
    for (int64_t i = 0; i < widthOf(value.getType()); ++i)
      elements.push_back(vector::ExtractOp::create(b, value, i));
    return elements;
  }

  Value mapReduce(LaneReduceOp reduce) {
    const ReduceKind kind = reduce.getKind();
    SmallVector<Value> elements = elementsOf(mapping.lookup(reduce.getValue()));
    if (kind == ReduceKind::Magnitude)
      for (Value &element : elements)
        element = math::AbsFOp::create(b, element);
    const bool overWarp = reduce.getAxis().getAxis() == VectorAxis::Key &&
                          !reduce.getFrom() && lanes.key == kWarp;
    if (kind == ReduceKind::Magnitude && overWarp) {
      for (Value &element : elements)
        element = largestOfWarp(element);
    } else if (reduce.getAxis().getAxis() == VectorAxis::Key) {
      shuffle(kind, elements, reduce.getFrom().value_or(1),
              reduce.getUntil().value_or(lanes.key));
    } else {
      shuffle(kind, elements, lanes.key, lanes.key * lanes.perWarp());
      if (lanes.groups() > 1)
        crossWarps(kind, elements);
    }
    if (auto type = dyn_cast<VectorType>(reduce.getType()))
      return vector::FromElementsOp::create(b, type, elements);
    return elements[0];
  }

  /// Butterfly over lane distances first, 2 first, ... below `end`: every lane
  /// adds the same pairs, so all get the same bits.
  void shuffle(ReduceKind kind, MutableArrayRef<Value> elements, int64_t first,
               int64_t end) {
    for (int64_t distance = first; distance < end; distance *= 2)
      for (Value &element : elements) {
        auto other = gpu::ShuffleOp::create(b, element, distance, kWarp,
                                            gpu::ShuffleMode::XOR);
        element = combine(kind, element, other.getShuffleResult());
      }
  }

  /// A tree over the groups, which goes on where the shuffles stopped.
  Value tree(ReduceKind kind, llvm::function_ref<Value(int64_t)> load) {
    SmallVector<Value> sums;
    for (int64_t from = 0; from < lanes.groups(); ++from)
      sums.push_back(load(from));
    for (; sums.size() > 1; sums.resize(sums.size() / 2))
      for (size_t pair = 0; pair < sums.size() / 2; ++pair)
        sums[pair] = combine(kind, sums[2 * pair], sums[2 * pair + 1]);
    return sums[0];
  }

  /// Any other number of groups has no tree that all targets share, and can be
  /// large: one after the other.
  void addGroups(ReduceKind kind, SmallVector<Value> &elements,
                 llvm::function_ref<Value(Value, int64_t)> load) {
    SmallVector<Value> initial;
    for (size_t i = 0; i < elements.size(); ++i)
      initial.push_back(load(index(0), i));
    auto loop = scf::ForOp::create(b, index(1), index(lanes.groups()), index(1),
                                   initial);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> sums;
    for (size_t i = 0; i < elements.size(); ++i)
      sums.push_back(combine(kind, loop.getRegionIterArg(i),
                             load(loop.getInductionVar(), i)));
    scf::YieldOp::create(b, sums);
    elements.assign(loop.getResults().begin(), loop.getResults().end());
  }

  /// Each group's first lanes leave their sums, every lane adds all groups'.
  void crossWarps(ReduceKind kind, SmallVector<Value> &elements) {
    const int64_t width = elements.size();
    auto space = gpu::AddressSpaceAttr::get(b.getContext(),
                                            gpu::AddressSpace::Workgroup);
    Value area =
        view(MemRefType::get({lanes.groups(), width, lanes.key}, b.getF32Type(),
                             MemRefLayoutAttrInterface(), space),
             plan.reduceOffset);
    Value perWarp = index(lanes.perWarp());
    Value group = arith::DivUIOp::create(b, laneIds[1], perWarp);
    Value isFirst = arith::CmpIOp::create(
        b, arith::CmpIPredicate::eq,
        arith::RemUIOp::create(b, laneIds[1], perWarp), index(0));
    auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&branch.getThenRegion().front());
      for (auto [i, element] : llvm::enumerate(elements))
        memref::StoreOp::create(b, element, area,
                                ValueRange{group, index(i), laneIds[0]});
    }
    gpu::BarrierOp::create(b);
    auto load = [&](Value from, int64_t i) -> Value {
      return memref::LoadOp::create(b, area,
                                    ValueRange{from, index(i), laneIds[0]});
    };
    if (llvm::isPowerOf2_64(lanes.groups())) {
      for (int64_t i = 0; i < width; ++i)
        elements[i] =
            tree(kind, [&](int64_t from) { return load(index(from), i); });
    } else {
      addGroups(kind, elements, load);
    }
    // The area may be written again.
    gpu::BarrierOp::create(b);
  }

  Lanes lanes = {1, 1};
  SharedPlan plan;
  Value shared;
  Value laneIds[2]; // by axis
};

struct MapToGPUPass : public decant::impl::MapToGPUBase<MapToGPUPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    ImplicitLocOpBuilder b(module.getLoc(), &getContext());
    b.setInsertionPointToStart(module.getBody());
    auto kernels = gpu::GPUModuleOp::create(b, "kernels");
    for (KernelOp kernel :
         llvm::make_early_inc_range(module.getOps<KernelOp>())) {
      b.setInsertionPointToEnd(kernels.getBody());
      if (failed(GpuMapper(kernel, b).run()))
        return signalPassFailure();
      kernel.erase();
    }
  }
};

} // namespace
