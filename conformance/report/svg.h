// A picture of lines, dots and text, for a page or as a file of its own.
#pragma once

#include <string>
#include <string_view>

namespace mhcheck::conformance {

class Svg {
 public:
  enum class Anchor { start, end };

  // `label` says in words what is to be seen.
  Svg(double width, double height, std::string_view label);

  void line(double x1, double y1, double x2, double y2, std::string_view colour);
  void text(double x, double y, std::string_view content, Anchor anchor = Anchor::start);
  // `style` is a class of the page's style sheet; `title` is shown under the pointer.
  void dot(double x, double y, double radius, std::string_view style, std::string_view title);

  // The element, for a page with a style sheet.
  std::string element() const;
  // The same with its own style sheet, on white.
  std::string file(std::string_view style_sheet) const;

 private:
  double width_, height_;
  std::string label_;
  std::string shapes_;
};

}  // namespace mhcheck::conformance
