//===- FrontChart.h - errors, bits and times as a drawing -------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_FRONTCHART_H
#define DECANT_TOOLS_FRONTCHART_H

#include "decant/Tune/TuningRecord.h"

namespace decant::tool {

/// SVG with two panels, the output error over bits per element and over the
/// time at the largest batch; points on the front are filled, the chosen one
/// has a ring, and a legend names them by their numbers.
std::string frontChart(const FormatChoice &choice);

} // namespace decant::tool

#endif // DECANT_TOOLS_FRONTCHART_H
