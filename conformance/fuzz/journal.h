// The journal of a campaign: a header that says which, and a line for every finished case. What is in it need
// not be done again.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "conformance/fuzz/record.h"

namespace mhcheck::conformance {

class Journal {
 public:
  // Begins the file, or goes on with it when it is of the same campaign: `header` is an object whose fields
  // fix every case. A last line without its end is what a killed campaign was writing; it is cut off. Throws
  // golden::FileError when the file cannot be used, is another campaign's, is in use, or is no journal.
  Journal(std::filesystem::path path, nlohmann::json header);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Those that were there at the beginning, with the seconds that the campaign had taken.
  const std::vector<Record>& finished() const { return finished_; }
  double seconds_before() const { return seconds_before_; }

  // Written before the call returns. `seconds`: what the campaign has taken, in all its parts.
  void add(const Record& record, double seconds);

 private:
  void read(const nlohmann::json& header);
  void write(const nlohmann::json& line);

  std::filesystem::path path_;
  int file_;
  std::vector<Record> finished_;
  double seconds_before_ = 0;
};

}  // namespace mhcheck::conformance
