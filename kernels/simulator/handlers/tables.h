// No include guard: instruction_set.cpp includes this once for each value of MHCHECK_ISA.

#include <array>
#include <span>

#include "kernels/simulator/handlers/isa.h"
#include "kernels/simulator/instruction.h"

namespace mhcheck::simulator::MHCHECK_ISA {

std::span<const Row> scalar_rows();
std::span<const Row> scalar_memory_rows();
std::span<const Row> integer_rows();
std::span<const Row> float_rows();
std::span<const Row> packed_rows();
std::span<const Row> conversion_rows();
std::span<const Row> scaled_conversion_rows();
std::span<const Row> compare_rows();
std::span<const Row> cross_lane_rows();
std::span<const Row> matrix_rows();
std::span<const Row> global_rows();
std::span<const Row> buffer_rows();
std::span<const Row> typed_buffer_rows();
std::span<const Row> lds_rows();

}  // namespace mhcheck::simulator::MHCHECK_ISA
