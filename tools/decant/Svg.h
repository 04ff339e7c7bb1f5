//===- Svg.h - the parts that drawings share --------------------*- C++ -*-===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef DECANT_TOOLS_SVG_H
#define DECANT_TOOLS_SVG_H

#include <cstddef>
#include <string>

namespace decant::tool::svg {

/// The root element and a white ground; end() closes it.
std::string begin(double width, double height);
std::string end();

std::string text(double x, double y, const char *anchor,
                 const std::string &what, const char *more = "");
std::string line(double x0, double y0, double x1, double y1,
                 const char *colour);
std::string box(double x, double y, double width, double height);

/// Colours that people who see them differently tell apart; they repeat.
const char *colour(size_t number);
constexpr size_t kColours = 7;

/// Whole powers of ten around values; those that are not above 0 and finite
/// have no place on such an axis.
class Decades {
public:
  static bool canShow(double value);
  void include(double value);
  /// Whole powers; at least two of them.
  int lowest() const;
  int highest() const;
  /// 0 at the highest, 1 at the lowest.
  double place(double value) const;

private:
  double least = 0, most = 0; // 0: nothing yet
};

} // namespace decant::tool::svg

#endif // DECANT_TOOLS_SVG_H
