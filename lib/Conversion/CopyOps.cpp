//===- CopyOps.cpp - copies, barriers and bytes between blocks ------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cp.async, bulk copies and the mbarrier that they arrive at; the bytes by
// which blocks agree on rows.
//
//===----------------------------------------------------------------------===//

#include "WarpOps.h"
#include "WordOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace decant;

namespace {

constexpr int kCopyBytes = 16;

class CopyOps : public WordOps {
public:
  using WordOps::WordOps;

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
};

} // namespace

bool decant::mapCopyOp(Operation *op, ImplicitLocOpBuilder &b,
                       IRMapping &mapping) {
  CopyOps emit(b);
  auto operand = [&](Value value) { return mapping.lookup(value); };
  auto operands = [&](ValueRange values) {
    SmallVector<Value> mapped;
    for (Value value : values)
      mapped.push_back(mapping.lookup(value));
    return mapped;
  };
  if (auto copy = dyn_cast<CopyAsyncOp>(op))
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
