#pragma once

#include <initializer_list>
#include <set>
#include <string>

namespace mhcheck::simulator::testing {

/// Every mnemonic whose results some test compares with an independent evaluation. Test tables enter
/// themselves before main; the coverage test reads.
inline std::set<std::string>& tested_mnemonics() {
  static std::set<std::string> mnemonics;
  return mnemonics;
}

struct Tests {
  Tests(std::initializer_list<const char*> mnemonics) {
    for (const char* mnemonic : mnemonics) tested_mnemonics().insert(mnemonic);
  }
  template <class Rows>
  explicit Tests(const Rows& rows) {
    for (const auto& row : rows) tested_mnemonics().insert(row.mnemonic);
  }
};

}  // namespace mhcheck::simulator::testing
