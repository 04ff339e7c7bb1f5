//===- KernelPointers.cpp - memrefs of a GPU kernel as pointers -----------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All shapes of a kernel's memrefs are known and all layouts are row-major, so
// none needs a descriptor, whose making and folding away would be half of the
// way to stage llvm. And constants are taken out of addresses here, while the
// sums and products that they stand in can be seen: accesses of one array then
// share a base register, and LLVM's search for such bases finds little to do.
//
//===----------------------------------------------------------------------===//

#include "KernelPointers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace decant;

namespace {

constexpr const char *kSharedName = "__dynamic_shmem__0";
constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
constexpr int kSharedAlign = 16;

/// An index as a sum; a null `rest` is 0.
struct Sum {
  Value rest;
  int64_t constant = 0;
};

/// Where an array begins.
struct Place {
  Value pointer;
  int64_t bytes = 0; // from there
  MemRefType type;
};

class FunctionPointers {
public:
  FunctionPointers(FunctionOpInterface function, LLVM::GlobalOp shared)
      : function(function), shared(shared),
        b(function.getLoc(), function.getContext()) {}

  LogicalResult run() {
    mapArguments();
    SmallVector<Operation *> ops;
    function.walk<WalkOrder::PreOrder>(
        [&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops) {
      b.setInsertionPoint(op);
      b.setLoc(op->getLoc());
      if (failed(map(op)))
        return failure();
    }
    for (Operation *op : llvm::reverse(done))
      op->erase();
    return success();
  }

private:
  Type pointerIn(MemRefType type) {
    auto space = dyn_cast_or_null<gpu::AddressSpaceAttr>(type.getMemorySpace());
    const bool isShared =
        space && space.getValue() == gpu::AddressSpace::Workgroup;
    return LLVM::LLVMPointerType::get(b.getContext(),
                                      isShared ? kSharedSpace : kGlobalSpace);
  }

  void mapArguments() {
    SmallVector<Type> types;
    for (BlockArgument argument : function.getArguments()) {
      if (auto type = dyn_cast<MemRefType>(argument.getType())) {
        argument.setType(pointerIn(type));
        places[argument] = {argument, 0, type};
      }
      types.push_back(argument.getType());
    }
    function.setType(b.getFunctionType(types, {}));
  }

  LogicalResult map(Operation *op) {
    if (auto memory = dyn_cast<gpu::DynamicSharedMemoryOp>(op)) {
      places[memory] = {LLVM::AddressOfOp::create(b, shared), 0,
                        memory.getType()};
    } else if (auto view = dyn_cast<memref::ViewOp>(op)) {
      const Place source = places.lookup(view.getSource());
      const Sum shift = split(view.getByteShift());
      places[view] = {advance(source.pointer, b.getI8Type(), shift.rest),
                      source.bytes + shift.constant, view.getType()};
    } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
      load.replaceAllUsesWith(
          LLVM::LoadOp::create(b, load.getType(),
                               address(load.getMemRef(), load.getIndices()))
              .getResult());
    } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
      LLVM::StoreOp::create(b, store.getValueToStore(),
                            address(store.getMemRef(), store.getIndices()));
    } else if (auto load = dyn_cast<vector::LoadOp>(op)) {
      load.replaceAllUsesWith(
          LLVM::LoadOp::create(b, load.getType(),
                               address(load.getBase(), load.getIndices()),
                               alignOf(load, load.getBase()))
              .getResult());
    } else if (auto store = dyn_cast<vector::StoreOp>(op)) {
      LLVM::StoreOp::create(b, store.getValueToStore(),
                            address(store.getBase(), store.getIndices()),
                            alignOf(store, store.getBase()));
    } else if (auto base =
                   dyn_cast<memref::ExtractAlignedPointerAsIndexOp>(op)) {
      const Place place = places.lookup(base.getSource());
      Value number = LLVM::PtrToIntOp::create(
          b, b.getI64Type(), advance(place.pointer, place.bytes));
      base.replaceAllUsesWith(
          arith::IndexCastOp::create(b, b.getIndexType(), number).getResult());
    } else {
      auto isMemref = [](Type type) { return isa<BaseMemRefType>(type); };
      if (llvm::any_of(op->getResultTypes(), isMemref) ||
          llvm::any_of(op->getOperands(), [&](Value operand) {
            return places.contains(operand) && isMemref(operand.getType());
          }))
        return op->emitError("has a memref that no pointer can stand for; a "
                             "kernel loads, stores and views");
      return success();
    }
    done.push_back(op);
    return success();
  }

  template <typename Op> unsigned alignOf(Op op, Value memref) {
    if (auto alignment = op.getAlignment())
      return unsigned(*alignment);
    return elementBytes(places.lookup(memref).type);
  }
  static unsigned elementBytes(MemRefType type) {
    return type.getElementTypeBitWidth() / 8;
  }

  Value address(Value memref, ValueRange indices) {
    const Place place = places.lookup(memref);
    Sum offset;
    for (auto [dim, index] : llvm::enumerate(indices)) {
      if (dim > 0)
        offset = times(offset, place.type.getDimSize(dim));
      offset = plus(offset, split(index));
    }
    const int64_t constant =
        place.bytes + offset.constant * elementBytes(place.type);
    return advance(
        advance(place.pointer, place.type.getElementType(), offset.rest),
        constant);
  }

  Value advance(Value pointer, Type element, Value index) {
    if (!index)
      return pointer;
    return LLVM::GEPOp::create(b, pointer.getType(), element, pointer,
                               ArrayRef<LLVM::GEPArg>{numberOf(index)});
  }
  Value advance(Value pointer, int64_t bytes) {
    if (bytes == 0)
      return pointer;
    if (!llvm::isInt<LLVM::kGEPConstantBitWidth>(bytes))
      return advance(pointer, b.getI8Type(), constant(bytes));
    return LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(), pointer,
                               ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
  }

  /// `index` as the i64 that it will be, cast once.
  Value numberOf(Value index) {
    Value &number = numbers[index];
    if (!number) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointAfterValue(index);
      number = arith::IndexCastOp::create(b, b.getI64Type(), index);
    }
    return number;
  }

  Value constant(int64_t value) {
    Value &constant = constants[value];
    if (!constant) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(&function.getFunctionBody().front());
      constant = arith::ConstantIndexOp::create(b, value);
    }
    return constant;
  }

  //===--- constants out of sums and products -----------------------------===//

  /// `index` without its constant part. What that takes is computed beside
  /// `index` itself, once.
  Sum split(Value index) {
    APInt value;
    if (matchPattern(index, m_ConstantInt(&value)))
      return {Value(), value.getSExtValue()};
    auto [found, isNew] = sums.try_emplace(index, Sum{index, 0});
    if (!isNew)
      return found->second;
    Sum sum = {index, 0};
    Operation *op = index.getDefiningOp();
    if (isa_and_nonnull<arith::AddIOp, arith::MulIOp>(op)) {
      const Sum left = split(op->getOperand(0)),
                right = split(op->getOperand(1));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointAfter(op);
      if (isa<arith::AddIOp>(op) && (left.constant || right.constant))
        sum = plus(left, right);
      else if (isa<arith::MulIOp>(op) && !right.rest && left.constant)
        sum = times(left, right.constant);
    }
    return sums[index] = sum;
  }

  Sum plus(Sum left, Sum right) {
    Value rest = left.rest ? left.rest : right.rest;
    if (left.rest && right.rest)
      rest = arith::AddIOp::create(b, left.rest, right.rest);
    return {rest, left.constant + right.constant};
  }

  Sum times(Sum sum, int64_t factor) {
    if (sum.rest && factor != 1)
      sum.rest = arith::MulIOp::create(b, sum.rest, constant(factor));
    return {sum.rest, sum.constant * factor};
  }

  FunctionOpInterface function;
  LLVM::GlobalOp shared;
  ImplicitLocOpBuilder b;
  llvm::DenseMap<Value, Place> places;
  llvm::DenseMap<Value, Sum> sums;
  llvm::DenseMap<Value, Value> numbers;
  llvm::DenseMap<int64_t, Value> constants;
  SmallVector<Operation *> done;
};

struct KernelPointersPass
    : PassWrapper<KernelPointersPass, OperationPass<gpu::GPUModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KernelPointersPass)

  StringRef getArgument() const override { return "decant-kernel-pointers"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect>();
  }
  void runOnOperation() override {
    gpu::GPUModuleOp module = getOperation();
    LLVM::GlobalOp shared = declareShared(module);
    for (auto function : module.getOps<FunctionOpInterface>())
      if (failed(FunctionPointers(function, shared).run()))
        return signalPassFailure();
  }

  /// The shared memory whose size the launch gives: declared, not defined, and
  /// of no elements; null where no kernel has any.
  static LLVM::GlobalOp declareShared(gpu::GPUModuleOp module) {
    const bool isUsed = module
                            .walk([](gpu::DynamicSharedMemoryOp) {
                              return WalkResult::interrupt();
                            })
                            .wasInterrupted();
    if (!isUsed)
      return {};
    auto b =
        ImplicitLocOpBuilder::atBlockBegin(module.getLoc(), module.getBody());
    return LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), 0),
                                  /*isConstant=*/false, LLVM::Linkage::External,
                                  kSharedName, /*value=*/Attribute(),
                                  kSharedAlign, kSharedSpace);
  }
};

} // namespace

std::unique_ptr<Pass> decant::createKernelPointers() {
  return std::make_unique<KernelPointersPass>();
}
