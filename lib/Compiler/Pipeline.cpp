//===- Pipeline.cpp - every pass, in order, with the reason for its place -===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion/LowerToLLVM.h"
#include "decant/Compiler/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace decant;

namespace {

/// Adds the passes that make `stage` from the stage before it.
void addStage(OpPassManager &manager, const CompileOptions &options,
              Stage stage) {
  switch (stage) {
  case Stage::Spec:
  case Stage::Rule: // ImportSpec makes it
  case Stage::Image:
    return;
  case Stage::Windowed: {
    ExpandWindowOptions window;
    window.kernels =
        options.kernels == KernelSet::Decode ? "decode" : "transfer";
    manager.addPass(createExpandWindow(window));
    // Both reads of a delta rule fold the same decay; one product is enough.
    manager.addPass(createCSEPass());
    return;
  }
  case Stage::Formatted: {
    // Before the schedule: the bytes of a slot must not depend on it, or a
    // tuner could not change it under live slots.
    MaterializeFormatOptions format;
    format.codeOrder = toString(options.order.value_or(CodeOrder::Rows));
    manager.addPass(createMaterializeFormat(format));
    return;
  }
  case Stage::Scheduled: {
    AssignScheduleOptions schedule;
    if (options.schedule)
      schedule.schedule = toString(*options.schedule);
    manager.addPass(createAssignSchedule(schedule));
    return;
  }
  case Stage::Tiled:
    manager.addPass(createTileKernel());
    // Tiling asks for the same constants and views again and again, and loops
    // of one round are common (one term, one chunk).
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    return;
  case Stage::Mapped:
    // After CSE, so that shared memory is planned for what is really used.
    if (options.target.kind == TargetKind::Cpu)
      manager.addPass(createMapToCPU());
    else
      manager.addPass(createMapToGPU());
    return;
  case Stage::LLVM:
    buildLowerToLLVM(manager, options.target);
    return;
  }
}

} // namespace

void decant::buildPipeline(OpPassManager &manager,
                           const CompileOptions &options, Stage from,
                           Stage last) {
  for (Stage stage : allStages())
    if (from < stage && stage <= last)
      addStage(manager, options, stage);
}
