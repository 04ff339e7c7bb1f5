//===- WarpTile.cpp - tensor-core tiles of one head -----------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpTile.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <numeric>

using namespace mlir;
using namespace decant;

static constexpr int kWideChunksPerTile = 2;

Value decant::allocateShared(LaneTile &tile) {
  return ScratchOp::create(tile.b, MemRefType::get({1}, tile.b.getI8Type(),
                                                   MemRefLayoutAttrInterface(),
                                                   tile.scratchMemory()));
}

Arena::~Arena() {
  auto type = cast<MemRefType>(memory.getType());
  memory.setType(MemRefType::get({std::max(most, type.getDimSize(0))},
                                 type.getElementType(), type.getLayout(),
                                 type.getMemorySpace()));
}

View Arena::take(ElementType type, int64_t count, int64_t width) {
  const Region region{next, type, count, width};
  next = llvm::alignTo(next + region.bytes(), kLoadBytes);
  most = std::max(most, next);
  return tile.view(memory, tile.index(0), region);
}

WarpTile::WarpTile(LaneTile &tile)
    : t(tile), b(tile.b), layout(tile.layout), warps(tile.schedule.valueLanes),
      threads(tile.schedule.threads()), keyTiles(layout.paddedKey / kTile),
      valueTiles(layout.paddedValue / kTile),
      valueTilesPerWarp(tile.schedule.valuesPerLane / kTile) {
  useLane(t.keyLane);
  tilesPerChunk = decant::tilesPerChunk(layout);
  chunks = isWide() ? keyTiles * kWideChunksPerTile : keyTiles / tilesPerChunk;
}

void WarpTile::useLane(Value number) {
  t.keyLane = number;
  thread = t.add(t.keyLane, t.mul(t.valueLane, t.index(32)));
  group = arith::DivUIOp::create(b, t.keyLane, t.index(4));
  pair = t.mul(arith::RemUIOp::create(b, t.keyLane, t.index(4)), t.index(2));
}

Value WarpTile::forgetLane() {
  Value before = t.keyLane;
  useLane(LaneOp::create(b, b.getIndexType(),
                         AxisAttr::get(b.getContext(), VectorAxis::Key),
                         b.getUnitAttr()));
  return before;
}

Value WarpTile::raw(const View &view, Value row, Value column, int64_t width) {
  auto type = cast<MemRefType>(view.memref.getType());
  const int64_t bits = type.getElementTypeBitWidth();
  const int64_t align =
      std::gcd(std::gcd(width, view.width) * bits / 8, int64_t(kLoadBytes));
  return vector::LoadOp::create(
      b, VectorType::get({width}, type.getElementType()), view.memref,
      ValueRange{row, column}, false, llvm::MaybeAlign(align));
}

void WarpTile::storeRaw(const View &view, Value row, Value column,
                        Value vector) {
  auto type = cast<VectorType>(vector.getType());
  const int64_t bits = type.getElementTypeBitWidth();
  const int64_t align =
      std::gcd(std::gcd(type.getNumElements(), view.width) * bits / 8,
               int64_t(kLoadBytes));
  vector::StoreOp::create(b, vector, view.memref, ValueRange{row, column},
                          false, llvm::MaybeAlign(align));
}

Value WarpTile::slice(Value vector, int64_t offset, int64_t width) {
  return vector::ExtractStridedSliceOp::create(
      b, vector, ArrayRef<int64_t>{offset}, ArrayRef<int64_t>{width},
      ArrayRef<int64_t>{1});
}

Value WarpTile::join(Value first, Value second) {
  const int64_t width = cast<VectorType>(first.getType()).getNumElements() +
                        cast<VectorType>(second.getType()).getNumElements();
  SmallVector<int64_t> order(width);
  std::iota(order.begin(), order.end(), 0);
  return vector::ShuffleOp::create(b, first, second, order);
}

Value WarpTile::loadOperand(const View &panel, Value row, Value column,
                            int64_t width, bool right, bool transposed,
                            int rows) {
  const Type half = cast<MemRefType>(panel.memref.getType()).getElementType();
  // Tiles that end before the last row need no limit; whether one does is known
  // where its row is.
  if (auto first = getConstantIntValue(row);
      first && *first + (right && !transposed ? 8 : kTile) <= rows)
    rows = 0;
  return LoadTileOp::create(b, VectorType::get({width}, half), panel.memref,
                            row, column, t.keyLane, right, transposed,
                            rows > 0 ? b.getI64IntegerAttr(rows)
                                     : mlir::IntegerAttr());
}

Value WarpTile::left(const View &panel, int rows, Value row, Value column) {
  return loadOperand(panel, row, column, 8, /*right=*/false,
                     /*transposed=*/false, rows);
}

Value WarpTile::leftTransposed(const View &panel, int terms, Value row,
                               Value column) {
  return loadOperand(panel, row, column, terms / 2, /*right=*/false,
                     /*transposed=*/true, /*rows=*/0);
}

std::array<Value, 2> WarpTile::rightTransposed(const View &panel, int terms,
                                               Value row, Value column) {
  Value both = loadOperand(panel, row, column, terms / 2, /*right=*/true,
                           /*transposed=*/true, /*rows=*/0);
  return {slice(both, 0, terms / 4), slice(both, terms / 4, terms / 4)};
}

SmallVector<Value> WarpTile::rightOfFirst(const View &panel, int rows,
                                          Value column, int tiles) {
  // The product's columns do not mix: those beyond are computed and ignored.
  SmallVector<Value> operands;
  for (int tile = 0; tile < tiles; tile += 2) {
    const int64_t width = tile + 1 < tiles ? 8 : 4;
    Value both = loadOperand(panel, t.index(0),
                             t.add(column, t.index(tile * kTile)), width,
                             /*right=*/true, /*transposed=*/false, rows);
    for (int64_t part = 0; part < width; part += 4)
      operands.push_back(width == 4 ? both : slice(both, part, 4));
  }
  return operands;
}

Value WarpTile::mma(Value left, Value right, Value sum) {
  return MmaOp::create(b, sum.getType(), left, right, sum);
}

Value WarpTile::zeros(Value vector) {
  return arith::ConstantOp::create(
      b, cast<TypedAttr>(b.getZeroAttr(vector.getType())));
}

Value WarpTile::zeroSum() { return t.zeros(t.vectorOf(int64_t(4))); }

void WarpTile::storeColumns(const View &target, int first, int count,
                            Value element, Value product) {
  // A lane of every pair of columns has both.
  Value which = arith::DivUIOp::create(b, pair, t.index(2));
  t.ifTrue(less(which, t.index(count)), [&] {
    for (int half = 0; half < 2; ++half)
      t.storeScalar(target, t.add(which, t.index(first)),
                    t.add(t.add(element, group), t.index(8 * half)),
                    t.add(t.element(product, 2 * half),
                          t.element(product, 2 * half + 1)));
  });
}

Value WarpTile::reduceLanes(ReduceKind kind, Value value, int64_t from,
                            int64_t until) {
  return LaneReduceOp::create(b, value.getType(), kind, value,
                              AxisAttr::get(b.getContext(), VectorAxis::Key),
                              b.getI64IntegerAttr(from),
                              b.getI64IntegerAttr(until));
}

WarpTile::PowerOfTwo WarpTile::powerOfTwo(Value largest) {
  // The exponent of a float, kept where its inverse is a normal number, too.
  const int32_t exponent = 0x7f800000, least = 27 << 23, most = 227 << 23;
  auto word = [&](int32_t value) -> Value {
    return arith::ConstantIntOp::create(b, value, 32);
  };
  Value bits = arith::BitcastOp::create(b, b.getI32Type(), largest);
  bits = arith::AndIOp::create(b, bits, word(exponent));
  bits = arith::MaxUIOp::create(b, bits, word(least));
  bits = arith::MinUIOp::create(b, bits, word(most));
  Value inverse = arith::SubIOp::create(b, word(254 << 23), bits);
  return {arith::BitcastOp::create(b, b.getF32Type(), bits),
          arith::BitcastOp::create(b, b.getF32Type(), inverse)};
}

Value WarpTile::halves(Value x, ElementType type) {
  Type half = toType(b.getContext(), type);
  if (auto vector = dyn_cast<VectorType>(x.getType()))
    half = vector.clone(half);
  return arith::TruncFOp::create(b, half, x);
}

std::pair<Value, Value> WarpTile::split(Value x, ElementType type,
                                        bool saturates) {
  auto narrow = [&](Value value) {
    return saturates ? t.narrow(value, type) : halves(value, type);
  };
  Value high = narrow(x);
  Value rest =
      arith::SubFOp::create(b, x, arith::ExtFOp::create(b, x.getType(), high));
  return {high, narrow(rest)};
}

ElementType WarpTile::halfType() const {
  return layout.codes.type == ElementType::BF16 ? ElementType::BF16
                                                : ElementType::F16;
}

Value WarpTile::transposed(Value tile) {
  SmallVector<Value> quarters;
  for (int quarter = 0; quarter < 4; ++quarter) {
    Value part = slice(tile, 2 * quarter, 2);
    quarters.push_back(TransposeOp::create(b, part.getType(), part));
  }
  return join(join(quarters[0], quarters[2]), join(quarters[1], quarters[3]));
}

Value WarpTile::ownValueTile(int i) {
  return t.add(t.mul(t.valueLane, t.index(valueTilesPerWarp)), t.index(i));
}

SmallVector<Value> WarpTile::ownValueTiles() {
  SmallVector<Value> tiles;
  for (int i = 0; i < valueTilesPerWarp; ++i)
    tiles.push_back(ownValueTile(i));
  return tiles;
}

void WarpTile::forParts(int64_t rows, int64_t width, int64_t together,
                        PartBody body) {
  const int64_t perRow = width / together;
  forElements(rows * perRow, [&](Value part, Value inside) {
    Value row = arith::DivUIOp::create(b, part, t.index(perRow));
    Value column = t.mul(arith::RemUIOp::create(b, part, t.index(perRow)),
                         t.index(together));
    body(row, column, inside);
  });
}

void WarpTile::forElements(int64_t count, ElementBody body) {
  for (int64_t first = 0; first < count; first += threads) {
    Value element = first == 0 ? thread : t.add(thread, t.index(first));
    if (first + threads <= count) {
      body(element, {});
      continue;
    }
    Value inside = less(element, t.index(count));
    body(arith::MinUIOp::create(b, element, t.index(count - 1)), inside);
  }
}

Value WarpTile::blockReduce(ReduceKind kind, Value value, const View &partial) {
  value = t.laneReduce(kind, value, VectorAxis::Key);
  if (warps == 1)
    return value;
  const int64_t width = cast<VectorType>(value.getType()).getNumElements();
  t.ifTrue(equal(t.keyLane, 0),
           [&] { storeRaw(partial, t.valueLane, t.index(0), value); });
  t.barrier();
  SmallVector<Value> parts;
  for (int warp = 0; warp < warps; ++warp)
    parts.push_back(raw(partial, t.index(warp), t.index(0), width));
  Value total = parts[0];
  for (Value part : llvm::drop_begin(parts))
    total = kind != ReduceKind::Add
                ? arith::MaxNumFOp::create(b, total, part).getResult()
                : t.add(total, part);
  return total;
}

Value WarpTile::less(Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, y);
}

Value WarpTile::equal(Value x, int64_t y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, t.index(y));
}
