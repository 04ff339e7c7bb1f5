//===- SlotKernel.cpp - a kernel whose blocks have a slot -----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SlotKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace decant;

/// Arguments have a static shape, since bare pointers need one; this bound is
/// beyond any memory.
static constexpr int64_t kUnbounded = int64_t(1) << 46;

SlotKernel::SlotKernel(KernelOp source, SlotLayout layout)
    : source(source), heads(*source.getHeads()), inputs(*source.getInputs()),
      layout(std::move(layout)), builder(source), loc(source.getLoc()),
      context(source.getContext()) {}

void SlotKernel::addArgument(StringRef name, Type type) {
  names.push_back(name.str());
  types.push_back(type);
}

void SlotKernel::addPointer(StringRef name, Type element) {
  Attribute space;
  if (source.getTarget()->getName() != "x86-64")
    space = gpu::AddressSpaceAttr::get(context, gpu::AddressSpace::Global);
  addArgument(name, MemRefType::get({kUnbounded}, element,
                                    MemRefLayoutAttrInterface(), space));
}

void SlotKernel::addIndex(StringRef name) {
  addArgument(name, builder.getI64Type());
}

KernelOp SlotKernel::createKernel(StringRef name) {
  SmallVector<StringRef> references(names.begin(), names.end());
  auto kernel = KernelOp::create(
      builder, loc, name, builder.getStrArrayAttr(references), HeadsAttr(),
      InputsAttr(), FormatAttr(), *source.getTarget(), toAttr(context, layout),
      ScheduleAttr(), DenseI64ArrayAttr());
  Block *block = builder.createBlock(&kernel.getBody(), {}, types,
                                     SmallVector<Location>(types.size(), loc));
  for (auto [name, argument] : llvm::zip(names, block->getArguments()))
    args[name] = argument;
  return kernel;
}

void SlotKernel::enterBlock() {
  for (auto &[name, value] : args)
    if (value.getType().isInteger(64) && name != "min_fill")
      value = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                         value);
  auto block = BlockOp::create(builder, loc, heads.getValue());
  row = block.getRow();
  head = block.getHead();
  Value index = mul(row, args["slots_stride"]);
  slotNumber = memref::LoadOp::create(builder, loc, args["slots"], index);
}

void SlotKernel::ifLive(Body live, Body padding) {
  if (inputs.getPad() == PadKind::None) {
    live(builder, loc);
    return;
  }
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 32);
  Value isLive = arith::CmpIOp::create(builder, loc,
                                       inputs.getPad() == PadKind::Negative
                                           ? arith::CmpIPredicate::sge
                                           : arith::CmpIPredicate::sgt,
                                       slotNumber, zero);
  auto branch = scf::IfOp::create(builder, loc, isLive,
                                  /*withElseRegion=*/bool(padding));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&branch.getThenRegion().front());
  live(builder, loc);
  if (!padding)
    return;
  builder.setInsertionPointToStart(&branch.getElseRegion().front());
  padding(builder, loc);
}

void SlotKernel::finish(KernelOp kernel) {
  builder.setInsertionPointToEnd(&kernel.getBody().front());
  ReturnOp::create(builder, loc, ValueRange{});
}

Value SlotKernel::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value SlotKernel::add(Value a, Value b) {
  return arith::AddIOp::create(builder, loc, a, b);
}

Value SlotKernel::mul(Value a, Value b) {
  return arith::MulIOp::create(builder, loc, a, b);
}

Value SlotKernel::loadIndex(Value memref, Value place) {
  Value number = memref::LoadOp::create(builder, loc, memref, place);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    number);
}

Value SlotKernel::openSlot() {
  Value number = arith::IndexCastOp::create(builder, loc,
                                            builder.getIndexType(), slotNumber);
  header = mul(number, args["state_stride"]);
  Value offset;
  if (layout.rowBits.empty()) {
    offset = add(add(header, constant(kSlotHeaderBytes)),
                 mul(head, constant(layout.headBytes)));
  } else {
    SmallVector<int64_t> offsets;
    for (int each = 0; each < layout.valueHeads; ++each)
      offsets.push_back(layout.headOffset(each));
    offset = add(header, TableOp::create(builder, loc, builder.getIndexType(),
                                         offsets, head));
  }
  return SlotOp::create(builder, loc, args["state"], offset);
}

void SlotKernel::touchHeader(Value slot) {
  TouchHeaderOp::create(builder, loc, slot, args["state"], header, head);
}
