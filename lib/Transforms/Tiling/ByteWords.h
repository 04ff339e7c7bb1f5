//===- ByteWords.h - bytes of a lane, shifted as words ----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Targets take vectors of bytes apart to shift each. Where bytes fill words,
// those are shifted instead; what a byte then gets from its neighbour has to be
// masked, unless no field reaches that far.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_BYTEWORDS_H
#define DECANT_TRANSFORMS_TILING_BYTEWORDS_H

#include "LaneTile.h"

namespace decant {

/// Fields of a byte each: a vector of i8.
class ByteWords {
public:
  ByteWords(LaneTile &tile, mlir::Value fields);

  /// By a scalar i8, or by a constant.
  template <typename Op> void shift(mlir::Value bits) {
    if (!isBytes())
      bits = mlir::arith::ExtUIOp::create(tile.b, tile.b.getI32Type(), bits);
    words = Op::create(
        tile.b, words,
        mlir::vector::BroadcastOp::create(tile.b, words.getType(), bits));
  }
  template <typename Op> void shift(int bits) {
    words = Op::create(tile.b, words, constant(bits));
  }
  /// The bits of `mask`, of every byte.
  void keep(uint8_t mask);
  /// Zeros where the condition, an i1, does not hold.
  void keepIf(mlir::Value condition);
  void add(const ByteWords &other);
  mlir::Value fields() const;

private:
  bool isBytes() const { return words.getType() == bytes; }
  mlir::Value constant(uint32_t element) const;

  LaneTile &tile;
  mlir::VectorType bytes;
  mlir::Value words;
};

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_BYTEWORDS_H
