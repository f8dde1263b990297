#include "kernels/simulator/sanitizers/instruction_facts.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace mhcheck::simulator {
namespace {

// Operations that are not what their class suggests.
struct FlowRow {
  std::string_view mnemonic;
  Flow flow;
};
constexpr FlowRow kFlows[] = {
    {"v_mov_b32", Flow::kBits},
    {"v_mov_b64", Flow::kBits},
    {"v_pk_mov_b32", Flow::kBits},
    {"v_accvgpr_read_b32", Flow::kBits},
    {"v_accvgpr_write_b32", Flow::kBits},
    {"v_accvgpr_mov_b32", Flow::kBits},
    {"v_cndmask_b32", Flow::kBits},
    {"v_not_b32", Flow::kBits},
    {"v_and_b32", Flow::kBits},
    {"v_or_b32", Flow::kBits},
    {"v_xor_b32", Flow::kBits},
    {"v_xnor_b32", Flow::kBits},
    {"v_and_or_b32", Flow::kBits},
    {"v_or3_b32", Flow::kBits},
    {"v_lshl_or_b32", Flow::kBits},
    {"v_bitop3_b32", Flow::kBits},
    {"v_bfi_b32", Flow::kBits},
    {"v_bfe_u32", Flow::kBits},
    {"v_bfe_i32", Flow::kBits},
    {"v_perm_b32", Flow::kBits},
    {"v_alignbit_b32", Flow::kBits},
    {"v_alignbyte_b32", Flow::kBits},
    {"v_lshlrev_b32", Flow::kBits},
    {"v_lshrrev_b32", Flow::kBits},
    {"v_ashrrev_i32", Flow::kBits},
    {"v_lshlrev_b16", Flow::kBits},
    {"v_lshrrev_b16", Flow::kBits},
    {"v_ashrrev_i16", Flow::kBits},
    {"v_lshlrev_b64", Flow::kBits},
    {"v_lshrrev_b64", Flow::kBits},
    {"v_ashrrev_i64", Flow::kBits},
    {"v_add_u32", Flow::kCarries},
    {"v_sub_u32", Flow::kCarries},
    {"v_subrev_u32", Flow::kCarries},
    {"v_add3_u32", Flow::kCarries},
    {"v_lshl_add_u32", Flow::kCarries},
    {"v_add_lshl_u32", Flow::kCarries},
    {"v_xad_u32", Flow::kCarries},
    {"v_mul_lo_u32", Flow::kCarries},
    {"v_mul_u32_u24", Flow::kCarries},
    {"v_mad_u32_u24", Flow::kCarries},
    {"v_mad_u64_u32", Flow::kCarries},
    {"v_mad_i64_i32", Flow::kCarries},
    {"v_lshl_add_u64", Flow::kCarries},
    {"v_add_co_u32", Flow::kCarries},
    {"v_sub_co_u32", Flow::kCarries},
    {"v_subrev_co_u32", Flow::kCarries},
    {"v_pack_b32_f16", Flow::kPackHalves},
    {"v_cvt_pk_bf16_f32", Flow::kPackHalves},
    {"v_cvt_pk_f16_f32", Flow::kPackHalves},
    {"v_cvt_pkrtz_f16_f32", Flow::kPackHalves},
    {"v_cvt_pk_u16_u32", Flow::kPackHalves},
    {"v_cvt_pk_i16_i32", Flow::kPackHalves},
    {"v_cvt_pknorm_i16_f32", Flow::kPackHalves},
    {"v_cvt_pknorm_u16_f32", Flow::kPackHalves},
    {"v_readfirstlane_b32", Flow::kReadFirstLane},
    {"v_readlane_b32", Flow::kReadLane},
    {"v_writelane_b32", Flow::kWriteLane},
    {"v_swap_b32", Flow::kSwap},
    {"v_permlane32_swap_b32", Flow::kSwapHalves},
    {"v_permlane16_swap_b32", Flow::kSwapRows},
    {"ds_bpermute_b32", Flow::kPermuteBackward},
    {"ds_permute_b32", Flow::kPermuteForward},
    {"ds_swizzle_b32", Flow::kSwizzle},
    {"s_getreg_b32", Flow::kNothing},
};

// Scalar operations whose result bits depend on few operand bits each, by the start of their names.
constexpr std::string_view kScalarBitLogic[] = {
    "s_mov_b",  "s_and_", "s_or_",   "s_xor_",   "s_not_",     "s_andn2_", "s_orn2_",
    "s_nand_",  "s_nor_", "s_xnor_", "s_andn1_", "s_orn1_",    "s_lshl_b", "s_lshr_b",
    "s_ashr_i", "s_bfe_", "s_pack_", "s_sext_",  "s_cselect_", "s_brev_",  "s_bfm_",
};
// Scalar operations that leave SCC alone.
constexpr std::string_view kKeepScc[] = {
    "s_mov",   "s_cmov",   "s_cselect", "s_mul",    "s_pack", "s_sext",  "s_brev",         "s_ff",
    "s_flbit", "s_getreg", "s_setreg",  "s_bitset", "s_bfm",  "s_getpc", "s_bitreplicate", "s_set_gpr",
};
constexpr std::string_view kReadScc[] = {"s_addc_", "s_subb_", "s_cselect_", "s_cmov"};
// Scalar operations whose destination is an operand as well.
constexpr std::string_view kReadDestination[] = {"s_addk_", "s_mulk_",  "s_cmpk_",
                                                 "s_cmov",  "s_bitset", "s_setreg_b32"};

template <size_t kCount>
bool starts_with_one_of(std::string_view name, const std::string_view (&prefixes)[kCount]) {
  return std::any_of(std::begin(prefixes), std::end(prefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

class Builder {
 public:
  Builder(const Instruction& instruction, const Row& row) : at_(instruction), row_(row) {}

  InstructionFacts build() {
    switch (row_.counted_as) {
      case InstructionClass::kValu:
      case InstructionClass::kMfma:
        vector_operation();
        break;
      case InstructionClass::kSalu:
        scalar_operation();
        break;
      case InstructionClass::kSmem:
        scalar_memory();
        break;
      case InstructionClass::kVmem:
        vector_memory();
        break;
      case InstructionClass::kLds:
        lds();
        break;
      default:
        control();
        break;
    }
    for (const FlowRow& row : kFlows) {
      if (row.mnemonic == name()) facts_.flow = row.flow;
    }
    return facts_;
  }

 private:
  std::string_view name() const { return row_.mnemonic; }

  void read(unsigned first, int count, bool scalar, OperandRole role = OperandRole::kData) {
    if (count > 0)
      facts_.reads[facts_.read_count++] = {static_cast<uint16_t>(first), static_cast<uint8_t>(count), scalar,
                                           role};
  }
  void write(unsigned first, int count, bool scalar) {
    if (count == 0) return;
    facts_.writes[facts_.write_count++] = {static_cast<uint16_t>(first), static_cast<uint8_t>(count), scalar,
                                           OperandRole::kData};
    if (scalar && first + static_cast<unsigned>(count) > scalar_register::kExec) facts_.writes_exec = true;
  }
  void read_source(int k, OperandRole role = OperandRole::kData) {
    const Source& source = at_.source[k];
    const Type type = row_.source[k];
    switch (source.kind) {
      case SourceKind::kVector:
      case SourceKind::kVectorModified:
        read(source.index, registers_of(type), false, role);
        break;
      case SourceKind::kScalar:
      case SourceKind::kScalarModified:
        read(source.index, registers_of(type) == 2 ? 2 : 1, true, role);
        break;
      case SourceKind::kSpecial:
        if (source.index == 251) read(scalar_register::kVcc, 2, true, role);
        if (source.index == 253) facts_.reads_scc = true;
        break;
      default:
        break;
    }
  }

  void vector_operation() {
    facts_.flow = row_.counted_as == InstructionClass::kMfma ? Flow::kMatrix : Flow::kBlend;
    for (int k = 0; k < 3; ++k) read_source(k);
    if (name().find("f8f6f4") != std::string_view::npos) {
      for (RegisterRange& range : facts_.reads)
        range.count = static_cast<uint8_t>(range.count == 4 ? 8 : range.count);
    }
    if (name().starts_with("v_div_fmas")) read(scalar_register::kVcc, 2, true);
    if (at_.length == kScaledMatrixLength) {
      read(matrix_scales(at_).a.index, 1, false);
      read(matrix_scales(at_).b.index, 1, false);
    }
    if (row_.destination == Type::kMask) {
      write(at_.scalar_destination, 2, true);
      if (name().starts_with("v_cmpx")) write(scalar_register::kExec, 2, true);
    } else if (row_.traits & kScalarResult) {
      write(at_.destination, 1, true);
    } else {
      write(at_.destination, registers_of(row_.destination), false);
      if (row_.traits & kMaskResult) write(at_.scalar_destination, 2, true);
    }
    if (name().find("_swap_b32") != std::string_view::npos) {
      write(at_.source[0].index, 1, false);
      read(at_.destination, 1, false);
    }
    if (name().find("_bf16") != std::string_view::npos || name().ends_with("_f16")) facts_.nan_bits = 16;
    if (name().ends_with("_f32")) facts_.nan_bits = 32;
    if (name().ends_with("_f64")) facts_.nan_bits = 64;
    if (name().ends_with("f8")) facts_.nan_bits = 8;          // fp8, bf8
    if (name().starts_with("v_smfmac")) facts_.nan_bits = 0;  // its indices are no floats
  }

  void scalar_operation() {
    facts_.flow = starts_with_one_of(name(), kScalarBitLogic) ? Flow::kScalarBits : Flow::kScalarBlend;
    facts_.reads_scc = starts_with_one_of(name(), kReadScc);
    facts_.writes_scc = !starts_with_one_of(name(), kKeepScc);
    for (int k = 0; k < 3; ++k) read_source(k);
    if (starts_with_one_of(name(), kReadDestination))
      read(at_.destination, std::max(1, registers_of(row_.destination)), true);
    write(at_.destination, registers_of(row_.destination), true);
    const bool changes_exec =
        name().find("saveexec") != std::string_view::npos || name().find("wrexec") != std::string_view::npos;
    if (changes_exec) write(scalar_register::kExec, 2, true);
  }

  void scalar_memory() {
    const int data = registers_of(row_.source[1]);  // of stores and atomics; the destination's place names it
    const bool is_atomic = name().find("_atomic_") != std::string_view::npos;
    const bool returns = row_.destination != Type::kNone && (!is_atomic || at_.memory_flags & kReturnOld);
    facts_.writes_back = name().starts_with("s_dcache_wb");
    if (!returns && data == 0 && !facts_.writes_back) return;
    facts_.counter = WaitCounter::kScalar;
    facts_.returns_data = returns;
    if (is_atomic) {
      facts_.scope = AccessScope::kDevice;
      facts_.orders = true;
      facts_.acquires = returns;
    }
    if (data > 0 || name().find("load") != std::string_view::npos) {
      facts_.flow = Flow::kScalarMemory;
      read(at_.scalar_base, name().starts_with("s_buffer") ? 4 : 2, true, OperandRole::kAddress);
      if (at_.source[2].kind == SourceKind::kScalar)
        read(at_.source[2].index, 1, true, OperandRole::kAddress);
    }
    read(at_.destination, data, true);
    if (returns) write(at_.destination, registers_of(row_.destination), true);
  }

  // What part of a dword a load of this name writes, and whether its sign spreads.
  void load_shape() {
    if (name().ends_with("d16_hi")) {
      facts_.loaded_bits = 0xffff0000u;
    } else if (name().ends_with("d16")) {
      facts_.loaded_bits = 0xffffu;
    }
    for (std::string_view part : {"_sbyte", "_sshort", "_i8", "_i16"}) {
      if (name().find(part) != std::string_view::npos) facts_.sign_extended = true;
    }
  }

  void vector_memory() {
    const bool is_atomic = name().find("_atomic_") != std::string_view::npos;
    const bool is_buffer = name().starts_with("buffer_");
    if (name() == "buffer_inv") return;
    if (name() == "buffer_wbl2") {
      facts_.counter = WaitCounter::kVector;
      facts_.fences = at_.memory_flags & kDeviceScope;
      return;
    }
    facts_.flow = Flow::kVectorMemory;
    facts_.counter = name().starts_with("flat_") ? WaitCounter::kFlat : WaitCounter::kVector;
    load_shape();
    if (at_.source[0].kind == SourceKind::kVector) {
      read(at_.source[0].index, address_registers(at_, row_), false, OperandRole::kAddress);
    }
    if (is_buffer) {
      read(at_.scalar_base, 4, true, OperandRole::kAddress);
      if (at_.source[2].kind == SourceKind::kScalar)
        read(at_.source[2].index, 1, true, OperandRole::kAddress);
    } else if (at_.scalar_base != kNoScalarBase) {
      read(at_.scalar_base, name().starts_with("scratch_") ? 1 : 2, true, OperandRole::kAddress);
    }
    const bool to_lds = at_.memory_flags & kToLds || name().starts_with("global_load_lds");
    facts_.to_lds = to_lds;
    if (to_lds) read(scalar_register::kM0, 1, true, OperandRole::kAddress);
    int data = registers_of(row_.source[1]);
    if (name().find("cmpswap") != std::string_view::npos) data *= 2;  // {new value, comparison value}
    read(at_.source[1].index, data, false);
    if (is_atomic) {
      const bool returns = at_.memory_flags & kReturnOld;
      if (returns) write(at_.destination, registers_of(row_.source[1]), false);
      facts_.returns_data = facts_.acquires = returns;
      facts_.scope = AccessScope::kDevice;
      facts_.orders = !adds_floats();
    } else if (!to_lds && row_.destination != Type::kNone) {
      write(at_.destination, registers_of(row_.destination), false);
      facts_.returns_data = true;
    }
    if (!is_atomic && at_.memory_flags & (kDeviceScope | kReturnOld)) {
      // sc1 and sc0; compilers set them for atomic loads and stores of device and of workgroup scope.
      facts_.scope = at_.memory_flags & kDeviceScope ? AccessScope::kDevice : AccessScope::kWorkgroup;
      facts_.orders = true;
      facts_.acquires = row_.destination != Type::kNone;
    }
  }

  // Atomics on floating-point numbers, whose results nobody takes for a sign.
  bool adds_floats() const {
    return name().find("_f32") != std::string_view::npos || name().find("_f64") != std::string_view::npos ||
           name().find("f16") != std::string_view::npos;
  }

  void lds() {
    if (name() == "ds_nop") return;
    facts_.flow = Flow::kVectorMemory;
    facts_.counter = WaitCounter::kLds;
    load_shape();
    if (row_.source[0] != Type::kNone) read(at_.source[0].index, 1, false, OperandRole::kAddress);
    for (int k : {1, 2}) read(at_.source[k].index, registers_of(row_.source[k]), false);
    if (name() == "ds_swizzle_b32") facts_.reads[0].role = OperandRole::kData;
    if (name().find("permute") != std::string_view::npos) facts_.reads[0].role = OperandRole::kData;
    if (name().find("addtid") != std::string_view::npos || name() == "ds_append" || name() == "ds_consume")
      read(scalar_register::kM0, 1, true, OperandRole::kAddress);
    write(at_.destination, registers_of(row_.destination), false);
    facts_.returns_data = row_.destination != Type::kNone;
    const bool moves = name().starts_with("ds_read") || name().starts_with("ds_write");
    if (!moves) {
      facts_.scope = AccessScope::kWorkgroup;
      facts_.orders = !adds_floats();
      facts_.acquires = facts_.returns_data;
    }
    if (name().find("_tr_b16") != std::string_view::npos) facts_.transposed_bits = 16;
    if (name().find("_tr_b8") != std::string_view::npos) facts_.transposed_bits = 8;
    if (name().find("_tr_b6") != std::string_view::npos) facts_.transposed_bits = 6;
    if (name().find("_tr_b4") != std::string_view::npos) facts_.transposed_bits = 4;
  }

  void control() {
    for (int k = 0; k < 3; ++k) read_source(k, OperandRole::kAddress);  // s_setpc, s_swappc
    write(at_.destination, registers_of(row_.destination), true);
    facts_.is_wait = name() == "s_waitcnt";
    facts_.branches_on_scc = name().starts_with("s_cbranch_scc");
    facts_.branches_on_vcc = name().starts_with("s_cbranch_vcc");
    facts_.reads_scc = facts_.branches_on_scc;
    if (facts_.branches_on_vcc) read(scalar_register::kVcc, 2, true);
  }

  const Instruction& at_;
  const Row& row_;
  InstructionFacts facts_;
};

}  // namespace

InstructionFacts facts_of(const Instruction& instruction, const Row& row) {
  return Builder(instruction, row).build();
}

}  // namespace mhcheck::simulator
