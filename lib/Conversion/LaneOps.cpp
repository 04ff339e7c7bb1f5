//===- LaneOps.cpp - ops of one lane, on the host -------------------------===//
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

using namespace mlir;
using namespace decant;

namespace {

constexpr int64_t kCodes = 8;
constexpr int64_t kCopyBytes = 16;

/// The field that holds code e, counted from the lowest bits.
int64_t fieldOf(int64_t e, int64_t bits) {
  return bits == 8 ? e : e / 2 + 4 * (e % 2);
}

Value constant(ImplicitLocOpBuilder &b, VectorType type,
               ArrayRef<int64_t> values) {
  SmallVector<APInt> elements;
  for (int64_t value : values)
    elements.emplace_back(type.getElementTypeBitWidth(), value,
                          /*isSigned=*/false, /*implicitTrunc=*/true);
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, elements));
}

/// Unsigned codes as f16, by way of f32, which hosts without f16 arithmetic
/// convert to; biased ones in units of f16's smallest number, which their bits
/// are.
Value toHalves(Value codes, int64_t bits, bool biased,
               ImplicitLocOpBuilder &b) {
  auto type = cast<VectorType>(codes.getType());
  const VectorType half = type.clone(b.getF16Type());
  if (biased) {
    Value bits16 =
        arith::TruncIOp::create(b, type.clone(b.getI16Type()), codes);
    return arith::BitcastOp::create(b, half, bits16);
  }
  Value x =
      arith::AddIOp::create(b, codes, constant(b, type, {-(1 << (bits - 1))}));
  x = arith::SIToFPOp::create(b, type.clone(b.getF32Type()), x);
  return arith::TruncFOp::create(b, half, x);
}

Value unpackCodes(Value packed, int64_t bits, bool biased,
                  ImplicitLocOpBuilder &b) {
  SmallVector<int64_t> bytes, shifts;
  for (int64_t e = 0; e < kCodes; ++e) {
    const int64_t bit = fieldOf(e, bits) * bits;
    bytes.push_back(bit / 8);
    shifts.push_back(bit % 8);
  }
  auto codes = VectorType::get({kCodes}, b.getI8Type());
  auto wide = codes.clone(b.getI32Type());
  Value x = vector::ShuffleOp::create(b, packed, packed, bytes);
  x = arith::ShRUIOp::create(b, x, constant(b, codes, shifts));
  x = arith::AndIOp::create(b, x, constant(b, codes, {(1 << bits) - 1}));
  return toHalves(arith::ExtUIOp::create(b, wide, x), bits, biased, b);
}

/// Fields of `width` bits each, from bit `first` on, as elements of a vector.
Value fieldsIn(Value word, int64_t first, int64_t width,
               ImplicitLocOpBuilder &b) {
  auto wide = VectorType::get({kCodes}, b.getI32Type());
  SmallVector<int64_t> shifts;
  for (int64_t e = 0; e < kCodes; ++e)
    shifts.push_back(first + fieldOf(e, width) * width);
  Value x = vector::BroadcastOp::create(b, wide, word);
  x = arith::ShRUIOp::create(b, x, constant(b, wide, shifts));
  return arith::AndIOp::create(b, x, constant(b, wide, {(1 << width) - 1}));
}

Value unpackPlanes(UnpackPlanesOp op, Value low, Value high,
                   ImplicitLocOpBuilder &b) {
  const int64_t bits = op.getBits(), upper = bits / 3, lower = bits - upper;
  auto wide = VectorType::get({kCodes}, b.getI32Type());
  auto fields = [&](Value word, int64_t width) {
    return fieldsIn(word, op.getPart() * kCodes * width % 32, width, b);
  };
  Value above =
      arith::ShLIOp::create(b, fields(high, upper), constant(b, wide, {lower}));
  return toHalves(arith::OrIOp::create(b, fields(low, lower), above), bits,
                  op.getBiased(), b);
}

/// Codes + 2^(bits - 1), as i32.
Value roundCodes(Value values, Value scale, int64_t bits,
                 ImplicitLocOpBuilder &b) {
  // Products of f16 are exact in f32: they are rounded once.
  auto widen = [&](Value x) -> Value {
    auto type = VectorType::get({kCodes}, b.getF32Type());
    return x.getType() == type ? x : arith::ExtFOp::create(b, type, x);
  };
  values = widen(values);
  if (scale)
    values = arith::MulFOp::create(b, values, widen(scale));
  auto wide = VectorType::get({kCodes}, b.getI32Type());
  // Adding and subtracting 1.5 * 2^23 rounds to whole numbers, ties to even.
  auto type = cast<VectorType>(values.getType());
  Value magic =
      arith::ConstantOp::create(b, DenseElementsAttr::get(type, 0x1.8p23f));
  values =
      arith::SubFOp::create(b, arith::AddFOp::create(b, values, magic), magic);
  Value x = arith::FPToSIOp::create(b, wide, values);
  return arith::AddIOp::create(b, x, constant(b, wide, {1 << (bits - 1)}));
}

/// Bits `first` .. `first` + `width` of the codes as the fields of a word.
Value packFields(Value codes, int64_t first, int64_t width,
                 ImplicitLocOpBuilder &b) {
  auto wide = cast<VectorType>(codes.getType());
  SmallVector<int64_t> shifts;
  for (int64_t e = 0; e < kCodes; ++e)
    shifts.push_back(fieldOf(e, width) * width);
  Value x = arith::ShRUIOp::create(b, codes, constant(b, wide, {first}));
  x = arith::AndIOp::create(b, x, constant(b, wide, {(1 << width) - 1}));
  x = arith::ShLIOp::create(b, x, constant(b, wide, shifts));
  return vector::ReductionOp::create(b, vector::CombiningKind::OR, x);
}

Value packCodes(Value values, Value scale, int64_t bits,
                ImplicitLocOpBuilder &b) {
  auto codes = VectorType::get({kCodes}, b.getI8Type());
  Value x =
      arith::TruncIOp::create(b, codes, roundCodes(values, scale, bits, b));
  const int64_t perByte = 8 / bits;
  auto bytes = VectorType::get({bits}, b.getI8Type());
  Value result;
  for (int64_t place = 0; place < perByte; ++place) {
    SmallVector<int64_t> sources(bits);
    for (int64_t e = 0; e < kCodes; ++e)
      if (fieldOf(e, bits) % perByte == place)
        sources[fieldOf(e, bits) / perByte] = e;
    Value part = vector::ShuffleOp::create(b, x, x, sources);
    part = arith::ShLIOp::create(b, part, constant(b, bytes, {place * bits}));
    result = result ? arith::OrIOp::create(b, result, part) : part;
  }
  return result;
}

/// Lane 4 g + t holds pairs of elements: see LoadTileOp.
void loadTile(LoadTileOp load, ImplicitLocOpBuilder &b, IRMapping &mapping) {
  auto type = cast<VectorType>(load.getType());
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  auto plus = [&](Value x, Value y) -> Value {
    return arith::AddIOp::create(b, x, y);
  };
  Value panel = mapping.lookup(load.getPanel());
  Value lane = mapping.lookup(load.getLane());
  Value row = mapping.lookup(load.getRow());
  Value column = mapping.lookup(load.getColumn());
  Value g = arith::DivUIOp::create(b, lane, constant(4));
  Value t = arith::RemUIOp::create(b, lane, constant(4));
  Value pair = arith::MulIOp::create(b, t, constant(2));
  SmallVector<Value> elements;
  for (int64_t e = 0; e < type.getNumElements(); ++e) {
    const int64_t part = e / 2;
    // Two blocks of 8 along g and, over 16 terms, along the pairs.
    const bool blocks = !load.getRight() || load.getTransposed();
    const bool pairsFirst = load.getRight() && type.getNumElements() == 8;
    const int64_t groupBlock = !blocks ? 0 : pairsFirst ? part / 2 : part % 2;
    const int64_t pairBlock = !blocks ? part : pairsFirst ? part % 2 : part / 2;
    Value inGroup = plus(g, constant(8 * groupBlock));
    Value inPair = plus(pair, constant(8 * pairBlock + e % 2));
    if (load.getTransposed())
      std::swap(inGroup, inPair);
    Value at = plus(row, inGroup);
    if (load.getRows())
      at = arith::MinUIOp::create(b, at, constant(*load.getRows() - 1));
    elements.push_back(
        memref::LoadOp::create(b, panel, ValueRange{at, plus(column, inPair)}));
  }
  mapping.map(load.getResult(),
              vector::FromElementsOp::create(b, type, elements));
}

/// Elements of a memref that one copy moves.
VectorType sixteenBytesOf(Value memref) {
  const Type element = cast<MemRefType>(memref.getType()).getElementType();
  return VectorType::get(
      {kCopyBytes * 8 / int64_t(element.getIntOrFloatBitWidth())}, element);
}

void copy16Bytes(CopyAsyncOp copy, ImplicitLocOpBuilder &b,
                 IRMapping &mapping) {
  auto lookup = [&](ValueRange values) {
    return llvm::map_to_vector(values,
                               [&](Value v) { return mapping.lookup(v); });
  };
  const llvm::MaybeAlign align(kCopyBytes);
  const VectorType type = sixteenBytesOf(copy.getTarget());
  auto branch =
      scf::IfOp::create(b, TypeRange(type), mapping.lookup(copy.getValid()),
                        /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    Value bytes = vector::LoadOp::create(
        b, sixteenBytesOf(copy.getSource()), mapping.lookup(copy.getSource()),
        lookup(copy.getSourceIndices()), false, align);
    if (bytes.getType() != type)
      bytes = vector::BitCastOp::create(b, type, bytes);
    scf::YieldOp::create(b, bytes);
    b.setInsertionPointToStart(branch.elseBlock());
    Value zeros =
        arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type)));
    scf::YieldOp::create(b, zeros);
  }
  vector::StoreOp::create(b, branch.getResult(0),
                          mapping.lookup(copy.getTarget()),
                          lookup(copy.getTargetIndices()), false, align);
}

void copyBytes(BulkCopyOp copy, ImplicitLocOpBuilder &b, IRMapping &mapping) {
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  const llvm::MaybeAlign align(kCopyBytes);
  auto loop = scf::ForOp::create(
      b, constant(0), mapping.lookup(copy.getBytes()), constant(kCopyBytes));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  auto place = [&](ValueRange indices, VectorType type) {
    SmallVector<Value> at;
    for (Value index : indices)
      at.push_back(mapping.lookup(index));
    Value elements =
        arith::DivUIOp::create(b, loop.getInductionVar(),
                               constant(kCopyBytes / type.getNumElements()));
    at.back() = arith::AddIOp::create(b, at.back(), elements);
    return at;
  };
  const VectorType from = sixteenBytesOf(copy.getSource()),
                   to = sixteenBytesOf(copy.getTarget());
  Value bytes = vector::LoadOp::create(
      b, from, mapping.lookup(copy.getSource()),
      place(copy.getSourceIndices(), from), false, align);
  if (from != to)
    bytes = vector::BitCastOp::create(b, to, bytes);
  vector::StoreOp::create(b, bytes, mapping.lookup(copy.getTarget()),
                          place(copy.getTargetIndices(), to), false, align);
}

} // namespace

bool decant::mapLaneOp(Operation *op, ImplicitLocOpBuilder &b,
                       IRMapping &mapping) {
  if (auto unpack = dyn_cast<UnpackCodesOp>(op))
    mapping.map(unpack.getResult(),
                unpackCodes(mapping.lookup(unpack.getPacked()),
                            unpack.getBits(), unpack.getBiased(), b));
  else if (auto pack = dyn_cast<PackCodesOp>(op))
    mapping.map(
        pack.getResult(),
        packCodes(mapping.lookup(pack.getCodes()),
                  pack.getScale() ? mapping.lookup(pack.getScale()) : Value(),
                  pack.getBits(), b));
  else if (auto unpack = dyn_cast<UnpackPlanesOp>(op))
    mapping.map(unpack.getResult(),
                unpackPlanes(unpack, mapping.lookup(unpack.getLow()),
                             mapping.lookup(unpack.getHigh()), b));
  else if (auto pack = dyn_cast<PackPlanesOp>(op)) {
    const int64_t bits = pack.getBits(), upper = bits / 3;
    Value codes = roundCodes(
        mapping.lookup(pack.getCodes()),
        pack.getScale() ? mapping.lookup(pack.getScale()) : Value(), bits, b);
    mapping.map(pack.getLow(), packFields(codes, 0, bits - upper, b));
    mapping.map(pack.getHigh(), packFields(codes, bits - upper, upper, b));
  } else if (auto copy = dyn_cast<CopyAsyncOp>(op))
    copy16Bytes(copy, b, mapping);
  else if (auto copy = dyn_cast<BulkCopyOp>(op))
    copyBytes(copy, b, mapping);
  else if (auto load = dyn_cast<LoadTileOp>(op))
    loadTile(load, b, mapping);
  else // copies were done at once
    return isa<CopyWaitOp, BulkStartOp, BulkExpectOp, BulkWaitOp, BulkEndOp>(
        op);
  return true;
}
