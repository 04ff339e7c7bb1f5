//===- LaneTile.cpp - what one lane holds, and how to say it in IR --------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneTile.h"

#include "SmallFloats.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <numeric>

using namespace mlir;
using namespace decant;

namespace {

constexpr int64_t kMaxAlign = 16;

/// The largest power of two, up to 16, that divides `bytes`.
int64_t alignOf(int64_t bytes) { return std::gcd(bytes, kMaxAlign); }

} // namespace

LaneTile::LaneTile(ImplicitLocOpBuilder &builder, const SlotLayout &layout,
                   const Schedule &schedule, TargetKind target)
    : b(builder), layout(layout), schedule(schedule) {
  if (target == TargetKind::Nvidia)
    scratchSpace = gpu::AddressSpaceAttr::get(builder.getContext(),
                                              gpu::AddressSpace::Workgroup);
  auto lane = [&](VectorAxis axis) -> Value {
    return LaneOp::create(b, b.getIndexType(),
                          AxisAttr::get(b.getContext(), axis), UnitAttr());
  };
  keyLane = lane(VectorAxis::Key);
  valueLane = lane(VectorAxis::Value);
  firstKey = mul(keyLane, index(schedule.keysPerLane));
  Value column = valueLane;
  if (schedule.split > 1) {
    slice = SliceOp::create(b, b.getIndexType(), schedule.split);
    column = add(mul(slice, index(schedule.valueLanes)), valueLane);
  }
  firstValue = mul(column, index(schedule.valuesPerLane));
  if (schedule.strategy == Strategy::Mma)
    firstValue =
        add(firstValue, mul(keyLane, index(valueType().getDimSize(0))));
}

Value LaneTile::firstOf(VectorAxis axis) const {
  return axis == VectorAxis::Key ? firstKey : firstValue;
}

Value LaneTile::inside(VectorAxis axis) {
  const int64_t width = vectorOf(axis).getDimSize(0);
  const int64_t elements =
      axis == VectorAxis::Key ? layout.paddedKey : schedule.valuesPerLane;
  if (axis == VectorAxis::Value && schedule.strategy != Strategy::Mma)
    return {};
  if (elements == width * schedule.keyLanes)
    return {};
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, keyLane,
                               index(elements / width));
}

Value LaneTile::writes(VectorAxis axis) {
  Value within = inside(axis);
  if (schedule.strategy == Strategy::Mma && axis == VectorAxis::Value)
    return within;
  Value first = arith::CmpIOp::create(
      b, arith::CmpIPredicate::eq,
      axis == VectorAxis::Key ? valueLane : keyLane, index(0));
  return within ? arith::AndIOp::create(b, first, within).getResult() : first;
}

VectorType LaneTile::keyType() const { return vectorOf(VectorAxis::Key); }
VectorType LaneTile::valueType() const { return vectorOf(VectorAxis::Value); }

VectorType LaneTile::vectorOf(VectorAxis axis) const {
  if (axis == VectorAxis::Key)
    return vectorOf(int64_t(schedule.keysPerLane));
  const int values = schedule.valuesPerLane;
  return vectorOf(int64_t(schedule.strategy == Strategy::Mma
                              ? std::max(1, values / schedule.keyLanes)
                              : values));
}

VectorType LaneTile::vectorOf(int64_t width) const {
  return VectorType::get({width}, b.getF32Type());
}

Value LaneTile::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value LaneTile::f32(double value) {
  return arith::ConstantOp::create(b, b.getF32FloatAttr(value));
}

Value LaneTile::splat(Value scalar, VectorType type) {
  return vector::BroadcastOp::create(b, type, scalar);
}

Value LaneTile::zeros(VectorType type) {
  return arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
}

Value LaneTile::add(Value x, Value y) {
  if (x.getType().isIndex())
    return arith::AddIOp::create(b, x, y);
  return arith::AddFOp::create(b, x, y);
}

Value LaneTile::mul(Value x, Value y) {
  if (x.getType().isIndex())
    return arith::MulIOp::create(b, x, y);
  return arith::MulFOp::create(b, x, y);
}

Value LaneTile::scale(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  if (auto type = dyn_cast<VectorType>(x.getType());
      type && !isa<VectorType>(y.getType()))
    y = splat(y, type);
  else if (auto type = dyn_cast<VectorType>(y.getType());
           type && !isa<VectorType>(x.getType()))
    x = splat(x, type);
  return mul(x, y);
}

Value LaneTile::fma(Value x, Value y, Value z) {
  return vector::FMAOp::create(b, x, y, z);
}

Value LaneTile::element(Value vector, int64_t i) {
  return vector::ExtractOp::create(b, vector, i);
}

Value LaneTile::reduce(ReduceKind kind, Value vector) {
  if (kind == ReduceKind::Max)
    return vector::ReductionOp::create(b, vector::CombiningKind::MAXNUMF,
                                       vector);
  const int64_t width = cast<VectorType>(vector.getType()).getDimSize(0);
  if (!llvm::isPowerOf2_64(
          width)) // no canonical order: a tree of LLVM's choice
    return vector::ReductionOp::create(b, vector::CombiningKind::ADD, vector,
                                       arith::FastMathFlags::reassoc);
  for (int64_t left = width; left > 1; left /= 2) {
    auto pairs = vector::DeinterleaveOp::create(b, vector);
    vector = add(pairs.getRes1(), pairs.getRes2());
  }
  return element(vector, 0);
}

SmallVector<Value> LaneTile::sumOverKeys(int count, RowsBody body) {
  const VectorType type = valueType();
  const int lanes = defaultKeyLanes(layout);
  if (schedule.threads() > 1 || schedule.rows == RowLoop::Unrolled ||
      !llvm::isPowerOf2_32(layout.paddedKey))
    return laneSums(sumInParts(firstKey, schedule.keysPerLane, count, body));
  const int64_t rows = layout.paddedKey / lanes;
  View partial = scratch(lanes * count, layout.paddedValue);
  loop(index(0), index(lanes), 1, {},
       [&](Value lane, ValueRange) -> SmallVector<Value> {
         Value begin = mul(lane, index(rows));
         SmallVector<Value> sums = sumInParts(begin, rows, count, body);
         Value first = mul(lane, index(count));
         for (int c = 0; c < count; ++c)
           store(partial, add(first, index(c)), index(0), sums[c]);
         return {};
       });
  SmallVector<Value> results;
  for (int c = 0; c < count; ++c) {
    SmallVector<Value> sums;
    for (int lane = 0; lane < lanes; ++lane)
      sums.push_back(
          load(partial, index(lane * count + c), index(0), type.getDimSize(0)));
    results.push_back(tree(sums));
  }
  return results;
}

SmallVector<Value> LaneTile::sumInParts(Value begin, int64_t rows, int count,
                                        RowsBody body) {
  const SmallVector<Value> zero(count, zeros(valueType()));
  const int64_t part = rowsPerPart(rows);
  SmallVector<SmallVector<Value>> parts;
  for (int64_t first = 0; first < rows; first += part) {
    Value from = add(begin, index(first));
    parts.push_back(body(from, add(from, index(part)), zero));
  }
  SmallVector<Value> results;
  for (int c = 0; c < count; ++c) {
    SmallVector<Value> sums;
    for (ArrayRef<Value> sumsOfPart : parts)
      sums.push_back(sumsOfPart[c]);
    results.push_back(tree(sums));
  }
  return results;
}

int64_t LaneTile::rowsPerPart(int64_t rows) const {
  return llvm::isPowerOf2_32(layout.paddedKey)
             ? std::gcd(rows, int64_t(keysPerPart(layout)))
             : rows;
}

Value LaneTile::tree(SmallVector<Value> sums) {
  for (; sums.size() > 1; sums.resize(sums.size() / 2))
    for (size_t i = 0; i < sums.size() / 2; ++i)
      sums[i] = add(sums[2 * i], sums[2 * i + 1]);
  return sums[0];
}

SmallVector<Value> LaneTile::laneSums(ArrayRef<Value> sums) {
  SmallVector<Value> results;
  for (Value sum : sums)
    results.push_back(laneReduce(ReduceKind::Add, sum, VectorAxis::Key));
  return results;
}

Value LaneTile::laneReduce(ReduceKind kind, Value value, VectorAxis axis) {
  return LaneReduceOp::create(b, value.getType(), kind, value,
                              AxisAttr::get(b.getContext(), axis));
}

Value LaneTile::reduceAcross(ReduceKind kind, Value value, VectorAxis axis) {
  if (schedule.strategy == Strategy::Mma && axis == VectorAxis::Value)
    value = laneReduce(kind, value, VectorAxis::Key);
  return laneReduce(kind, value, axis);
}

Value LaneTile::dot(Value x, Value y, VectorAxis axis) {
  return reduceAcross(ReduceKind::Add, reduce(ReduceKind::Add, mul(x, y)),
                      axis);
}

View LaneTile::view(Value pool, Value offset, const Region &region) {
  auto source = cast<MemRefType>(pool.getType());
  auto type = MemRefType::get(
      {region.count, region.width}, memoryType(b.getContext(), region.type),
      MemRefLayoutAttrInterface(), source.getMemorySpace());
  Value shift = add(offset, index(region.offset));
  return {memref::ViewOp::create(b, type, pool, shift, ValueRange{}),
          region.type, region.width};
}

View LaneTile::scratch(int64_t count, int64_t width) {
  auto type = MemRefType::get({count, width}, b.getF32Type(),
                              MemRefLayoutAttrInterface(), scratchSpace);
  return {ScratchOp::create(b, type), ElementType::F32, width};
}

void LaneTile::barrier() { BarrierOp::create(b); }
void LaneTile::warpBarrier() { BarrierOp::create(b, /*warp=*/true); }

Value LaneTile::widen(Value x) {
  Type element = getElementTypeOrSelf(x.getType());
  if (element.isF32())
    return x;
  Type type = b.getF32Type();
  if (auto vector = dyn_cast<VectorType>(x.getType()))
    type = vector.clone(type);
  if (element.isInteger())
    return arith::SIToFPOp::create(b, type, x);
  return arith::ExtFOp::create(b, type, x);
}

Value LaneTile::widen(Value x, ElementType type) {
  return isWideFloat(type) || isInteger(type) ? widen(x)
                                              : decodeSmall(*this, x, type);
}

Value LaneTile::narrow(Value x, ElementType element) {
  if (element == ElementType::F32 ||
      getElementTypeOrSelf(x.getType()).isInteger()) // codes, as bytes already
    return x;
  if (!isWideFloat(element) && !isInteger(element))
    return encodeSmall(*this, x, element);
  Type type = toType(b.getContext(), element);
  auto vector = dyn_cast<VectorType>(x.getType());
  auto limit = [&](double value) {
    return vector ? splat(f32(value), vector) : f32(value);
  };
  if (vector)
    type = vector.clone(type);
  if (element == ElementType::I8) // the caller has rounded and clamped
    return arith::FPToSIOp::create(b, type, x);
  if (element == ElementType::F16) {
    constexpr double kMaxF16 = 65504; // saturate: inf would poison the slot
    x = arith::MinimumFOp::create(b, x, limit(kMaxF16));
    x = arith::MaximumFOp::create(b, x, limit(-kMaxF16));
  }
  return arith::TruncFOp::create(b, type, x);
}

Value LaneTile::load(const View &view, Value row, Value column, int64_t width) {
  const int64_t bytes = elementBytes(view.type);
  const int64_t align = alignOf(std::gcd(width * bytes, view.width * bytes));
  auto type = VectorType::get({width}, memoryType(b.getContext(), view.type));
  return widen(vector::LoadOp::create(b, type, view.memref,
                                      ValueRange{row, column}, false,
                                      llvm::MaybeAlign(align)),
               view.type);
}

Value LaneTile::loadScalar(const View &view, Value row, Value column) {
  return widen(memref::LoadOp::create(b, view.memref, ValueRange{row, column}),
               view.type);
}

void LaneTile::store(const View &view, Value row, Value column, Value vector) {
  const int64_t bytes = elementBytes(view.type);
  const int64_t width = cast<VectorType>(vector.getType()).getDimSize(0);
  const int64_t align = alignOf(std::gcd(width * bytes, view.width * bytes));
  vector::StoreOp::create(b, narrow(vector, view.type), view.memref,
                          ValueRange{row, column}, false,
                          llvm::MaybeAlign(align));
}

void LaneTile::storeScalar(const View &view, Value row, Value column,
                           Value scalar) {
  memref::StoreOp::create(b, narrow(scalar, view.type), view.memref,
                          ValueRange{row, column});
}

Value LaneTile::loadAlong(VectorAxis axis, const View &view, Value row) {
  const VectorType type = vectorOf(axis);
  Value within = inside(axis), first = firstOf(axis);
  if (!within)
    return load(view, row, first, type.getDimSize(0));
  first = arith::SelectOp::create(b, within, first, index(0));
  Value loaded = load(view, row, first, type.getDimSize(0));
  return arith::SelectOp::create(b, within, loaded, zeros(type));
}

void LaneTile::storeAlong(VectorAxis axis, const View &view, Value row,
                          Value vector) {
  ifTrue(writes(axis), [&] { store(view, row, firstOf(axis), vector); });
}

Value LaneTile::loadDecay(DecayShape shape, VectorAxis axis, const View &view,
                          Value row) {
  switch (shape) {
  case DecayShape::None:
    return {};
  case DecayShape::Scalar:
    return loadScalar(view, row, index(0));
  case DecayShape::Vector:
    return loadAlong(axis, view, row);
  }
  llvm_unreachable("a decay shape without a load");
}

void LaneTile::storeDecay(DecayShape shape, VectorAxis axis, const View &view,
                          Value row, Value decay) {
  if (shape == DecayShape::Scalar)
    onFirstLane([&] { storeScalar(view, row, index(0), decay); });
  else if (shape == DecayShape::Vector)
    storeAlong(axis, view, row, decay);
}

void LaneTile::ifTrue(Value condition, Body body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&branch.getThenRegion().front());
  body();
}

Value LaneTile::isFirstLane() {
  Value sum = add(keyLane, valueLane);
  if (slice)
    sum = add(sum, slice);
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, sum, index(0));
}

void LaneTile::onFirstLane(Body body) { ifTrue(isFirstLane(), body); }

SmallVector<Value> LaneTile::loop(Value begin, Value end, int64_t step,
                                  ArrayRef<Value> initial, LoopBody body) {
  auto loop = scf::ForOp::create(b, begin, end, index(step), initial);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> carried =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  // A loop that carries nothing already has its terminator.
  if (!initial.empty())
    scf::YieldOp::create(b, carried);
  return SmallVector<Value>(loop.getResults());
}
