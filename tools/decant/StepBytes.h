//===- StepBytes.h - the memory traffic of one step -------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: a slot's layout and the step's arguments. Out: how many bytes one token
// of one sequence has to move, if every byte that is needed moves once: what a
// measured time is to be compared with.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_STEPBYTES_H
#define DECANT_TOOLS_STEPBYTES_H

#include "decant/Core/KernelImage.h"

namespace decant::tool {

/// One kind of traffic; of all heads, mean over a window.
struct Traffic {
  std::string what;
  double read = 0, written = 0;
};

/// Of one step with its part of the commit that a window ends with.
std::vector<Traffic> stepTraffic(const KernelImage &image);

Traffic totalOf(const std::vector<Traffic> &list);

} // namespace decant::tool

#endif // DECANT_TOOLS_STEPBYTES_H
