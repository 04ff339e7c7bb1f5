//===- LaneTile.h - what one lane holds, and how to say it in IR -*- C++
//-*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A LaneTile builds the code of one lane of a simt kernel. A key vector is the
// keysPerLane elements of the lane's rows, repeated on all value lanes; a value
// vector is the valuesPerLane elements of its columns, repeated on all key
// lanes. (Core/Schedule.h has the picture.) So element-wise ops need no
// communication, and a sum over an axis is a local sum and one lane_reduce.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_LANETILE_H
#define DECANT_TRANSFORMS_TILING_LANETILE_H

#include "Decant/Decant.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace decant {

/// A two-dimensional array and how its rows are stored.
struct View {
  mlir::Value memref; // memref<count x width x type>
  ElementType type;
  int64_t width;
};

class LaneTile {
public:
  /// Emits the lane's coordinates at the builder's position.
  LaneTile(mlir::ImplicitLocOpBuilder &builder, const SlotLayout &layout,
           const Schedule &schedule, TargetKind target);

  mlir::ImplicitLocOpBuilder &b;
  const SlotLayout &layout;
  const Schedule &schedule;
  mlir::Value keyLane, valueLane;   // index
  mlir::Value head;                 // the block's, once the block op is there
  mlir::Value slice;                // of the head's columns; null: all
  mlir::Value firstKey, firstValue; // of the lane's rows and columns

  //===--- types and constants --------------------------------------------===//
  mlir::VectorType keyType() const;
  mlir::VectorType valueType() const;
  mlir::VectorType vectorOf(VectorAxis axis) const;
  mlir::VectorType vectorOf(int64_t width) const;
  /// Where the lane's part of an axis begins.
  mlir::Value firstOf(VectorAxis axis) const;
  /// Whether the lane's part lies on the axis; null where every lane's does.
  mlir::Value inside(VectorAxis axis);
  /// Whether this lane writes its part: one of those that hold the same
  /// elements does; null where no two do.
  mlir::Value writes(VectorAxis axis);
  mlir::Value index(int64_t value);
  mlir::Value f32(double value);
  mlir::Value splat(mlir::Value scalar, mlir::VectorType type);
  mlir::Value zeros(mlir::VectorType type);

  //===--- arithmetic -----------------------------------------------------===//
  mlir::Value add(mlir::Value x, mlir::Value y); // index or float
  mlir::Value mul(mlir::Value x, mlir::Value y); // index or float
  /// x y for any mix of scalar and vector; a null factor is 1.
  mlir::Value scale(mlir::Value x, mlir::Value y);
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  mlir::Value element(mlir::Value vector, int64_t i);
  /// The sum or the maximum of a vector's elements, within the lane. A sum is a
  /// binary tree over the index, lowest bit first; lane_reduce goes on with the
  /// same tree over the lanes. So the bits of a sum do not depend on how many
  /// lanes share it (for power-of-two dims), and all targets agree.
  mlir::Value reduce(ReduceKind kind, mlir::Value vector);
  mlir::Value laneReduce(ReduceKind kind, mlir::Value value, VectorAxis axis);
  /// The same over all lanes that share a vector of `axis`.
  mlir::Value reduceAcross(ReduceKind kind, mlir::Value value, VectorAxis axis);
  /// Sums over the key rows: `body(begin, end, sums)` adds rows begin .. end to
  /// sums in order. They are formed in parts (keysPerPart), and a tree over the
  /// parts goes on with the tree over the lanes; a target of one lane forms the
  /// partial sums of the others' lanes and adds them in their order. So the
  /// bits are the same, for power-of-two dims.
  using RowsBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value begin, mlir::Value end, mlir::ValueRange sums)>;
  llvm::SmallVector<mlir::Value> sumOverKeys(int count, RowsBody body);
  /// Of `rows` rows that a lane adds up: how many are one part.
  int64_t rowsPerPart(int64_t rows) const;
  /// A binary tree over the index; a power of two of them.
  mlir::Value tree(llvm::SmallVector<mlir::Value> sums);
  /// x . y over the whole axis.
  mlir::Value dot(mlir::Value x, mlir::Value y, VectorAxis axis);

  //===--- memory ---------------------------------------------------------===//
  /// A region of the head that starts `offset` bytes into `pool`.
  View view(mlir::Value pool, mlir::Value offset, const Region &region);
  /// f32 memory that the block shares.
  View scratch(int64_t count, int64_t width);
  mlir::Attribute scratchMemory() const { return scratchSpace; }
  void barrier();
  void warpBarrier();

  /// `width` elements of row `row` from column `column`, as f32.
  mlir::Value load(const View &view, mlir::Value row, mlir::Value column,
                   int64_t width);
  mlir::Value loadScalar(const View &view, mlir::Value row, mlir::Value column);
  void store(const View &view, mlir::Value row, mlir::Value column,
             mlir::Value vector);
  void storeScalar(const View &view, mlir::Value row, mlir::Value column,
                   mlir::Value scalar);
  /// The lane's part of row `row` of an array along `axis`.
  mlir::Value loadAlong(VectorAxis axis, const View &view, mlir::Value row);
  /// Stores it, from one of the lanes that hold the same elements.
  void storeAlong(VectorAxis axis, const View &view, mlir::Value row,
                  mlir::Value vector);
  /// A decay: a scalar of column 0 or the lane's part of the row.
  mlir::Value loadDecay(DecayShape shape, VectorAxis axis, const View &view,
                        mlir::Value row);
  void storeDecay(DecayShape shape, VectorAxis axis, const View &view,
                  mlir::Value row, mlir::Value decay);

  //===--- control --------------------------------------------------------===//
  using Body = llvm::function_ref<void()>;
  using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(
      mlir::Value index, mlir::ValueRange carried)>;
  /// Runs `body` where `condition` holds; everywhere when it is null.
  void ifTrue(mlir::Value condition, Body body);
  /// Runs `body` on key lane 0, value lane 0 of the head's first slice alone.
  void onFirstLane(Body body);
  mlir::Value isFirstLane(); // i1
  /// for i in [begin, end) step `step`; returns what the last round carried.
  llvm::SmallVector<mlir::Value> loop(mlir::Value begin, mlir::Value end,
                                      int64_t step,
                                      llvm::ArrayRef<mlir::Value> initial,
                                      LoopBody body);

  /// x in the element type and back: what memory will hold.
  mlir::Value narrow(mlir::Value x, ElementType type);
  mlir::Value widen(mlir::Value x, ElementType type);
  /// The same of an MLIR type that says what it is.
  mlir::Value widen(mlir::Value x);

private:
  llvm::SmallVector<mlir::Value> sumInParts(mlir::Value begin, int64_t rows,
                                            int count, RowsBody body);
  llvm::SmallVector<mlir::Value> laneSums(llvm::ArrayRef<mlir::Value> sums);

  mlir::Attribute scratchSpace;
};

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_LANETILE_H
