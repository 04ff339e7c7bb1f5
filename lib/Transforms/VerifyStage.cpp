//===- VerifyStage.cpp - what may exist at each stage ---------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// VerifyStage: the table of stages. A survivor of an earlier stage is an error
// that names the pass which should have consumed it.
//
//===----------------------------------------------------------------------===//

#include "decant/Compiler/Passes.h"

namespace decant {
#define GEN_PASS_DEF_VERIFYSTAGE
#include "decant/Compiler/Passes.h.inc"
} // namespace decant

using namespace mlir;
using namespace decant;

namespace {

/// A name (of an op, or of an attribute of decant.kernel) that exists from
/// `since` and is consumed by `pass`, which makes stage `until`.
struct Lifetime {
  StringRef name;
  Stage since, until;
  StringRef pass;
};

constexpr StringRef kExpand = "decant-expand-window";
constexpr StringRef kFormat = "decant-materialize-format";
constexpr StringRef kTile = "decant-tile-kernel";
constexpr StringRef kMap = "decant-map-to-gpu or decant-map-to-cpu";

// clang-format off
const Lifetime kOps[] = {
    {"decant.rule",         Stage::Rule,      Stage::Windowed,  kExpand},
    {"decant.decode",       Stage::Rule,      Stage::Windowed,  kExpand},
    {"decant.decay",        Stage::Rule,      Stage::Windowed,  kExpand},
    {"decant.read",         Stage::Rule,      Stage::Windowed,  kExpand},
    {"decant.read_key",     Stage::Rule,      Stage::Windowed,  kExpand},
    {"decant.write",        Stage::Rule,      Stage::Windowed,  kExpand},
    {"decant.yield",        Stage::Rule,      Stage::Windowed,  kExpand},
    {"decant.rebuild",      Stage::Windowed,  Stage::Formatted, kFormat},
    {"decant.replace",      Stage::Windowed,  Stage::Formatted, kFormat},
    {"decant.scale",        Stage::Rule,      Stage::Tiled,     kTile},
    {"decant.dot",          Stage::Rule,      Stage::Tiled,     kTile},
    {"decant.broadcast",    Stage::Rule,      Stage::Tiled,     kTile},
    {"decant.window_read",  Stage::Windowed,  Stage::Tiled,     kTile},
    {"decant.window_read_key", Stage::Windowed, Stage::Tiled,   kTile},
    {"decant.carried",      Stage::Windowed,  Stage::Tiled,     kTile},
    {"decant.carry",        Stage::Windowed,  Stage::Tiled,     kTile},
    {"decant.append",       Stage::Windowed,  Stage::Tiled,     kTile},
    {"decant.after",        Stage::Windowed,  Stage::Tiled,     kTile},
    {"decant.accept",       Stage::Windowed,  Stage::Tiled,     kTile},
    {"decant.fold",         Stage::Windowed,  Stage::Tiled,     kTile},
    {"decant.make_room",    Stage::Windowed,  Stage::Tiled,     kTile},
    {"decant.fill",         Stage::Windowed,  Stage::Tiled,     kTile},
    {"decant.slot",         Stage::Formatted, Stage::Tiled,     kTile},
    {"decant.touch_header", Stage::Formatted, Stage::Tiled,     kTile},
    {"decant.load",         Stage::Formatted, Stage::Tiled,     kTile},
    {"decant.store",        Stage::Formatted, Stage::Tiled,     kTile},
    {"decant.pack",         Stage::Formatted, Stage::Tiled,     kTile},
    {"decant.unpack",       Stage::Formatted, Stage::Tiled,     kTile},
    {"decant.kernel",       Stage::Windowed,  Stage::Mapped,    kMap},
    {"decant.return",       Stage::Windowed,  Stage::Mapped,    kMap},
    {"decant.block",        Stage::Formatted, Stage::Mapped,    kMap},
    {"decant.table",        Stage::Formatted, Stage::LLVM,      "decant-lower-to-nvvm or decant-lower-to-host"},
    {"decant.call",         Stage::Tiled,     Stage::Mapped,    kMap},
    {"decant.slice",        Stage::Tiled,     Stage::Mapped,    kMap},
    {"decant.lane",         Stage::Tiled,     Stage::Mapped,    kMap},
    {"decant.lane_shift",   Stage::Tiled,     Stage::Mapped,    kMap},
    {"decant.lane_reduce",  Stage::Tiled,     Stage::Mapped,    kMap},
    {"decant.barrier",      Stage::Tiled,     Stage::Mapped,    kMap},
    {"decant.scratch",      Stage::Tiled,     Stage::Mapped,    kMap},
    {"decant.mma",          Stage::Tiled,     Stage::Mapped,    kMap},
    {"decant.transpose",    Stage::Tiled,     Stage::Mapped,    kMap},
    {"decant.unpack_codes", Stage::Tiled,     Stage::Mapped,    kMap},
    {"decant.pack_codes",   Stage::Tiled,     Stage::Mapped,    kMap},
    {"decant.copy_async",   Stage::Tiled,     Stage::Mapped,    kMap},
    {"decant.copy_wait",    Stage::Tiled,     Stage::Mapped,    kMap},
};
const Lifetime kKernelAttributes[] = {
    {"heads",    Stage::Windowed,  Stage::Formatted, kFormat},
    {"inputs",   Stage::Windowed,  Stage::Formatted, kFormat},
    {"format",   Stage::Windowed,  Stage::Formatted, kFormat},
    {"target",   Stage::Windowed,  Stage::Mapped,    kMap},
    {"layout",   Stage::Formatted, Stage::Tiled,     kTile},
    {"schedule", Stage::Scheduled, Stage::Tiled,     kTile},
    {"lanes",    Stage::Tiled,     Stage::Mapped,    kMap},
    {"value_first", Stage::Tiled,  Stage::Mapped,    kMap},
};
// clang-format on

/// Dialects besides decant and builtin that a stage may use.
bool dialectAllowed(Stage stage, StringRef dialect) {
  auto among = [&](std::initializer_list<StringRef> names) {
    return llvm::is_contained(names, dialect);
  };
  if (among({"builtin", "decant"}))
    return true;
  switch (stage) {
  case Stage::Rule:
    return among({"arith", "math"});
  case Stage::Windowed:
    return among({"arith", "math", "scf"});
  case Stage::Formatted:
  case Stage::Scheduled:
    return among({"arith", "math", "scf", "memref"});
  case Stage::Tiled:
    return among({"arith", "math", "scf", "memref", "vector"});
  case Stage::Mapped:
    return among({"arith", "math", "scf", "memref", "vector", "gpu", "func",
                  "nvgpu", "nvvm", "llvm"});
  case Stage::LLVM:
    return among({"llvm", "nvvm", "gpu"});
  case Stage::Spec:
  case Stage::Image:
    return false;
  }
  return false;
}

LogicalResult checkLifetime(Operation *op, StringRef what, Stage stage,
                            const Lifetime &lifetime) {
  if (stage >= lifetime.until)
    return op->emitError("stage ")
           << toString(stage) << " must not have " << what << " "
           << lifetime.name << ": " << lifetime.pass
           << " should have consumed it";
  if (stage < lifetime.since)
    return op->emitError("stage ")
           << toString(stage) << " must not have " << what << " "
           << lifetime.name << " yet: it belongs to stage "
           << toString(lifetime.since) << " and later";
  return success();
}

/// A slot number is 32 bits wide in memory; it must be widened before any
/// arithmetic, or an offset beyond 2^31 would wrap.
LogicalResult checkOffsets(KernelOp kernel) {
  for (auto [argument, name] :
       llvm::zip(kernel.getBody().getArguments(),
                 kernel.getArgNames().getAsValueRange<StringAttr>())) {
    if (name != "slots")
      continue;
    for (Operation *load : argument.getUsers())
      for (Operation *user : load->getUsers())
        if (!isa<arith::IndexCastOp, arith::CmpIOp>(user))
          return user->emitError("computes with a 32-bit slot number; offsets "
                                 "are 64-bit");
  }
  return success();
}

std::optional<Stage> stageNamed(StringRef name) {
  for (Stage stage : allStages())
    if (name == toString(stage))
      return stage;
  return std::nullopt;
}

struct VerifyStagePass : public decant::impl::VerifyStageBase<VerifyStagePass> {
  using VerifyStageBase::VerifyStageBase;

  void runOnOperation() override {
    const std::optional<Stage> named = stageNamed(stage.getValue());
    if (!named || *named == Stage::Spec || *named == Stage::Image) {
      getOperation().emitError("option stage is '")
          << stage.getValue()
          << "'; allowed are rule, windowed, formatted, scheduled, tiled, "
             "mapped, "
             "llvm";
      return signalPassFailure();
    }
    const WalkResult result = getOperation().walk([&](Operation *op) {
      return failed(checkOp(op, *named)) ? WalkResult::interrupt()
                                         : WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  LogicalResult checkOp(Operation *op, Stage stage) {
    const StringRef dialect = op->getName().getDialectNamespace();
    if (!dialectAllowed(stage, dialect))
      return op->emitError("stage ")
             << toString(stage) << " must not use the dialect " << dialect;
    for (const Lifetime &lifetime : kOps)
      if (op->getName().getStringRef() == lifetime.name)
        if (failed(checkLifetime(op, "the op", stage, lifetime)))
          return failure();
    if (stage == Stage::LLVM && isa<UnrealizedConversionCastOp>(op))
      return op->emitError("stage llvm must not have a cast that no lowering "
                           "resolved");
    auto kernel = dyn_cast<KernelOp>(op);
    if (!kernel)
      return success();
    for (const Lifetime &lifetime : kKernelAttributes)
      if (kernel->hasAttr(lifetime.name) || isSet(kernel, lifetime.name))
        if (failed(checkLifetime(op, "the attribute", stage, lifetime)))
          return failure();
    for (Type type : kernel.getBody().getArgumentTypes())
      if (stage >= Stage::Formatted && isa<WindowType>(type))
        return op->emitError("stage ")
               << toString(stage) << " must not have an argument of type "
               << type << ": " << kFormat << " should have consumed it";
    if (stage == Stage::Scheduled && !kernel.getSchedule())
      return op->emitError("stage scheduled needs a #decant.schedule on every "
                           "kernel");
    return stage >= Stage::Formatted ? checkOffsets(kernel) : success();
  }

  static bool isSet(KernelOp kernel, StringRef name) {
    return kernel->getInherentAttr(name).value_or(Attribute()) != nullptr;
  }
};

} // namespace
