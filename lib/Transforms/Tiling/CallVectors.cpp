//===- CallVectors.cpp - a call's vectors, as lanes have them -------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallVectors.h"

#include <numeric>

using namespace mlir;
using namespace decant;

namespace {

/// Of a vector, what a lane has.
struct Part {
  int64_t dim, width; // of the vector, of the part
  Value first;        // the part's first element
  bool padded, whole; // has elements beyond the dim; one lane holds all
  /// Whether the dim ends where a lane's part does.
  bool inWholeLanes() const { return width > 1 && dim % width == 0; }
};

Value isWithin(LaneTile &tile, const Part &part, Value element) {
  return arith::CmpIOp::create(tile.b, arith::CmpIPredicate::ult, element,
                               tile.index(part.dim));
}

Part partOf(LaneTile &tile, VectorAxis axis) {
  const bool keys = axis == VectorAxis::Key;
  const int64_t dim = keys ? tile.layout.keyDim : tile.layout.valueDim;
  const int64_t padded = keys ? tile.layout.paddedKey : tile.layout.paddedValue;
  const int64_t width = tile.vectorOf(axis).getDimSize(0);
  return {dim, width, tile.firstOf(axis), dim != padded || tile.inside(axis),
          width == padded};
}

llvm::MaybeAlign alignOf(const Part &part, Type element) {
  const int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  return llvm::MaybeAlign(
      std::gcd(std::gcd(part.width, part.dim) * bytes, int64_t(16)));
}

} // namespace

Value decant::loadInput(LaneTile &tile, VectorAxis axis, Value memref,
                        Value offset) {
  ImplicitLocOpBuilder &b = tile.b;
  const Part part = partOf(tile, axis);
  const Type element = cast<MemRefType>(memref.getType()).getElementType();
  if (!part.padded)
    return tile.widen(
        vector::LoadOp::create(b, VectorType::get({part.width}, element),
                               memref, ValueRange{tile.add(offset, part.first)},
                               false, alignOf(part, element)));
  if (part.whole) {
    Value real = tile.widen(vector::LoadOp::create(
        b, VectorType::get({part.dim}, element), memref, ValueRange{offset},
        false, alignOf(part, element)));
    return vector::InsertStridedSliceOp::create(
        b, real, tile.zeros(tile.vectorOf(part.width)), ArrayRef<int64_t>{0},
        ArrayRef<int64_t>{1});
  }
  if (part.inWholeLanes()) {
    Value within = isWithin(tile, part, part.first);
    Value first = arith::SelectOp::create(b, within, part.first, tile.index(0));
    Value loaded = tile.widen(vector::LoadOp::create(
        b, VectorType::get({part.width}, element), memref,
        ValueRange{tile.add(offset, first)}, false, alignOf(part, element)));
    return arith::SelectOp::create(b, within, loaded,
                                   tile.zeros(tile.vectorOf(part.width)));
  }
  // Element by element, from inside the vector, zero beyond its end.
  SmallVector<Value> elements;
  for (int64_t i = 0; i < part.width; ++i) {
    Value at = tile.add(part.first, tile.index(i));
    Value inside = isWithin(tile, part, at);
    Value safe = arith::MinUIOp::create(b, at, tile.index(part.dim - 1));
    Value value = tile.widen(
        memref::LoadOp::create(b, memref, ValueRange{tile.add(offset, safe)}));
    elements.push_back(arith::SelectOp::create(b, inside, value, tile.f32(0)));
  }
  return vector::FromElementsOp::create(b, tile.vectorOf(part.width), elements);
}

void decant::storeOutput(LaneTile &tile, VectorAxis axis, Value vector,
                         Value memref, Value offset) {
  ImplicitLocOpBuilder &b = tile.b;
  const Part part = partOf(tile, axis);
  const Type element = cast<MemRefType>(memref.getType()).getElementType();
  Value owner = tile.writes(axis);
  if (axis == VectorAxis::Key && tile.slice) // all slices have all keys
    owner =
        arith::AndIOp::create(b, owner,
                              arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                                    tile.slice, tile.index(0)));
  tile.ifTrue(owner, [&] {
    vector = tile.narrow(vector, toElementType(element));
    if (part.padded && part.whole)
      vector = vector::ExtractStridedSliceOp::create(
          b, vector, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{part.dim},
          ArrayRef<int64_t>{1});
    if (!part.padded || part.whole || part.inWholeLanes()) {
      const bool all = !part.padded || part.whole;
      tile.ifTrue(all ? Value() : isWithin(tile, part, part.first), [&] {
        vector::StoreOp::create(b, vector, memref,
                                ValueRange{tile.add(offset, part.first)}, false,
                                alignOf(part, element));
      });
      return;
    }
    for (int64_t i = 0; i < part.width; ++i) {
      Value at = tile.add(part.first, tile.index(i));
      tile.ifTrue(isWithin(tile, part, at), [&] {
        memref::StoreOp::create(b, tile.element(vector, i), memref,
                                ValueRange{tile.add(offset, at)});
      });
    }
  });
}
