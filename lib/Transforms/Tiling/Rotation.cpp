//===- Rotation.cpp - Hadamard matrices over lanes ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Rotation.h"

#include <cmath>

using namespace mlir;
using namespace decant;

namespace {

bool rotates(const LaneTile &tile, VectorAxis axis) {
  return axis == VectorAxis::Key ? tile.layout.rotatesKeys()
                                 : tile.layout.rotatesValues();
}

int blockOf(const LaneTile &tile, VectorAxis axis) {
  return tile.layout.rotationOf(axis == VectorAxis::Key ? tile.layout.keyDim
                                                        : tile.layout.valueDim);
}

/// Where the lanes of a vector meet: a row of shared memory.
struct Meeting {
  View memory;
  Value line;
  bool isShared; // by lanes that hold the same elements
};

class Butterfly {
public:
  Butterfly(LaneTile &tile, VectorAxis axis, const Meeting &meeting)
      : tile(tile), axis(axis), meeting(meeting), type(tile.vectorOf(axis)),
        width(type.getDimSize(0)), run(rotationBlock(int(width))),
        block(blockOf(tile, axis)) {}

  Value of(Value x) {
    for (int64_t distance = 1; distance < block; distance *= 2)
      x = distance < run ? within(x, distance) : across(x, distance);
    return tile.scale(x, tile.f32(1 / std::sqrt(double(block))));
  }

private:
  /// Partners are in the lane: x_i + x_(i + d), x_i - x_(i + d).
  Value within(Value x, int64_t distance) {
    SmallVector<int64_t> partners;
    SmallVector<float> signs;
    for (int64_t i = 0; i < width; ++i) {
      partners.push_back(i ^ distance);
      signs.push_back(i & distance ? -1 : 1);
    }
    Value other = vector::ShuffleOp::create(tile.b, x, x, partners);
    Value sign = arith::ConstantOp::create(
        tile.b, DenseElementsAttr::get(type, ArrayRef(signs)));
    return tile.fma(x, sign, other);
  }

  /// Partners are another lane's: runs of elements, whole.
  Value across(Value x, int64_t distance) {
    Value first = tile.firstOf(axis), line = meeting.line;
    if (meeting.isShared)
      tile.storeAlong(axis, meeting.memory, line, x);
    else
      tile.store(meeting.memory, line, first, x);
    tile.barrier();
    const VectorType part = tile.vectorOf(run);
    Value all = tile.zeros(type);
    for (int64_t i = 0; i < width; i += run) {
      Value at = tile.add(first, tile.index(i));
      Value other = tile.load(
          meeting.memory, line,
          arith::XOrIOp::create(tile.b, at, tile.index(distance)), run);
      Value isUpper = arith::CmpIOp::create(
          tile.b, arith::CmpIPredicate::ne,
          arith::AndIOp::create(tile.b, at, tile.index(distance)),
          tile.index(0));
      Value sign =
          arith::SelectOp::create(tile.b, isUpper, tile.f32(-1), tile.f32(1));
      Value mine = vector::ExtractStridedSliceOp::create(
          tile.b, x, ArrayRef<int64_t>{i}, ArrayRef<int64_t>{run},
          ArrayRef<int64_t>{1});
      Value sum = tile.fma(mine, tile.splat(sign, part), other);
      all = vector::InsertStridedSliceOp::create(
          tile.b, sum, all, ArrayRef<int64_t>{i}, ArrayRef<int64_t>{1});
    }
    tile.barrier();
    return all;
  }

  LaneTile &tile;
  VectorAxis axis;
  const Meeting &meeting;
  VectorType type;
  int64_t width, run; // of a lane's part, of its aligned powers of two
  int64_t block;
};

} // namespace

Value decant::rotate(LaneTile &tile, VectorAxis axis, Value x) {
  if (!rotates(tile, axis))
    return x;
  const int64_t length =
      axis == VectorAxis::Key ? tile.layout.paddedKey : tile.layout.paddedValue;
  const Meeting meeting{tile.scratch(1, length), tile.index(0),
                        /*isShared=*/true};
  return Butterfly(tile, axis, meeting).of(x);
}

Value decant::rotateRow(LaneTile &tile, Value x, const View &memory) {
  if (!tile.layout.rotatesValues())
    return x;
  const Meeting meeting{memory, tile.keyLane, /*isShared=*/false};
  return Butterfly(tile, VectorAxis::Value, meeting).of(x);
}

Value decant::rotateKeys(
    LaneTile &tile, Value key, int step,
    llvm::function_ref<SmallVector<Value>(Value first)> rows) {
  const int block = blockOf(tile, VectorAxis::Key);
  ImplicitLocOpBuilder &b = tile.b;
  Value base = tile.mul(arith::DivUIOp::create(b, key, tile.index(block)),
                        tile.index(block));
  Value sum = tile.loop(
      tile.index(0), tile.index(block), step, {tile.zeros(tile.valueType())},
      [&](Value other, ValueRange carried) {
        Value total = carried[0];
        for (auto [n, row] : llvm::enumerate(rows(tile.add(base, other)))) {
          // Entry (i, j) is -1 where i and j share an odd number of bits.
          Value common = arith::AndIOp::create(
              b, key, tile.add(other, tile.index(int64_t(n))));
          Value bits = math::CtPopOp::create(
              b, arith::IndexCastOp::create(b, b.getI32Type(), common));
          Value isOdd = arith::TruncIOp::create(b, b.getI1Type(), bits);
          Value sign =
              arith::SelectOp::create(b, isOdd, tile.f32(-1), tile.f32(1));
          total = tile.fma(row, tile.splat(sign, tile.valueType()), total);
        }
        return SmallVector<Value>{total};
      })[0];
  return tile.scale(sum, tile.f32(1 / std::sqrt(double(block))));
}
