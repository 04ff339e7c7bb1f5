//===- LaneSegments.h - loops over lanes, values between them ---*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A segment is a run of per-lane ops without a collective op between them; it
// becomes one loop over the lanes. A value that is the same for all lanes stays
// an SSA value. One that differs is an SSA value within its lane loop; when it
// is used elsewhere too, each lane leaves it in a buffer, where later lane
// loops load it.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_CONVERSION_LANESEGMENTS_H
#define DECANT_CONVERSION_LANESEGMENTS_H

#include "CpuMapper.h"
#include "LaneBuffers.h"
#include "LaneOps.h"

#include <functional>
#include <optional>

namespace decant {

class LaneSegments : public CpuMapper {
protected:
  LaneSegments(KernelOp source, LaneCounts lanes,
               mlir::ImplicitLocOpBuilder &builder)
      : CpuMapper(source, builder), lanes(lanes), uniformity(source, lanes) {}

  bool mapDecantOp(mlir::Operation *op) override;

  /// Adds a per-lane op to the segment at hand.
  void append(mlir::Operation *op);
  /// Emits the lane loop of the segment, which is then empty. `consumer`, an op
  /// that ends the segment, may resolve its operands at the loop's end.
  using Consumer = llvm::function_ref<void()>;
  void flush(mlir::Operation *consumer = nullptr, Consumer consume = {});
  /// The value of this lane, in the lane loop at hand.
  mlir::Value resolve(mlir::Value value);

  mlir::MemRefType perLane(mlir::Type type) {
    return mlir::MemRefType::get({lanes.all()}, type);
  }
  /// A buffer that `value` occupies until its last use, and at least until
  /// `atLeast`.
  mlir::Value takeFor(mlir::Value value, mlir::MemRefType type,
                      mlir::Operation *atLeast);
  /// Lanes load `value` from their elements of `buffer`.
  void loadFrom(mlir::Value value, mlir::Value buffer);
  /// Gives back the buffers that no op behind `op` needs.
  void release(mlir::Operation *op);
  void releaseAll(mlir::Block *block);

  LaneCounts lanes;
  LaneUniformity uniformity;
  std::optional<LaneBuffers> buffers;
  mlir::Value lane; // of the lane loop at hand
  /// How a lane gets the value of an op of an earlier segment.
  llvm::DenseMap<mlir::Value, std::function<mlir::Value()>> loads;
  /// The round of loops whose bounds depend on the lane, by their variable.
  llvm::DenseMap<mlir::Value, mlir::Value> rounds;
  bool segmentWrites = false;

private:
  mlir::Value laneAlong(VectorAxis axis);
  void forUsers(mlir::Value value,
                llvm::function_ref<void(mlir::Operation *)> use);
  bool escapes(mlir::Value value, mlir::Operation *consumer);

  struct Held {
    mlir::Operation *last; // of the source, in the block of the value
    mlir::Value buffer;
  };
  llvm::SetVector<mlir::Operation *> segment;
  llvm::SmallVector<mlir::Value> local; // mapped in this lane loop alone
  llvm::DenseMap<mlir::Block *, llvm::SmallVector<Held>> held;
};

} // namespace decant

#endif // DECANT_CONVERSION_LANESEGMENTS_H
