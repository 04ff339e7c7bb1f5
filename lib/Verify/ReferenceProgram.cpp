//===- ReferenceProgram.cpp - the float64 rule of a spec ------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only source of this library that sees MLIR.
//
//===----------------------------------------------------------------------===//

#include "ReferenceProgram.h"

#include "Decant/Decant.h"
#include "Import/ImportSpec.h"
#include "Target/Register.h"
#include "decant/Core/TargetInfo.h"
#include "decant/Reference/Interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <fmt/format.h>

using namespace decant;

namespace {

mlir::Value throughType(mlir::OpBuilder &builder, mlir::Value vector,
                        mlir::Type element) {
  auto type = mlir::cast<mlir::RankedTensorType>(vector.getType());
  mlir::Value narrow = mlir::arith::TruncFOp::create(
      builder, vector.getLoc(), mlir::Type(type.clone(element)), vector);
  return mlir::arith::ExtFOp::create(builder, vector.getLoc(), type, narrow);
}

void roundRecords(DecodeOp decode, ElementType records) {
  if (records == ElementType::F32)
    return;
  const mlir::Type element = toType(decode.getContext(), records);
  decode.walk([&](WriteOp write) {
    mlir::OpBuilder builder(write);
    write.getKeyMutable().assign(throughType(builder, write.getKey(), element));
    write.getValueMutable().assign(
        throughType(builder, write.getValue(), element));
  });
}

} // namespace

Expected<ReferencePrograms> decant::referencePrograms(const DecodeSpec &spec) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          errors += (errors.empty() ? "" : "; ") + diagnostic.str();
        return mlir::success();
      });
  // Nothing of stage `rule` depends on the target.
  mlir::OwningOpRef<mlir::ModuleOp> module =
      importSpec(spec, knownTargets().front(), &context);
  if (!module)
    return Status::invalid(fmt::format("{}: {}", spec.name, errors));
  DecodeOp decode = *module->getOps<DecodeOp>().begin();
  DECANT_ASSIGN(RuleProgram exact, buildRuleProgram(decode));
  // A window of one token has no records.
  if (spec.window.length > 1)
    roundRecords(decode, spec.window.records);
  DECANT_ASSIGN(RuleProgram stored, buildRuleProgram(decode));
  return ReferencePrograms{std::move(exact), std::move(stored)};
}
