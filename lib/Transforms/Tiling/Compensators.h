//===- Compensators.h - fit the new compensators ----------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TRANSFORMS_TILING_COMPENSATORS_H
#define DECANT_TRANSFORMS_TILING_COMPENSATORS_H

#include "StateRows.h"

namespace decant {

/// Fits the layout's compensators to the state and leaves them in the rows' new
/// terms, rounded to f16, keys negated.
void fitCompensators(LaneTile &tile, StateRows &rows);

} // namespace decant

#endif // DECANT_TRANSFORMS_TILING_COMPENSATORS_H
