//===- ErrorChart.h - errors over tokens as a drawing -----------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In: curves. Out: SVG with one panel per kind of error, logarithmic upwards,
// and a legend below. Every viewer of web pages shows it, and it needs nothing.
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_ERRORCHART_H
#define DECANT_TOOLS_ERRORCHART_H

#include <cstdint>
#include <string>
#include <vector>

namespace decant::tool {

struct Curve {
  std::string label;
  std::vector<double> values; // one per point; 0 and NaN are left out
};

struct Panel {
  std::string title;
  std::vector<Curve> curves; // the same ones, in the same order, in each panel
};

struct ErrorChart {
  std::string title;
  std::vector<int64_t> tokens; // of the points
  std::vector<Panel> panels;
};

std::string toSvg(const ErrorChart &chart);

} // namespace decant::tool

#endif // DECANT_TOOLS_ERRORCHART_H
