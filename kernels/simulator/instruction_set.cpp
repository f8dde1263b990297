#include "kernels/simulator/instruction_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string>

#define MHCHECK_ISA generic
#include "kernels/simulator/handlers/tables.h"
#undef MHCHECK_ISA
#define MHCHECK_ISA generic_watched
#include "kernels/simulator/handlers/tables.h"
#undef MHCHECK_ISA
#ifdef MHCHECK_SIMULATOR_X86
#define MHCHECK_ISA avx2
#include "kernels/simulator/handlers/tables.h"
#undef MHCHECK_ISA
#define MHCHECK_ISA avx512
#include "kernels/simulator/handlers/tables.h"
#undef MHCHECK_ISA
#define MHCHECK_ISA avx2_watched
#include "kernels/simulator/handlers/tables.h"
#undef MHCHECK_ISA
#define MHCHECK_ISA avx512_watched
#include "kernels/simulator/handlers/tables.h"
#undef MHCHECK_ISA
#endif

namespace mhcheck::simulator {

// Branches, barriers and scalar stores gain nothing from wider vectors: one copy for all.
std::span<const Row> control_rows();
std::span<const Row> scalar_store_rows();

namespace {

using Tables = std::array<std::span<const Row>, 14>;

#define MHCHECK_TABLES(isa)                                                                             \
  Tables {                                                                                              \
    isa::scalar_rows(), isa::scalar_memory_rows(), isa::integer_rows(), isa::float_rows(),              \
        isa::packed_rows(), isa::conversion_rows(), isa::scaled_conversion_rows(), isa::compare_rows(), \
        isa::cross_lane_rows(), isa::matrix_rows(), isa::global_rows(), isa::buffer_rows(),             \
        isa::typed_buffer_rows(), isa::lds_rows()                                                       \
  }

// Only handlers that access memory have a second copy.
using WatchedTables = std::array<std::span<const Row>, 5>;
#define MHCHECK_WATCHED_TABLES(isa)                                                              \
  WatchedTables {                                                                                \
    isa::scalar_memory_rows(), isa::global_rows(), isa::buffer_rows(), isa::typed_buffer_rows(), \
        isa::lds_rows()                                                                          \
  }

WatchedTables watched_tables_for([[maybe_unused]] std::string_view isa) {
#ifdef MHCHECK_SIMULATOR_X86
  if (isa == "avx512") return MHCHECK_WATCHED_TABLES(avx512_watched);
  if (isa == "avx2") return MHCHECK_WATCHED_TABLES(avx2_watched);
#endif
  return MHCHECK_WATCHED_TABLES(generic_watched);
}
#undef MHCHECK_WATCHED_TABLES

std::string_view best_for_this_host() {
#ifdef MHCHECK_SIMULATOR_X86
  if (__builtin_cpu_supports("x86-64-v4")) return "avx512";
  if (__builtin_cpu_supports("x86-64-v3")) return "avx2";
#endif
  return "generic";
}

Tables tables_for(std::string_view isa) {
#ifdef MHCHECK_SIMULATOR_X86
  if (isa == "avx512") return MHCHECK_TABLES(avx512);
  if (isa == "avx2") return MHCHECK_TABLES(avx2);
#endif
  if (isa == "generic") return MHCHECK_TABLES(generic);
  throw std::invalid_argument(
      fmt::format("MHCHECK_SIMULATOR_ISA={}: this build knows generic, and on x86-64 avx2 and avx512", isa));
}

#undef MHCHECK_TABLES

}  // namespace

const InstructionSet& InstructionSet::get() {
  static const InstructionSet instructions;
  return instructions;
}

InstructionSet::InstructionSet() {
  const char* wanted = std::getenv("MHCHECK_SIMULATOR_ISA");
  name_ = wanted ? std::string_view(wanted) : best_for_this_host();
  const auto add = [this](std::span<const Row> rows) {
    for (const Row& row : rows) rows_.push_back(&row);
  };
  add(control_rows());
  add(scalar_store_rows());
  for (std::span<const Row> rows : tables_for(name_)) add(rows);
  std::sort(rows_.begin(), rows_.end(), [](const Row* a, const Row* b) { return a->mnemonic < b->mnemonic; });
  const auto same = [](const Row* a, const Row* b) { return a->mnemonic == b->mnemonic; };
  const auto twice = std::adjacent_find(rows_.begin(), rows_.end(), same);
  if (twice != rows_.end()) {
    throw std::logic_error(fmt::format("two rows for {} in the instruction tables", (*twice)->mnemonic));
  }
  for (const Row* row : rows_) watched_.push_back(row->execute);
  for (std::span<const Row> rows : watched_tables_for(name_)) {
    for (const Row& row : rows) watched_[static_cast<size_t>(find(row.mnemonic))] = row.execute;
  }
}

int InstructionSet::find(std::string_view mnemonic) const {
  const auto at =
      std::lower_bound(rows_.begin(), rows_.end(), mnemonic,
                       [](const Row* row, std::string_view name) { return row->mnemonic < name; });
  if (at == rows_.end() || (*at)->mnemonic != mnemonic) return -1;
  return static_cast<int>(at - rows_.begin());
}

}  // namespace mhcheck::simulator
