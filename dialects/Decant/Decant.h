//===- Decant.h - the decant dialect ----------------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_DIALECT_DECANT_H
#define DECANT_DIALECT_DECANT_H

#include "decant/Core/RuleInfo.h"
#include "decant/Core/Schedule.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "Decant/DecantDialect.h.inc"
#include "Decant/DecantEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "Decant/DecantAttrs.h.inc"

namespace decant {

/// Whether `type` is a rank-1 f32 tensor whose encoding is #decant.axis<axis>.
bool isVectorOf(mlir::Type type, VectorAxis axis);
/// The axis of a key or value vector type; nullopt for any other type.
std::optional<VectorAxis> axisOf(mlir::Type type);
/// Whether an op inside `op` needs all columns of a head, which blocks cannot
/// share then: a sum over the value axis, or a vector beside the state that one
/// of them must not replace while another still reads it.
bool needsWholeHeads(mlir::Operation *op);
/// tensor<dim x f32, #decant.axis<axis>>.
mlir::RankedTensorType vectorType(mlir::MLIRContext *context, VectorAxis axis,
                                  int64_t dim);

/// Where argument `number` of a rule, a decode or a kernel comes from; `roles`
/// is its arg_roles, null where every argument is a row.
RuleInput::Source sourceOf(std::optional<mlir::ArrayAttr> roles,
                           unsigned number);
/// The word that says so; empty for a row.
llvm::StringRef toString(RuleInput::Source source);
/// arg_roles for these arguments; null where every one is a row.
mlir::ArrayAttr rolesAttr(mlir::MLIRContext *context,
                          llvm::ArrayRef<RuleInput::Source> sources);

/// Between the element types of Core and MLIR's.
mlir::Type toType(mlir::MLIRContext *context, ElementType type);
ElementType toElementType(mlir::Type type);

/// A string per head with a digit per key row; null for no row bits.
mlir::ArrayAttr rowBitsAttr(mlir::MLIRContext *context,
                            llvm::ArrayRef<uint8_t> rowBits, int64_t heads);
std::vector<uint8_t> rowBitsOf(mlir::ArrayAttr rows);
/// What a plan brings, as a dictionary of arrays; null without anything.
mlir::DictionaryAttr tablesAttr(mlir::MLIRContext *context,
                                const PlanTables &tables);
PlanTables tablesOf(mlir::DictionaryAttr attr);

/// Between the structs of Core and the attributes that hold them.
LayoutAttr toAttr(mlir::MLIRContext *context, const SlotLayout &layout);
SlotLayout fromAttr(LayoutAttr attr);
ScheduleAttr toAttr(mlir::MLIRContext *context, const Schedule &schedule);
Schedule fromAttr(ScheduleAttr attr);

} // namespace decant

#define GET_TYPEDEF_CLASSES
#include "Decant/DecantTypes.h.inc"

#define GET_OP_CLASSES
#include "Decant/DecantOps.h.inc"

#endif // DECANT_DIALECT_DECANT_H
