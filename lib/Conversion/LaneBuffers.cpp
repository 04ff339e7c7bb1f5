//===- LaneBuffers.cpp - memory for values of all lanes -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaneBuffers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>

using namespace mlir;
using namespace decant;

/// LLVM stores vectors at multiples of the next power of two.
static int64_t bytesOf(Type type) {
  int64_t bits = 64; // index
  if (auto vector = dyn_cast<VectorType>(type))
    bits = vector.getNumElements() * (vector.getElementType().isIndex()
                                          ? 64
                                          : vector.getElementTypeBitWidth());
  else if (type.isIntOrFloat())
    bits = type.getIntOrFloatBitWidth();
  return llvm::PowerOf2Ceil(llvm::divideCeil(bits, 8));
}

LaneBuffers::LaneBuffers(ImplicitLocOpBuilder &b, Operation *loop)
    : b(b), loop(loop) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop);
  size = arith::ConstantIndexOp::create(b, 0);
  memory = memref::AllocOp::create(
      b, MemRefType::get({ShapedType::kDynamic}, b.getI8Type()),
      ValueRange{size->getResult(0)});
  b.setInsertionPointAfter(loop);
  memref::DeallocOp::create(b, memory);
}

Value LaneBuffers::take(MemRefType type) {
  const int64_t element = bytesOf(type.getElementType());
  const int64_t wanted = std::max<int64_t>(element, 64);
  const int64_t length = llvm::alignTo(type.getNumElements() * element, wanted);
  align = std::max(align, wanted);
  SmallVector<int64_t> &fitting = free[length];
  int64_t offset = 0;
  auto aligned = llvm::find_if(
      fitting, [&](int64_t place) { return place % wanted == 0; });
  if (aligned != fitting.end()) {
    offset = *aligned;
    fitting.erase(aligned);
  } else {
    offset = llvm::alignTo(bytes, wanted);
    bytes = offset + length;
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop);
  Value buffer = memref::ViewOp::create(
      b, type, memory, arith::ConstantIndexOp::create(b, offset), ValueRange{});
  places[buffer] = {offset, length};
  return buffer;
}

void LaneBuffers::giveBack(Value buffer) {
  auto [offset, length] = places.lookup(buffer);
  free[length].push_back(offset);
}

void LaneBuffers::finish() {
  if (bytes == 0) { // release, allocation and size, in this order
    (*memory.getUsers().begin())->erase();
    memory.getDefiningOp()->erase();
    size->erase();
    return;
  }
  size->setAttr("value", b.getIndexAttr(bytes));
  memory.getDefiningOp<memref::AllocOp>().setAlignment(align);
}
