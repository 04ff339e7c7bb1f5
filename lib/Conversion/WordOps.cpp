//===- WordOps.cpp - 32-bit words in IR -----------------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WordOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace decant;

Value WordOps::masked(Value fields, uint32_t mask, Value rest) {
  if (matchPattern(rest, m_Zero()))
    return arith::AndIOp::create(b, fields, word(mask));
  return assemble("lop3.b32 $0, $1, $2, $3, 0xEA;", "=r,r,n,r",
                  {fields, word(mask), rest}, /*hasSideEffects=*/false);
}

Value WordOps::assemble(StringRef text, StringRef constraints,
                        ValueRange operands, bool hasSideEffects) {
  return LLVM::InlineAsmOp::create(
             b, b.getI32Type(), operands, text, constraints, hasSideEffects,
             /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
             LLVM::AsmDialectAttr::get(b.getContext(),
                                       LLVM::AsmDialect::AD_ATT),
             ArrayAttr())
      .getRes();
}

Value WordOps::word(uint32_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(int32_t(value)));
}

Value WordOps::orInto(Value sum, Value part, int64_t at) {
  if (at > 0)
    part = arith::ShLIOp::create(b, part, word(at));
  return sum ? arith::OrIOp::create(b, sum, part).getResult() : part;
}

Value WordOps::shiftRight(Value value, int bits) {
  return arith::ShRUIOp::create(b, value, word(bits));
}

Value WordOps::permute(Value low, Value high, uint32_t selector) {
  return NVVM::PermuteOp::create(
      b, b.getI32Type(), low, high, word(selector),
      NVVM::PermuteModeAttr::get(b.getContext(), NVVM::PermuteMode::DEFAULT));
}

SmallVector<Value> WordOps::elementsOf(Value vector) {
  SmallVector<Value> elements;
  const int64_t count = cast<VectorType>(vector.getType()).getNumElements();
  for (int64_t i = 0; i < count; ++i)
    elements.push_back(vector::ExtractOp::create(b, vector, i));
  return elements;
}

SmallVector<Value> WordOps::wordsOf(Value vector) {
  auto type = cast<VectorType>(vector.getType());
  const int64_t count =
      type.getNumElements() * type.getElementTypeBitWidth() / 32;
  if (count == 1)
    return {LLVM::BitcastOp::create(b, b.getI32Type(), vector)};
  Value words = LLVM::BitcastOp::create(
      b, VectorType::get({count}, b.getI32Type()), vector);
  return elementsOf(words);
}

Value WordOps::fromWords(ArrayRef<Value> words, Type type) {
  if (words.size() == 1)
    return LLVM::BitcastOp::create(b, type, words[0]);
  Value vector = vector::FromElementsOp::create(
      b, VectorType::get({int64_t(words.size())}, b.getI32Type()), words);
  return LLVM::BitcastOp::create(b, type, vector);
}

Value WordOps::pointer(Value memref, unsigned space) {
  return pointerTo(memref, {}, {}, space);
}

Value WordOps::pointer(Value memref, ValueRange indices, unsigned space) {
  auto type = cast<MemRefType>(memref.getType());
  Value offset = indices.front();
  for (auto [dim, index] : llvm::enumerate(indices.drop_front())) {
    Value extent = arith::ConstantIndexOp::create(b, type.getDimSize(dim + 1));
    offset = arith::AddIOp::create(b, arith::MulIOp::create(b, offset, extent),
                                   index);
  }
  return pointerTo(memref, offset, {}, space);
}

Value WordOps::pointerTo(Value memref, Value first, Value second,
                         unsigned space) {
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
