//===- LaneLoops.cpp - the lanes of a block in lock step ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneLoops.h"

#include "LaneSegments.h"

using namespace mlir;
using namespace decant;

namespace {

constexpr int64_t kWarp = 32;

class LaneMapper : public LaneSegments {
public:
  LaneMapper(KernelOp source, LaneCounts lanes, ImplicitLocOpBuilder &builder)
      : LaneSegments(source, lanes, builder) {}

  LogicalResult run() {
    if (failed(uniformity.run()))
      return failure();
    buffers.emplace(b, createFunction());
    emitBlock(source.getBody().front());
    flush();
    buffers->finish();
    return success();
  }

private:
  void emitBlock(Block &block) {
    for (Operation &op : block.without_terminator()) {
      if (uniformity.isCollective(&op)) {
        emitCollective(&op);
        release(&op);
      } else if (uniformity.isRebuilt(&op)) {
        continue; // where it is used
      } else if (uniformity.isPerLane(&op)) {
        append(&op);
      } else {
        // Once for all lanes; but what they have to write comes first.
        if (segmentWrites && LaneUniformity::reads(&op))
          flush();
        mapOp(&op);
      }
    }
  }

  void emitCollective(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      emitLoop(loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      emitBranch(branch);
    else if (auto reduce = dyn_cast<LaneReduceOp>(op))
      emitReduce(reduce);
    else if (auto shift = dyn_cast<LaneShiftOp>(op))
      emitShift(shift);
    else if (auto mma = dyn_cast<MmaOp>(op))
      emitMma(mma);
    else if (auto transpose = dyn_cast<TransposeOp>(op))
      emitTranspose(transpose);
    else
      flush(); // all a barrier asks for
  }

  void emitReduce(LaneReduceOp reduce) {
    Value values =
        takeFor(reduce.getResult(), perLane(reduce.getType()), reduce);
    flush(reduce, [&] {
      memref::StoreOp::create(b, resolve(reduce.getValue()), values, lane);
    });
    reduceLanes(reduce, lanes, values, b);
    loads[reduce.getResult()] = [this, reduce, values]() -> Value {
      return memref::LoadOp::create(b, values,
                                    reducedAt(reduce, lanes, lane, b));
    };
  }

  void emitShift(LaneShiftOp shift) {
    Value values = takeFor(shift.getResult(), perLane(shift.getType()), shift);
    flush(shift, [&] {
      memref::StoreOp::create(b, resolve(shift.getValue()), values, lane);
    });
    const int64_t distance = shift.getDistance();
    loads[shift.getResult()] = [this, distance, values]() -> Value {
      return memref::LoadOp::create(b, values, shiftedLane(lane, distance, b));
    };
  }

  MemRefType perWarp(int64_t rows, int64_t columns, Type type) {
    return MemRefType::get({lanes.all() / kWarp, rows, columns}, type);
  }

  void emitMma(MmaOp mma) {
    const MmaMemory memory = {
        buffers->take(perWarp(16, 16, b.getF32Type())),
        buffers->take(perWarp(16, 8, b.getF32Type())),
        takeFor(mma.getResult(), perWarp(16, 8, b.getF32Type()), mma)};
    flush(mma, [&] {
      Value x = resolve(mma.getA()), y = resolve(mma.getB());
      storeMmaOperands(memory, x, y, resolve(mma.getAcc()), lane, b);
    });
    multiplyTiles(memory, mma.getTerms(), b);
    buffers->giveBack(memory.a);
    buffers->giveBack(memory.b);
    loads[mma.getResult()] = [this, acc = memory.acc] {
      return loadMmaResult(acc, lane, b);
    };
  }

  void emitTranspose(TransposeOp transpose) {
    Value matrix = takeFor(transpose.getResult(), perWarp(8, 8, b.getI16Type()),
                           transpose);
    flush(transpose, [&] {
      storeForTranspose(matrix, resolve(transpose.getValue()), lane, b);
    });
    const Type type = transpose.getType();
    loads[transpose.getResult()] = [this, matrix, type] {
      return loadTransposed(matrix, type, lane, b);
    };
  }

  /// Results that differ between lanes get a buffer, which `yields` fill.
  SmallVector<Value> takeResults(Operation *op) {
    SmallVector<Value> places;
    for (Value result : op->getResults()) {
      places.push_back({});
      if (!uniformity.isVarying(result))
        continue;
      places.back() = takeFor(result, perLane(result.getType()), op);
      loadFrom(result, places.back());
    }
    return places;
  }

  /// Ends a segment with each lane's `values` in `places`. All are loaded
  /// before the first is stored: a loop may swap what it carries.
  void flushInto(Operation *consumer, ValueRange values,
                 ArrayRef<Value> places) {
    if (llvm::none_of(places, [](Value place) { return bool(place); }))
      return flush();
    flush(consumer, [&] {
      SmallVector<Value> resolved;
      for (auto [value, place] : llvm::zip(values, places))
        resolved.push_back(place ? resolve(value) : Value());
      for (auto [value, place] : llvm::zip(resolved, places))
        if (place)
          memref::StoreOp::create(b, value, place, lane);
    });
  }

  /// Emits the body of a collective op up to its yield; returns what is yielded
  /// without a buffer.
  SmallVector<Value> emitBody(Block &block, ArrayRef<Value> places) {
    emitBlock(block);
    Operation *yield = block.getTerminator();
    flushInto(yield, yield->getOperands(), places);
    releaseAll(&block);
    SmallVector<Value> uniform;
    for (auto [value, place] : llvm::zip(yield->getOperands(), places))
      if (!place)
        uniform.push_back(mapping.lookup(value));
    return uniform;
  }

  void mapUniform(ValueRange from, ValueRange to, ArrayRef<Value> places) {
    size_t next = 0;
    for (auto [value, place] : llvm::zip(from, places))
      if (!place)
        mapping.map(value, to[next++]);
  }

  Value sum(ArrayRef<Value> values) {
    Value total = index(0);
    for (Value value : values)
      total = arith::AddIOp::create(b, total, mapping.lookup(value));
    return total;
  }

  void emitLoop(scf::ForOp loop) {
    const SmallVector<Value> places = takeResults(loop);
    flushInto(loop, loop.getInitArgs(), places);
    SmallVector<Value> inits;
    for (auto [init, argument, place] :
         llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), places)) {
      if (place)
        loadFrom(argument, place);
      else
        inits.push_back(mapping.lookup(init));
    }
    const LaneBounds *bounds = uniformity.boundsOf(loop);
    Value lower =
        bounds ? sum(bounds->lower) : mapping.lookup(loop.getLowerBound());
    Value upper =
        bounds ? sum(bounds->upper) : mapping.lookup(loop.getUpperBound());
    auto copy = scf::ForOp::create(b, lower, upper,
                                   mapping.lookup(loop.getStep()), inits);
    if (bounds)
      rounds[loop.getInductionVar()] = copy.getInductionVar();
    else
      mapping.map(loop.getInductionVar(), copy.getInductionVar());
    mapUniform(loop.getRegionIterArgs(), copy.getRegionIterArgs(), places);
    mapUniform(loop.getResults(), copy.getResults(), places);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(copy.getBody());
    SmallVector<Value> yielded = emitBody(*loop.getBody(), places);
    if (!inits.empty()) // else it already has its terminator
      scf::YieldOp::create(b, yielded);
  }

  void emitBranch(scf::IfOp branch) {
    flush();
    const SmallVector<Value> places = takeResults(branch);
    SmallVector<Type> types;
    for (auto [result, place] : llvm::zip(branch.getResults(), places))
      if (!place)
        types.push_back(result.getType());
    auto copy =
        scf::IfOp::create(b, types, mapping.lookup(branch.getCondition()),
                          !branch.getElseRegion().empty());
    mapUniform(branch.getResults(), copy.getResults(), places);
    for (auto [from, to] :
         llvm::zip(branch->getRegions(), copy->getRegions())) {
      if (from.empty())
        continue;
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&to.front());
      SmallVector<Value> yielded = emitBody(from.front(), places);
      if (!types.empty()) // else it already has its terminator
        scf::YieldOp::create(b, yielded);
    }
  }
};

} // namespace

LogicalResult decant::mapLanes(KernelOp kernel, LaneCounts lanes,
                               ImplicitLocOpBuilder &builder) {
  return LaneMapper(kernel, lanes, builder).run();
}
