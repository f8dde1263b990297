#include "bench/power/plot.h"

#include <fmt/format.h>

#include <cmath>

#include "conformance/report/svg.h"

namespace mhcheck::power {
namespace {

using conformance::Svg;

constexpr double kWidth = 960, kNames = 400, kRight = 16, kTop = 44, kLine = 15, kHeading = 30;
constexpr int kDecades = 8;  // the axis ends at 1
constexpr double kUsualTolerance = 1e-2;
constexpr std::string_view kGrid = "#d8dee4", kUsual = "#cf222e";
constexpr std::string_view kStyle =
    "text { font: 11px system-ui, sans-serif; fill: #1b1f24; }\n"
    ".c0 { fill: #b6d7ff; } .c1 { fill: #7ab6ff; } .c2 { fill: #3b8eea; } .c3 { fill: #0f5cb8; } "
    ".c4 { fill: #07294f; }\n";

double x_of(double size) { return kNames + (kWidth - kNames - kRight) * (1 + std::log10(size) / kDecades); }

}  // namespace

std::string plot(std::span<const PlotGroup> groups, std::span<const std::string> columns) {
  double height = kTop;
  for (const PlotGroup& group : groups) height += kHeading + kLine * static_cast<double>(group.lines.size());
  height += kLine;

  Svg svg(kWidth, height, "the smallest visible error of each operator, on a logarithmic axis");
  for (int decade = -kDecades; decade <= 0; ++decade) {
    const double x = x_of(std::pow(10, decade));
    svg.line(x, kTop, x, height - kLine, kGrid);
    svg.text(x + 4, kTop - 6, fmt::format("1e{}", decade), Svg::Anchor::end);
  }
  svg.line(x_of(kUsualTolerance), kTop, x_of(kUsualTolerance), height - kLine, kUsual);
  double legend = 8;
  for (std::size_t i = 0; i < columns.size(); ++i, legend += 60) {
    svg.dot(legend, 14, 4, fmt::format("c{}", i), columns[i]);
    svg.text(legend + 8, 18, columns[i]);
  }
  svg.text(legend + 8, 18, "hidden_size; the red line is the usual rtol");

  double y = kTop;
  for (const PlotGroup& group : groups) {
    y += kHeading;
    svg.text(8, y - 8, group.heading);
    for (const PlotGroup::Line& line : group.lines) {
      svg.text(kNames - 12, y + 8, line.name, Svg::Anchor::end);
      for (std::size_t i = 0; i < line.dots.size(); ++i) {
        if (line.dots[i])
          svg.dot(x_of(line.dots[i]->size), y + 4, 4, fmt::format("c{}", i), line.dots[i]->title);
      }
      y += kLine;
    }
  }
  return svg.file(kStyle);
}

}  // namespace mhcheck::power
