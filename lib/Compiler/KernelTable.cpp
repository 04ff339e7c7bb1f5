//===- KernelTable.cpp - what an image says of its kernels ----------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTable.h"
#include "Decant/Decant.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <numeric>

using namespace mlir;
using namespace decant;

namespace {

constexpr int kMaxAlign = 16;

/// What a pointer and its strides must be multiples of: rows of vectors are
/// loaded up to 16 bytes at a time, scalars one by one.
int alignOf(StringRef name, int elementBytes, const SlotLayout &layout) {
  if (name == "state")
    return kSlotAlign;
  const int keyBytes = layout.keyDim * elementBytes;
  const int valueBytes = layout.valueDim * elementBytes;
  if (hasKeyHeads(name.str()))
    return std::gcd(keyBytes, kMaxAlign);
  if (name == "v" || name == "out")
    return std::gcd(valueBytes, kMaxAlign);
  if (name == "slots" || name == "A_log" || name == "dense")
    return elementBytes;
  // Decays and extra inputs may be vectors along either axis.
  return std::gcd(std::gcd(keyBytes, valueBytes), kMaxAlign);
}

/// Elements of one head of an input or output: the width of the vectors loaded
/// from it or stored to it, 1 for scalars.
int64_t headWidth(KernelOp kernel, BlockArgument argument) {
  int64_t width = 1;
  kernel.walk([&](Operation *op) {
    auto widthOf = [](Type type) {
      return cast<RankedTensorType>(type).getDimSize(0);
    };
    if (auto load = dyn_cast<LoadOp>(op); load && load.getSource() == argument)
      width = widthOf(load.getType());
    if (auto store = dyn_cast<StoreOp>(op);
        store && store.getTarget() == argument)
      width = widthOf(store.getVector().getType());
  });
  return width;
}

bool hasStride(KernelOp kernel, StringRef name) {
  return llvm::is_contained(kernel.getArgNames().getAsValueRange<StringAttr>(),
                            (name + "_stride").str());
}

/// Elements of one row of an input or output of @step.
int64_t rowWidth(StringRef name, const DecodeSpec &spec, int64_t headWidth) {
  const HeadShape &heads = spec.heads;
  if (name == "qkv")
    return 2 * heads.key * heads.keyDim + heads.value * heads.valueDim;
  if (hasKeyHeads(name.str()))
    return heads.key * headWidth;
  return heads.value * headWidth;
}

} // namespace

RecordShape decant::recordShapeOf(ModuleOp module) {
  RecordShape shape;
  module.walk([&](KernelOp kernel) {
    auto window =
        dyn_cast<WindowType>(kernel.getBody().getArgument(0).getType());
    if (window)
      shape = {int(window.getWrites()), DecayShape(window.getKeyDecay()),
               DecayShape(window.getValueDecay()), int(window.getCarried())};
  });
  return shape;
}

bool decant::readsKeys(ModuleOp module) {
  return module.walk([](ReadKeyOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

void decant::describeKernels(ModuleOp module, const DecodeSpec &spec,
                             KernelImage &image) {
  for (KernelOp kernel : module.getOps<KernelOp>()) {
    image.layout = fromAttr(*kernel.getLayout());
    const Schedule schedule = fromAttr(*kernel.getSchedule());
    KernelEntry entry;
    entry.role = entry.symbol = kernel.getSymName().str();
    // What is chosen is the step's; a commit beside it may have more blocks.
    if (entry.role == "step" || image.entries.empty())
      image.scheduleText = toString(schedule);
    entry.blocksPerRow = spec.heads.value * schedule.split;
    for (auto [argument, name] :
         llvm::zip(kernel.getBody().getArguments(),
                   kernel.getArgNames().getAsValueRange<StringAttr>())) {
      KernelArg arg;
      arg.name = name.str();
      auto memref = dyn_cast<MemRefType>(argument.getType());
      if (!memref) {
        arg.kind = ArgKind::Int64;
        entry.args.push_back(arg);
        continue;
      }
      const Type element = memref.getElementType();
      const int bytes = element.getIntOrFloatBitWidth() / 8;
      // Slot numbers are i32, which the table does not name: they are 4 bytes.
      arg.type =
          element.isInteger(32) ? ElementType::F32 : toElementType(element);
      const int64_t width = headWidth(kernel, argument);
      arg.align = name != "state" && width == 1
                      ? bytes
                      : alignOf(name, bytes, image.layout);
      // Row inputs are those with a stride of their own.
      if (entry.role == "step" && name != "state" && name != "slots" &&
          hasStride(kernel, name))
        arg.rowWidth = rowWidth(name, spec, width);
      const bool isPack = entry.role.rfind("pack", 0) == 0;
      arg.writable =
          name == "state" || name == "out" || (name == "dense" && !isPack);
      entry.args.push_back(arg);
    }
    image.entries.push_back(entry);
  }
}

void decant::describeLaunch(ModuleOp module, KernelImage &image) {
  module.walk([&](gpu::GPUFuncOp function) {
    for (KernelEntry &entry : image.entries) {
      if (entry.symbol != function.getName())
        continue;
      entry.threads = (*function.getKnownBlockSize())[0];
      entry.dependentLaunch = function->hasAttr("dependent_launch");
      entry.sharedBytes =
          function->getAttrOfType<IntegerAttr>("dynamic_shared_bytes").getInt();
    }
  });
}
