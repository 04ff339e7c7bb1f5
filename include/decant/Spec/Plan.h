//===- Plan.h - plans as JSON -----------------------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan has the numbers of a layer's format: how many bits the codes of each
// key row have, and, for formats that ask for them, what rows weigh in fits,
// the levels of codes, scales that are not fitted. It is a file that state.plan
// names, or an object in its place:
//
//   {"decant_plan": 1, "heads": 2, "key_dim": 16,
//    "bits": ["ff66444444442222", 4],
//    "weights": [[1.5, 1, ...], 1]}
//
// An entry per value head: a digit per key row (f is a row of f16), or one
// width for all of them; a number per key row, or one for all. "levels" are
// those of all heads.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_SPEC_PLAN_H
#define DECANT_SPEC_PLAN_H

#include "decant/Core/DecodeSpec.h"

namespace decant {

/// The plan that a state has, as the text of a file.
std::string planToJson(const HeadShape &heads, const StateSpec &state,
                       const std::string &description);

} // namespace decant

#endif // DECANT_SPEC_PLAN_H
