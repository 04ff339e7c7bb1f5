//===- JoinReductions.h - fewer waits for other lanes -----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_JOINREDUCTIONS_H
#define DECANT_TRANSFORMS_TILING_JOINREDUCTIONS_H

#include "Decant/Decant.h"

namespace decant {

/// Makes one lane_reduce of those over `axis` that do not need one another's
/// results: each costs a barrier where the lanes are in several warps. The
/// elements are combined as before, so no bit changes.
void joinReductions(KernelOp kernel, VectorAxis axis);

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_JOINREDUCTIONS_H
