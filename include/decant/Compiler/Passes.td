//===- Passes.td - every pass of the compiler ----------------*- tablegen -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In pipeline order. Each pass answers one question and removes the attribute
// that asked it; decant-verify-stage checks that nothing asked earlier is left.
//
//===----------------------------------------------------------------------===//

#ifndef DECANT_PASSES_TD
#define DECANT_PASSES_TD

include "mlir/Pass/PassBase.td"

class DecantPass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = [
    "::decant::DecantDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def ExpandWindow : DecantPass<"decant-expand-window"> {
  let summary = "rule -> windowed: when is the stored state touched?";
  let description = [{
    Entry: one decant.decode. Exit: kernels over a !decant.window; no
    #decant.window, no !decant.state but in pack and unpack.

    Walks the rule with a symbolic state S = Da o S0 o Db + sum k_n u_n^T, where S0
    is the stored state before the token. A decay multiplies Da or Db and the terms
    so far, a write adds a term, and
      read(S, x) = Db o read(S0, Da o x) + sum u_n (k_n . x).
    So every read becomes a read of S0, and reads whose operands do not depend on
    one another's results share one pass over it.
  }];
  let options = [Option<"kernels", "kernels", "std::string", "\"decode\"",
                        "which kernels to make: decode or transfer">];
}

def MaterializeFormat : DecantPass<"decant-materialize-format"> {
  let summary = "windowed -> formatted: in which bytes?";
  let description = [{
    Entry: kernels over a !decant.window. Exit: kernels whose arguments are memrefs
    and 64-bit strides in their final order (the ABI), over a !decant.slot whose
    bytes #decant.layout gives; head map, pad policy and offsets are arithmetic; no
    #decant.heads, #decant.inputs or #decant.format.
  }];
  let options = [Option<"codeOrder", "code-order", "std::string", "\"rows\"",
                        "how codes are ordered: rows, fragments or "
                        "columns">];
}

def AssignSchedule : DecantPass<"decant-assign-schedule"> {
  let summary = "formatted -> scheduled: how is the work cut?";
  let description = [{
    Puts a #decant.schedule on every kernel and changes nothing else. Kernels that
    pack or unpack keep the default when the schedule asked for is one of mma, or
    has lanes beyond the keys, as a state that a step holds allows.
  }];
  let options = [Option<"schedule", "schedule", "std::string", "\"\"",
                        "a schedule's text; the default schedule when empty">];
}

def TileKernel : DecantPass<"decant-tile-kernel"> {
  let summary = "scheduled -> tiled: what does one lane hold?";
  let description = [{
    Entry: kernels with a #decant.schedule. Exit: what one lane does, in scf,
    vector, arith, math and memref; of the decant dialect only the ops of a lane are
    left: kernel, block, slice, lane, lane_reduce, lane_shift, barrier, scratch,
    return and, under strategy mma, mma, transpose, unpack_codes, pack_codes,
    copy_async and copy_wait.

    Under strategy simt a key vector becomes the `keys_per_lane` elements of the
    lane's rows, a value vector the `values_per_lane` elements of its columns. Under
    strategy mma each warp holds all of a key vector, and a value vector is spread
    over all threads.
  }];
}

def MapToGPU : DecantPass<"decant-map-to-gpu"> {
  let summary = "tiled -> mapped for NVIDIA: with which instructions?";
  let description = [{
    Entry: tiled kernels. Exit: one gpu.module of gpu.func; lane_reduce is shuffles
    over neighbours in a warp and shared memory across warps; scratch is dynamic
    shared memory, refused with the numbers where the target has too little. Tile
    products and copies are NVVM ops, what no dialect has is inline PTX.
  }];
  let dependentDialects = [
    "::decant::DecantDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
    "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def MapToCPU : DecantPass<"decant-map-to-cpu"> {
  let summary = "tiled -> mapped for the host: with which instructions?";
  let description = [{
    Entry: tiled kernels. Exit: one func.func per kernel that loops over blocks
    [first, last). More lanes than one run one after the other, in lock step: for
    tests of a GPU's schedules.
  }];
}

def VerifyStage : DecantPass<"decant-verify-stage"> {
  let summary = "checks that the IR is of a stage and that earlier passes did their work";
  let options = [Option<"stage", "stage", "std::string", "\"\"",
                        "rule, windowed, formatted, scheduled, tiled, mapped or llvm">];
}

#endif // DECANT_PASSES_TD
