//===- Plan.h - numbers of a layer, from a file or inline -------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_LIB_SPEC_PLAN_H
#define DECANT_LIB_SPEC_PLAN_H

#include "decant/Core/DecodeSpec.h"

#include "JsonText.h"

#include <vector>

namespace decant::spec {

/// A plan file's JSON, validated as the field state.plan is. Errors begin with
/// the path.
Expected<Json> readPlanFile(const std::string &path);

/// Puts a validated plan's numbers in the state of `spec`, which has everything
/// else; adds what does not fit, under the paths of the plan's fields.
void usePlan(const Json &plan, DecodeSpec &spec,
             std::vector<SpecIssue> &issues);

} // namespace decant::spec

#endif // DECANT_LIB_SPEC_PLAN_H
