// The smallest visible errors as a picture: a line a fault, a dot a hidden_size, on a logarithmic axis.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mhcheck::power {

struct PlotDot {
  double size = 0;  ///< relative, above 0 and up to 1
  std::string title;
};

/// Faults of one kind, under a heading.
struct PlotGroup {
  struct Line {
    std::string name;
    std::vector<std::optional<PlotDot>> dots;  ///< one a column; none where nothing was seen
  };
  std::string heading;
  std::vector<Line> lines;
};

/// An SVG file. `columns` name the places of the dots of a line, from the lightest to the darkest.
std::string plot(std::span<const PlotGroup> groups, std::span<const std::string> columns);

}  // namespace mhcheck::power
