//===- FoldFunction.h - one fold for a step and for commit ------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step folds rarely, and @commit does nothing else: one function for both is
// half of the code, and takes no registers from the step.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_FOLDFUNCTION_H
#define DECANT_TRANSFORMS_TILING_FOLDFUNCTION_H

#include "StoredHead.h"

namespace decant {

/// Folds the window of `head` on tensor cores: calls the function that does,
/// which is put beside `kernel`, whose block `tile` is of, if it is not there.
void callFold(LaneTile &tile, KernelOp kernel, TargetKind target,
              const StoredHead &head);

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_FOLDFUNCTION_H
