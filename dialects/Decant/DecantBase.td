//===- DecantBase.td - dialect, types and attributes ---------*- tablegen -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef DECANT_BASE_TD
#define DECANT_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Decant_Dialect : Dialect {
  let name = "decant";
  let cppNamespace = "::decant";
  let summary = "Decode steps of linear-attention layers with stored states";
  let description = [{
    A linear-attention layer keeps a state S of K keys by V values per head. The
    dialect says what one token does to it (rule ops), when the stored state is
    touched (window ops) and where its bytes are (kernel ops). Vectors are
    ranked tensors whose encoding names their axis, so that arith and math work
    on them unchanged.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Enums
//===----------------------------------------------------------------------===//

class Decant_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::decant";
  let genSpecializedAttr = 0;
}

def Decant_VectorAxis : Decant_Enum<"VectorAxis", "axis of a state", [
  I32EnumAttrCase<"Key", 0, "key">, I32EnumAttrCase<"Value", 1, "value">]>;
def Decant_FitKind : Decant_Enum<"FitKind", "how a scale is fitted", [
  I32EnumAttrCase<"AbsMax", 0, "absmax">,
  I32EnumAttrCase<"SqrtMeanAbs", 1, "sqrt_mean_abs">,
  I32EnumAttrCase<"MinMax", 2, "minmax">,
  I32EnumAttrCase<"LeastSquares", 3, "least_squares">,
  I32EnumAttrCase<"RootMeanSquare", 4, "rms">,
  I32EnumAttrCase<"KeptNorm", 5, "kept_norm">,
  I32EnumAttrCase<"Static", 6, "static">]>;
def Decant_RoundingKind : Decant_Enum<"RoundingKind",
    "which of two codes an element between them becomes", [
  I32EnumAttrCase<"Nearest", 0, "nearest">,
  I32EnumAttrCase<"Stochastic", 1, "stochastic">]>;
def Decant_RotationKind : Decant_Enum<"RotationKind",
    "axes along which codes are rotated", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Key", 1, "key">,
  I32EnumAttrCase<"Value", 2, "value">, I32EnumAttrCase<"Both", 3, "both">]>;
def Decant_ScaleAxis : Decant_Enum<"ScaleAxis", "along what a scale varies", [
  I32EnumAttrCase<"Key", 0, "key">, I32EnumAttrCase<"Value", 1, "value">,
  I32EnumAttrCase<"Head", 2, "head">]>;
def Decant_HeadMapKind : Decant_Enum<"HeadMapKind",
    "which query/key head a value head uses", [
  I32EnumAttrCase<"Group", 0, "group">, I32EnumAttrCase<"Modulo", 1, "modulo">]>;
def Decant_PadKind : Decant_Enum<"PadKind", "which slot numbers are padding", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Negative", 1, "negative">,
  I32EnumAttrCase<"NonPositive", 2, "non_positive">]>;
def Decant_QkvLayout : Decant_Enum<"QkvLayout", "how q, k and v are passed", [
  I32EnumAttrCase<"Packed", 0, "packed_qkv">,
  I32EnumAttrCase<"Separate", 1, "separate">]>;
def Decant_DecayKind : Decant_Enum<"DecayKind", "how a decay acts on an axis", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Scalar", 1, "scalar">,
  I32EnumAttrCase<"Vector", 2, "vector">]>;
def Decant_ReduceKind : Decant_Enum<"ReduceKind", "how lanes are combined", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Magnitude", 2, "magnitude">]>;
def Decant_StrategyKind : Decant_Enum<"StrategyKind", "how a kernel is built", [
  I32EnumAttrCase<"Simt", 0, "simt">, I32EnumAttrCase<"Mma", 1, "mma">]>;
def Decant_CodeOrderKind : Decant_Enum<"CodeOrderKind", "how codes are ordered", [
  I32EnumAttrCase<"Rows", 0, "rows">,
  I32EnumAttrCase<"Fragments", 1, "fragments">,
  I32EnumAttrCase<"Columns", 2, "columns">]>;
def Decant_BoundaryKind : Decant_Enum<"BoundaryKind", "where a full window is folded", [
  I32EnumAttrCase<"Apart", 0, "apart">, I32EnumAttrCase<"Step", 1, "step">]>;
def Decant_CodeFetchKind : Decant_Enum<"CodeFetchKind", "where codes wait for a read", [
  I32EnumAttrCase<"Registers", 0, "registers">,
  I32EnumAttrCase<"Shared", 1, "shared">, I32EnumAttrCase<"Bulk", 2, "bulk">]>;
def Decant_LaunchKind : Decant_Enum<"LaunchKind", "when a step may begin", [
  I32EnumAttrCase<"Ordered", 0, "ordered">,
  I32EnumAttrCase<"Dependent", 1, "dependent">]>;
def Decant_LaneOrderKind : Decant_Enum<"LaneOrderKind", "which lanes are neighbours", [
  I32EnumAttrCase<"KeyFirst", 0, "key_first">,
  I32EnumAttrCase<"ValueFirst", 1, "value_first">]>;
def Decant_RowLoopKind : Decant_Enum<"RowLoopKind", "loops over a lane's keys", [
  I32EnumAttrCase<"Unrolled", 0, "unrolled">,
  I32EnumAttrCase<"Rolled", 1, "rolled">]>;

//===----------------------------------------------------------------------===//
// Attributes: each asks one question, and the pass that answers it removes it
//===----------------------------------------------------------------------===//

class Decant_Attr<string name, string attrMnemonic> : AttrDef<Decant_Dialect, name> {
  let mnemonic = attrMnemonic;
}
class Decant_StructAttr<string name, string attrMnemonic>
    : Decant_Attr<name, attrMnemonic> {
  let assemblyFormat = "`<` struct(params) `>`";
}

def Decant_AxisAttr : Decant_Attr<"Axis", "axis"> {
  let summary = "the encoding of a key or value vector";
  let parameters = (ins EnumParameter<Decant_VectorAxis>:$axis);
  let assemblyFormat = "`<` $axis `>`";
}

def Decant_HeadsAttr : Decant_StructAttr<"Heads", "heads"> {
  let summary = "head counts and which query/key head a value head uses";
  let parameters = (ins "int64_t":$key, "int64_t":$value,
                        EnumParameter<Decant_HeadMapKind>:$map);
}

def Decant_InputsAttr : Decant_StructAttr<"Inputs", "inputs"> {
  let summary = "element types and memory layout of a step's inputs";
  let parameters = (ins "::mlir::Type":$type, "::mlir::Type":$gate,
                        "::mlir::Type":$output,
                        EnumParameter<Decant_QkvLayout>:$layout,
                        EnumParameter<Decant_PadKind>:$pad);
}

def Decant_WindowAttr : Decant_StructAttr<"Window", "window"> {
  let summary = "asks when the stored state is touched";
  let description = [{
    `length` tokens are kept as records before they are folded into the codes
    (1: every token is); a fold keeps `compensators` rank-1 terms beside them.
    A step decodes up to `tokens` tokens of a row.
  }];
  let parameters = (ins "int64_t":$length, "int64_t":$compensators,
                        "::mlir::Type":$records,
                        DefaultValuedParameter<"int64_t", "1">:$tokens);
}

def Decant_ScaleAttr : Decant_Attr<"Scale", "scale"> {
  let summary = "one scale per index of an axis, or per block of its lines";
  let parameters = (ins EnumParameter<Decant_ScaleAxis>:$axis,
                        EnumParameter<Decant_FitKind>:$fit, "::mlir::Type":$type,
                        DefaultValuedParameter<"int64_t", "0">:$block);
  let assemblyFormat = "`<` $axis `,` $fit `,` $type (`,` `block` $block^)? `>`";
}

def Decant_RotationParameter : EnumParameter<Decant_RotationKind> {
  let defaultValue = "::decant::RotationKind::None";
}

def Decant_RoundingParameter : EnumParameter<Decant_RoundingKind> {
  let defaultValue = "::decant::RoundingKind::Nearest";
}

def Decant_FormatAttr : Decant_Attr<"Format", "format"> {
  let summary = "asks in which bytes the state is stored";
  let description = [{
    A stored element is its code times its scales; scales are fitted in the
    order written. The last scale must be absmax or minmax, which bound the
    codes. Codes of integers are symmetric; with minmax they are not, and each
    group has an offset. Lines of an axis may be cut in blocks of elements.
    What is encoded may be the state times Hadamard matrices: `rotate`. Codes
    are the nearest ones, or one of the two around an element: `round`.
    Compensators are fitted by some rounds of subspace iteration and stored as
    f16 unless another type is named; types of 8 bits have one f32 scale per
    compensator. `rows` has a string per value head, with a digit per key row:
    the bits of its codes, or `f` for a row of f16. `tables` are numbers of the
    layer's plan: `weights` of rows in fits, `levels` of codes that are their
    numbers, `scales` that are not fitted.
  }];
  let parameters = (ins "::mlir::Type":$codes,
                        Decant_RotationParameter:$rotation,
                        DefaultValuedParameter<"int64_t", "0">:$rotationBlock,
                        Decant_RoundingParameter:$rounding,
                        OptionalArrayRefParameter<"::decant::ScaleAttr">:$scales,
                        OptionalParameter<"::mlir::Type">:$compensators,
                        DefaultValuedParameter<"int64_t", "1">:$rounds,
                        OptionalParameter<"::mlir::ArrayAttr">:$rows,
                        OptionalParameter<"::mlir::DictionaryAttr">:$tables);
  let assemblyFormat = [{`<` $codes (`rotate` $rotation^)? (`rotate_block` $rotationBlock^)?
                         (`round` $rounding^)? (`,` $scales^)?
                         (`compensators` $compensators^)? (`rounds` $rounds^)?
                         (`rows` $rows^)? (`tables` $tables^)? `>`}];
}

def Decant_TargetAttr : Decant_Attr<"Target", "target"> {
  let summary = "names the machine that code is made for";
  let parameters = (ins StringRefParameter<>:$name);
  let assemblyFormat = "`<` $name `>`";
}

def Decant_RegionAttr : Decant_Attr<"Region", "region"> {
  let summary = "an array inside a head's bytes: offset, rows, width, element type";
  let parameters = (ins "int64_t":$offset, "int64_t":$count, "int64_t":$width,
                        "::mlir::Type":$type);
  let assemblyFormat = "`<` $offset `,` $count `x` $width `,` $type `>`";
}

def Decant_CodeOrderParameter : EnumParameter<Decant_CodeOrderKind> {
  let defaultValue = "::decant::CodeOrderKind::Rows";
}
def Decant_LayoutAttr : Decant_StructAttr<"Layout", "layout"> {
  let summary = "where everything lies inside a slot (SlotLayout as an attribute)";
  let parameters = (ins "int64_t":$heads, "int64_t":$keyDim, "int64_t":$valueDim,
                        "int64_t":$paddedKey, "int64_t":$paddedValue,
                        "int64_t":$window, "int64_t":$compensators,
                        DefaultValuedParameter<"int64_t", "1">:$tokens,
                        DefaultValuedParameter<"int64_t", "1">:$rounds,
                        "int64_t":$writes, EnumParameter<Decant_DecayKind>:$keyDecay,
                        EnumParameter<Decant_DecayKind>:$valueDecay,
                        DefaultValuedParameter<"int64_t", "0">:$carried,
                        "int64_t":$headBytes,
                        Decant_CodeOrderParameter:$codeOrder,
                        Decant_RotationParameter:$rotation,
                        DefaultValuedParameter<"int64_t", "0">:$rotationBlock,
                        Decant_RoundingParameter:$rounding,
                        OptionalParameter<"::mlir::ArrayAttr">:$rowBits,
                        OptionalParameter<"::mlir::DictionaryAttr">:$tables,
                        "::mlir::ArrayAttr":$scales,
                        "::mlir::DictionaryAttr":$regions);
}

def Decant_BoundaryParameter : EnumParameter<Decant_BoundaryKind> {
  let defaultValue = "::decant::BoundaryKind::Apart";
}
def Decant_CodeFetchParameter : EnumParameter<Decant_CodeFetchKind> {
  let defaultValue = "::decant::CodeFetchKind::Registers";
}
def Decant_LaunchParameter : EnumParameter<Decant_LaunchKind> {
  let defaultValue = "::decant::LaunchKind::Ordered";
}
def Decant_LaneOrderParameter : EnumParameter<Decant_LaneOrderKind> {
  let defaultValue = "::decant::LaneOrderKind::KeyFirst";
}
def Decant_ScheduleAttr : Decant_StructAttr<"Schedule", "schedule"> {
  let summary = "asks how the work of a kernel is cut";
  let description = [{
    Thread t of a block is key lane `t mod key_lanes` and value lane
    `t / key_lanes` (or the other way round: `lanes = value_first`); it holds
    `keys_per_lane` x `values_per_lane` elements. `split` blocks share a head.
    Core/Schedule.h says what the fields mean for each strategy.
  }];
  let parameters = (ins EnumParameter<Decant_StrategyKind>:$strategy,
                        "int64_t":$key_lanes, "int64_t":$value_lanes,
                        "int64_t":$keys_per_lane, "int64_t":$values_per_lane,
                        EnumParameter<Decant_RowLoopKind>:$rows,
                        Decant_BoundaryParameter:$boundary,
                        DefaultValuedParameter<"int64_t", "0">:$blocks_per_sm,
                        Decant_LaneOrderParameter:$lanes,
                        DefaultValuedParameter<"int64_t", "1">:$split,
                        Decant_CodeFetchParameter:$fetch,
                        Decant_LaunchParameter:$launch,
                        DefaultValuedParameter<"int64_t", "0">:$exchange);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class Decant_Type<string name, string typeMnemonic> : TypeDef<Decant_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Decant_StateType : Decant_Type<"State", "state"> {
  let summary = "the state of one head as a value: K keys by V values";
  let description = [{ `!decant.state<128x128>`; `?` in a rule that fits any dims. }];
  let parameters = (ins "int64_t":$keyDim, "int64_t":$valueDim);
  let hasCustomAssemblyFormat = 1;
}

def Decant_WindowType : Decant_Type<"Window", "window"> {
  let summary = "a stored state with its window: checkpoint, records, total decay";
  let description = [{
    Stands for S = P o C + sum_j (w_j o k_j) u_j^T: the checkpoint C under the
    total decay P of the window, and its records, each under the decay w_j since.
    A token adds `writes` records and one decay of the given shape per axis.
    `carried` key vectors lie beside the state: every token replaces them, and
    no window keeps their past. With `tokens` beyond 1, the last records may be
    drafts of up to so many tokens, which are no part of S until they are accepted.
  }];
  let parameters = (ins "int64_t":$keyDim, "int64_t":$valueDim, "int64_t":$length,
                        "int64_t":$compensators, "::mlir::Type":$records,
                        "int64_t":$writes, EnumParameter<Decant_DecayKind>:$keyDecay,
                        EnumParameter<Decant_DecayKind>:$valueDecay,
                        DefaultValuedParameter<"int64_t", "0">:$carried,
                        DefaultValuedParameter<"int64_t", "1">:$tokens);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Decant_LloydType : Decant_Type<"Lloyd", "lloyd"> {
  let summary = "codes of the levels that are best for a normal distribution";
  let description = [{ Of 3 or 4 bits; only formats and layouts name it. }];
  let parameters = (ins "int64_t":$bits);
  let assemblyFormat = "`<` $bits `>`";
}

def Decant_LevelsType : Decant_Type<"Levels", "levels"> {
  let summary = "codes that are numbers of a plan's levels";
  let description = [{ Of 3 or 4 bits; only formats and layouts name it. }];
  let parameters = (ins "int64_t":$bits);
  let assemblyFormat = "`<` $bits `>`";
}

def Decant_SlotType : Decant_Type<"Slot", "slot"> {
  let summary = "one head's bytes of a slot, as the kernel's #decant.layout says";
}

class Decant_VectorOf<string axis> : Type<
    And<[CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
         CPred<"::decant::isVectorOf($_self, ::decant::VectorAxis::" # axis # ")">]>,
    axis # " vector (tensor<?xf32, #decant.axis<...>>)", "::mlir::RankedTensorType">;
def Decant_KeyVector : Decant_VectorOf<"Key">;
def Decant_ValueVector : Decant_VectorOf<"Value">;
def Decant_AnyVector : AnyTypeOf<[Decant_KeyVector, Decant_ValueVector]>;
def Decant_Factor : AnyTypeOf<[F32, Decant_KeyVector, Decant_ValueVector]>;
def Decant_Stored : AnyTypeOf<[Decant_WindowType, Decant_SlotType]>;

class Decant_Op<string mnemonic, list<Trait> traits = []>
    : Op<Decant_Dialect, mnemonic, traits>;

#endif // DECANT_BASE_TD
