//===- LaneUniformity.cpp - which ops run once for all lanes --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneUniformity.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace decant;

namespace {

bool anyEffect(Operation *op,
               llvm::function_ref<bool(MemoryEffects::Effect *)> is) {
  auto effects = getEffectsRecursively(op);
  return !effects || llvm::any_of(*effects, [&](const auto &effect) {
    return is(effect.getEffect());
  });
}

} // namespace

bool LaneUniformity::reads(Operation *op) {
  return anyEffect(
      op, [](auto *effect) { return isa<MemoryEffects::Read>(effect); });
}

bool LaneUniformity::writes(Operation *op) {
  return anyEffect(
      op, [](auto *effect) { return !isa<MemoryEffects::Read>(effect); });
}

llvm::SetVector<Value> LaneUniformity::usedBy(Operation *op) {
  llvm::SetVector<Value> values(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
  return values;
}

const LaneBounds *LaneUniformity::boundsOf(scf::ForOp loop) const {
  auto found = bounds.find(loop);
  return found == bounds.end() ? nullptr : &found->second;
}

ArrayRef<scf::ForOp> LaneUniformity::loopsFrom(Value base) const {
  auto found = loopsByBase.find(base);
  return found == loopsByBase.end() ? ArrayRef<scf::ForOp>() : found->second;
}

LogicalResult LaneUniformity::run() {
  if (failed(findCollectives()))
    return failure();
  do {
    changed = false;
    visit(kernel.getBody().front());
  } while (changed);
  return finish(kernel.getBody().front());
}

LogicalResult LaneUniformity::findCollectives() {
  auto result = kernel.walk([&](Operation *op) {
    if (!isa<BarrierOp, LaneReduceOp, LaneShiftOp, MmaOp, TransposeOp>(op))
      return WalkResult::advance();
    if (isa<LaneShiftOp, MmaOp, TransposeOp>(op) && lanes.all() % 32 != 0) {
      op->emitError("needs whole warps of 32 lanes; the block has ")
          << lanes.all() << " lanes";
      return WalkResult::interrupt();
    }
    for (Operation *at = op; at != kernel; at = at->getParentOp()) {
      if (at != op && !isa<scf::ForOp, scf::IfOp>(at)) {
        at->emitError("is around a collective op; only scf.for and scf.if may "
                      "be");
        return WalkResult::interrupt();
      }
      collective.insert(at);
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

void LaneUniformity::visit(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (!isCollective(&op))
      visitOrdinary(&op);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      visitLoop(loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      visitBranch(branch);
    else
      llvm::for_each(op.getResults(), [&](Value result) { mark(result); });
  }
}

void LaneUniformity::visitLoop(scf::ForOp loop) {
  if (isVarying(loop.getLowerBound()) || isVarying(loop.getUpperBound()))
    mark(loop.getInductionVar());
  for (auto [init, argument, yielded, result] :
       llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(),
                 loop.getYieldedValues(), loop.getResults()))
    if (isVarying(init) || isVarying(yielded)) {
      mark(argument);
      mark(result);
    }
  visit(*loop.getBody());
}

void LaneUniformity::visitBranch(scf::IfOp branch) {
  for (mlir::Region &region : branch->getRegions()) {
    if (region.empty())
      continue;
    visit(region.front());
    Operation *yield = region.front().getTerminator();
    for (auto [yielded, result] :
         llvm::zip(yield->getOperands(), branch.getResults()))
      if (isVarying(yielded))
        mark(result);
  }
}

void LaneUniformity::visitOrdinary(Operation *op) {
  // All lanes write the same number to the same place: each may, as on a GPU.
  // So a write stays in order with the lane's own reads.
  bool varies = !isa<ScratchOp>(op) && writes(op);
  op->walk([&](LaneOp lane) {
    const bool key = lane.getAxis().getAxis() == VectorAxis::Key;
    varies |= (key ? lanes.key : lanes.value) > 1;
  });
  varies |= llvm::any_of(usedBy(op), [&](Value v) { return isVarying(v); });
  if (!varies)
    return;
  changed |= perLane.insert(op).second;
  llvm::for_each(op->getResults(), [&](Value result) { mark(result); });
}

/// Whether a varying value can be computed again rather than be kept.
bool LaneUniformity::isCheap(Value value) const {
  if (!isVarying(value))
    return true;
  if (Operation *op = value.getDefiningOp())
    return isRebuilt(op) && value.getType().isIndex();
  auto loop = dyn_cast<scf::ForOp>(value.getParentBlock()->getParentOp());
  if (!loop || value != loop.getInductionVar())
    return false;
  const LaneBounds *found = boundsOf(loop);
  return found && isCheap(found->base);
}

LaneBounds LaneUniformity::splitBounds(scf::ForOp loop) const {
  LaneBounds split;
  auto baseOf = [&](Value value, SmallVector<Value> &sum) {
    while (auto add = value.getDefiningOp<arith::AddIOp>()) {
      Value lhs = add.getLhs(), rhs = add.getRhs();
      if (isVarying(lhs) == isVarying(rhs))
        break;
      sum.push_back(isVarying(lhs) ? rhs : lhs);
      value = isVarying(lhs) ? lhs : rhs;
    }
    return value;
  };
  split.base = baseOf(loop.getLowerBound(), split.lower);
  if (split.base != baseOf(loop.getUpperBound(), split.upper))
    split.base = {};
  return split;
}

LogicalResult LaneUniformity::finishLoop(scf::ForOp loop) {
  if (isVarying(loop.getInductionVar())) {
    LaneBounds split = splitBounds(loop);
    if (!split.base)
      return loop.emitError("the number of rounds of a loop around a "
                            "collective op depends on the lane");
    bounds[loop] = split;
    loopsByBase[split.base].push_back(loop);
  }
  if (isVarying(loop.getStep()))
    return loop.emitError("the step of a loop around a collective op depends "
                          "on the lane");
  return finish(*loop.getBody());
}

LogicalResult LaneUniformity::finish(Block &block) {
  for (Operation &op : block.without_terminator()) {
    const bool repeatable = isPerLane(&op) && op.getNumRegions() == 0 &&
                            op.getNumResults() == 1 && isPure(&op);
    const bool isView =
        op.getNumResults() == 1 && isa<MemRefType>(op.getResult(0).getType());
    if (repeatable && (isView || (op.getResult(0).getType().isIndex() &&
                                  llvm::all_of(op.getOperands(), [&](Value v) {
                                    return isCheap(v);
                                  }))))
      rebuilt.insert(&op);
    else if (llvm::any_of(op.getResults(), [&](Value v) {
               return isVarying(v) && isa<MemRefType>(v.getType());
             }))
      return op.emitError("a view that depends on the lane must be made by an "
                          "op without regions and effects");
    if (!isCollective(&op))
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      if (failed(finishLoop(loop)))
        return failure();
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (isVarying(branch.getCondition()))
        return branch.emitError("the condition of a branch around a collective "
                                "op depends on the lane");
      for (mlir::Region &region : branch->getRegions())
        if (!region.empty() && failed(finish(region.front())))
          return failure();
    }
  }
  return success();
}
