//===- LaneUniformity.h - which ops run once for all lanes ------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CONVERSION_LANEUNIFORMITY_H
#define DECANT_CONVERSION_LANEUNIFORMITY_H

#include "Decant/Decant.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace decant {

struct LaneCounts {
  int64_t key, value;
  int64_t all() const { return key * value; }
};

/// The bounds of a loop that depend on the lane, as `base` + sums of uniform
/// values: lanes make the same number of rounds.
struct LaneBounds {
  mlir::Value base;
  llvm::SmallVector<mlir::Value> lower, upper;
};

/// Sorts the ops of a tiled kernel into those that all lanes run together,
/// those that each lane runs for itself, and those that are run once because
/// their operands are the same for all lanes and they write nothing.
class LaneUniformity {
public:
  LaneUniformity(KernelOp kernel, LaneCounts lanes)
      : kernel(kernel), lanes(lanes) {}

  /// Fails, with a diagnostic, where lanes would part ways around an op that
  /// they run together.
  mlir::LogicalResult run();

  /// A barrier, reduction, mma or transpose, or an op with one of them inside.
  bool isCollective(mlir::Operation *op) const { return collective.count(op); }
  bool isPerLane(mlir::Operation *op) const { return perLane.count(op); }
  /// A per-lane op that is repeated where its result is used: lane numbers,
  /// index arithmetic on them, views.
  bool isRebuilt(mlir::Operation *op) const { return rebuilt.count(op); }
  bool isVarying(mlir::Value value) const { return varying.count(value); }
  /// Null when the loop's bounds are uniform.
  const LaneBounds *boundsOf(mlir::scf::ForOp loop) const;
  /// The loops whose bounds have this base.
  llvm::ArrayRef<mlir::scf::ForOp> loopsFrom(mlir::Value base) const;

  static bool reads(mlir::Operation *op);
  static bool writes(mlir::Operation *op);
  /// Everything of an op's surroundings that it uses, in its regions too.
  static llvm::SetVector<mlir::Value> usedBy(mlir::Operation *op);

private:
  mlir::LogicalResult findCollectives();
  void visit(mlir::Block &block);
  void visitLoop(mlir::scf::ForOp loop);
  void visitBranch(mlir::scf::IfOp branch);
  void visitOrdinary(mlir::Operation *op);
  mlir::LogicalResult finish(mlir::Block &block);
  mlir::LogicalResult finishLoop(mlir::scf::ForOp loop);
  void mark(mlir::Value value) { changed |= varying.insert(value).second; }
  bool isCheap(mlir::Value value) const;
  LaneBounds splitBounds(mlir::scf::ForOp loop) const;

  KernelOp kernel;
  LaneCounts lanes;
  bool changed = false;
  llvm::DenseSet<mlir::Value> varying;
  llvm::DenseSet<mlir::Operation *> collective, perLane, rebuilt;
  llvm::DenseMap<mlir::Operation *, LaneBounds> bounds;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::scf::ForOp>> loopsByBase;
};

} // namespace decant

#endif // DECANT_CONVERSION_LANEUNIFORMITY_H
