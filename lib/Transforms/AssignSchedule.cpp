//===- AssignSchedule.cpp - how is the work cut? --------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// AssignSchedule: puts a #decant.schedule on every kernel.
// In:  kernels with #decant.layout and #decant.target.
// Out: the same kernels with #decant.schedule; nothing else changed.
//
//===----------------------------------------------------------------------===//

#include "Core/ScheduleParts.h"
#include "Decant/Decant.h"
#include "decant/Compiler/Passes.h"

#include <algorithm>
#include <fmt/format.h>

namespace decant {
#define GEN_PASS_DEF_ASSIGNSCHEDULE
#include "decant/Compiler/Passes.h.inc"
} // namespace decant

using namespace mlir;
using namespace decant;

namespace {

struct AssignSchedulePass
    : public decant::impl::AssignScheduleBase<AssignSchedulePass> {
  using AssignScheduleBase::AssignScheduleBase;

  void runOnOperation() override {
    for (KernelOp kernel : getOperation().getOps<KernelOp>())
      if (Status status = assign(kernel); !status.ok()) {
        kernel.emitError(status.message());
        return signalPassFailure();
      }
  }

  /// A transfer works through the rows of lanes; none of them may lie beyond
  /// the keys, as those of lanes that hold a state may.
  static bool suitsTransfers(const Schedule &schedule,
                             const SlotLayout &layout) {
    return schedule.strategy == Strategy::Simt &&
           schedule.keyLanes * schedule.keysPerLane == layout.paddedKey;
  }

  /// Fragments hold what sums over keys need; the step's fold and @commit are
  /// one function, so that all kernels have the same strategy.
  bool readsKeys() {
    return getOperation()
        .walk([](WindowReadKeyOp) { return WalkResult::interrupt(); })
        .wasInterrupted();
  }

  /// Defaults are for one write a token. What a rule carries, every further
  /// write beside a state in registers and a third one in a window take more
  /// registers: with a third of the blocks less, no rule preset spills.
  static bool keepsMuch(const SlotLayout &layout) {
    return layout.record.carried > 0 ||
           layout.record.writes > (layout.window == 1 ? 1 : 2);
  }

  /// A loop over tokens keeps its counts and what was moved out of it: with
  /// fewer registers, some rules and formats spill a word or two.
  static int blocksOfTokens(const Schedule &schedule) {
    constexpr int kRegistersOfSm = 65536, kRegisters = 160;
    return std::max(1, kRegistersOfSm / (schedule.threads() * kRegisters));
  }

  Status assign(KernelOp kernel) {
    if (!kernel.getLayout() || !kernel.getTarget())
      return Status::internal("a kernel without #decant.layout has no bytes to "
                              "cut; decant-materialize-format comes first");
    const SlotLayout layout = fromAttr(*kernel.getLayout());
    DECANT_ASSIGN(TargetInfo target,
                  lookupTarget(kernel.getTarget()->getName().str()));
    // Tensor cores make steps and folds; a transfer is a copy.
    const StringRef name = kernel.getSymName();
    const bool isTransfer =
        name.starts_with("pack") || name.starts_with("unpack");
    const bool wholeHeads = needsWholeHeads(kernel);
    Schedule chosen = defaultSchedule(layout, target, wholeHeads);
    if (isTransfer && !suitsTransfers(chosen, layout)) {
      SlotLayout rows = layout;
      rows.codeOrder = CodeOrder::Rows;
      chosen = defaultSchedule(rows, target);
    }
    if (!schedule.empty()) {
      DECANT_ASSIGN(const Schedule asked, parseSchedule(schedule));
      if (!isTransfer || suitsTransfers(asked, layout))
        chosen = asked;
    } else if (!isTransfer && !readsKeys()) {
      chosen = mmaSchedule(layout, target).value_or(chosen);
    }
    if (schedule.empty() && keepsMuch(layout))
      chosen.blocksPerSm =
          std::min(chosen.blocksPerSm, std::max(1, 2 * chosen.blocksPerSm / 3));
    if (schedule.empty() && layout.tokensPerStep > 1)
      chosen.blocksPerSm = std::min(chosen.blocksPerSm, blocksOfTokens(chosen));
    if (schedule.empty() && !isTransfer && target.has(Feature::DependentLaunch))
      chosen.launch = LaunchOrder::Dependent;
    // Left alone, the assembler stops at 168 registers and spills.
    if (schedule.empty() && target.kind != TargetKind::Cpu &&
        chosen.blocksPerSm == 0 &&
        layout.record.keyDecay == DecayShape::Vector &&
        layout.record.valueDecay == DecayShape::Vector)
      chosen.blocksPerSm = 1;
    DECANT_TRY(check(chosen, layout, target));
    if (chosen.split > 1 && wholeHeads)
      return Status::invalid(fmt::format(
          "schedule <{}>: split is {}; kernel @{} sums over the value axis or "
          "replaces a vector of the whole head, which blocks cannot share",
          toString(chosen), chosen.split, kernel.getSymName().str()));
    if (chosen.strategy == Strategy::Mma && readsKeys())
      return Status::invalid(fmt::format(
          "schedule <{}>: strategy mma has no reads along the value axis, "
          "which the rule asks for",
          toString(chosen)));
    kernel.setScheduleAttr(toAttr(&getContext(), chosen));
    return {};
  }
};

} // namespace
