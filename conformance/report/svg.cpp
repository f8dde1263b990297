#include "conformance/report/svg.h"

#include <fmt/format.h>

#include "conformance/report/xml_text.h"

namespace mhcheck::conformance {

Svg::Svg(double width, double height, std::string_view label)
    : width_(width), height_(height), label_(label) {}

void Svg::line(double x1, double y1, double x2, double y2, std::string_view colour) {
  shapes_ += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n",
                         x1, x2, y1, y2, colour);
}

void Svg::text(double x, double y, std::string_view content, Anchor anchor) {
  shapes_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>\n", x, y,
                         anchor == Anchor::end ? " text-anchor=\"end\"" : "", xml_text(content));
}

void Svg::dot(double x, double y, double radius, std::string_view style, std::string_view title) {
  shapes_ +=
      fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" class=\"{}\"><title>{}</title></circle>\n", x,
                  y, radius, style, xml_text(title));
}

std::string Svg::element() const {
  return fmt::format("<svg width=\"{}\" height=\"{}\" role=\"img\" aria-label=\"{}\">\n{}</svg>", width_,
                     height_, xml_text(label_), shapes_);
}

std::string Svg::file(std::string_view style_sheet) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" role=\"img\" "
      "aria-label=\"{2}\">\n<style>{3}</style>\n<rect width=\"{0}\" height=\"{1}\" "
      "fill=\"white\"/>\n{4}</svg>\n",
      width_, height_, xml_text(label_), style_sheet, shapes_);
}

}  // namespace mhcheck::conformance
