//===- Svg.cpp - the parts that drawings share ----------------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Svg.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace decant::tool;

namespace {

/// Okabe and Ito.
constexpr const char *kPalette[svg::kColours] = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7",
    "#e69f00", "#56b4e9", "#000000"};

std::string escape(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '&'   ? "&amp;"
              : c == '<' ? "&lt;"
              : c == '>' ? "&gt;"
                         : std::string(1, c);
  return result;
}

} // namespace

std::string svg::begin(double width, double height) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" fill=\"white\"/>\n",
      width, height);
}

std::string svg::end() { return "</svg>\n"; }

std::string svg::text(double x, double y, const char *anchor,
                      const std::string &what, const char *more) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}"
                     "</text>\n",
                     x, y, anchor, more, escape(what));
}

std::string svg::line(double x0, double y0, double x1, double y1,
                      const char *colour) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" "
                     "y2=\"{:.1f}\" stroke=\"{}\"/>\n",
                     x0, y0, x1, y1, colour);
}

std::string svg::box(double x, double y, double width, double height) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" "
                     "height=\"{:.1f}\" fill=\"none\" stroke=\"#444444\"/>\n",
                     x, y, width, height);
}

const char *svg::colour(size_t number) { return kPalette[number % kColours]; }

bool svg::Decades::canShow(double value) {
  return std::isfinite(value) && value > 0;
}

void svg::Decades::include(double value) {
  if (!canShow(value))
    return;
  least = most == 0 ? value : std::min(least, value);
  most = std::max(most, value);
}

int svg::Decades::lowest() const {
  return most == 0 ? -1 : int(std::floor(std::log10(least)));
}

int svg::Decades::highest() const {
  return most == 0 ? 0
                   : std::max(lowest() + 1, int(std::ceil(std::log10(most))));
}

double svg::Decades::place(double value) const {
  return (highest() - std::log10(value)) / (highest() - lowest());
}
