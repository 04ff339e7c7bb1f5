//===- LaneCollectives.cpp - ops of all lanes, on the host ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <algorithm>

using namespace mlir;
using namespace decant;

namespace {

constexpr int64_t kWarp = 32;

Value index(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}
Value plus(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return arith::AddIOp::create(b, x, index(b, y));
}
Value times(ImplicitLocOpBuilder &b, Value x, int64_t y) {
  return arith::MulIOp::create(b, x, index(b, y));
}

/// for i in [begin, end) step `step`
void forRange(ImplicitLocOpBuilder &b, int64_t begin, int64_t end, int64_t step,
              llvm::function_ref<void(Value)> body) {
  auto loop =
      scf::ForOp::create(b, index(b, begin), index(b, end), index(b, step));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

/// How a reduction's lanes lie: `blocks` of `lines` neighbours; each line is
/// `count` lanes, `stride` apart.
struct Lines {
  int64_t blocks, blockStride, lines, count, stride;
  int64_t tree; // lanes that a binary tree combines; groups of them follow on
};

Lines linesOf(LaneReduceOp reduce, LaneCounts lanes) {
  if (reduce.getAxis().getAxis() == VectorAxis::Key) {
    const int64_t from = reduce.getFrom().value_or(1);
    const int64_t until = reduce.getUntil().value_or(lanes.key);
    const int64_t count = until / from;
    return {lanes.all() / until,
            until,
            from,
            count,
            from,
            llvm::isPowerOf2_64(count) ? count : 1};
  }
  // MapToGPU: a warp's value lanes by shuffles when all warps are full, the
  // rest from shared memory, as a tree when that is one.
  const int64_t fit = std::max<int64_t>(kWarp / lanes.key, 1);
  int64_t tree = lanes.value % fit == 0 && llvm::isPowerOf2_64(fit) ? fit : 1;
  if (llvm::isPowerOf2_64(lanes.value / tree))
    tree = lanes.value;
  return {1, 0, lanes.key, lanes.value, lanes.key, tree};
}

/// Where a lane is in its warp's fragments.
struct Fragment {
  Value warp, group, pair; // pair: first of two columns
};

Fragment fragmentOf(Value lane, ImplicitLocOpBuilder &b) {
  Value inWarp = arith::RemUIOp::create(b, lane, index(b, kWarp));
  return {arith::DivUIOp::create(b, lane, index(b, kWarp)),
          arith::DivUIOp::create(b, inWarp, index(b, 4)),
          times(b, arith::RemUIOp::create(b, inWarp, index(b, 4)), 2)};
}

Value widen(Value halves, ImplicitLocOpBuilder &b) {
  auto type = cast<VectorType>(halves.getType());
  return arith::ExtFOp::create(b, type.clone(b.getF32Type()), halves);
}

/// Stores element `i` of `vector` at [at...].
void storeElement(Value vector, int64_t i, Value memory, ValueRange at,
                  ImplicitLocOpBuilder &b) {
  memref::StoreOp::create(b, vector::ExtractOp::create(b, vector, i), memory,
                          at);
}

} // namespace

void decant::reduceLanes(LaneReduceOp reduce, LaneCounts lanes, Value values,
                         ImplicitLocOpBuilder &b) {
  const Lines shape = linesOf(reduce, lanes);
  auto include = [&](Value first, Value second) {
    Value x = memref::LoadOp::create(b, values, first);
    Value y = memref::LoadOp::create(b, values, second);
    Value both = reduce.getKind() == ReduceKind::Max
                     ? arith::MaxNumFOp::create(b, x, y).getResult()
                     : arith::AddFOp::create(b, x, y).getResult();
    memref::StoreOp::create(b, both, values, first);
  };
  forRange(b, 0, shape.blocks, 1, [&](Value block) {
    forRange(b, 0, shape.lines, 1, [&](Value line) {
      Value start =
          arith::AddIOp::create(b, times(b, block, shape.blockStride), line);
      auto lane = [&](Value i) -> Value {
        return arith::AddIOp::create(b, start, times(b, i, shape.stride));
      };
      for (int64_t distance = 1; distance < shape.tree; distance *= 2)
        forRange(b, 0, shape.count, 2 * distance, [&](Value i) {
          include(lane(i), lane(plus(b, i, distance)));
        });
      if (shape.tree < shape.count)
        forRange(b, shape.tree, shape.count, shape.tree,
                 [&](Value i) { include(start, lane(i)); });
    });
  });
}

Value decant::reducedAt(LaneReduceOp reduce, LaneCounts lanes, Value lane,
                        ImplicitLocOpBuilder &b) {
  const Lines shape = linesOf(reduce, lanes);
  // The first lane of the lane's line.
  auto within = [&](int64_t count) {
    return arith::RemUIOp::create(b, lane, index(b, count)).getResult();
  };
  if (reduce.getAxis().getAxis() == VectorAxis::Value)
    return within(shape.lines);
  Value block = arith::SubIOp::create(b, lane, within(shape.blockStride));
  if (shape.lines == 1)
    return block;
  return arith::AddIOp::create(b, block, within(shape.lines));
}

Value decant::shiftedLane(Value lane, int64_t distance,
                          ImplicitLocOpBuilder &b) {
  Value inWarp = arith::RemUIOp::create(b, lane, index(b, kWarp));
  Value exists = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, inWarp,
                                       index(b, kWarp - distance));
  return arith::SelectOp::create(b, exists, plus(b, lane, distance), lane);
}

void decant::storeMmaOperands(const MmaMemory &memory, Value a, Value b,
                              Value acc, Value lane,
                              ImplicitLocOpBuilder &builder) {
  const Fragment at = fragmentOf(lane, builder);
  a = widen(a, builder);
  b = widen(b, builder);
  const int64_t halves = cast<VectorType>(b.getType()).getNumElements();
  for (int64_t e = 0; e < 2 * halves; ++e)
    storeElement(a, e, memory.a,
                 {at.warp, plus(builder, at.group, e / 2 % 2 * 8),
                  plus(builder, at.pair, e / 4 * 8 + e % 2)},
                 builder);
  for (int64_t e = 0; e < halves; ++e)
    storeElement(b, e, memory.b,
                 {at.warp, plus(builder, at.pair, e / 2 * 8 + e % 2), at.group},
                 builder);
  for (int64_t e = 0; e < 4; ++e)
    storeElement(acc, e, memory.acc,
                 {at.warp, plus(builder, at.group, e / 2 * 8),
                  plus(builder, at.pair, e % 2)},
                 builder);
}

void decant::multiplyTiles(const MmaMemory &memory, int64_t count,
                           ImplicitLocOpBuilder &b) {
  const int64_t warps = cast<MemRefType>(memory.acc.getType()).getDimSize(0);
  auto row = VectorType::get({8}, b.getF32Type());
  Value zero = index(b, 0);
  forRange(b, 0, warps, 1, [&](Value warp) {
    forRange(b, 0, 16, 1, [&](Value i) {
      const Value at[] = {warp, i, zero};
      Value acc = vector::LoadOp::create(b, row, memory.acc, at);
      auto terms =
          scf::ForOp::create(b, zero, index(b, count), index(b, 1), acc);
      {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(terms.getBody());
        Value k = terms.getInductionVar();
        Value x = memref::LoadOp::create(b, memory.a, ValueRange{warp, i, k});
        Value y =
            vector::LoadOp::create(b, row, memory.b, ValueRange{warp, k, zero});
        // One rounding, after the sum: the product is exact.
        Value sum =
            vector::FMAOp::create(b, vector::BroadcastOp::create(b, row, x), y,
                                  terms.getRegionIterArg(0));
        scf::YieldOp::create(b, sum);
      }
      vector::StoreOp::create(b, terms.getResult(0), memory.acc, at);
    });
  });
}

Value decant::loadMmaResult(Value acc, Value lane, ImplicitLocOpBuilder &b) {
  const Fragment at = fragmentOf(lane, b);
  SmallVector<Value> elements;
  for (int64_t e = 0; e < 4; ++e)
    elements.push_back(
        memref::LoadOp::create(b, acc,
                               ValueRange{at.warp, plus(b, at.group, e / 2 * 8),
                                          plus(b, at.pair, e % 2)}));
  return vector::FromElementsOp::create(b, VectorType::get({4}, b.getF32Type()),
                                        elements);
}

void decant::storeForTranspose(Value matrix, Value value, Value lane,
                               ImplicitLocOpBuilder &b) {
  const Fragment at = fragmentOf(lane, b);
  // Bits move as integers: not every host has halves.
  Value bits =
      vector::BitCastOp::create(b, VectorType::get({2}, b.getI16Type()), value);
  for (int64_t e = 0; e < 2; ++e)
    storeElement(bits, e, matrix, {at.warp, at.group, plus(b, at.pair, e)}, b);
}

Value decant::loadTransposed(Value matrix, Type type, Value lane,
                             ImplicitLocOpBuilder &b) {
  const Fragment at = fragmentOf(lane, b);
  SmallVector<Value> elements;
  for (int64_t e = 0; e < 2; ++e)
    elements.push_back(memref::LoadOp::create(
        b, matrix, ValueRange{at.warp, plus(b, at.pair, e), at.group}));
  Value bits = vector::FromElementsOp::create(
      b, VectorType::get({2}, b.getI16Type()), elements);
  return vector::BitCastOp::create(b, cast<VectorType>(type), bits);
}
