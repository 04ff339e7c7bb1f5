//===- Targets.h - the target that a command means --------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_TARGETS_H
#define DECANT_TOOLS_TARGETS_H

#include "decant/Core/TargetInfo.h"

namespace decant::tool {

/// The target named `name`; without a name the one of the first GPU, or the
/// host where there is none.
Expected<TargetInfo> chooseTarget(const std::string &name);

/// "sm_80, sm_86, ...": the targets of one kind.
std::string targetNames(TargetKind kind);

} // namespace decant::tool

#endif // DECANT_TOOLS_TARGETS_H
