//===- CodeOps.cpp - codes as f16 numbers and back ------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The byte tricks that widen packed codes to numbers that tensor cores take,
// and narrow them.
//
//===----------------------------------------------------------------------===//

#include "WarpOps.h"
#include "WordOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace decant;

namespace {

class CodeOps : public WordOps {
public:
  using WordOps::WordOps;

  /// A stored code u = code + 2^(bits - 1) is the f16 number u 2^-24 as it is,
  /// which is what a biased one is, and 1024 + u under the exponent of 1024,
  /// from which subtracting 1024 + 2^(bits - 1) is exact.
  Value unpack(UnpackCodesOp op, Value packed) {
    const int64_t bits = op.getBits();
    Value exponent = word(op.getBiased() ? 0 : kExponents);
    SmallVector<Value> words;
    if (bits == 8) {
      SmallVector<Value> bytes = wordsOf(packed);
      if (!op.getBiased())
        exponent = word(0x64646464);
      for (int pair = 0; pair < 4; ++pair)
        words.push_back(permute(bytes[pair / 2], exponent,
                                pair % 2 == 0 ? 0x4140 : 0x4342));
    } else {
      Value fields = bits == 4 ? wordsOf(packed)[0] : spreadHalves(packed);
      const uint32_t mask = (1u << bits) - 1;
      if (bits == 4 && !op.getBiased())
        return codesOfNibbles(fields);
      for (int pair = 0; pair < 4; ++pair) {
        Value low = pair == 0 ? fields : shiftRight(fields, pair * bits);
        words.push_back(masked(low, mask | mask << 16, exponent));
      }
    }
    return codesOf(words, bits, op.getBiased());
  }

  /// As unpack(), with the fields of each plane in their places.
  Value unpack(UnpackPlanesOp op, Value low, Value high) {
    const int64_t bits = op.getBits(), upper = bits / 3, lower = bits - upper;
    const int64_t part = op.getPart();
    // Fields of a pair of keys go to the halves of a word, from bit 0 on.
    auto halvesOf = [&](Value fields, int64_t width) -> Value {
      if (width == 4)
        return fields;
      if (width == 2)
        return permute(fields, word(0), part % 2 == 0 ? 0x4140 : 0x4342);
      Value byte = permute(fields, word(0), 0x4440 | (part % 4));
      return orInto(byte, byte, 12);
    };
    low = halvesOf(low, lower);
    high = halvesOf(high, upper);
    const uint32_t lowMask = (1u << lower) - 1, highMask = (1u << bits) - 1;
    SmallVector<Value> words;
    for (int64_t pair = 0; pair < 4; ++pair) {
      const int64_t left = lower - pair * upper;
      Value above = left < 0    ? shiftRight(high, -left)
                    : left == 0 ? high
                                : orInto({}, high, left);
      const uint32_t mask = highMask & ~lowMask;
      above = masked(above, mask | mask << 16,
                     word(op.getBiased() ? 0 : kExponents));
      words.push_back(masked(pair == 0 ? low : shiftRight(low, pair * lower),
                             lowMask | lowMask << 16, above));
    }
    return codesOf(words, bits, op.getBiased());
  }

  Value pack(PackCodesOp op, Value codes, Value scale) {
    return cast<VectorType>(codes.getType()).getElementType().isF16()
               ? packHalves(op, codes, scale)
               : packFloats(op, codes);
  }

  /// Of plane after plane, lowest bits first.
  std::pair<Value, Value> pack(PackPlanesOp op, Value codes, Value scale) {
    const int64_t bits = op.getBits(), upper = bits / 3, lower = bits - upper;
    if (!cast<VectorType>(codes.getType()).getElementType().isF16()) {
      const SmallVector<Value> low = roundFloats(codes, bits);
      return {fieldsOfFloats(low, 0, lower), fieldsOfFloats(low, lower, upper)};
    }
    const SmallVector<Value> pairs = roundHalves(codes, scale, bits);
    return {fieldsOfHalves(pairs, 0, lower),
            fieldsOfHalves(pairs, lower, upper)};
  }

  Value packFloats(PackCodesOp op, Value codes) {
    const int64_t bits = op.getBits();
    SmallVector<Value> low = roundFloats(codes, bits);
    SmallVector<Value> words;
    if (bits == 8) {
      for (int half = 0; half < 2; ++half) {
        Value *e = &low[half * 4];
        Value first = permute(e[0], e[1], 0x0040),
              second = permute(e[2], e[3], 0x0040);
        words.push_back(permute(first, second, 0x5410));
      }
      return fromWords(words, op.getType());
    }
    Value fields = fieldsOfFloats(low, 0, bits);
    if (bits == 4)
      return fromWords({fields}, op.getType());
    Value half = arith::TruncIOp::create(b, b.getI16Type(), fields);
    return LLVM::BitcastOp::create(b, op.getType(), half);
  }

  Value packHalves(PackCodesOp op, Value codes, Value scale) {
    const int64_t bits = op.getBits();
    const SmallVector<Value> pairs = roundHalves(codes, scale, bits);
    if (bits == 8)
      return fromWords({permute(pairs[0], pairs[1], 0x6420),
                        permute(pairs[2], pairs[3], 0x6420)},
                       op.getType());
    Value fields = fieldsOfHalves(pairs, 0, bits);
    if (bits == 4)
      return fromWords({fields}, op.getType());
    Value half = arith::TruncIOp::create(b, b.getI16Type(), fields);
    return LLVM::BitcastOp::create(b, op.getType(), half);
  }

private:
  /// Of a pair of f16 numbers: 1024.
  static constexpr uint32_t kExponents = 0x64006400;

  /// The codes of eight fields of four bits. The second field of a byte stays
  /// where it is, which saves a shift: 1024 + 16 u, whose sixteenth is exact.
  Value codesOfNibbles(Value fields) {
    SmallVector<Value> words;
    for (Value part : {fields, shiftRight(fields, 8)})
      for (uint32_t mask : {0x000f000fu, 0x00f000f0u})
        words.push_back(masked(part, mask, word(kExponents)));
    auto halves = [&](double first, double second) -> Value {
      SmallVector<Attribute> elements;
      for (double value : {first, second, first, second})
        elements.append(2, b.getF16FloatAttr(value));
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(VectorType::get({8}, b.getF16Type()),
                                    elements));
    };
    constexpr double kBias = 8;
    return math::FmaOp::create(
        b, fromWords(words, VectorType::get({8}, b.getF16Type())),
        halves(1, 1.0 / 16), halves(-1024 - kBias, -1024.0 / 16 - kBias));
  }

  /// Words of 1024 + u as the codes that they are; of biased ones as they are.
  Value codesOf(ArrayRef<Value> words, int64_t bits, bool biased) {
    auto type = VectorType::get({8}, b.getF16Type());
    Value numbers = fromWords(words, type);
    if (biased)
      return numbers;
    Value bias = arith::ConstantOp::create(
        b, DenseElementsAttr::get(
               type,
               b.getF16FloatAttr(1024.0 + double(1 << (bits - 1))).getValue()));
    return arith::SubFOp::create(b, numbers, bias);
  }

  /// x + 1.5 * 2^23 + 2^(bits - 1) holds the unsigned code in its lowest bits.
  SmallVector<Value> roundFloats(Value codes, int64_t bits) {
    auto type = cast<VectorType>(codes.getType());
    Value magic = arith::ConstantOp::create(
        b, DenseElementsAttr::get(type,
                                  float(0x1.8p23f) + float(1 << (bits - 1))));
    Value shifted = arith::AddFOp::create(b, codes, magic);
    SmallVector<Value> low;
    for (Value element : elementsOf(shifted))
      low.push_back(arith::BitcastOp::create(b, b.getI32Type(), element));
    return low;
  }

  /// Bits `first` .. `first` + `width` of the numbers, as fields of a word.
  Value fieldsOfFloats(ArrayRef<Value> low, int64_t first, int64_t width) {
    const uint32_t mask = (1u << width) - 1;
    Value fields;
    for (int e = 0; e < 8; ++e) {
      Value number = first > 0 ? shiftRight(low[e], first) : low[e];
      fields = orInto(fields, arith::AndIOp::create(b, number, word(mask)),
                      (e / 2 + 4 * (e % 2)) * width);
    }
    return fields;
  }

  /// x scale + 1024 + 2^(bits - 1), rounded once, is 1024 + u: pairs of them.
  SmallVector<Value> roundHalves(Value codes, Value scale, int64_t bits) {
    auto type = cast<VectorType>(codes.getType());
    auto splat = [&](double value) -> Value {
      return arith::ConstantOp::create(
          b, DenseElementsAttr::get(type, b.getF16FloatAttr(value).getValue()));
    };
    Value shifted =
        math::FmaOp::create(b, codes, scale ? scale : splat(1),
                            splat(1024.0 + double(1 << (bits - 1))));
    return wordsOf(shifted);
  }

  /// The codes of a pair of keys are 16 bits apart, and so are their fields of
  /// 4 bits; those of 2 bits are 8 apart, and single bits 4.
  Value fieldsOfHalves(ArrayRef<Value> pairs, int64_t first, int64_t width) {
    const uint32_t mask = (1u << width) - 1;
    Value fields;
    for (auto [i, pair] : llvm::enumerate(pairs)) {
      Value number = first > 0 ? shiftRight(pair, first) : pair;
      fields = orInto(fields,
                      arith::AndIOp::create(b, number, word(mask | mask << 16)),
                      i * width);
    }
    if (width == 4)
      return fields;
    if (width == 2)
      return permute(fields, word(0), 0x4420);
    fields = arith::OrIOp::create(b, fields, shiftRight(fields, 12));
    return arith::AndIOp::create(b, fields, word(0xFF));
  }

  /// Two bytes of four 2-bit fields each, one in either half of a word.
  Value spreadHalves(Value packed) {
    Value half = LLVM::BitcastOp::create(b, b.getI16Type(), packed);
    Value wide = arith::ExtUIOp::create(b, b.getI32Type(), half);
    return permute(wide, word(0), 0x4140);
  }
};

} // namespace

bool decant::mapCodeOp(Operation *op, ImplicitLocOpBuilder &b,
                       IRMapping &mapping) {
  CodeOps emit(b);
  auto operand = [&](Value value) { return mapping.lookup(value); };
  if (auto unpack = dyn_cast<UnpackCodesOp>(op))
    mapping.map(unpack.getResult(),
                emit.unpack(unpack, operand(unpack.getPacked())));
  else if (auto unpack = dyn_cast<UnpackPlanesOp>(op))
    mapping.map(unpack.getResult(),
                emit.unpack(unpack, operand(unpack.getLow()),
                            operand(unpack.getHigh())));
  else if (auto pack = dyn_cast<PackPlanesOp>(op)) {
    const auto planes =
        emit.pack(pack, operand(pack.getCodes()),
                  pack.getScale() ? operand(pack.getScale()) : Value());
    mapping.map(pack.getLow(), planes.first);
    mapping.map(pack.getHigh(), planes.second);
  } else if (auto pack = dyn_cast<PackCodesOp>(op))
    mapping.map(
        pack.getResult(),
        emit.pack(pack, operand(pack.getCodes()),
                  pack.getScale() ? operand(pack.getScale()) : Value()));
  else
    return false;
  return true;
}
