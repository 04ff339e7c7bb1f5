//===- ByteWords.cpp - bytes of a lane, shifted as words ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ByteWords.h"

using namespace mlir;
using namespace decant;

ByteWords::ByteWords(LaneTile &tile, Value fields)
    : tile(tile), bytes(cast<VectorType>(fields.getType())), words(fields) {
  constexpr int kWordBytes = 4;
  if (bytes.getNumElements() % kWordBytes == 0)
    words = vector::BitCastOp::create(
        tile.b,
        VectorType::get({bytes.getNumElements() / kWordBytes},
                        tile.b.getI32Type()),
        fields);
}

Value ByteWords::constant(uint32_t element) const {
  auto type = cast<VectorType>(words.getType());
  return arith::ConstantOp::create(
      tile.b, DenseElementsAttr::get(
                  type, APInt(type.getElementTypeBitWidth(), element)));
}

void ByteWords::keep(uint8_t mask) {
  constexpr uint32_t kEveryByte = 0x01010101;
  words = arith::AndIOp::create(tile.b, words,
                                constant(isBytes() ? mask : mask * kEveryByte));
}

void ByteWords::keepIf(Value condition) {
  words = arith::SelectOp::create(tile.b, condition, words, constant(0));
}

void ByteWords::add(const ByteWords &other) {
  words = arith::OrIOp::create(tile.b, words, other.words);
}

Value ByteWords::fields() const {
  return isBytes()
             ? words
             : vector::BitCastOp::create(tile.b, bytes, words).getResult();
}
