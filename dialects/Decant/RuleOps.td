//===- RuleOps.td - what one token does to a state -----------*- tablegen -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stage `rule`. All ops are pure; the state is a value, and only decay, read
// and write may touch it.
//
//===----------------------------------------------------------------------===//

#ifndef DECANT_RULE_OPS_TD
#define DECANT_RULE_OPS_TD

include "DecantBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Decant_RuleOp : Decant_Op<"rule", [
    Symbol, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "what one token does to the state of one head";
  let description = [{
    The first argument is the state; the others are the token's inputs, known by
    their names: `q`, `k` (key vectors) and `v` (value vector) get the spec's
    norm and scale; `g` and `beta` its gate conventions; `k1`, `v1`, `beta1`, ...
    are further ones of their kind, for rules of several sub-steps; any other name
    is an extra input that the caller passes as it is. The body yields the new
    state and the output.

    A word in braces behind an argument's type says where it comes from, if not
    from a row of the input type (of the gate type for g and beta):
    - `{gate}`: a row of the gate type;
    - `{layer}`: f32, one per value head, the same for all rows and tokens;
    - `{carried}`: no input but a key vector beside the state, zero in an empty
      sequence; the yield says, in the same order, what the token leaves there.

    Constraints:
    1. rule_c1: the first argument is a state.
    2. rule_c2: every other argument is f32, a key vector or a value vector.
    3. rule_c3: key vectors have the state's key dim, value vectors its value dim.
    4. rule_c4: the body yields a state of that type and a value vector.
    5. rule_c5: a carried argument is a key vector, and the body yields one for
       each of them.

    ```mlir
    decant.rule @linear(%S: !decant.state<?x?>,
                        %q: tensor<?xf32, #decant.axis<key>>,
                        %k: tensor<?xf32, #decant.axis<key>>,
                        %v: tensor<?xf32, #decant.axis<value>>) {
      %S1 = decant.write %S, %k, %v : !decant.state<?x?>
      %o = decant.read %S1, %q : !decant.state<?x?>
      decant.yield %S1, %o : !decant.state<?x?>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$arg_names,
                       OptionalAttr<StrArrayAttr>:$arg_roles);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Decant_DecodeOp : Decant_Op<"decode", [
    Symbol, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "a rule bound to a layer: dims, input conventions, window, format";
  let description = [{
    Arguments are the state and the raw inputs (`q`, `k`, `v`, `decay`, `beta`,
    `A_log`, `dt_bias` and extra inputs) in f32; the body applies the input
    conventions, then the rule. This is the form that the float64 reference
    interprets.

    Constraints:
    1. decode_c1: the first argument is a state; its dims are static and within
       16..256.
    2. decode_c2 to decode_c5: as rule_c2 to rule_c5.

    ```mlir
    decant.decode @linear heads <key = 1, value = 1, map = group>
        inputs <type = bf16, gate = f32, output = bf16, layout = separate, pad = negative>
        window <length = 1, compensators = 0, records = f16> format <f32>
        target <"x86-64">
        (%S: !decant.state<16x16>, %q: tensor<16xf32, #decant.axis<key>>,
         %k: tensor<16xf32, #decant.axis<key>>,
         %v: tensor<16xf32, #decant.axis<value>>) {
      %S1 = decant.write %S, %k, %v : !decant.state<16x16>
      %o = decant.read %S1, %q : !decant.state<16x16>
      decant.yield %S1, %o : !decant.state<16x16>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Decant_HeadsAttr:$heads,
                       Decant_InputsAttr:$inputs, Decant_WindowAttr:$window,
                       Decant_FormatAttr:$format, Decant_TargetAttr:$target,
                       StrArrayAttr:$arg_names,
                       OptionalAttr<StrArrayAttr>:$arg_roles);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
}

def Decant_YieldOp : Decant_Op<"yield", [
    Pure, Terminator, ParentOneOf<["RuleOp", "DecodeOp"]>]> {
  let summary = "the new state and the output of a token";
  let description = [{
    S', o: what the token leaves behind and what it is answered with; then the new
    value of each carried argument.

    ```mlir
    decant.rule @keep(%S: !decant.state<4x8>, %v: tensor<8xf32, #decant.axis<value>>) {
      decant.yield %S, %v : !decant.state<4x8>
    }
    // The sum of all keys beside the state.
    decant.rule @count(%S: !decant.state<4x8>, %z: tensor<4xf32, #decant.axis<key>> {carried},
                       %k: tensor<4xf32, #decant.axis<key>>, %v: tensor<8xf32, #decant.axis<value>>) {
      %z1 = arith.addf %z, %k : tensor<4xf32, #decant.axis<key>>
      decant.yield %S, %v, %z1 : !decant.state<4x8>
    }
    ```
  }];
  let arguments = (ins Decant_StateType:$state, Decant_ValueVector:$output,
                       Variadic<Decant_KeyVector>:$carried);
  let hasCustomAssemblyFormat = 1;
}

def Decant_DecayOp : Decant_Op<"decay", [Pure, AllTypesMatch<["state", "result"]>]> {
  let summary = "S' = a S, diag(a) S or S diag(a)";
  let description = [{
    A scalar multiplies the whole state, a key vector its rows, a value vector
    its columns. Factors lie in [0, 1].

    Constraints:
    1. decay_c1: a vector factor has the state's dim of its axis.

    ```mlir
    decant.rule @decays(%S: !decant.state<4x4>, %q: tensor<4xf32, #decant.axis<key>>,
                        %a: f32, %b: tensor<4xf32, #decant.axis<value>>) {
      %S1 = decant.decay %S, %a : !decant.state<4x4>, f32
      %S2 = decant.decay %S1, %b : !decant.state<4x4>, tensor<4xf32, #decant.axis<value>>
      %o = decant.read %S2, %q : !decant.state<4x4>
      decant.yield %S2, %o : !decant.state<4x4>
    }
    ```
  }];
  let arguments = (ins Decant_StateType:$state, Decant_Factor:$factor);
  let results = (outs Decant_StateType:$result);
  let assemblyFormat = "$state `,` $factor attr-dict `:` qualified(type($state)) `,` type($factor)";
  let hasVerifier = 1;
}

def Decant_ReadOp : Decant_Op<"read", [Pure]> {
  let summary = "S^T x for a key vector x";
  let description = [{
    Sums over the key axis: result[v] = sum_k S[k, v] x[k].

    Constraints:
    1. read_c1: x has the state's key dim, the result its value dim.

    ```mlir
    decant.rule @read(%S: !decant.state<4x8>, %q: tensor<4xf32, #decant.axis<key>>) {
      %o = decant.read %S, %q : !decant.state<4x8>
      decant.yield %S, %o : !decant.state<4x8>
    }
    ```
  }];
  let arguments = (ins Decant_StateType:$state, Decant_KeyVector:$vector);
  let results = (outs Decant_ValueVector:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Decant_ReadKeyOp : Decant_Op<"read_key", [Pure]> {
  let summary = "S x for a value vector x";
  let description = [{
    Sums over the value axis: result[k] = sum_v S[k, v] x[v]. Rules that correct a
    key by what is stored (Oja) need it.

    Constraints:
    1. read_key_c1: x has the state's value dim, the result its key dim.

    ```mlir
    decant.rule @oja(%S: !decant.state<4x8>, %q: tensor<4xf32, #decant.axis<key>>,
                     %k: tensor<4xf32, #decant.axis<key>>, %v: tensor<8xf32, #decant.axis<value>>) {
      %p = decant.read_key %S, %v : !decant.state<4x8>
      %r = arith.subf %k, %p : tensor<4xf32, #decant.axis<key>>
      %S1 = decant.write %S, %r, %v : !decant.state<4x8>
      %o = decant.read %S1, %q : !decant.state<4x8>
      decant.yield %S1, %o : !decant.state<4x8>
    }
    ```
  }];
  let arguments = (ins Decant_StateType:$state, Decant_ValueVector:$vector);
  let results = (outs Decant_KeyVector:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Decant_WriteOp : Decant_Op<"write", [Pure, AllTypesMatch<["state", "result"]>]> {
  let summary = "S' = S + k u^T";
  let description = [{
    Element by element: S'[k, v] = S[k, v] + key[k] value[v].

    Constraints:
    1. write_c1: k has the state's key dim, u its value dim.

    ```mlir
    decant.rule @write(%S: !decant.state<4x8>, %q: tensor<4xf32, #decant.axis<key>>,
                       %v: tensor<8xf32, #decant.axis<value>>) {
      %S1 = decant.write %S, %q, %v : !decant.state<4x8>
      %o = decant.read %S1, %q : !decant.state<4x8>
      decant.yield %S1, %o : !decant.state<4x8>
    }
    ```
  }];
  let arguments = (ins Decant_StateType:$state, Decant_KeyVector:$key,
                       Decant_ValueVector:$value);
  let results = (outs Decant_StateType:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Decant_ScaleOp : Decant_Op<"scale", [Pure, AllTypesMatch<["vector", "result"]>]> {
  let summary = "s x";
  let description = [{
    result[i] = s x[i], for a vector of either axis.

    ```mlir
    decant.rule @scaled(%S: !decant.state<4x8>, %q: tensor<4xf32, #decant.axis<key>>, %s: f32) {
      %x = decant.scale %q, %s : tensor<4xf32, #decant.axis<key>>
      %o = decant.read %S, %x : !decant.state<4x8>
      decant.yield %S, %o : !decant.state<4x8>
    }
    ```
  }];
  let arguments = (ins Decant_AnyVector:$vector, F32:$factor);
  let results = (outs Decant_AnyVector:$result);
  let assemblyFormat = "$vector `,` $factor attr-dict `:` type($vector)";
}

def Decant_BroadcastOp : Decant_Op<"broadcast", [Pure]> {
  let summary = "a vector whose elements all are s";
  let description = [{
    result[i] = s; read(S, broadcast(1)) sums the rows of S.

    ```mlir
    decant.rule @sum_rows(%S: !decant.state<4x8>, %q: tensor<4xf32, #decant.axis<key>>, %s: f32) {
      %x = decant.broadcast %s : tensor<4xf32, #decant.axis<key>>
      %o = decant.read %S, %x : !decant.state<4x8>
      decant.yield %S, %o : !decant.state<4x8>
    }
    ```
  }];
  let arguments = (ins F32:$scalar);
  let results = (outs Decant_AnyVector:$result);
  let assemblyFormat = "$scalar attr-dict `:` type($result)";
}

def Decant_DotOp : Decant_Op<"dot", [Pure, AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "x . y for two vectors of one axis";
  let description = [{
    result = sum_i x[i] y[i].

    ```mlir
    decant.rule @dots(%S: !decant.state<4x8>, %q: tensor<4xf32, #decant.axis<key>>) {
      %s = decant.dot %q, %q : tensor<4xf32, #decant.axis<key>>
      %x = decant.scale %q, %s : tensor<4xf32, #decant.axis<key>>
      %o = decant.read %S, %x : !decant.state<4x8>
      decant.yield %S, %o : !decant.state<4x8>
    }
    ```
  }];
  let arguments = (ins Decant_AnyVector:$lhs, Decant_AnyVector:$rhs);
  let results = (outs F32:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
}

#endif // DECANT_RULE_OPS_TD
