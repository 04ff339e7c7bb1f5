//===- LaneReductions.h - sums over the threads of a block ------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lanes of one axis are neighbours (`inner`): a sum over them is a butterfly of
// shuffles. One over the other axis (`outer`) begins with shuffles, where a
// warp has several outer lanes, and goes on across warps through shared memory.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CONVERSION_LANEREDUCTIONS_H
#define DECANT_CONVERSION_LANEREDUCTIONS_H

#include "Decant/Decant.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace decant {

constexpr int64_t kWarp = 32;

/// Thread t is inner lane t mod inner and outer lane t / inner.
struct LaneGrid {
  int64_t inner = 1, outer = 1;
  VectorAxis innerAxis = VectorAxis::Key;

  int64_t threads() const { return inner * outer; }
  /// Outer lanes that can be summed by shuffles: all of a warp's when every
  /// warp is full of them or there is but one warp, else just one.
  int64_t outerPerWarp() const;
  /// Partial sums per inner lane that are left after the shuffles.
  int64_t groups() const { return outer / outerPerWarp(); }
};

class LaneReductions {
public:
  /// Plans the shared memory of all reductions of `kernel`.
  LaneReductions(KernelOp kernel, LaneGrid grid);

  int64_t sharedBytes() const { return areas * areaBytes; }

  /// Where a kernel's shared memory is, and this thread.
  struct Place {
    mlir::Value shared; // memref<?xi8>
    int64_t offset = 0; // of the reductions' areas
    mlir::Value innerLane, outerLane;
  };
  /// The reduction of `value` on every lane.
  mlir::Value map(mlir::ImplicitLocOpBuilder &b, LaneReduceOp reduce,
                  mlir::Value value, const Place &place) const;

private:
  /// Two reductions that follow one another use two areas: whoever writes an
  /// area again has passed a barrier behind all reads of it. A reduction that
  /// is not certain to be followed by one with the other area waits itself.
  struct Plan {
    int64_t area = 0;
    bool waits = true;
  };

  bool crossesWarps(LaneReduceOp reduce) const;
  /// How many elements of a sum over inner lanes are formed by one lane each.
  int64_t scattered(LaneReduceOp reduce) const;

  LaneGrid grid;
  bool usesTiles = false; // of tensor cores
  llvm::DenseMap<mlir::Operation *, Plan> plans;
  int64_t areas = 0, areaBytes = 0;
};

} // namespace decant

#endif // DECANT_CONVERSION_LANEREDUCTIONS_H
