//===- FoldFunction.cpp - one fold for a step and for commit --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FoldFunction.h"

#include "Conversion/ApproximateMath.h"
#include "MmaHead.h"

using namespace mlir;
using namespace decant;

static constexpr const char *kFoldName = "fold";

/// By what a plan gives each of them.
static bool headsDiffer(const SlotLayout &layout) {
  return !layout.rowBits.empty() || !layout.tables.weights.empty();
}

static void makeFold(LaneTile &tile, KernelOp kernel, TargetKind target,
                     Type pool) {
  ImplicitLocOpBuilder &b = tile.b;
  const Schedule &schedule = tile.schedule;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(tile.keyLane.getDefiningOp()->getParentOp());
  SmallVector<StringRef> names = {"state", "offset"};
  SmallVector<Type> types = {pool, b.getI64Type()};
  if (headsDiffer(tile.layout)) {
    names.push_back("head");
    types.push_back(b.getI64Type());
  }
  auto function = KernelOp::create(
      b, kFoldName, b.getStrArrayAttr(names), HeadsAttr(), InputsAttr(),
      FormatAttr(), *kernel.getTarget(), LayoutAttr(), ScheduleAttr(),
      b.getDenseI64ArrayAttr({schedule.keyLanes, schedule.valueLanes}),
      schedule.lanes == LaneOrder::ValueFirst);
  function.setCalled(true);
  Block *body = b.createBlock(&function.getBody(), {}, types,
                              SmallVector<Location>(types.size(), b.getLoc()));
  LaneTile lane(b, tile.layout, schedule, target);
  auto indexOf = [&](int argument) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(),
                                      body->getArgument(argument));
  };
  Value offset = indexOf(1);
  if (types.size() > 2)
    lane.head = indexOf(2);
  const StoredHead stored(lane, body->getArgument(0), offset);
  MmaHead fold(lane, stored, allocateShared(lane),
               {/*vectors=*/0, /*folds=*/true});
  fold.load();
  fold.fold({});
  ReturnOp::create(b, ValueRange{});
  allowApproximations(function);
}

void decant::callFold(LaneTile &tile, KernelOp kernel, TargetKind target,
                      const StoredHead &head) {
  if (!SymbolTable::lookupSymbolIn(kernel->getParentOp(), kFoldName))
    makeFold(tile, kernel, target, head.pool.getType());
  SmallVector<Value> arguments = {head.pool};
  auto pass = [&](Value place) {
    arguments.push_back(
        arith::IndexCastOp::create(tile.b, tile.b.getI64Type(), place));
  };
  pass(head.offset);
  if (headsDiffer(tile.layout)) // which one it is
    pass(tile.head);
  CallOp::create(tile.b, kFoldName, arguments);
}
