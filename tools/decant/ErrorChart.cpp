//===- ErrorChart.cpp - errors over tokens as a drawing -------------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   +- title -------------------------------+
//   |  1e-1 +-------------+ +-------------+ |
//   |  1e-2 |   panel     | |   panel     | |   kPanelWidth x kPanelHeight
//   |  1e-3 +-------------+ +-------------+ |
//   |       0   tokens  256                 |
//   |  -- label          -- label           |   kLegendLine per row
//   +---------------------------------------+
//
//===----------------------------------------------------------------------===//

#include "ErrorChart.h"

#include "Svg.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace decant::tool;

namespace {

constexpr double kPanelWidth = 420, kPanelHeight = 320;
constexpr double kLeft = 62, kTop = 64, kGap = 62, kBelow = 48;
constexpr double kLegendLine = 18, kMargin = 16;
/// Beyond the colours that there are, lines are dashed.
constexpr const char *kDashes[] = {"", "7,3", "2,3"};

std::string strokeOf(size_t curve) {
  const size_t dashes = std::size(kDashes);
  return fmt::format("fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\" "
                     "stroke-dasharray=\"{}\"",
                     svg::colour(curve),
                     kDashes[curve / svg::kColours % dashes]);
}

svg::Decades decadesOf(const Panel &panel) {
  svg::Decades decades;
  for (const Curve &curve : panel.curves)
    for (double value : curve.values)
      decades.include(value);
  return decades;
}

/// A step of 1, 2 or 5 times a power of ten that makes four to ten of `last`.
int64_t tokenStep(int64_t last) {
  int64_t step = 1;
  for (int turn = 0; last / step > 8; ++turn)
    step = turn % 3 == 1 ? step / 2 * 5 : step * 2;
  return step;
}

std::string drawAxes(const Panel &panel, const svg::Decades &decades,
                     double left, int64_t last) {
  std::string drawing;
  for (int decade = decades.lowest(); decade <= decades.highest(); ++decade) {
    const double y = kTop + kPanelHeight * decades.place(std::pow(10, decade));
    drawing += svg::line(left, y, left + kPanelWidth, y, "#dddddd");
    drawing += svg::text(left - 6, y + 4, "end", fmt::format("1e{}", decade));
  }
  for (int64_t token = 0; token <= last; token += tokenStep(last)) {
    const double x = left + kPanelWidth * double(token) / double(last);
    drawing += svg::line(x, kTop + kPanelHeight, x, kTop + kPanelHeight + 4,
                         "#444444");
    drawing += svg::text(x, kTop + kPanelHeight + 18, "middle",
                         fmt::format("{}", token));
  }
  drawing += svg::box(left, kTop, kPanelWidth, kPanelHeight);
  drawing += svg::text(left + kPanelWidth / 2, kTop - 8, "middle", panel.title);
  return drawing + svg::text(left + kPanelWidth / 2, kTop + kPanelHeight + 36,
                             "middle", "tokens");
}

std::string drawCurve(const Curve &curve, size_t number,
                      const svg::Decades &decades, double left,
                      const std::vector<int64_t> &tokens) {
  // A point that cannot be shown breaks the line: a gap is no value.
  std::string drawing, points;
  auto flush = [&] {
    if (!points.empty())
      drawing += fmt::format("<polyline points=\"{}\" {}/>\n", points,
                             strokeOf(number));
    points.clear();
  };
  for (size_t i = 0; i < curve.values.size(); ++i) {
    if (!svg::Decades::canShow(curve.values[i])) {
      flush();
      continue;
    }
    points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ",
                          left + kPanelWidth * double(tokens[i]) /
                                     double(tokens.back()),
                          kTop + kPanelHeight * decades.place(curve.values[i]));
  }
  flush();
  return drawing;
}

} // namespace

std::string decant::tool::toSvg(const ErrorChart &chart) {
  const size_t curves = chart.panels.front().curves.size();
  const double width = kLeft + kMargin +
                       double(chart.panels.size()) * (kPanelWidth + kGap) -
                       kGap;
  const double legend = kTop + kPanelHeight + kBelow + kMargin;
  const double height = legend + double(curves) * kLegendLine;
  std::string drawing = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" fill=\"white\"/>\n",
      width, height);
  drawing +=
      svg::text(width / 2, 24, "middle", chart.title, " font-size=\"15\"");
  for (size_t p = 0; p < chart.panels.size(); ++p) {
    const Panel &panel = chart.panels[p];
    const double left = kLeft + double(p) * (kPanelWidth + kGap);
    const svg::Decades decades = decadesOf(panel);
    drawing += drawAxes(panel, decades, left, chart.tokens.back());
    for (size_t i = 0; i < panel.curves.size(); ++i)
      drawing += drawCurve(panel.curves[i], i, decades, left, chart.tokens);
  }
  for (size_t i = 0; i < curves; ++i) {
    const double y = legend + double(i) * kLegendLine;
    drawing += fmt::format("<path d=\"M {:.1f} {:.1f} h 30\" {}/>\n", kLeft,
                           y - 4, strokeOf(i));
    drawing +=
        svg::text(kLeft + 38, y, "start", chart.panels.front().curves[i].label);
  }
  return drawing + "</svg>\n";
}
