//===- KernelOps.td - where the bytes and the lanes are ------*- tablegen -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stages `windowed` to `tiled`. A kernel runs one block per (row, value head).
//
//===----------------------------------------------------------------------===//

#ifndef DECANT_KERNEL_OPS_TD
#define DECANT_KERNEL_OPS_TD

include "DecantBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Decant_KernelOp : Decant_Op<"kernel", [
    Symbol, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "one kernel function";
  let description = [{
    Which attributes it carries says its stage: `heads`, `inputs` and `format` until
    `formatted`, `layout` from there on, `schedule` in `scheduled`, `lanes` in `tiled`.

    ```mlir
    decant.kernel @nothing(%rows: i64) {
      decant.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$arg_names,
                       OptionalAttr<Decant_HeadsAttr>:$heads,
                       OptionalAttr<Decant_InputsAttr>:$inputs,
                       OptionalAttr<Decant_FormatAttr>:$format,
                       OptionalAttr<Decant_TargetAttr>:$target,
                       OptionalAttr<Decant_LayoutAttr>:$layout,
                       OptionalAttr<Decant_ScheduleAttr>:$schedule,
                       OptionalAttr<DenseI64ArrayAttr>:$lanes);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
}

def Decant_ReturnOp : Decant_Op<"return", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "ends a kernel; its outputs while they are values";
  let arguments = (ins Variadic<AnyTypeOf<[Decant_ValueVector, Decant_StateType]>>:$outputs);
  let assemblyFormat = "($outputs^ `:` type($outputs))? attr-dict";
}

def Decant_BlockOp : Decant_Op<"block", [Pure]> {
  let summary = "the row and the value head of this block";
  let description = [{ Blocks are numbered row * heads + head. }];
  let arguments = (ins I64Attr:$heads);
  let results = (outs Index:$row, Index:$head);
  let assemblyFormat = "$heads attr-dict";
}

def Decant_SlotOp : Decant_Op<"slot", [Pure]> {
  let summary = "one head's bytes, `offset` bytes into the pool";
  let arguments = (ins AnyMemRef:$pool, Index:$offset);
  let results = (outs Decant_SlotType:$result);
  let assemblyFormat = "$pool `[` $offset `]` attr-dict `:` type($pool)";
}

def Decant_TouchHeaderOp : Decant_Op<"touch_header", [MemoryEffects<[MemWrite]>]> {
  let summary = "head 0 copies its cursor to the slot's header, for hosts to read";
  let arguments = (ins Decant_SlotType:$slot, AnyMemRef:$pool, Index:$header, Index:$head);
  let assemblyFormat = "$slot `,` $pool `[` $header `]` `head` $head attr-dict `:` type($pool)";
}

def Decant_LoadOp : Decant_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "a vector of inputs, `offset` elements into an argument, as f32";
  let arguments = (ins AnyMemRef:$source, Index:$offset);
  let results = (outs Decant_AnyVector:$result);
  let assemblyFormat = "$source `[` $offset `]` attr-dict `:` type($source) `->` type($result)";
}

def Decant_StoreOp : Decant_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "a value vector to the output, rounded to its type";
  let arguments = (ins Decant_AnyVector:$vector, AnyMemRef:$target, Index:$offset);
  let assemblyFormat = "$vector `,` $target `[` $offset `]` attr-dict `:` type($vector) `,` type($target)";
}

def Decant_PackOp : Decant_Op<"pack", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a dense state becomes the checkpoint; the window is empty";
  let description = [{ Element (k, v) is at offset + k * keyStride + v * valueStride. }];
  let arguments = (ins Decant_SlotType:$slot, AnyMemRef:$dense, Index:$offset,
                       Index:$keyStride, Index:$valueStride);
  let assemblyFormat = [{
    $slot `,` $dense `[` $offset `]` `strides` `(` $keyStride `,` $valueStride `)`
    attr-dict `:` type($dense)
  }];
}

def Decant_UnpackOp : Decant_Op<"unpack", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the stored state, records folded in, to a dense tensor";
  let description = [{ Element (k, v) is at offset + k * keyStride + v * valueStride. }];
  let arguments = (ins Decant_SlotType:$slot, AnyMemRef:$dense, Index:$offset,
                       Index:$keyStride, Index:$valueStride);
  let assemblyFormat = [{
    $slot `,` $dense `[` $offset `]` `strides` `(` $keyStride `,` $valueStride `)`
    attr-dict `:` type($dense)
  }];
}

//===----------------------------------------------------------------------===//
// Stage `tiled`: what one lane does
//===----------------------------------------------------------------------===//

def Decant_LaneOp : Decant_Op<"lane", [Pure]> {
  let summary = "this thread's lane along an axis";
  let arguments = (ins Decant_AxisAttr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$axis attr-dict";
}

def Decant_LaneReduceOp : Decant_Op<"lane_reduce", [AllTypesMatch<["value", "result"]>]> {
  let summary = "combines a value over all lanes of an axis";
  let description = [{
    Every lane gets the result. All lanes of the block must reach the op together.

    ```mlir
    decant.kernel @sum(%x: f32) attributes {lanes = array<i64: 8, 4>} {
      %y = decant.lane_reduce add %x over <key> : f32
      decant.return
    }
    ```
  }];
  let arguments = (ins EnumProp<Decant_ReduceKind>:$kind,
                       AnyTypeOf<[F32, VectorOfRankAndType<[1], [F32]>]>:$value,
                       Decant_AxisAttr:$axis);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$kind $value `over` $axis attr-dict `:` type($value)";
}

def Decant_BarrierOp : Decant_Op<"barrier"> {
  let summary = "all lanes of the block wait; their writes are visible after it";
  let assemblyFormat = "attr-dict";
}

def Decant_ScratchOp : Decant_Op<"scratch", [MemoryEffects<[MemAlloc]>]> {
  let summary = "memory that the lanes of a block share while it runs";
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

#endif // DECANT_KERNEL_OPS_TD
