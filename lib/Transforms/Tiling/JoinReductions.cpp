//===- JoinReductions.cpp - fewer waits for other lanes -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JoinReductions.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace decant;

namespace {

/// Adds to `moved`, in an order that respects their operands, the ops behind
/// `first` that compute `value`; false when one cannot be moved before it.
bool collectProducers(Value value, Operation *first,
                      SetVector<Operation *> &moved) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != first->getBlock() ||
      op->isBeforeInBlock(first) || moved.contains(op))
    return true;
  if (op == first || op->getNumRegions() > 0 || !isPure(op))
    return false;
  for (Value operand : op->getOperands())
    if (!collectProducers(operand, first, moved))
      return false;
  moved.insert(op);
  return true;
}

SmallVector<Value> elementsOf(ImplicitLocOpBuilder &b, Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return {value};
  SmallVector<Value> elements;
  for (int64_t i = 0; i < type.getDimSize(0); ++i)
    elements.push_back(vector::ExtractOp::create(b, value, i));
  return elements;
}

/// The operands of all of `group` are computed before its first op.
void join(ArrayRef<LaneReduceOp> group) {
  LaneReduceOp first = group.front();
  ImplicitLocOpBuilder b(first.getLoc(), first);
  SmallVector<Value> elements;
  for (LaneReduceOp reduce : group)
    elements.append(elementsOf(b, reduce.getValue()));
  auto type = VectorType::get({int64_t(elements.size())}, b.getF32Type());
  Value joined = LaneReduceOp::create(
      b, type, first.getKind(),
      vector::FromElementsOp::create(b, type, elements), first.getAxis());
  SmallVector<Value> results = elementsOf(b, joined);
  ArrayRef<Value> left = results;
  for (LaneReduceOp reduce : group) {
    Value result = left.front();
    size_t width = 1;
    if (auto vector = dyn_cast<VectorType>(reduce.getType())) {
      width = vector.getDimSize(0);
      result =
          vector::FromElementsOp::create(b, vector, left.take_front(width));
    }
    left = left.drop_front(width);
    reduce.getResult().replaceAllUsesWith(result);
  }
  for (LaneReduceOp reduce : group)
    reduce.erase();
}

void joinInBlock(Block &block, VectorAxis axis) {
  SmallVector<LaneReduceOp> pending;
  for (auto reduce : block.getOps<LaneReduceOp>())
    if (reduce.getAxis().getAxis() == axis && !reduce.getFrom())
      pending.push_back(reduce);
  while (!pending.empty()) {
    LaneReduceOp first = pending.front();
    SmallVector<LaneReduceOp> group = {first}, later;
    for (LaneReduceOp reduce : llvm::drop_begin(pending)) {
      SetVector<Operation *> moved;
      if (reduce.getKind() != first.getKind() ||
          !collectProducers(reduce.getValue(), first, moved)) {
        later.push_back(reduce);
        continue;
      }
      for (Operation *op : moved)
        op->moveBefore(first);
      group.push_back(reduce);
    }
    if (group.size() > 1)
      join(group);
    pending = later;
  }
}

} // namespace

void decant::joinReductions(KernelOp kernel, VectorAxis axis) {
  SmallVector<Block *> blocks;
  kernel.walk([&](Block *block) { blocks.push_back(block); });
  for (Block *block : blocks)
    joinInBlock(*block, axis);
}
