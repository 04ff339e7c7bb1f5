//===- LaneSegments.cpp - loops over lanes, values between them -----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneSegments.h"

using namespace mlir;
using namespace decant;

bool LaneSegments::mapDecantOp(Operation *op) {
  if (auto id = dyn_cast<LaneOp>(op)) {
    mapping.map(id.getResult(), laneAlong(id.getAxis().getAxis()));
    return true;
  }
  return CpuMapper::mapDecantOp(op) || mapLaneOp(op, b, mapping);
}

/// Thread t is key lane t mod key lanes and value lane t / key lanes.
Value LaneSegments::laneAlong(VectorAxis axis) {
  const bool key = axis == VectorAxis::Key;
  if ((key ? lanes.key : lanes.value) == 1)
    return index(0);
  if ((key ? lanes.value : lanes.key) == 1)
    return lane;
  Value count = index(lanes.key);
  return key ? arith::RemUIOp::create(b, lane, count).getResult()
             : arith::DivUIOp::create(b, lane, count).getResult();
}

void LaneSegments::append(Operation *op) {
  segment.insert(op);
  segmentWrites |= LaneUniformity::writes(op);
}

void LaneSegments::flush(Operation *consumer, Consumer consume) {
  if (segment.empty() && !consumer)
    return;
  auto loop = scf::ForOp::create(b, index(0), index(lanes.all()), index(1));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    lane = loop.getInductionVar();
    for (Operation *op : segment) {
      for (Value value : LaneUniformity::usedBy(op))
        resolve(value);
      mapOp(op);
      for (Value result : op->getResults()) {
        local.push_back(result);
        if (!escapes(result, consumer))
          continue;
        Value buffer = takeFor(result, perLane(result.getType()), op);
        memref::StoreOp::create(b, mapping.lookup(result), buffer, lane);
        loadFrom(result, buffer);
      }
    }
    if (consumer)
      consume();
  }
  for (Value value : local)
    mapping.erase(value);
  Operation *last = segment.empty() ? nullptr : segment.back();
  local.clear();
  segment.clear();
  segmentWrites = false;
  if (last)
    release(last);
}

Value LaneSegments::resolve(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (op && uniformity.isRebuilt(op)) {
    for (Value operand : op->getOperands())
      resolve(operand);
    mapOp(op);
  } else if (auto found = loads.find(value); found != loads.end()) {
    mapping.map(value, found->second());
  } else {
    auto loop = cast<scf::ForOp>(value.getParentBlock()->getParentOp());
    Value base = resolve(uniformity.boundsOf(loop)->base);
    mapping.map(value, arith::AddIOp::create(b, base, rounds.lookup(value)));
  }
  local.push_back(value);
  return mapping.lookup(value);
}

/// Calls `use` with every op that needs `value`, by way of rebuilt ops too.
void LaneSegments::forUsers(Value value,
                            llvm::function_ref<void(Operation *)> use) {
  for (Operation *user : value.getUsers()) {
    if (uniformity.isRebuilt(user))
      forUsers(user->getResult(0), use);
    else
      use(user);
  }
  // Each round of these adds the value to its number.
  for (scf::ForOp loop : uniformity.loopsFrom(value))
    use(loop.getBody()->getTerminator());
}

bool LaneSegments::escapes(Value value, Operation *consumer) {
  bool found = false;
  forUsers(value, [&](Operation *user) {
    Operation *at = value.getParentBlock()->findAncestorOpInBlock(*user);
    found |= user != consumer && !segment.contains(at);
  });
  return found;
}

Value LaneSegments::takeFor(Value value, MemRefType type, Operation *atLeast) {
  Block *block = value.getParentBlock();
  Operation *last = atLeast;
  forUsers(value, [&](Operation *user) {
    Operation *at = block->findAncestorOpInBlock(*user);
    if (last->isBeforeInBlock(at))
      last = at;
  });
  Value buffer = buffers->take(type);
  held[block].push_back({last, buffer});
  return buffer;
}

void LaneSegments::loadFrom(Value value, Value buffer) {
  loads[value] = [this, buffer]() -> Value {
    return memref::LoadOp::create(b, buffer, lane);
  };
}

void LaneSegments::release(Operation *op) {
  llvm::erase_if(held[op->getBlock()], [&](const Held &entry) {
    if (op->isBeforeInBlock(entry.last))
      return false;
    buffers->giveBack(entry.buffer);
    return true;
  });
}

void LaneSegments::releaseAll(Block *block) {
  for (const Held &entry : held[block])
    buffers->giveBack(entry.buffer);
  held.erase(block);
}
