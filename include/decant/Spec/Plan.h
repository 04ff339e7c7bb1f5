//===- Plan.h - plans as JSON -----------------------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan says how many bits the codes of each key row of a layer have. It is a
// file that state.plan names, or an object in its place:
//
//   {"decant_plan": 1, "heads": 2, "key_dim": 16,
//    "bits": ["8866444444442222", 4]}
//
// An entry per value head: a digit per key row, or one width for all of them.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_SPEC_PLAN_H
#define DECANT_SPEC_PLAN_H

#include "decant/Core/DecodeSpec.h"

namespace decant {

/// The plan of a spec whose rows have `widths`, as the text of a file.
std::string planToJson(const HeadShape &heads,
                       const std::vector<uint8_t> &widths,
                       const std::string &description);

} // namespace decant

#endif // DECANT_SPEC_PLAN_H
