//===- WarpOps.cpp - ops of a warp as NVIDIA instructions -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mma.sync, movmatrix and ldmatrix by name.
//
//===----------------------------------------------------------------------===//

#include "WarpOps.h"

#include "WordOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace decant;

namespace {

class WarpOps : public WordOps {
public:
  using WordOps::WordOps;

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
};

} // namespace

bool decant::mapWarpOp(Operation *op, ImplicitLocOpBuilder &b,
                       IRMapping &mapping) {
  WarpOps emit(b);
  auto operand = [&](Value value) { return mapping.lookup(value); };
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
  else
    return mapCodeOp(op, b, mapping) || mapCopyOp(op, b, mapping);
  return true;
}
