//===- LaneReductions.cpp - sums over the threads of a block --------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneReductions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include <algorithm>

using namespace mlir;
using namespace decant;

namespace {

constexpr int64_t kSharedAlign = 16;
/// For fewer elements, collecting the sums costs more than it saves.
constexpr int64_t kFewestScattered = 8;
/// Sums cross warps in packs of up to 16 bytes, the widest shared access; packs
/// of neighbours lie side by side, which keeps the accesses free of conflicts.
constexpr int64_t kPack = 4;

int64_t widthOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getDimSize(0) : 1;
}
int64_t packWidth(int64_t width) {
  return std::min<int64_t>(kPack, llvm::PowerOf2Ceil(width));
}
int64_t packCount(int64_t width) {
  return llvm::divideCeil(width, packWidth(width));
}

/// One reduction's code.
class Reducer {
public:
  Reducer(ImplicitLocOpBuilder &b, ReduceKind kind, LaneGrid grid,
          const LaneReductions::Place &place)
      : b(b), kind(kind), grid(grid), place(place) {}

  /// Butterfly over lane distances first, 2 first, ... below `end`: every lane
  /// adds the same pairs, so all get the same bits.
  void shuffle(MutableArrayRef<Value> elements, int64_t first, int64_t end) {
    for (int64_t distance = first; distance < end; distance *= 2)
      for (Value &element : elements) {
        auto other = gpu::ShuffleOp::create(b, element, distance, kWarp,
                                            gpu::ShuffleMode::XOR);
        element = combine(element, other.getShuffleResult());
      }
  }

  /// The same bits with fewer shuffles: at each distance a lane gives half of
  /// the first `count` elements away and goes on with the other half, until it
  /// has one; in the end every lane asks the one that has it. `count` is a
  /// power of two and at most the number of lanes. The other elements are
  /// shuffled beside them, so that all wait together.
  void scatter(MutableArrayRef<Value> all, int64_t count) {
    SmallVector<Value> elements(all.take_front(count));
    MutableArrayRef<Value> others = all.drop_front(count);
    Value lane = arith::IndexCastOp::create(b, b.getI32Type(), place.innerLane);
    int64_t distance = 1;
    for (; elements.size() > 1; distance *= 2) {
      Value upper = arith::CmpIOp::create(
          b, arith::CmpIPredicate::ne,
          arith::AndIOp::create(b, lane, i32(distance)), i32(0));
      const size_t half = elements.size() / 2;
      for (size_t i = 0; i < half; ++i) {
        Value low = elements[i], high = elements[half + i];
        Value kept = arith::SelectOp::create(b, upper, high, low);
        Value given = arith::SelectOp::create(b, upper, low, high);
        auto other = gpu::ShuffleOp::create(b, given, distance, kWarp,
                                            gpu::ShuffleMode::XOR);
        elements[i] = combine(kept, other.getShuffleResult());
      }
      elements.resize(half);
      shuffle(others, distance, 2 * distance);
    }
    for (; distance < grid.inner; distance *= 2) {
      shuffle(elements, distance, 2 * distance);
      shuffle(others, distance, 2 * distance);
    }
    // The first of the lanes that share the sums, in its warp.
    Value thread = arith::AddIOp::create(
        b, arith::MulIOp::create(b, place.outerLane, index(grid.inner)),
        place.innerLane);
    Value first = arith::AndIOp::create(
        b, arith::IndexCastOp::create(b, b.getI32Type(), thread),
        i32(kWarp - grid.inner));
    for (int64_t i = 0; i < count; ++i) {
      Value owner = arith::OrIOp::create(b, first, i32(ownerOf(i, count)));
      all[i] = gpu::ShuffleOp::create(b, elements[0], owner, i32(kWarp),
                                      gpu::ShuffleMode::IDX)
                   .getShuffleResult();
    }
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

  /// Each group's first lanes leave their sums in the area, every lane adds all
  /// groups'.
  void crossWarps(SmallVector<Value> &elements, int64_t offset) {
    const int64_t width = elements.size(), pack = packWidth(width);
    auto space = gpu::AddressSpaceAttr::get(b.getContext(),
                                            gpu::AddressSpace::Workgroup);
    packType = VectorType::get({pack}, b.getF32Type());
    area = memref::ViewOp::create(
        b,
        MemRefType::get({grid.groups(), packCount(width), grid.inner * pack},
                        b.getF32Type(), MemRefLayoutAttrInterface(), space),
        place.shared, index(offset), ValueRange{});
    column = arith::MulIOp::create(b, place.innerLane, index(pack));

    SmallVector<Value> packs = packed(elements);
    Value perWarp = index(grid.outerPerWarp());
    Value group = arith::DivUIOp::create(b, place.outerLane, perWarp);
    Value isFirst = arith::CmpIOp::create(
        b, arith::CmpIPredicate::eq,
        arith::RemUIOp::create(b, place.outerLane, perWarp), index(0));
    auto branch = scf::IfOp::create(b, isFirst, /*withElseRegion=*/false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&branch.getThenRegion().front());
      for (auto [i, values] : llvm::enumerate(packs))
        vector::StoreOp::create(b, values, area,
                                ValueRange{group, index(i), column}, false,
                                llvm::MaybeAlign(4 * pack));
    }
    gpu::BarrierOp::create(b);
    if (llvm::isPowerOf2_64(grid.groups()))
      for (auto [i, values] : llvm::enumerate(packs))
        values = tree(i);
    else
      addGroups(packs);
    for (int64_t i = 0; i < width; ++i)
      elements[i] = vector::ExtractOp::create(b, packs[i / pack], i % pack);
  }

private:
  /// The lane that ends with element `i` of `count`: at distance 1 the upper
  /// half went to odd lanes, and so on.
  static int64_t ownerOf(int64_t i, int64_t count) {
    int64_t lane = 0;
    for (int64_t distance = 1, half = count / 2; half > 0;
         distance *= 2, half /= 2)
      if (i & half)
        lane |= distance;
    return lane;
  }

  Value i32(int64_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }

  Value combine(Value x, Value y) {
    if (kind == ReduceKind::Add)
      return arith::AddFOp::create(b, x, y);
    return arith::MaxNumFOp::create(b, x, y);
  }

  SmallVector<Value> packed(ArrayRef<Value> elements) {
    const size_t pack = packType.getDimSize(0);
    SmallVector<Value> packs;
    for (; !elements.empty();
         elements = elements.drop_front(std::min(pack, elements.size()))) {
      SmallVector<Value> part(elements.take_front(pack));
      // What lies beyond the last element is stored and never looked at.
      part.resize(pack, part.back());
      packs.push_back(vector::FromElementsOp::create(b, packType, part));
    }
    return packs;
  }

  Value load(Value group, int64_t i) {
    return vector::LoadOp::create(b, packType, area,
                                  ValueRange{group, index(i), column}, false,
                                  llvm::MaybeAlign(4 * packType.getDimSize(0)));
  }

  /// A tree over the groups, which goes on where the shuffles stopped.
  Value tree(int64_t i) {
    SmallVector<Value> sums;
    for (int64_t from = 0; from < grid.groups(); ++from)
      sums.push_back(load(index(from), i));
    for (; sums.size() > 1; sums.resize(sums.size() / 2))
      for (size_t pair = 0; pair < sums.size() / 2; ++pair)
        sums[pair] = combine(sums[2 * pair], sums[2 * pair + 1]);
    return sums[0];
  }

  /// Any other number of groups has no tree that all targets share, and can be
  /// large: one after the other.
  void addGroups(SmallVector<Value> &packs) {
    SmallVector<Value> initial;
    for (size_t i = 0; i < packs.size(); ++i)
      initial.push_back(load(index(0), i));
    auto loop = scf::ForOp::create(b, index(1), index(grid.groups()), index(1),
                                   initial);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> sums;
    for (size_t i = 0; i < packs.size(); ++i)
      sums.push_back(
          combine(loop.getRegionIterArg(i), load(loop.getInductionVar(), i)));
    scf::YieldOp::create(b, sums);
    packs.assign(loop.getResults().begin(), loop.getResults().end());
  }

  ImplicitLocOpBuilder &b;
  const ReduceKind kind;
  const LaneGrid grid;
  const LaneReductions::Place &place;
  VectorType packType;
  Value area, column;
};

} // namespace

int64_t LaneGrid::outerPerWarp() const {
  const int64_t fit = kWarp / inner;
  if (outer % fit == 0)
    return fit;
  return fit % outer == 0 ? outer : 1;
}

bool LaneReductions::crossesWarps(LaneReduceOp reduce) const {
  return reduce.getAxis().getAxis() != grid.innerAxis && grid.groups() > 1;
}

LaneReductions::LaneReductions(KernelOp kernel, LaneGrid grid) : grid(grid) {
  kernel.walk([&](MmaOp) { usesTiles = true; });
  SmallVector<LaneReduceOp> crossing;
  kernel.walk([&](LaneReduceOp reduce) {
    if (crossesWarps(reduce))
      crossing.push_back(reduce);
  });
  int64_t area = 0;
  for (auto [i, reduce] : llvm::enumerate(crossing)) {
    const bool isLast = i + 1 == crossing.size();
    // In one block, the next one in the text is the next one in time.
    const bool waits =
        isLast ? bool(reduce->getParentOfType<LoopLikeOpInterface>())
               : crossing[i + 1]->getBlock() != reduce->getBlock();
    plans[reduce] = {area, waits};
    areas = std::max(areas, area + 1);
    area = waits ? 0 : 1 - area;
    const int64_t width = widthOf(reduce.getType());
    areaBytes = std::max<int64_t>(
        areaBytes, llvm::alignTo(4 * grid.groups() * grid.inner *
                                     packCount(width) * packWidth(width),
                                 kSharedAlign));
  }
}

int64_t LaneReductions::scattered(LaneReduceOp reduce) const {
  if (usesTiles || reduce.getKind() != ReduceKind::Add || reduce.getFrom() ||
      reduce.getUntil())
    return 0;
  const int64_t most = std::min(widthOf(reduce.getType()), grid.inner);
  const int64_t count = llvm::bit_floor(uint64_t(most));
  return count >= kFewestScattered ? count : 0;
}

Value LaneReductions::map(ImplicitLocOpBuilder &b, LaneReduceOp reduce,
                          Value value, const Place &place) const {
  auto type = dyn_cast<VectorType>(reduce.getType());
  SmallVector<Value> elements;
  if (!type)
    elements.push_back(value);
  for (int64_t i = 0; type && i < type.getDimSize(0); ++i)
    elements.push_back(vector::ExtractOp::create(b, value, i));

  Reducer reducer(b, reduce.getKind(), grid, place);
  const bool isMagnitude = reduce.getKind() == ReduceKind::Magnitude;
  const bool isInner = reduce.getAxis().getAxis() == grid.innerAxis;
  if (isMagnitude)
    for (Value &element : elements)
      element = math::AbsFOp::create(b, element);
  if (isMagnitude && isInner && !reduce.getFrom() && grid.inner == kWarp) {
    for (Value &element : elements)
      element = reducer.largestOfWarp(element);
  } else if (const int64_t count = scattered(reduce); isInner && count > 0) {
    MutableArrayRef<Value> left = elements;
    for (; int64_t(left.size()) >= 2 * count; left = left.drop_front(count))
      reducer.scatter(left.take_front(count), count);
    reducer.scatter(left, count);
  } else if (isInner) {
    reducer.shuffle(elements, reduce.getFrom().value_or(1),
                    reduce.getUntil().value_or(grid.inner));
  } else {
    reducer.shuffle(elements, grid.inner, grid.inner * grid.outerPerWarp());
    if (crossesWarps(reduce)) {
      const Plan plan = plans.lookup(reduce);
      reducer.crossWarps(elements, place.offset + plan.area * areaBytes);
      if (plan.waits)
        gpu::BarrierOp::create(b);
    }
  }
  return type ? vector::FromElementsOp::create(b, type, elements).getResult()
              : elements[0];
}
