//===- FrontChart.cpp - errors, bits and times as a drawing ---------------===//
//
// Part of Decant, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   +- title -------------------------------+
//   |  1e-1 +-------------+ +-------------+ |
//   |  1e-2 | error, bits | | error, time | |   kPanelWidth x kPanelHeight
//   |  1e-3 +-------------+ +-------------+ |
//   |  1 name  2 name  3 name               |   kLegendLine per row
//   +---------------------------------------+
//
//===----------------------------------------------------------------------===//

#include "FrontChart.h"

#include "Svg.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

using namespace decant;
using namespace decant::tool;

namespace {

constexpr double kPanelWidth = 420, kPanelHeight = 320;
constexpr double kLeft = 62, kTop = 64, kGap = 62, kBelow = 48;
constexpr double kLegendLine = 18, kMargin = 16, kRadius = 5;

double valueOf(const FormatPoint &point, bool bits) {
  return bits                  ? point.bitsPerElement
         : point.times.empty() ? 0
                               : point.times.back().us;
}

/// A step of 1, 2 or 5 times a power of ten that makes four to ten of `last`.
double stepOf(double last) {
  const double power = std::pow(10, std::floor(std::log10(last)) - 1);
  for (double step : {1., 2., 5., 10., 20.})
    if (last / (step * power) <= 10)
      return step * power;
  return last;
}

struct Panel {
  double left = 0, last = 1;
  svg::Decades errors;

  double x(double value) const { return left + kPanelWidth * value / last; }
  double y(double error) const {
    return kTop + kPanelHeight * errors.place(error);
  }
};

std::string drawAxes(const Panel &panel, const std::string &title,
                     const std::string &below) {
  std::string drawing;
  for (int decade = panel.errors.lowest(); decade <= panel.errors.highest();
       ++decade) {
    const double y = panel.y(std::pow(10, decade));
    drawing += svg::line(panel.left, y, panel.left + kPanelWidth, y, "#dddddd");
    drawing +=
        svg::text(panel.left - 6, y + 4, "end", fmt::format("1e{}", decade));
  }
  const double bottom = kTop + kPanelHeight, step = stepOf(panel.last);
  for (int i = 0; i * step <= panel.last; ++i) {
    const double x = panel.x(i * step);
    drawing += svg::line(x, bottom, x, bottom + 4, "#444444");
    drawing +=
        svg::text(x, bottom + 18, "middle", fmt::format("{:g}", i * step));
  }
  const double middle = panel.left + kPanelWidth / 2;
  return drawing + svg::box(panel.left, kTop, kPanelWidth, kPanelHeight) +
         svg::text(middle, kTop - 8, "middle", title) +
         svg::text(middle, bottom + 36, "middle", below);
}

std::string drawPoint(const FormatChoice &choice, size_t number, double x,
                      double y) {
  const FormatPoint &point = choice.points[number];
  const char *colour = svg::colour(number);
  std::string drawing = fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" stroke=\"{}\" "
      "fill=\"{}\"/>\n",
      x, y, kRadius, colour, point.onFront ? colour : "white");
  if (point.name == choice.chosen)
    drawing += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" stroke=\"#000000\" "
        "fill=\"none\"/>\n",
        x, y, 2 * kRadius);
  return drawing + svg::text(x + 2 * kRadius + 2, y - 4, "start",
                             fmt::format("{}", number + 1));
}

std::string drawPanel(const FormatChoice &choice, bool bits, double left) {
  Panel panel;
  panel.left = left;
  double last = 0;
  for (const FormatPoint &point : choice.points) {
    panel.errors.include(point.outputError);
    last = std::max(last, valueOf(point, bits));
  }
  panel.last = last > 0 ? 1.1 * last : 1;
  std::string drawing = drawAxes(
      panel, "relative error of the outputs",
      bits ? std::string("bits per element")
           : fmt::format("us per step at batch {}", choice.batches.back()));
  for (size_t i = 0; i < choice.points.size(); ++i) {
    const double value = valueOf(choice.points[i], bits);
    const double error = choice.points[i].outputError;
    if (svg::Decades::canShow(value) && svg::Decades::canShow(error))
      drawing += drawPoint(choice, i, panel.x(value), panel.y(error));
  }
  return drawing;
}

} // namespace

std::string decant::tool::frontChart(const FormatChoice &choice) {
  const double width = kLeft + 2 * kPanelWidth + kGap + kMargin;
  const double legend = kTop + kPanelHeight + kBelow + kMargin;
  const size_t rows = (choice.points.size() + 1) / 2;
  std::string drawing =
      svg::begin(width, legend + double(rows) * kLegendLine + kMargin);
  drawing += svg::text(
      width / 2, 24, "middle",
      fmt::format("{} on {}: formats (filled: no other is better in all; ring: "
                  "chosen)",
                  choice.key.spec, choice.key.device.name),
      " font-size=\"15\"");
  drawing += drawPanel(choice, true, kLeft);
  drawing += drawPanel(choice, false, kLeft + kPanelWidth + kGap);
  for (size_t i = 0; i < choice.points.size(); ++i) {
    const double x = i < rows ? kLeft : kLeft + kPanelWidth + kGap;
    const double y = legend + double(i % rows) * kLegendLine;
    drawing += svg::text(x, y, "start",
                         fmt::format("{}  {} ({:.4g} bits)", i + 1,
                                     choice.points[i].name,
                                     choice.points[i].bitsPerElement));
  }
  return drawing + svg::end();
}
