//===- WarpOps.cpp - ops of a warp as NVIDIA instructions -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mma.sync, movmatrix and cp.async by name, and the byte tricks that widen
// packed codes. A lane's packed vectors travel as 32-bit words here.
//
//===----------------------------------------------------------------------===//

#include "WarpOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace decant;

namespace {

constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3, kClusterSpace = 7;
constexpr int kCopyBytes = 16;

class WarpOps {
public:
  explicit WarpOps(ImplicitLocOpBuilder &b) : b(b) {}

  Value mma(Value left, Value right, Value sum) {
    Type half = getElementTypeOrSelf(left.getType());
    // The instruction takes bf16 pairs as words, f16 pairs as vectors.
    auto operand = [&](Value vector) {
      SmallVector<Value> words = wordsOf(vector);
      if (half.isF16())
        for (Value &word : words)
          word = LLVM::BitcastOp::create(b, VectorType::get({2}, half), word);
      return words;
    };
    SmallVector<Value> sums = elementsOf(sum);
    Type result = LLVM::LLVMStructType::getLiteral(
        b.getContext(), SmallVector<Type>(4, b.getF32Type()));
    const NVVM::MMATypes type =
        half.isF16() ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
    const int64_t terms = 2 * cast<VectorType>(left.getType()).getNumElements();
    const NVVM::MMALayout row = NVVM::MMALayout::row,
                          col = NVVM::MMALayout::col;
    auto product = NVVM::MmaOp::create(
        b, result, operand(left), operand(right), sums,
        ArrayRef<int64_t>{16, 8, terms}, std::nullopt, std::nullopt,
        std::array<NVVM::MMATypes, 2>{type, type},
        std::array<NVVM::MMALayout, 2>{row, col});
    SmallVector<Value> elements;
    for (int64_t i = 0; i < 4; ++i)
      elements.push_back(LLVM::ExtractValueOp::create(b, product.getRes(), i));
    return vector::FromElementsOp::create(b, cast<VectorType>(sum.getType()),
                                          elements);
  }

  /// No dialect or intrinsic has movmatrix.
  Value transpose(Value pair) {
    Value turned = assemble("movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;",
                            "=r,r", wordsOf(pair)[0], /*hasSideEffects=*/true);
    return fromWords({turned}, pair.getType());
  }

  /// ldmatrix: lane 8 m + i brings the address of row i of the m-th 8 x 8
  /// matrix.
  Value loadTile(LoadTileOp op, Value panel, Value row, Value column,
                 Value lane) {
    auto type = cast<VectorType>(op.getType());
    const int64_t matrices = type.getNumElements() / 2;
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, value);
    };
    auto bit = [&](int64_t n) -> Value { // 8 where bit n of the lane is set
      Value moved =
          n > 3 ? arith::ShRUIOp::create(b, lane, constant(n - 3)) : lane;
      return arith::AndIOp::create(b, moved, constant(8));
    };
    Value inRow = arith::AndIOp::create(b, lane, constant(7));
    Value inColumn = constant(0);
    if (!op.getRight() || op.getTransposed()) {
      // Matrices go down the panel's rows first, or along its columns; over 8
      // terms, there are two that differ in the other direction.
      const bool rowsFirst = op.getRight() == op.getTransposed();
      Value downRows, alongColumns = constant(0);
      if (matrices == 4) {
        downRows = bit(rowsFirst ? 3 : 4);
        alongColumns = bit(rowsFirst ? 4 : 3);
      } else {
        (op.getTransposed() ? alongColumns : downRows) = bit(3);
      }
      if (downRows)
        inRow = arith::AddIOp::create(b, inRow, downRows);
      inColumn = alongColumns;
    } else {
      inColumn = arith::AndIOp::create(b, lane, constant(8 * (matrices - 1)));
    }
    auto panelType = cast<MemRefType>(panel.getType());
    Value width = constant(panelType.getDimSize(1));
    Value ofTile = column;
    if (op.getRows())
      inRow = arith::MinUIOp::create(b, arith::AddIOp::create(b, row, inRow),
                                     constant(*op.getRows() - 1));
    else
      ofTile = arith::AddIOp::create(b, arith::MulIOp::create(b, row, width),
                                     column);
    Value ofLane = arith::AddIOp::create(
        b, arith::MulIOp::create(b, inRow, width), inColumn);
    Value address = pointerTo(panel, ofLane, ofTile, kSharedSpace);
    SmallVector<Type> words(matrices, b.getI32Type());
    Type result = LLVM::LLVMStructType::getLiteral(b.getContext(), words);
    auto shape = NVVM::LdStMatrixShapeAttr::get(b.getContext(), 8, 8);
    Value loaded = NVVM::LdMatrixOp::create(
        b, result, address, b.getI32IntegerAttr(matrices),
        NVVM::MMALayoutAttr::get(b.getContext(), op.getTransposed()
                                                     ? NVVM::MMALayout::col
                                                     : NVVM::MMALayout::row),
        shape,
        NVVM::LdStMatrixEltTypeAttr::get(b.getContext(),
                                         NVVM::LdStMatrixEltType::B16));
    SmallVector<Value> parts;
    for (int64_t i = 0; i < matrices; ++i)
      parts.push_back(LLVM::ExtractValueOp::create(b, loaded, i));
    return fromWords(parts, type);
  }

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

  void copy(CopyAsyncOp op, Value source, ValueRange from, Value target,
            ValueRange to, Value valid) {
    Value bytes = arith::SelectOp::create(b, valid, word(kCopyBytes), word(0));
    NVVM::CpAsyncOp::create(
        b, pointer(target, to, kSharedSpace),
        pointer(source, from, kGlobalSpace), b.getI32IntegerAttr(kCopyBytes),
        NVVM::LoadCacheModifierKindAttr::get(b.getContext(),
                                             NVVM::LoadCacheModifierKind::CG),
        bytes);
  }

  /// One arrival ends the phase, once all bytes are there.
  void startBulk(Value arrival) {
    NVVM::MBarrierInitOp::create(b, pointer(arrival, kSharedSpace), word(1),
                                 Value());
    NVVM::FenceMbarrierInitOp::create(b);
  }

  void copyBulk(Value bytes, Value source, ValueRange from, Value target,
                ValueRange to, Value arrival) {
    // The address of a block's own memory is that of its cluster's, too; PTX
    // ISA 8.0 has no other form.
    NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
        b, pointer(target, to, kClusterSpace),
        pointer(source, from, kGlobalSpace), pointer(arrival, kSharedSpace),
        arith::IndexCastOp::create(b, b.getI32Type(), bytes), Value(), Value());
  }

  void endBulk(Value arrival) {
    NVVM::MBarrierInvalOp::create(b, pointer(arrival, kSharedSpace));
  }

  void expectBulk(Value bytes, Value arrival) {
    NVVM::MBarrierArriveExpectTxOp::create(
        b, Type(), pointer(arrival, kSharedSpace),
        arith::IndexCastOp::create(b, b.getI32Type(), bytes),
        NVVM::MemScopeKind::CTA, /*relaxed=*/false, Value());
  }

  /// A try may end before the phase does.
  void waitBulk(Value arrival) {
    Value address = pointer(arrival, kSharedSpace);
    auto loop = scf::WhileOp::create(b, TypeRange(), ValueRange());
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&loop.getBefore());
    Value there = NVVM::MBarrierTryWaitOp::create(b, b.getI1Type(), address,
                                                  word(0), Value());
    Value again = arith::XOrIOp::create(
        b, there, arith::ConstantIntOp::create(b, 1, /*width=*/1));
    scf::ConditionOp::create(b, again, ValueRange());
    b.createBlock(&loop.getAfter());
    scf::YieldOp::create(b);
  }

  /// Relaxed: what the byte says is all that another block wants to know.
  void post(Value value, Value memory, Value byte) {
    assemble("st.relaxed.gpu.global.u8 [$2], $1; mov.b32 $0, $1;", "=r,r,l",
             {value, pointer(memory, byte, kGlobalSpace)},
             /*hasSideEffects=*/true);
  }

  Value await(Value memory, Value byte) {
    Value address = pointer(memory, byte, kGlobalSpace);
    auto loop =
        scf::WhileOp::create(b, TypeRange(b.getI32Type()), ValueRange());
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&loop.getBefore());
    Value said = assemble("ld.relaxed.gpu.global.u8 $0, [$1];", "=r,l",
                          {address}, /*hasSideEffects=*/true);
    Value again =
        arith::CmpIOp::create(b, arith::CmpIPredicate::eq, said, word(0));
    scf::ConditionOp::create(b, again, said);
    b.createBlock(&loop.getAfter(), {}, b.getI32Type(), b.getLoc());
    scf::YieldOp::create(b);
    return loop.getResult(0);
  }

  /// Such a maximum is in a register of the warp.
  Value uniform(Value value) {
    Value number = arith::IndexCastOp::create(b, b.getI32Type(), value);
    Value same = NVVM::ReduxOp::create(b, b.getI32Type(), number,
                                       NVVM::ReduxKind::UMAX, word(-1));
    return arith::IndexCastUIOp::create(b, b.getIndexType(), same);
  }

  void wait() {
    NVVM::CpAsyncCommitGroupOp::create(b);
    NVVM::CpAsyncWaitGroupOp::create(b, b.getI32IntegerAttr(0));
  }

private:
  /// Of a pair of f16 numbers: 1024.
  static constexpr uint32_t kExponents = 0x64006400;

  /// (fields & mask) | rest. The assembler makes two instructions of an `and`
  /// and an `or` with constants, since one instruction holds one constant.
  Value masked(Value fields, uint32_t mask, Value rest) {
    if (matchPattern(rest, m_Zero()))
      return arith::AndIOp::create(b, fields, word(mask));
    return assemble("lop3.b32 $0, $1, $2, $3, 0xEA;", "=r,r,n,r",
                    {fields, word(mask), rest}, /*hasSideEffects=*/false);
  }

  /// What neither dialects nor intrinsics have, on words.
  Value assemble(StringRef text, StringRef constraints, ValueRange operands,
                 bool hasSideEffects) {
    return LLVM::InlineAsmOp::create(
               b, b.getI32Type(), operands, text, constraints, hasSideEffects,
               /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
               LLVM::AsmDialectAttr::get(b.getContext(),
                                         LLVM::AsmDialect::AD_ATT),
               ArrayAttr())
        .getRes();
  }

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

  Value word(uint32_t value) {
    return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
  }

  /// sum | part << at; null: nothing yet.
  Value orInto(Value sum, Value part, int64_t at) {
    if (at > 0)
      part = arith::ShLIOp::create(b, part, word(at));
    return sum ? arith::OrIOp::create(b, sum, part).getResult() : part;
  }

  Value shiftRight(Value value, int bits) {
    return arith::ShRUIOp::create(b, value, word(bits));
  }

  Value permute(Value low, Value high, uint32_t selector) {
    return NVVM::PermuteOp::create(
        b, b.getI32Type(), low, high, word(selector),
        NVVM::PermuteModeAttr::get(b.getContext(), NVVM::PermuteMode::DEFAULT));
  }

  /// Two bytes of four 2-bit fields each, one in either half of a word.
  Value spreadHalves(Value packed) {
    Value half = LLVM::BitcastOp::create(b, b.getI16Type(), packed);
    Value wide = arith::ExtUIOp::create(b, b.getI32Type(), half);
    return permute(wide, word(0), 0x4140);
  }

  SmallVector<Value> elementsOf(Value vector) {
    SmallVector<Value> elements;
    const int64_t count = cast<VectorType>(vector.getType()).getNumElements();
    for (int64_t i = 0; i < count; ++i)
      elements.push_back(vector::ExtractOp::create(b, vector, i));
    return elements;
  }

  SmallVector<Value> wordsOf(Value vector) {
    auto type = cast<VectorType>(vector.getType());
    const int64_t count =
        type.getNumElements() * type.getElementTypeBitWidth() / 32;
    if (count == 1)
      return {LLVM::BitcastOp::create(b, b.getI32Type(), vector)};
    Value words = LLVM::BitcastOp::create(
        b, VectorType::get({count}, b.getI32Type()), vector);
    return elementsOf(words);
  }

  Value fromWords(ArrayRef<Value> words, Type type) {
    if (words.size() == 1)
      return LLVM::BitcastOp::create(b, type, words[0]);
    Value vector = vector::FromElementsOp::create(
        b, VectorType::get({int64_t(words.size())}, b.getI32Type()), words);
    return LLVM::BitcastOp::create(b, type, vector);
  }

  Value pointer(Value memref, unsigned space) {
    return pointerTo(memref, {}, {}, space);
  }

  /// The address of an element, which a memref op cannot hand to an
  /// instruction: base + row-major offset.
  Value pointer(Value memref, ValueRange indices, unsigned space) {
    auto type = cast<MemRefType>(memref.getType());
    Value offset = indices.front();
    for (auto [dim, index] : llvm::enumerate(indices.drop_front())) {
      Value extent =
          arith::ConstantIndexOp::create(b, type.getDimSize(dim + 1));
      offset = arith::AddIOp::create(
          b, arith::MulIOp::create(b, offset, extent), index);
    }
    return pointerTo(memref, offset, {}, space);
  }

  /// The address of element `first` + `second`, summed in this order, so that
  /// what several addresses share comes first.
  Value pointerTo(Value memref, Value first, Value second, unsigned space) {
    auto type = cast<MemRefType>(memref.getType());
    Value size =
        arith::ConstantIndexOp::create(b, type.getElementTypeBitWidth() / 8);
    Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, memref);
    for (Value offset : {first, second})
      if (offset)
        address = arith::AddIOp::create(b, address,
                                        arith::MulIOp::create(b, offset, size));
    Value number = arith::IndexCastOp::create(b, b.getI64Type(), address);
    return LLVM::IntToPtrOp::create(
        b, LLVM::LLVMPointerType::get(b.getContext(), space), number);
  }

  ImplicitLocOpBuilder &b;
};

} // namespace

bool decant::mapWarpOp(Operation *op, ImplicitLocOpBuilder &b,
                       IRMapping &mapping) {
  WarpOps emit(b);
  auto operand = [&](Value value) { return mapping.lookup(value); };
  auto operands = [&](ValueRange values) {
    SmallVector<Value> mapped;
    for (Value value : values)
      mapped.push_back(mapping.lookup(value));
    return mapped;
  };
  if (auto mma = dyn_cast<MmaOp>(op))
    mapping.map(mma.getResult(),
                emit.mma(operand(mma.getA()), operand(mma.getB()),
                         operand(mma.getAcc())));
  else if (auto transpose = dyn_cast<TransposeOp>(op))
    mapping.map(transpose.getResult(),
                emit.transpose(operand(transpose.getValue())));
  else if (auto load = dyn_cast<LoadTileOp>(op))
    mapping.map(load.getResult(),
                emit.loadTile(load, operand(load.getPanel()),
                              operand(load.getRow()), operand(load.getColumn()),
                              operand(load.getLane())));
  else if (auto unpack = dyn_cast<UnpackCodesOp>(op))
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
  else if (auto copy = dyn_cast<CopyAsyncOp>(op))
    emit.copy(copy, operand(copy.getSource()),
              operands(copy.getSourceIndices()), operand(copy.getTarget()),
              operands(copy.getTargetIndices()), operand(copy.getValid()));
  else if (isa<CopyWaitOp>(op))
    emit.wait();
  else if (auto start = dyn_cast<BulkStartOp>(op))
    emit.startBulk(operand(start.getArrival()));
  else if (auto copy = dyn_cast<BulkCopyOp>(op))
    emit.copyBulk(operand(copy.getBytes()), operand(copy.getSource()),
                  operands(copy.getSourceIndices()), operand(copy.getTarget()),
                  operands(copy.getTargetIndices()),
                  operand(copy.getArrival()));
  else if (auto expect = dyn_cast<BulkExpectOp>(op))
    emit.expectBulk(operand(expect.getBytes()), operand(expect.getArrival()));
  else if (auto wait = dyn_cast<BulkWaitOp>(op))
    emit.waitBulk(operand(wait.getArrival()));
  else if (auto end = dyn_cast<BulkEndOp>(op))
    emit.endBulk(operand(end.getArrival()));
  else if (auto post = dyn_cast<PostOp>(op))
    emit.post(operand(post.getValue()), operand(post.getMemory()),
              operand(post.getByte()));
  else if (auto await = dyn_cast<AwaitOp>(op))
    mapping.map(await.getResult(), emit.await(operand(await.getMemory()),
                                              operand(await.getByte())));
  else if (auto uniform = dyn_cast<UniformOp>(op))
    mapping.map(uniform.getResult(), emit.uniform(operand(uniform.getValue())));
  else
    return false;
  return true;
}
