//===- WindowOps.td - when a stored state is touched ---------*- tablegen -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stage `windowed` on a !decant.window, stage `formatted` on a !decant.slot. The
// stored state is memory: reads and writes have effects, in program order.
//
//===----------------------------------------------------------------------===//

#ifndef DECANT_WINDOW_OPS_TD
#define DECANT_WINDOW_OPS_TD

include "DecantBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Decant_WindowReadOp : Decant_Op<"window_read", [MemoryEffects<[MemRead]>]> {
  let summary = "S^T x for several key vectors in one pass over the codes";
  let description = [{
    S is the stored state before this token:
    result_c = P_v o (C^T (P_k o x_c)) + sum_j (wv_j o u_j) ((wk_j o k_j) . x_c).

    Constraints:
    1. window_read_c1: one result per vector, at least one.

    ```mlir
    !window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
      records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
    !key = tensor<16xf32, #decant.axis<key>>
    !value = tensor<16xf32, #decant.axis<value>>
    decant.kernel @reads(%w: !window, %k: !key, %q: !key) {
      %p, %y = decant.window_read %w, %k, %q : (!window, !key, !key) -> (!value, !value)
      decant.return %y : !value
    }
    ```
  }];
  let arguments = (ins Decant_Stored:$stored, Variadic<Decant_KeyVector>:$vectors);
  let results = (outs Variadic<Decant_ValueVector>:$results);
  let assemblyFormat = "$stored `,` $vectors attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Decant_WindowReadKeyOp : Decant_Op<"window_read_key", [MemoryEffects<[MemRead]>]> {
  let summary = "S x for a value vector, in one pass over the codes";
  let description = [{
    S is the stored state before this token:
    result = P_k o (C (P_v o x)) + sum_j (wk_j o k_j) ((wv_j o u_j) . x).

    ```mlir
    !window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
      records = f16, writes = 1, keyDecay = none, valueDecay = vector>
    !value = tensor<16xf32, #decant.axis<value>>
    decant.kernel @reads(%w: !window, %v: !value) {
      %p = decant.window_read_key %w, %v : (!window, !value) -> tensor<16xf32, #decant.axis<key>>
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_Stored:$stored, Decant_ValueVector:$vector);
  let results = (outs Decant_KeyVector:$result);
  let assemblyFormat = "$stored `,` $vector attr-dict `:` functional-type(operands, results)";
}

def Decant_CarriedOp : Decant_Op<"carried", [MemoryEffects<[MemRead]>]> {
  let summary = "what the token before left beside the state";
  let description = [{
    Key vector `index` of the window's `carried`; zero in an empty sequence.

    ```mlir
    !window = !decant.window<keyDim = 16, valueDim = 16, length = 1, compensators = 0,
      records = f16, writes = 1, keyDecay = none, valueDecay = none, carried = 1>
    !key = tensor<16xf32, #decant.axis<key>>
    decant.kernel @counts(%w: !window, %k: !key) {
      %z = decant.carried %w[0] : !window -> !key
      %z1 = arith.addf %z, %k : !key
      decant.carry %w[0], %z1 : !window, !key
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_Stored:$stored, I64Attr:$index);
  let results = (outs Decant_KeyVector:$result);
  let assemblyFormat = "$stored `[` $index `]` attr-dict `:` type($stored) `->` type($result)";
}

def Decant_CarryOp : Decant_Op<"carry", [MemoryEffects<[MemWrite]>]> {
  let summary = "what the token leaves beside the state";
  let description = [{
    Replaces key vector `index` of the window's `carried`; see `carried`. No read of
    it follows in the same kernel.

    ```mlir
    !window = !decant.window<keyDim = 16, valueDim = 16, length = 1, compensators = 0,
      records = f16, writes = 1, keyDecay = none, valueDecay = none, carried = 1>
    !key = tensor<16xf32, #decant.axis<key>>
    decant.kernel @forgets(%w: !window, %k: !key) {
      decant.carry %w[0], %k : !window, !key
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_Stored:$stored, I64Attr:$index, Decant_KeyVector:$vector);
  let assemblyFormat = "$stored `[` $index `]` `,` $vector attr-dict `:` type($stored) `,` type($vector)";
}

def Decant_AppendOp : Decant_Op<"append", [
    AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "one token's decays and rank-1 terms become records";
  let description = [{
    S' = Da o S o Db + sum_n k_n u_n^T, kept as records: the window's fill grows by
    one token. A window that is full stays as it is (the caller commits first).

    Constraints:
    1. append_c1: as many record keys as record values.

    ```mlir
    !window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
      records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
    !key = tensor<16xf32, #decant.axis<key>>
    !value = tensor<16xf32, #decant.axis<value>>
    decant.kernel @appends(%w: !window, %a: f32, %k: !key, %u: !value) {
      decant.append %w key_decay(%a : f32) keys(%k : !key) values(%u : !value) : !window
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_Stored:$stored, Optional<Decant_Factor>:$keyDecay,
                       Optional<Decant_Factor>:$valueDecay,
                       Variadic<Decant_KeyVector>:$keys,
                       Variadic<Decant_ValueVector>:$values);
  let assemblyFormat = [{
    $stored (`key_decay` `(` $keyDecay^ `:` type($keyDecay) `)`)?
    (`value_decay` `(` $valueDecay^ `:` type($valueDecay) `)`)?
    `keys` `(` $keys `:` type($keys) `)` `values` `(` $values `:` type($values) `)`
    attr-dict `:` type($stored)
  }];
  let hasVerifier = 1;
}

def Decant_AfterOp : Decant_Op<"after", [Pure, AllTypesMatch<["stored", "result"]>]> {
  let summary = "a stored state after drafts of the same step";
  let description = [{
    What is read is the state after the first `drafts` drafts behind the window's
    fill; what is appended or carried is draft number `drafts`. The fill, the total
    decay and the carried vectors of accepted tokens stay as they are.

    Constraints:
    1. after_c1: a window holds drafts (`tokens` is beyond 1).

    ```mlir
    !window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
      records = f16, writes = 1, keyDecay = scalar, valueDecay = none, tokens = 2>
    !key = tensor<16xf32, #decant.axis<key>>
    !value = tensor<16xf32, #decant.axis<value>>
    decant.kernel @drafts(%w: !window, %token: index, %a: f32, %k: !key, %u: !value) {
      %now = decant.after %w drafts %token : !window
      decant.append %now key_decay(%a : f32) keys(%k : !key) values(%u : !value) : !window
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_Stored:$stored, Index:$drafts);
  let results = (outs Decant_Stored:$result);
  let assemblyFormat = "$stored `drafts` $drafts attr-dict `:` type($stored)";
  let hasVerifier = 1;
}

def Decant_AcceptOp : Decant_Op<"accept", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "drafts become tokens of the window";
  let description = [{
    The first `count` drafts are accepted (none when it is negative, all when there
    are fewer), the others are forgotten.

    ```mlir
    !window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
      records = f16, writes = 1, keyDecay = scalar, valueDecay = none, tokens = 2>
    decant.kernel @accepts(%w: !window, %count: index) {
      decant.accept %w, %count : !window
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_Stored:$stored, Index:$count);
  let assemblyFormat = "$stored `,` $count attr-dict `:` type($stored)";
}

def Decant_FoldOp : Decant_Op<"fold", [
    AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the whole state becomes a new checkpoint";
  let description = [{
    C' = encode(Da o S o Db + sum_n k_n u_n^T) and the window is empty: rebuild the
    state from checkpoint and records, fit the compensators, encode the residual.

    Constraints:
    1. fold_c1: as many term keys as term values.

    ```mlir
    !window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
      records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
    !key = tensor<16xf32, #decant.axis<key>>
    !value = tensor<16xf32, #decant.axis<value>>
    decant.kernel @folds(%w: !window, %b: !value, %k: !key, %u: !value) {
      decant.fold %w : !window
      decant.fold %w value_decay(%b : !value) keys(%k : !key) values(%u : !value) : !window
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_Stored:$stored, Optional<Decant_Factor>:$keyDecay,
                       Optional<Decant_Factor>:$valueDecay,
                       Variadic<Decant_KeyVector>:$keys,
                       Variadic<Decant_ValueVector>:$values);
  let assemblyFormat = [{
    $stored (`key_decay` `(` $keyDecay^ `:` type($keyDecay) `)`)?
    (`value_decay` `(` $valueDecay^ `:` type($valueDecay) `)`)?
    (`keys` `(` $keys^ `:` type($keys) `)` `values` `(` $values `:` type($values) `)`)?
    attr-dict `:` type($stored)
  }];
  let hasVerifier = 1;
}

def Decant_MakeRoomOp : Decant_Op<"make_room", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "folds a window that has no room for the next tokens";
  let description = [{
    That is a window that is full, or one with fewer than `tokens` places beyond its
    fill; any other stays as it is. A schedule whose boundary is `apart` leaves it
    out: there the caller folds such windows before the step.

    ```mlir
    !window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
      records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
    decant.kernel @makes_room(%w: !window) {
      decant.make_room %w : !window
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_Stored:$stored, Optional<Index>:$tokens);
  let assemblyFormat = "$stored (`for` $tokens^)? attr-dict `:` type($stored)";
}

def Decant_FillOp : Decant_Op<"fill", [MemoryEffects<[MemRead]>]> {
  let summary = "how many tokens the window holds";
  let description = [{
    0 <= fill <= length; all-zero bytes have fill 0, an empty window.

    ```mlir
    !window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
      records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
    decant.kernel @fills(%w: !window) {
      %n = decant.fill %w : !window
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_Stored:$stored);
  let results = (outs I64:$result);
  let assemblyFormat = "$stored attr-dict `:` type($stored)";
}

def Decant_RebuildOp : Decant_Op<"rebuild", [MemoryEffects<[MemRead]>]> {
  let summary = "the stored state, records folded in, as a value";
  let description = [{
    S = P_k o C o P_v + sum_j (wk_j o k_j) (wv_j o u_j)^T; the stored bytes stay.

    ```mlir
    !window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
      records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
    !state = !decant.state<16x16>
    decant.kernel @rebuilds(%w: !window) {
      %S = decant.rebuild %w : !window -> !state
      decant.return %S : !state
    }
    ```
  }];
  let arguments = (ins Decant_WindowType:$stored);
  let results = (outs Decant_StateType:$result);
  let assemblyFormat = "$stored attr-dict `:` qualified(type($stored)) `->` qualified(type($result))";
}

def Decant_ReplaceOp : Decant_Op<"replace", [MemoryEffects<[MemWrite]>]> {
  let summary = "a state given as a value becomes the checkpoint; the window is empty";
  let description = [{
    C' = encode(S), fill = 0.

    ```mlir
    !window = !decant.window<keyDim = 16, valueDim = 16, length = 4, compensators = 0,
      records = f16, writes = 1, keyDecay = scalar, valueDecay = none>
    !state = !decant.state<16x16>
    decant.kernel @replaces(%w: !window, %S: !state) {
      decant.replace %w, %S : !window, !state
      decant.return
    }
    ```
  }];
  let arguments = (ins Decant_WindowType:$stored, Decant_StateType:$state);
  let assemblyFormat = "$stored `,` $state attr-dict `:` qualified(type($stored)) `,` qualified(type($state))";
}

#endif // DECANT_WINDOW_OPS_TD
