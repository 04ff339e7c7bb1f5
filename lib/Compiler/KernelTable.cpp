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
  if (name == "q" || name == "k")
    return std::gcd(keyBytes, kMaxAlign);
  if (name == "v" || name == "out")
    return std::gcd(valueBytes, kMaxAlign);
  if (name == "slots" || name == "A_log" || name == "dense")
    return elementBytes;
  // Decays and extra inputs may be vectors along either axis.
  return std::gcd(std::gcd(keyBytes, valueBytes), kMaxAlign);
}

/// Whether the input is a scalar per head: such rows need no alignment.
bool isScalarInput(KernelOp kernel, BlockArgument argument) {
  bool vector = false;
  kernel.walk([&](LoadOp load) { vector |= load.getSource() == argument; });
  return !vector;
}

} // namespace

RecordShape decant::recordShapeOf(ModuleOp module) {
  RecordShape shape;
  module.walk([&](KernelOp kernel) {
    auto window =
        dyn_cast<WindowType>(kernel.getBody().getArgument(0).getType());
    if (window)
      shape = {int(window.getWrites()), DecayShape(window.getKeyDecay()),
               DecayShape(window.getValueDecay())};
  });
  return shape;
}

void decant::describeKernels(ModuleOp module, const DecodeSpec &spec,
                             KernelImage &image) {
  for (KernelOp kernel : module.getOps<KernelOp>()) {
    image.layout = fromAttr(*kernel.getLayout());
    image.scheduleText = toString(fromAttr(*kernel.getSchedule()));
    KernelEntry entry;
    entry.role = entry.symbol = kernel.getSymName().str();
    entry.blocksPerRow = spec.heads.value;
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
      arg.align =
          name != "state" && name != "out" && isScalarInput(kernel, argument)
              ? bytes
              : alignOf(name, bytes, image.layout);
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
      entry.sharedBytes =
          function->getAttrOfType<IntegerAttr>("dynamic_shared_bytes").getInt();
    }
  });
}
