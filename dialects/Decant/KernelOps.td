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
    `formatted`, `layout` from there on, `schedule` in `scheduled`, `lanes` in `tiled`, there with `value_first` where
    value lanes are neighbours.
    Arguments are known by their names, which the launch binds (KernelArg); until
    `formatted` a word in braces says where one comes from, as in a rule.

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
                       OptionalAttr<DenseI64ArrayAttr>:$lanes,
                       UnitAttr:$value_first, UnitAttr:$called);
  let extraClassDeclaration = [{
    /// Where arguments come from, until `formatted`; null: all are rows.
    std::optional<::mlir::ArrayAttr> getArgRoles();
    void setArgRolesAttr(::mlir::ArrayAttr roles);
  }];
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
}

def Decant_ReturnOp : Decant_Op<"return", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "ends a kernel; its outputs while they are values";
  let description = [{
    Stage `windowed` returns the token's output or the rebuilt state; from
    `formatted` on outputs are stored and nothing is returned.

    ```mlir
    !value = tensor<16xf32, #decant.axis<value>>
    decant.kernel @copy(%v: !value) {
      decant.return %v : !value
    }
    ```
  }];
  let arguments = (ins Variadic<AnyTypeOf<[Decant_ValueVector, Decant_StateType]>>:$outputs);
  let assemblyFormat = "($outputs^ `:` type($outputs))? attr-dict";
}

def Decant_CallOp : Decant_Op<"call"> {
  let summary = "all lanes of the block run a function";
  let description = [{
    A function is a kernel with the attribute `called`: code that several kernels
    contain is compiled once. Its scratch is laid over the caller's.

    ```mlir
    decant.kernel @fold(%offset: i64) attributes {called, lanes = array<i64: 8, 4>} {
      decant.return
    }
    decant.kernel @commit(%offset: i64) attributes {lanes = array<i64: 8, 4>} {
      decant.call @fold(%offset) : i64
      decant.return
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$inputs);
  let assemblyFormat = "$callee `(` $inputs `)` attr-dict (`:` type($inputs)^)?";
}

def Decant_BlockOp : Decant_Op<"block", [Pure]> {
  let summary = "the row and the value head of this block";
  let description = [{
    Blocks are numbered (row * heads + head) * split + slice: `split` blocks share
    a head, one unless said, each a slice of its columns.

    ```mlir
    decant.kernel @who() {
      %row, %head = decant.block 4
      decant.return
    }
    ```
  }];
  let arguments = (ins I64Attr:$heads, DefaultValuedAttr<I64Attr, "1">:$split);
  let results = (outs Index:$row, Index:$head);
  let assemblyFormat = "$heads (`split` $split^)? attr-dict";
}

def Decant_BlocksOp : Decant_Op<"blocks", [Pure]> {
  let summary = "how many blocks are launched";
  let description = [{
    Of GPUs only, as are post and await: a processor runs its blocks in turn.

    ```mlir
    decant.kernel @how_many() attributes {lanes = array<i64: 8, 4>} {
      %blocks = decant.blocks
      decant.return
    }
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Decant_UniformOp : Decant_Op<"uniform", [Pure, SameOperandsAndResultType]> {
  let summary = "a number below 2^31 that all lanes of a block have alike";
  let description = [{
    What the assembler cannot know of a number that came out of a branch: addresses
    that follow from it are computed once for all lanes.

    ```mlir
    decant.kernel @alike(%row: index) attributes {lanes = array<i64: 32, 1>} {
      %same = decant.uniform %row
      decant.return
    }
    ```
  }];
  let arguments = (ins Index:$value);
  let results = (outs Index:$result);
  let assemblyFormat = "$value attr-dict";
}

def Decant_PostOp : Decant_Op<"post", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "writes a byte that lanes of another block await";
  let description = [{
    `byte` counts from where the memory starts.

    ```mlir
    decant.kernel @says(%pool: memref<64xi8>, %byte: index) attributes {lanes = array<i64: 1, 1>} {
      %one = arith.constant 1 : i32
      decant.post %one to %pool[%byte] : memref<64xi8>
      decant.return
    }
    ```
  }];
  let arguments = (ins I32:$value, MemRefOf<[I8]>:$memory, Index:$byte);
  let assemblyFormat = "$value `to` $memory `[` $byte `]` attr-dict `:` type($memory)";
}

def Decant_AwaitOp : Decant_Op<"await", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until a byte is not 0, and gives it";
  let description = [{
    Orders no other loads and stores.

    ```mlir
    decant.kernel @hears(%pool: memref<64xi8>, %byte: index) attributes {lanes = array<i64: 1, 1>} {
      %said = decant.await %pool[%byte] : memref<64xi8>
      decant.return
    }
    ```
  }];
  let arguments = (ins MemRefOf<[I8]>:$memory, Index:$byte);
  let results = (outs I32:$result);
  let assemblyFormat = "$memory `[` $byte `]` attr-dict `:` type($memory)";
}

def Decant_SliceOp : Decant_Op<"slice", [Pure]> {
  let summary = "which slice of its head's columns this block has";
  let description = [{
    Of `split` slices, numbered from 0; see `block`.

    ```mlir
    decant.kernel @which() attributes {lanes = array<i64: 8, 4>} {
      %row, %head = decant.block 4 split 2
      %slice = decant.slice 2
      decant.return
    }
    ```
  }];
  let arguments = (ins I64Attr:$split);
  let results = (outs Index:$result);
  let assemblyFormat = "$split attr-dict";
}

def Decant_TableOp : Decant_Op<"table", [Pure]> {
  let summary = "an entry of a table of constants";
  let description = [{
    For what differs between heads or key rows and is known when the kernel is
    compiled. `index` must lie in the table.

    ```mlir
    decant.kernel @entry() attributes {lanes = array<i64: 8, 4>} {
      %row, %head = decant.block 4
      %offset = decant.table [0, 4096, 6144, 12288] at %head
      decant.return
    }
    ```
  }];
  let arguments = (ins DenseI64ArrayAttr:$values, Index:$index);
  let results = (outs Index:$result);
  let assemblyFormat = "$values `at` $index attr-dict";
}

def Decant_SlotOp : Decant_Op<"slot", [Pure]> {
  let summary = "one head's bytes, `offset` bytes into the pool";
  let description = [{
    The kernel's #decant.layout says what lies where in them; `offset` is slot
    number * state_stride + header bytes + head * headBytes.

    ```mlir
    !pool = memref<70368744177664xi8>
    decant.kernel @opens(%state: !pool) {
      %offset = arith.constant 64 : index
      %slot = decant.slot %state[%offset] : !pool
      decant.return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$pool, Index:$offset);
  let results = (outs Decant_SlotType:$result);
  let assemblyFormat = "$pool `[` $offset `]` attr-dict `:` type($pool)";
}

def Decant_TouchHeaderOp : Decant_Op<"touch_header", [MemoryEffects<[MemWrite]>]> {
  let summary = "head 0 copies its cursor to the slot's header, for hosts to read";
  let description = [{
    Bytes 0..3 at `header` become the slot version, 4..7 the fill, 8..15 the token
    count. Heads other than 0 do nothing: all heads count alike.

    ```mlir
    !pool = memref<70368744177664xi8>
    decant.kernel @touches(%state: !pool) {
      %row, %head = decant.block 4
      %header = arith.constant 0 : index
      %offset = arith.constant 64 : index
      %slot = decant.slot %state[%offset] : !pool
      decant.touch_header %slot, %state[%header] head %head : !pool
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_SlotType:$slot, AnyMemRef:$pool, Index:$header, Index:$head);
  let assemblyFormat = "$slot `,` $pool `[` $header `]` `head` $head attr-dict `:` type($pool)";
}

def Decant_LoadOp : Decant_Op<"load", [MemoryEffects<[MemRead]>]> {
  let summary = "a vector of inputs, `offset` elements into an argument, as f32";
  let description = [{
    result[i] = f32(source[offset + i]) for i below the vector's dim: the real one,
    not the padded one of the slot.

    ```mlir
    !rows = memref<70368744177664xbf16>
    !key = tensor<16xf32, #decant.axis<key>>
    decant.kernel @loads(%q: !rows) {
      %offset = arith.constant 0 : index
      %x = decant.load %q[%offset] : !rows -> !key
      decant.return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$source, Index:$offset);
  let results = (outs Decant_AnyVector:$result);
  let assemblyFormat = "$source `[` $offset `]` attr-dict `:` type($source) `->` type($result)";
}

def Decant_StoreOp : Decant_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "a value vector to the output, rounded to its type";
  let description = [{
    target[offset + i] = round(vector[i]), to nearest, ties to even.

    ```mlir
    !rows = memref<70368744177664xbf16>
    !value = tensor<16xf32, #decant.axis<value>>
    decant.kernel @stores(%v: !rows, %out: !rows) {
      %offset = arith.constant 0 : index
      %x = decant.load %v[%offset] : !rows -> !value
      decant.store %x, %out[%offset] : !value, !rows
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_AnyVector:$vector, AnyMemRef:$target, Index:$offset);
  let assemblyFormat = "$vector `,` $target `[` $offset `]` attr-dict `:` type($vector) `,` type($target)";
}

def Decant_PackOp : Decant_Op<"pack", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "a dense state becomes the checkpoint; the window is empty";
  let description = [{
    C' = encode(dense), fill = 0, tokens = 0.
    Element (k, v) of `dense` is at offset + k * keyStride + v * valueStride.

    ```mlir
    !pool = memref<70368744177664xi8>
    !dense = memref<70368744177664xf32>
    decant.kernel @packs(%state: !pool, %dense: !dense) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %keys = arith.constant 16 : index
      %slot = decant.slot %state[%zero] : !pool
      decant.pack %slot, %dense[%zero] strides(%keys, %one) : !dense
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_SlotType:$slot, AnyMemRef:$dense, Index:$offset,
                       Index:$keyStride, Index:$valueStride);
  let assemblyFormat = [{
    $slot `,` $dense `[` $offset `]` `strides` `(` $keyStride `,` $valueStride `)`
    attr-dict `:` type($dense)
  }];
}

def Decant_UnpackOp : Decant_Op<"unpack", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the stored state, records folded in, to a dense tensor";
  let description = [{
    dense = P_k o C o P_v + sum_j (wk_j o k_j) (wv_j o u_j)^T.
    Element (k, v) of `dense` is at offset + k * keyStride + v * valueStride.

    ```mlir
    !pool = memref<70368744177664xi8>
    !dense = memref<70368744177664xf32>
    decant.kernel @unpacks(%state: !pool, %dense: !dense) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %keys = arith.constant 16 : index
      %slot = decant.slot %state[%zero] : !pool
      decant.unpack %slot, %dense[%zero] strides(%keys, %one) : !dense
      decant.return
    }
    ```
  }];
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
  let description = [{
    Thread t is key lane t mod key_lanes and value lane t / key_lanes; in a kernel
    with `value_first`, value lane t mod value_lanes and key lane t / value_lanes.

    With `anew`, the same number by another way, which no compiler knows to be the
    same: addresses that depend on it are computed again behind the op, and do not
    take registers until then. For lanes that are those of a warp.

    ```mlir
    decant.kernel @lanes() attributes {lanes = array<i64: 32, 4>} {
      %key = decant.lane <key>
      %again = decant.lane <key> anew
      %value = decant.lane <value>
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_AxisAttr:$axis, UnitAttr:$anew);
  let results = (outs Index:$result);
  let assemblyFormat = "$axis (`anew` $anew^)? attr-dict";
}

def Decant_LaneReduceOp : Decant_Op<"lane_reduce", [AllTypesMatch<["value", "result"]>]> {
  let summary = "combines a value over all lanes of an axis";
  let description = [{
    result = sum, max or largest magnitude of `value` over the lanes that differ along the axis only,
    element by element. Every lane gets the result. All lanes of the block must
    reach the op together. `from` and `until` narrow a reduction over key lanes to
    those at distances from, 2 from, ... below until, powers of two.

    ```mlir
    decant.kernel @sum(%x: f32) attributes {lanes = array<i64: 8, 4>} {
      %y = decant.lane_reduce add %x over <key> : f32
      %z = decant.lane_reduce add %x over <key> from 2 until 8 : f32
      decant.return
    }
    ```
  }];
  let arguments = (ins EnumProp<Decant_ReduceKind>:$kind,
                       AnyTypeOf<[F32, VectorOfRankAndType<[1], [F32]>]>:$value,
                       Decant_AxisAttr:$axis, OptionalAttr<I64Attr>:$from,
                       OptionalAttr<I64Attr>:$until);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $kind $value `over` $axis (`from` $from^ `until` $until)? attr-dict `:` type($value)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::decant::ReduceKind":$kind,
                                 "::mlir::Value":$value, "::decant::AxisAttr":$axis), [{
    build($_builder, $_state, result, kind, value, axis, ::mlir::IntegerAttr(),
          ::mlir::IntegerAttr());
  }]>];
}

def Decant_LaneShiftOp : Decant_Op<"lane_shift", [TypesMatchWith<"result is as value", "value", "result", "$_self">]> {
  let summary = "the value of the lane `distance` further on in the warp";
  let description = [{
    Lanes without one that far get their own value. All lanes of the warp must reach
    the op together.

    ```mlir
    decant.kernel @next(%x: f32) attributes {lanes = array<i64: 32, 1>} {
      %y = decant.lane_shift %x by 1 : f32
      decant.return
    }
    ```
  }];
  let arguments = (ins F32:$value, I64Attr:$distance);
  let results = (outs F32:$result);
  let assemblyFormat = "$value `by` $distance attr-dict `:` type($value)";
}

def Decant_BarrierOp : Decant_Op<"barrier"> {
  let summary = "all lanes of the block wait; their writes are visible after it";
  let description = [{
    With `warp`, those of each warp wait for one another only.

    ```mlir
    decant.kernel @waits() attributes {lanes = array<i64: 32, 4>} {
      decant.barrier
      decant.barrier warp
      decant.return
    }
    ```
  }];
  let arguments = (ins UnitAttr:$warp);
  let assemblyFormat = "(`warp` $warp^)? attr-dict";
}

def Decant_ScratchOp : Decant_Op<"scratch", [MemoryEffects<[MemAlloc]>]> {
  let summary = "memory that the lanes of a block share while it runs";
  let description = [{
    Uninitialised. Shared memory on a GPU, the stack on a CPU.

    ```mlir
    decant.kernel @shares() attributes {lanes = array<i64: 8, 4>} {
      %sums = decant.scratch : memref<4x16xf32>
      decant.return
    }
    ```
  }];
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Decant_CodeBytes : FixedVectorOfLengthAndType<[2, 4, 8], [I8]>;
def Decant_Halves8 : FixedVectorOfLengthAndType<[8], [F16, BF16]>;
def Decant_Halves4 : FixedVectorOfLengthAndType<[4], [F16, BF16]>;
def Decant_Halves2 : FixedVectorOfLengthAndType<[2], [F16, BF16]>;
def Decant_Floats4 : FixedVectorOfLengthAndType<[4], [F32]>;

def Decant_MmaOp : Decant_Op<"mma", [TypesMatchWith<"result is as acc", "acc", "result", "$_self">]> {
  let summary = "a tile product of one warp: acc + A B, 16 x 8, over 16 or 8 terms";
  let description = [{
    Lane l of a warp (thread mod 32), with g = l / 4 and t = l mod 4, holds
    A[g, 2t], A[g, 2t + 1], A[g + 8, 2t], A[g + 8, 2t + 1], then the same four of
    columns + 8; B[2t, g], B[2t + 1, g], B[2t + 8, g], B[2t + 9, g]; and of acc
    and the result [g, 2t], [g, 2t + 1], [g + 8, 2t], [g + 8, 2t + 1] (PTX ISA,
    mma.m16n8k16). Over 8 terms, it holds the first halves of A and B
    (mma.m16n8k8). Products are exact, sums are f32 in an order of the
    hardware's choice. All lanes of the warp must reach the op together.

    ```mlir
    decant.kernel @product(%a: vector<8xf16>, %b: vector<4xf16>, %c: vector<4xf32>)
        attributes {lanes = array<i64: 32, 1>} {
      %d = decant.mma %a, %b, %c : vector<8xf16>, vector<4xf16>, vector<4xf32>
      decant.return
    }
    ```
  }];
  let arguments = (ins AnyTypeOf<[Decant_Halves8, Decant_Halves4]>:$a,
                       AnyTypeOf<[Decant_Halves4, Decant_Halves2]>:$b,
                       Decant_Floats4:$acc);
  let results = (outs Decant_Floats4:$result);
  let assemblyFormat = "$a `,` $b `,` $acc attr-dict `:` type($a) `,` type($b) `,` type($acc)";
  let extraClassDeclaration = [{
    int64_t getTerms() {
      return 2 * ::llvm::cast<::mlir::VectorType>(getA().getType()).getNumElements();
    }
  }];
  let hasVerifier = 1;
}

def Decant_TransposeOp : Decant_Op<"transpose", [TypesMatchWith<"result is as value", "value", "result", "$_self">]> {
  let summary = "transposes an 8 x 8 matrix that a warp holds two elements a lane";
  let description = [{
    Lane l holds row l / 4, columns 2 (l mod 4) and 2 (l mod 4) + 1, of the matrix
    and of the result. All lanes of the warp must reach the op together.

    ```mlir
    decant.kernel @turns(%x: vector<2xf16>) attributes {lanes = array<i64: 32, 1>} {
      %y = decant.transpose %x : vector<2xf16>
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_Halves2:$value);
  let results = (outs Decant_Halves2:$result);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Decant_LoadTileOp : Decant_Op<"load_tile", [MemoryEffects<[MemRead]>]> {
  let summary = "an operand of a tile product from rows of halves in scratch";
  let description = [{
    The lane's part of a tile whose first element is `panel[row, column]`, as mma
    holds it. Of eight halves, operand A: A[i, j] = panel[row + i, column + j].
    With `right`, operand B: B[k, n] = panel[row + n, column + k]; eight halves are
    two operands, the second of the 16 columns that follow. `transposed` swaps rows
    and columns of the panel: A[i, j] = panel[row + j, column + i] and two operands
    B[k, n] = panel[row + k, column + n], the second of the 8 columns that follow.
    Of four halves, A and both transposed B are over 8 terms.
    With `rows`, those of the panel from `rows` on are its row `rows` - 1. `lane` is
    the thread mod 32. All lanes of the warp must reach the op together; rows start at multiples
    of 16 bytes.

    ```mlir
    !panel = memref<16x40xf16>
    decant.kernel @operand() attributes {lanes = array<i64: 32, 1>} {
      %zero = arith.constant 0 : index
      %lane = decant.lane <key>
      %panel = decant.scratch : !panel
      %a = decant.load_tile %panel[%zero, %zero] lane %lane : !panel -> vector<8xf16>
      %b = decant.load_tile %panel[%zero, %zero] lane %lane right transposed
          : !panel -> vector<4xf16>
      decant.return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$panel, Index:$row, Index:$column, Index:$lane,
                       UnitAttr:$right, UnitAttr:$transposed,
                       OptionalAttr<I64Attr>:$rows);
  let results = (outs AnyTypeOf<[Decant_Halves8, Decant_Halves4]>:$result);
  let assemblyFormat = [{
    $panel `[` $row `,` $column `]` `lane` $lane (`right` $right^)?
    (`transposed` $transposed^)? (`rows` $rows^)? attr-dict
    `:` type($panel) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Decant_UnpackCodesOp : Decant_Op<"unpack_codes", [Pure]> {
  let summary = "a lane's eight packed integer codes of one tile as f16, exactly";
  let description = [{
    `packed` holds eight codes of 8, 4 or 2 bits as unsigned numbers u = code +
    2^(bits - 1), in the order of CodeOrder::Fragments (Core/SlotLayout.h): code e
    is byte e of 8; of 4 and 2 bits, field e / 2 + 4 (e mod 2) counted from the
    lowest bits. With `biased`, u 2^-24 in place of the code, a subnormal number
    whose bits are u, which costs a GPU less.

    ```mlir
    decant.kernel @widens(%x: vector<4xi8>) attributes {lanes = array<i64: 32, 1>} {
      %y = decant.unpack_codes %x : vector<4xi8> -> vector<8xf16>
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_CodeBytes:$packed, UnitAttr:$biased);
  let results = (outs FixedVectorOfLengthAndType<[8], [F16]>:$result);
  let assemblyFormat = "$packed (`biased` $biased^)? attr-dict `:` type($packed) `->` type($result)";
  let extraClassDeclaration = [{
    int64_t getBits() {
      return ::llvm::cast<::mlir::VectorType>(getPacked().getType()).getNumElements();
    }
  }];
}

def Decant_PackCodesOp : Decant_Op<"pack_codes", [Pure]> {
  let summary = "eight numbers of one tile as a lane's packed codes";
  let description = [{
    The inverse of unpack_codes, after rounding to whole numbers, ties to even;
    with `scale`, of the products. Rounded codes must lie within
    +-(2^(bits - 1) - 1).

    ```mlir
    decant.kernel @narrows(%x: vector<8xf32>) attributes {lanes = array<i64: 32, 1>} {
      %y = decant.pack_codes %x : vector<8xf32> -> vector<4xi8>
      decant.return
    }
    ```
  }];
  let arguments = (ins FixedVectorOfLengthAndType<[8], [F32, F16]>:$codes,
                       Optional<FixedVectorOfLengthAndType<[8], [F16]>>:$scale);
  let results = (outs Decant_CodeBytes:$result);
  let assemblyFormat = [{
    $codes (`scale` $scale^ `:` type($scale))? attr-dict `:` type($codes) `->`
    type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getBits() {
      return ::llvm::cast<::mlir::VectorType>(getResult().getType()).getNumElements();
    }
  }];
}

def Decant_UnpackPlanesOp : Decant_Op<"unpack_planes", [Pure]> {
  let summary = "a lane's eight integer codes of one tile from two planes, as f16";
  let description = [{
    Codes of 6 bits as unpack_codes has them, whose lower 4 bits are the fields of
    one plane and whose upper 2 those of another; of 3 bits, 2 and 1. `low` holds
    the fields of one tile (of two for 3 bits), `high` those of two tiles (of four),
    tile by tile from the lowest bits: the codes are those of tile `part`, modulo
    the tiles of a word.

    ```mlir
    decant.kernel @widens(%low: i32, %high: i32) attributes {lanes = array<i64: 32, 1>} {
      %y = decant.unpack_planes %low, %high part 1 bits 6 : vector<8xf16>
      decant.return
    }
    ```
  }];
  let arguments = (ins I32:$low, I32:$high, I64Attr:$part, I64Attr:$bits, UnitAttr:$biased);
  let results = (outs FixedVectorOfLengthAndType<[8], [F16]>:$result);
  let assemblyFormat = "$low `,` $high `part` $part `bits` $bits (`biased` $biased^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Decant_PackPlanesOp : Decant_Op<"pack_planes", [Pure]> {
  let summary = "eight numbers of one tile as codes in two planes";
  let description = [{
    The inverse of unpack_planes for tile 0, after rounding as pack_codes does it;
    the bits of other tiles are zero.

    ```mlir
    decant.kernel @narrows(%x: vector<8xf32>) attributes {lanes = array<i64: 32, 1>} {
      %low, %high = decant.pack_planes %x bits 6 : vector<8xf32>
      decant.return
    }
    ```
  }];
  let arguments = (ins FixedVectorOfLengthAndType<[8], [F32, F16]>:$codes,
                       Optional<FixedVectorOfLengthAndType<[8], [F16]>>:$scale, I64Attr:$bits);
  let results = (outs I32:$low, I32:$high);
  let assemblyFormat = [{
    $codes (`scale` $scale^ `:` type($scale))? `bits` $bits attr-dict `:` type($codes)
  }];
  let hasVerifier = 1;
}

def Decant_CopyAsyncOp : Decant_Op<"copy_async", [MemoryEffects<[MemRead, MemWrite]>, SameVariadicOperandSize]> {
  let summary = "starts a copy of `bytes` bytes of memory to scratch, or of zeros";
  let description = [{
    Copies 16 bytes from `source` at its indices to `target` at its indices when
    `valid`, else writes zeros there. Done, for the lane that started it, after its
    next copy_wait; for the others after a barrier behind that. Both places must be
    multiples of 16 bytes, and those of the source must not be written meanwhile.

    ```mlir
    !rows = memref<4x16xf16>
    decant.kernel @fetches(%pool: !rows, %valid: i1) attributes {lanes = array<i64: 32, 1>} {
      %zero = arith.constant 0 : index
      %rows = decant.scratch : memref<4x16xf16>
      decant.copy_async %pool[%zero, %zero] to %rows[%zero, %zero] if %valid
          : memref<4x16xf16>, memref<4x16xf16>
      decant.copy_wait
      decant.return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$sourceIndices,
                       AnyMemRef:$target, Variadic<Index>:$targetIndices, I1:$valid);
  let assemblyFormat = [{
    $source `[` $sourceIndices `]` `to` $target `[` $targetIndices `]` `if` $valid
    attr-dict `:` type($source) `,` type($target)
  }];
}

def Decant_CopyWaitOp : Decant_Op<"copy_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits for the copies that this lane has started";
  let description = [{
    ```mlir
    decant.kernel @waits() attributes {lanes = array<i64: 32, 1>} {
      decant.copy_wait
      decant.return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def Decant_BulkStartOp : Decant_Op<"bulk_start", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "makes `arrival` count the bulk copies of a block";
  let description = [{
    One lane of the block executes it, once, and its warp meets at a barrier before
    any of it starts a copy. `arrival` has 16 bytes of scratch, which hold nothing
    else before bulk_end.

    ```mlir
    decant.kernel @starts() attributes {lanes = array<i64: 1, 1>} {
      %arrival = decant.scratch : memref<1x4xf32>
      decant.bulk_start %arrival : memref<1x4xf32>
      decant.return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$arrival);
  let assemblyFormat = "$arrival attr-dict `:` type($arrival)";
}

def Decant_BulkCopyOp : Decant_Op<"bulk_copy", [MemoryEffects<[MemRead, MemWrite]>, SameVariadicOperandSize]> {
  let summary = "starts a copy of `bytes` bytes of memory to scratch, by one lane";
  let description = [{
    The places and `bytes` are multiples of 16 bytes; the source must not be written
    meanwhile, nor before by the block itself.

    ```mlir
    decant.kernel @copies(%pool: memref<4x16xf16>, %bytes: index) attributes {lanes = array<i64: 1, 1>} {
      %zero = arith.constant 0 : index
      %rows = decant.scratch : memref<4x16xf16>
      %arrival = decant.scratch : memref<1x4xf32>
      decant.bulk_start %arrival : memref<1x4xf32>
      decant.bulk_copy %bytes of %pool[%zero, %zero] to %rows[%zero, %zero] by %arrival
          : memref<4x16xf16>, memref<4x16xf16>, memref<1x4xf32>
      decant.bulk_expect %bytes by %arrival : memref<1x4xf32>
      decant.bulk_wait %arrival : memref<1x4xf32>
      decant.return
    }
    ```
  }];
  let arguments = (ins Index:$bytes, AnyMemRef:$source, Variadic<Index>:$sourceIndices,
                       AnyMemRef:$target, Variadic<Index>:$targetIndices,
                       AnyMemRef:$arrival);
  let assemblyFormat = [{
    $bytes `of` $source `[` $sourceIndices `]` `to` $target `[` $targetIndices `]`
    `by` $arrival attr-dict `:` type($source) `,` type($target) `,` type($arrival)
  }];
}

def Decant_BulkExpectOp : Decant_Op<"bulk_expect", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "says how many bytes all bulk copies of a block bring";
  let description = [{
    By one lane, once: nothing has arrived before.

    ```mlir
    decant.kernel @expects(%bytes: index) attributes {lanes = array<i64: 1, 1>} {
      %arrival = decant.scratch : memref<1x4xf32>
      decant.bulk_start %arrival : memref<1x4xf32>
      decant.bulk_expect %bytes by %arrival : memref<1x4xf32>
      decant.return
    }
    ```
  }];
  let arguments = (ins Index:$bytes, AnyMemRef:$arrival);
  let assemblyFormat = "$bytes `by` $arrival attr-dict `:` type($arrival)";
}

def Decant_BulkWaitOp : Decant_Op<"bulk_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until all bytes of a block's bulk copies are there";
  let description = [{
    Behind a barrier that follows bulk_start; any number of times.

    ```mlir
    decant.kernel @waits_for_all() attributes {lanes = array<i64: 1, 1>} {
      %none = arith.constant 0 : index
      %arrival = decant.scratch : memref<1x4xf32>
      decant.bulk_start %arrival : memref<1x4xf32>
      decant.bulk_expect %none by %arrival : memref<1x4xf32>
      decant.bulk_wait %arrival : memref<1x4xf32>
      decant.return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$arrival);
  let assemblyFormat = "$arrival attr-dict `:` type($arrival)";
}

def Decant_BulkEndOp : Decant_Op<"bulk_end", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "gives the scratch of `arrival` back";
  let description = [{
    By one lane, between two barriers: all lanes have waited, and none uses the
    scratch yet. Without it, the hardware may still write there.

    ```mlir
    decant.kernel @ends() attributes {lanes = array<i64: 1, 1>} {
      %none = arith.constant 0 : index
      %arrival = decant.scratch : memref<1x4xf32>
      decant.bulk_start %arrival : memref<1x4xf32>
      decant.bulk_expect %none by %arrival : memref<1x4xf32>
      decant.bulk_wait %arrival : memref<1x4xf32>
      decant.bulk_end %arrival : memref<1x4xf32>
      decant.return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$arrival);
  let assemblyFormat = "$arrival attr-dict `:` type($arrival)";
}

#endif // DECANT_KERNEL_OPS_TD
