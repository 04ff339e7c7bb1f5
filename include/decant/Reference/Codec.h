//===- Codec.h - what the bytes of a head mean ------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The definition, in float64, of both directions between a state S [key dim,
// value dim] and the bytes of one head in a slot. Kernels are measured against
// these two functions.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_REFERENCE_CODEC_H
#define DECANT_REFERENCE_CODEC_H

#include "decant/Core/SlotLayout.h"

#include <cstdint>
#include <vector>

namespace decant {

/// The state that `head` (headBytes bytes) stores, row-major [keyDim,
/// valueDim]:
///
///   C0 = (codes * group scale + offset) * other scales
///        + sum over r of compScale[r] compKeys[r] compValues[r]^T
///   S  = C0                                             for an empty window
///   S  = diag(P) C0 diag(Pv)
///        + sum over j of the records' rank-1 terms, each
///        decayed by the tokens after j                  for h tokens
///
/// Where a plan tells heads apart, `layout` is that of the head alone
/// (SlotLayout::ofHead).
/// A fill beyond the window's length is read as a full window.
std::vector<double> decodeHead(const SlotLayout &layout, const uint8_t *head);

/// What rounding to the codes of `head` is expected to cost: the root of the
/// sum, over the elements of decodeHead(), of the squared error of one that lay
/// anywhere between two codes, its code's width squared over 12, or over 6 if
/// it is rounded stochastically. Scales are the stored ones, and what the
/// tokens of the window decay has decayed. Records are not counted.
double roundingError(const SlotLayout &layout, const uint8_t *head);

/// Stores `state` (row-major [keyDim, valueDim]) as a commit does: fits the
/// compensators, fits the scales to what they leave, rounds the rest to codes,
/// (stochastically: by `seed`, the token count in the cursor and the number of
/// the head, SlotLayout::firstHead) and empties the window.
/// Records and total decays keep their bytes; an empty window gives them no
/// meaning.
void encodeHead(const SlotLayout &layout, const double *state, uint8_t *head,
                uint32_t seed = 0);

} // namespace decant

#endif // DECANT_REFERENCE_CODEC_H
