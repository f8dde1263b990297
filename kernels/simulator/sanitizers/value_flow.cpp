// Which values are undefined (uninit) or came from a lane that had none to give (lanes), instruction by
// instruction, and where they begin to matter.
#include <algorithm>
#include <bit>
#include <cstring>

#include "kernels/simulator/code.h"
#include "kernels/simulator/handlers/lanes.h"
#include "kernels/simulator/handlers/tuples.h"
#include "kernels/simulator/sanitizers/lane_mask.h"
#include "kernels/simulator/sanitizers/wave_watch.h"

namespace mhcheck::simulator {
namespace {

bool is_vector(const Source& source) {
  return source.kind == SourceKind::kVector || source.kind == SourceKind::kVectorModified;
}
bool is_scalar(const Source& source) {
  return source.kind == SourceKind::kScalar || source.kind == SourceKind::kScalarModified;
}

bool is_packed_halves(Type type) {
  return type == Type::kPkB16 || type == Type::kPkF16 || type == Type::kPkBf16;
}
bool is_half(Type type) {
  return type == Type::kB16 || type == Type::kU16 || type == Type::kI16 || type == Type::kF16 ||
         type == Type::kBf16;
}

const Row& row_of(const Instruction& instruction) { return InstructionSet::get().row(instruction.row); }

// What an operand brings into the low and the high part of a packed result, or into a whole one.
struct PartState {
  bool low = false, high = false;
  uint32_t origin = 0;
  uint64_t bits = 0;  // the undefined ones, of integer sums and products
  void add(const PartState& more) {
    low |= more.low;
    high |= more.high;
    bits |= more.bits;
    if (!origin) origin = more.origin;
  }
};

// The part of a source dword that an SDWA selector picks.
uint32_t sdwa_part(unsigned select) {
  return select < 4 ? 0xffu << (8 * select) : select < 6 ? 0xffffu << (16 * (select - 4)) : ~0u;
}

struct DppWord {
  explicit DppWord(uint32_t word)
      : control(word >> 8 & 0x1ff),
        zero_invalid(word >> 19 & 1),
        bank_mask(word >> 24 & 15),
        row_mask(word >> 28 & 15) {}
  bool enables(int lane) const { return row_mask >> (lane >> 4) & 1 && bank_mask >> (lane >> 2 & 3) & 1; }
  unsigned control;
  bool zero_invalid;
  unsigned bank_mask, row_mask;
};

// The bits of an operand of an integer sum or product that can reach the result at their place or above.
uint64_t carried_bits(std::string_view mnemonic, int operand, uint64_t undefined) {
  const bool takes_24_bits = mnemonic.ends_with("u24") && operand < 2;
  const bool shifts =
      (mnemonic.starts_with("v_lshl_add") && operand == 1) || (mnemonic == "v_add_lshl_u32" && operand == 2);
  if (shifts) return undefined ? ~uint64_t{0} : 0;
  return takes_24_bits ? undefined & 0xffffff : undefined;
}

// Lanes whose destination the instruction writes.
uint64_t lanes_written(const Wave& wave, const Instruction& instruction) {
  uint64_t lanes = wave.exec();
  if (instruction.sub_dword != SubDword::kDpp) return lanes;
  const DppWord dpp(instruction.modifier_word);
  for_lanes(lanes, [&](int lane) {
    const int from = generic::dpp_source_lane(dpp.control, lane);
    const bool valid = from != generic::kInvalidLane && wave.lane_mask[from];
    if (!dpp.enables(lane) || (!valid && !dpp.zero_invalid)) lanes &= ~bit_of(lane);
  });
  return lanes;
}

PartState parts_of(Type type, uint8_t modifiers, uint32_t low_word, uint32_t high_word) {
  PartState state;
  if (is_packed_halves(type)) {
    state.low = (modifiers & kSelect ? low_word >> 16 : low_word & 0xffff) != 0;
    state.high = (modifiers & kSelectHigh ? low_word >> 16 : low_word & 0xffff) != 0;
  } else if (type == Type::kPkF32) {
    state.low = (modifiers & kSelect ? high_word : low_word) != 0;
    state.high = (modifiers & kSelectHigh ? high_word : low_word) != 0;
  } else if (is_half(type)) {
    state.low = state.high = (modifiers & kSelect ? low_word >> 16 : low_word & 0xffff) != 0;
  } else if (type == Type::kMixF16 && modifiers & kSelectHigh) {
    state.low = state.high = (modifiers & kSelect ? low_word >> 16 : low_word & 0xffff) != 0;
  } else {
    state.low = state.high = (low_word | high_word) != 0;
  }
  return state;
}

}  // namespace

// ---- Where bad values begin to matter

uint32_t WaveWatch::doubt(const char* reason, uint64_t lanes) {
  return launch_.add_origin({reason, slot_, number_, lanes, /*while_undefined=*/false});
}

// A register that nobody has written gives nothing to other lanes either. Its bits stay undefined on their
// way, and where they do not matter any more the doubt has no ground.
uint32_t WaveWatch::doubt_unwritten(uint64_t lanes) {
  return launch_.add_origin({"a lane crossing takes a value from a lane that never wrote the register", slot_,
                             number_, lanes, /*while_undefined=*/true});
}

WaveWatch::LaneState WaveWatch::taken_from(unsigned r, int lane) {
  LaneState state{registers_.undefined_bits(r, lane), registers_.origin_of(r, lane)};
  if (state.undefined == ~0u && !state.origin) state.origin = doubt_unwritten(bit_of(lane));
  return state;
}

void WaveWatch::report_bad(const char* undefined_what, const char* doubtful_what, uint64_t undefined,
                           uint64_t doubtful, uint32_t origin_id, const MemoryText& memory) {
  if (undefined && on(Sanitizer::kUninit)) report(Sanitizer::kUninit, undefined_what, undefined, memory);
  if (doubtful && origin_id && on(Sanitizer::kCrossLane)) {
    const Origin& origin = launch_.origin(origin_id);
    if (origin.while_undefined) doubtful &= undefined;
    if (!doubtful) return;
    launch_.report(Sanitizer::kCrossLane, origin.reason, origin.slot, origin.wave, origin.lanes, memory,
                   LaunchWatch::Other{doubtful_what, slot_, number_, doubtful});
  }
}

void WaveWatch::check_operands(const InstructionFacts& facts) {
  const uint64_t exec = wave_.exec();
  for (unsigned i = 0; i < facts.read_count; ++i) {
    const RegisterRange& range = facts.reads[i];
    if (range.role != OperandRole::kAddress) continue;
    uint64_t undefined = 0, doubtful = 0;
    uint32_t origin = 0;
    for (unsigned r = range.first; r < unsigned{range.first} + range.count; ++r) {
      if (range.scalar) {
        if (registers_.scalar_undefined[r]) undefined |= exec | 1;
        if (registers_.scalar_doubtful[r]) {
          doubtful |= exec | 1;
          origin = registers_.scalar_origin[r];
        }
        continue;
      }
      for_lanes(registers_.undefined_lanes[r] & exec, [&](int lane) {
        if (registers_.undefined_bits(r, lane)) undefined |= bit_of(lane);
      });
      doubtful |= registers_.doubtful_lanes[r] & exec;
      if (registers_.doubtful_lanes[r] & exec && !origin)
        origin = registers_.origin_of(r, std::countr_zero(registers_.doubtful_lanes[r] & exec));
    }
    if (undefined | doubtful)
      report_bad("an address has bits that nobody has written", "which is in an address of", undefined,
                 doubtful, origin);
  }
  if (facts.branches_on_scc || facts.branches_on_vcc) check_branch(facts);
}

void WaveWatch::check_branch(const InstructionFacts& facts) {
  uint64_t undefined = 0, doubtful = 0;
  uint32_t origin = 0;
  if (facts.branches_on_scc) {
    undefined = registers_.scc_undefined;
    origin = registers_.scc_origin;
    doubtful = origin != 0;
  } else {
    // Whether VCC is zero is known as soon as one good bit is set.
    constexpr unsigned kVcc = scalar_register::kVcc;
    const auto wide = [](const uint32_t* words) { return words[kVcc] | uint64_t{words[kVcc + 1]} << 32; };
    const uint64_t value = wave_.scalar64(kVcc);
    undefined = wide(registers_.scalar_undefined);
    doubtful = wide(registers_.scalar_doubtful);
    origin =
        registers_.scalar_origin[kVcc] ? registers_.scalar_origin[kVcc] : registers_.scalar_origin[kVcc + 1];
    if (value & ~undefined) undefined = 0;
    if (value & ~doubtful) doubtful = 0;
  }
  if (undefined | doubtful)
    report_bad("a branch depends on bits that nobody has written", "on which a branch depends:", undefined,
               doubtful, origin);
}

// EXEC decides like a branch; after the report it counts as good.
void WaveWatch::settle_exec() {
  constexpr unsigned kExec = scalar_register::kExec;
  const auto wide = [](const uint32_t* words) { return words[kExec] | uint64_t{words[kExec + 1]} << 32; };
  const uint64_t undefined = wide(registers_.scalar_undefined), doubtful = wide(registers_.scalar_doubtful);
  if (!(undefined | doubtful)) return;
  const uint32_t origin =
      registers_.scalar_origin[kExec] ? registers_.scalar_origin[kExec] : registers_.scalar_origin[kExec + 1];
  report_bad("EXEC gets bits that nobody has written", "which decides the EXEC of", undefined, doubtful,
             origin);
  for (unsigned s : {kExec, kExec + 1}) registers_.set_scalar(s, 0, 0, 0);
}

// ---- One instruction

bool WaveWatch::any_bad_operand(const Instruction& instruction, const InstructionFacts& facts) const {
  const bool crosses = facts.flow != Flow::kBlend && facts.flow != Flow::kBits &&
                       facts.flow != Flow::kCarries && facts.flow != Flow::kPackHalves;
  const uint64_t lanes = crosses || instruction.sub_dword == SubDword::kDpp ? ~uint64_t{0} : wave_.exec();
  uint64_t bad = facts.reads_scc && (registers_.scc_undefined || registers_.scc_origin);
  for (unsigned i = 0; i < facts.read_count; ++i) {
    const RegisterRange& range = facts.reads[i];
    for (unsigned r = range.first; r < unsigned{range.first} + range.count; ++r) {
      bad |= range.scalar ? registers_.scalar_undefined[r] | registers_.scalar_doubtful[r]
                          : (registers_.undefined_lanes[r] | registers_.doubtful_lanes[r]) & lanes;
    }
  }
  return bad != 0;
}

void WaveWatch::set_clean(const InstructionFacts& facts, uint64_t lanes) {
  for (unsigned i = 0; i < facts.write_count; ++i) {
    const RegisterRange& range = facts.writes[i];
    for (unsigned r = range.first; r < unsigned{range.first} + range.count; ++r) {
      if (range.scalar) {
        registers_.set_scalar(r, 0, 0, 0);
      } else {
        registers_.set_good(r, lanes);
        registers_.written_by[r] = wave_.exec();
      }
    }
  }
}

void WaveWatch::run_with_values(const Instruction& instruction, const InstructionFacts& facts) {
  const auto run = [&] {
    const bool late = on(Sanitizer::kWait) && facts.counter != WaitCounter::kNone &&
                      ((facts.returns_data && facts.write_count > 0) || facts.to_lds);
    if (late) {
      execute_late(instruction, facts);
    } else {
      launch_.watched_handler(instruction)(wave_, instruction);
    }
  };
  if (!tracks_values()) {
    run();
    return;
  }
  check_operands(facts);
  switch (facts.flow) {
    case Flow::kNothing:
      run();
      set_clean(facts, wave_.exec());
      if (facts.writes_scc) registers_.scc_undefined = false, registers_.scc_origin = 0;
      break;
    case Flow::kBlend:
    case Flow::kCarries:
    case Flow::kPackHalves:
      flow_vector(instruction, facts, any_bad_operand(instruction, facts));
      run();
      break;
    case Flow::kBits:
      if (any_bad_operand(instruction, facts)) {
        flow_bits(instruction, facts);
      } else {
        flow_vector(instruction, facts, false);
      }
      run();
      break;
    case Flow::kMatrix:
      flow_matrix(instruction, facts, any_bad_operand(instruction, facts));
      run();
      break;
    case Flow::kScalarBlend:
    case Flow::kScalarBits:
      flow_scalar(instruction, facts, any_bad_operand(instruction, facts));
      run();
      break;
    case Flow::kScalarMemory:
      run();
      flow_scalar_memory(facts);
      break;
    case Flow::kVectorMemory: {
      // A load may overwrite its own address registers, a store leaves all as it is.
      run();
      flow_memory(instruction, facts);
      break;
    }
    default:
      flow_crossing(instruction, facts);
      run();
      break;
  }
  if (facts.writes_exec) settle_exec();
}

// ---- Vector arithmetic

void WaveWatch::flow_vector(const Instruction& instruction, const InstructionFacts& facts, bool bad) {
  const Row& row = row_of(instruction);
  const uint64_t exec = wave_.exec();
  const bool dpp = instruction.sub_dword == SubDword::kDpp;
  // The handler has not run yet: operands are still there.
  if (!bad && (instruction.plain_result || (dpp && !~exec))) {
    const uint64_t lanes = dpp ? lanes_written(wave_, instruction) : exec;
    set_clean(facts, lanes);
    return;
  }
  const DppSources sources = dpp_sources(instruction);
  const uint64_t written = lanes_written(wave_, instruction);
  const bool halves = facts.flow == Flow::kPackHalves;
  const DppWord dpp_word(instruction.modifier_word);
  PartState lanes[kLanes];
  for_lanes(exec, [&](int lane) {
    for (int k = 0; bad && k < 3; ++k) {
      const Source& source = instruction.source[k];
      const Type type = row.source[k];
      PartState state;
      if (is_vector(source)) {
        const int from = dpp && k == 0 ? generic::dpp_source_lane(dpp_word.control, lane) : lane;
        if (from == generic::kInvalidLane || (dpp && k == 0 && !wave_.lane_mask[from])) continue;
        uint32_t word[2] = {};
        for (int r = 0; r < registers_of(type); ++r) {  // of a tuple, any bad bit counts
          word[std::min(r, 1)] |= registers_.undefined_bits(source.index + static_cast<unsigned>(r), from);
          if (!state.origin)
            state.origin = registers_.origin_of(source.index + static_cast<unsigned>(r), from);
        }
        if (instruction.sub_dword == SubDword::kSdwa && k < 2)
          word[0] &= sdwa_part(instruction.modifier_word >> (k == 0 ? 16 : 24) & 7);
        const uint32_t origin = state.origin;
        const uint64_t carried = carried_bits(row.mnemonic, k, word[0] | uint64_t{word[1]} << 32);
        const bool sdwa = instruction.sub_dword == SubDword::kSdwa;
        state = parts_of(sdwa ? Type::kB32 : type, source.modifiers, word[0], word[1]);
        state.origin = origin;
        state.bits = sdwa && carried ? ~uint64_t{0} : carried;
      } else if (is_scalar(source)) {
        const bool mask = type == Type::kMask;
        const unsigned s = source.index + (mask && lane >= 32 ? 1u : 0u);
        const uint32_t lane_bit = 1u << (lane & 31);
        const uint32_t low = registers_.scalar_undefined[s] & (mask ? lane_bit : ~0u);
        const uint32_t high = registers_of(type) == 2 && !mask ? registers_.scalar_undefined[s + 1] : 0;
        state = parts_of(mask ? Type::kB32 : type, source.modifiers, low, high);
        state.bits = mask && low ? ~uint64_t{0} : carried_bits(row.mnemonic, k, low | uint64_t{high} << 32);
        if (registers_.scalar_doubtful[s] & (mask ? lane_bit : ~0u))
          state.origin = registers_.scalar_origin[s];
      }
      if (halves) state = {k == 0 && state.low, k == 1 && state.low, state.origin};
      lanes[lane].add(state);
    }
    if (bad && row.mnemonic.starts_with("v_div_fmas")) {
      const unsigned s = scalar_register::kVcc + (lane >= 32 ? 1u : 0u);
      if (registers_.scalar_undefined[s] >> (lane & 31) & 1) lanes[lane].low = lanes[lane].high = true;
    }
  });

  for (unsigned i = 0; i < facts.write_count; ++i) {
    const RegisterRange& range = facts.writes[i];
    if (range.scalar) {  // a bit a lane, zero for the inactive ones
      if (range.count < 2) continue;
      uint64_t undefined = 0, doubtful = 0;
      uint32_t origin = 0;
      for_lanes(exec, [&](int lane) {
        if (lanes[lane].low || lanes[lane].high) undefined |= bit_of(lane);
        if (lanes[lane].origin) doubtful |= bit_of(lane), origin = lanes[lane].origin;
      });
      for (unsigned half : {0u, 1u}) {
        registers_.set_scalar(range.first + half, static_cast<uint32_t>(undefined >> (32 * half)),
                              static_cast<uint32_t>(doubtful >> (32 * half)), origin);
      }
      continue;
    }
    for (unsigned r = 0; r < range.count; ++r) {
      const unsigned target = range.first + r;
      for_lanes(written, [&](int lane) {
        const PartState& state = lanes[lane];
        uint32_t word = 0;
        if (facts.flow == Flow::kCarries) {
          const uint64_t upwards = state.bits | (0 - state.bits);
          word = static_cast<uint32_t>(upwards >> (32 * r));
        } else if (is_packed_halves(row.destination) || halves) {
          word = (state.low ? 0xffffu : 0u) | (state.high ? 0xffff0000u : 0u);
        } else if (row.destination == Type::kPkF32) {
          word = (r == 0 ? state.low : state.high) ? ~0u : 0u;
        } else if (state.low || state.high) {
          word = is_half(row.destination) ? 0xffffu : ~0u;
        }
        uint32_t origin = state.origin;
        uint32_t kept = 0;  // bits of the old value that stay
        if (instruction.high_half) {
          word <<= 16;
          kept = 0xffffu;
        } else if (instruction.sub_dword == SubDword::kSdwa) {
          const uint32_t part = sdwa_part(instruction.modifier_word >> 8 & 7);
          const unsigned unused = instruction.modifier_word >> 11 & 3;
          word = word ? (unused == 1 ? ~0u : part) : 0;
          if (unused == 2) kept = ~part;
        }
        word |= registers_.undefined_bits(target, lane) & kept;
        if (kept && !origin) origin = registers_.origin_of(target, lane);
        registers_.set(target, lane, word, origin);
      });
      registers_.written_by[target] = exec;
    }
  }
  flow_dpp_sources(instruction, sources);
}

// What a DPP operation takes from lanes that have nothing to give. To be asked before its result is set.
WaveWatch::DppSources WaveWatch::dpp_sources(const Instruction& instruction) const {
  DppSources sources;
  if (instruction.sub_dword != SubDword::kDpp) return sources;
  const DppWord dpp(instruction.modifier_word);
  for_lanes(wave_.exec(), [&](int lane) {
    const int from = generic::dpp_source_lane(dpp.control, lane);
    if (!dpp.enables(lane) || from == generic::kInvalidLane) return;
    if (!wave_.lane_mask[from]) {
      sources.to_from_inactive |= bit_of(lane);
      sources.inactive |= bit_of(from);
    } else if (registers_.undefined_bits(instruction.source[0].index, from) == ~0u) {
      sources.to_from_unwritten |= bit_of(lane);
      sources.unwritten |= bit_of(from);
    }
  });
  return sources;
}

// The result is doubtful, or the old value where the write is suppressed.
void WaveWatch::flow_dpp_sources(const Instruction& instruction, const DppSources& sources) {
  if (row_of(instruction).destination == Type::kMask) return;
  const auto spread = [&](uint64_t lanes, uint32_t origin) {
    for (int r = 0; r < registers_of(row_of(instruction).destination); ++r) {
      const unsigned target = instruction.destination + static_cast<unsigned>(r);
      for_lanes(lanes, [&](int lane) {
        registers_.set(target, lane, registers_.undefined_bits(target, lane), origin);
      });
    }
  };
  if (sources.to_from_unwritten) spread(sources.to_from_unwritten, doubt_unwritten(sources.unwritten));
  if (sources.to_from_inactive) {
    spread(sources.to_from_inactive,
           doubt("a lane crossing (DPP) takes a value from an inactive lane", sources.inactive));
  }
}

// Moves and bit logic: the operation itself says which result bits depend on the undefined bits of an
// operand, and whether a lane's result depends on a doubtful one, by running once with all of them zero and
// once with all of them one.
void WaveWatch::flow_bits(const Instruction& instruction, const InstructionFacts& facts) {
  const RegisterRange target = facts.writes[0];
  const DppSources sources = dpp_sources(instruction);
  const uint64_t written = lanes_written(wave_, instruction);
  constexpr unsigned kMost = 2;
  const auto registers = [&](unsigned first) { return wave_.vector + first * kLanes; };
  uint32_t saved[kMost * kLanes], trial[2][kMost * kLanes], undefined[kMost * kLanes] = {},
                                                                              origins[kLanes] = {};
  const size_t target_words = size_t{target.count} * kLanes;
  std::memcpy(saved, registers(target.first), target_words * 4);
  const auto try_both = [&](auto substitute, auto restore) {
    for (bool ones : {false, true}) {
      substitute(ones);
      instruction.execute(wave_, instruction);
      std::memcpy(trial[ones], registers(target.first), target_words * 4);
      restore();
      std::memcpy(registers(target.first), saved, target_words * 4);
    }
  };
  const auto add_undefined = [&] {
    for (size_t i = 0; i < target_words; ++i) undefined[i] |= trial[0][i] ^ trial[1][i];
  };
  // origin_of(lane): of the operand in question, where that lane's result depends on it.
  const auto add_origins = [&](auto origin_of) {
    for_lanes(written, [&](int lane) {
      bool depends = false;
      for (unsigned r = 0; r < target.count; ++r) {
        const size_t at = r * kLanes + static_cast<unsigned>(lane);
        depends |= trial[0][at] != trial[1][at];
      }
      if (depends && !origins[lane]) origins[lane] = origin_of(lane);
    });
  };
  const auto try_vector = [&](unsigned first, unsigned count, bool crosses) {
    uint32_t before[kMost * kLanes];
    std::memcpy(before, registers(first), count * kLanes * 4);
    const auto run = [&](auto bad_bits) {
      const auto substitute = [&](bool ones) {
        for (unsigned r = 0; r < count; ++r) {
          for (int lane = 0; lane < kLanes; ++lane) {
            const uint32_t bits = bad_bits(first + r, lane);
            uint32_t& word = registers(first + r)[lane];
            word = ones ? word | bits : word & ~bits;
          }
        }
      };
      try_both(substitute, [&] { std::memcpy(registers(first), before, count * kLanes * 4); });
    };
    uint64_t any_undefined = 0, any_doubtful = 0;
    for (unsigned r = first; r < first + count; ++r) {
      any_undefined |= registers_.undefined_lanes[r];
      any_doubtful |= registers_.doubtful_lanes[r];
    }
    if (any_undefined) {
      run([&](unsigned r, int lane) { return registers_.undefined_bits(r, lane); });
      add_undefined();
    }
    if (!any_doubtful) return;
    run([&](unsigned r, int lane) { return registers_.origin_of(r, lane) ? ~0u : 0u; });
    add_origins([&](int lane) {
      uint32_t origin = 0;
      const int from =
          crosses ? generic::dpp_source_lane(DppWord(instruction.modifier_word).control, lane) : lane;
      for (int candidate : {from, lane}) {
        if (candidate == generic::kInvalidLane) continue;
        for (unsigned r = first; r < first + count && !origin; ++r)
          origin = registers_.origin_of(r, candidate);
      }
      return origin;
    });
  };
  const auto try_scalar = [&](const RegisterRange& range) {
    uint32_t before[2] = {wave_.scalar[range.first], wave_.scalar[range.first + range.count - 1]};
    const auto run = [&](const uint32_t* bad_bits) {
      const auto substitute = [&](bool ones) {
        for (unsigned s = range.first; s < unsigned{range.first} + range.count; ++s)
          wave_.scalar[s] = ones ? wave_.scalar[s] | bad_bits[s] : wave_.scalar[s] & ~bad_bits[s];
      };
      try_both(substitute, [&] {
        wave_.scalar[range.first] = before[0];
        wave_.scalar[range.first + range.count - 1] = before[1];
      });
    };
    run(registers_.scalar_undefined);
    add_undefined();
    run(registers_.scalar_doubtful);
    const uint32_t low = registers_.scalar_origin[range.first];
    add_origins([&](int) { return low ? low : registers_.scalar_origin[range.first + range.count - 1]; });
  };
  for (unsigned i = 0; i < facts.read_count; ++i) {
    const RegisterRange& range = facts.reads[i];
    if (range.scalar) {
      try_scalar(range);
    } else {
      const bool crosses =
          instruction.sub_dword == SubDword::kDpp && range.first == instruction.source[0].index;
      try_vector(range.first, range.count, crosses);
    }
  }
  if (!instruction.plain_result) try_vector(target.first, target.count, false);  // parts of it may stay
  for (unsigned r = 0; r < target.count; ++r) {
    for_lanes(written, [&](int lane) {
      registers_.set(target.first + r, lane, undefined[r * kLanes + static_cast<unsigned>(lane)],
                     origins[lane]);
    });
    registers_.written_by[target.first + r] = wave_.exec();
  }
  flow_dpp_sources(instruction, sources);
}

// ---- Matrix products: NaN goes where a bad value goes, so the operation itself is run with NaN for each bad
// element and 0 for each good one.

void WaveWatch::flow_matrix(const Instruction& instruction, const InstructionFacts& facts, bool bad) {
  const RegisterRange target = facts.writes[0];
  const auto set_written = [&] {
    for (unsigned r = target.first; r < unsigned{target.first} + target.count; ++r)
      registers_.written_by[r] = ~uint64_t{0};
  };
  if (!bad) {
    set_clean(facts, ~uint64_t{0});
    set_written();
    return;
  }
  uint32_t origin = 0;
  std::vector<std::pair<RegisterRange, std::vector<uint32_t>>> saved;
  const auto save = [&](const RegisterRange& range) {
    const uint32_t* from = wave_.vector + range.first * kLanes;
    saved.emplace_back(range, std::vector<uint32_t>(from, from + size_t{range.count} * kLanes));
  };
  for (unsigned i = 0; i < facts.read_count; ++i) {
    save(facts.reads[i]);
    for (unsigned r = facts.reads[i].first; r < unsigned{facts.reads[i].first} + facts.reads[i].count; ++r) {
      if (!origin && registers_.doubtful_lanes[r])
        origin = registers_.origin_of(r, std::countr_zero(registers_.doubtful_lanes[r]));
    }
  }
  save(target);
  const auto bad_word = [&](unsigned r, int lane, bool undefined) {
    return undefined ? registers_.undefined_bits(r, lane) : registers_.origin_of(r, lane) ? ~0u : 0u;
  };
  // All elements of all results are bad where the format has no NaN.
  const auto spread = [&](bool undefined) {
    std::vector<uint32_t> result(size_t{target.count} * kLanes, 0);
    if (facts.nan_bits == 0) {
      bool any = false;
      for (unsigned i = 0; i < facts.read_count; ++i) {
        for (unsigned r = facts.reads[i].first; r < unsigned{facts.reads[i].first} + facts.reads[i].count;
             ++r) {
          for (int lane = 0; lane < kLanes; ++lane) any |= bad_word(r, lane, undefined) != 0;
        }
      }
      std::fill(result.begin(), result.end(), any ? ~0u : 0u);
      return result;
    }
    for (unsigned i = 0; i < facts.read_count; ++i) {
      const RegisterRange& range = facts.reads[i];
      // The addend has the width of the result; it is the operand behind the two inputs.
      const bool addend = i == 2;
      const unsigned bits = addend && facts.nan_bits < 32 ? 32 : facts.nan_bits;
      for (unsigned r = range.first; r < unsigned{range.first} + range.count; ++r) {
        for (int lane = 0; lane < kLanes; ++lane) {
          uint32_t word = 0;
          if (bits >= 32) {
            word = bad_word(r, lane, undefined) ? 0x7fffffffu : 0;
            if (bits == 64) {
              const unsigned partner = range.first + ((r - range.first) ^ 1);
              if (bad_word(partner, lane, undefined)) word = 0x7fffffffu;
            }
          } else {
            for (unsigned at = 0; at < 32; at += bits) {
              const uint32_t mask = ((1u << bits) - 1) << at;
              if (bad_word(r, lane, undefined) & mask) word |= (mask >> 1) & mask;
            }
          }
          wave_.vector[r * kLanes + static_cast<unsigned>(lane)] = word;
        }
      }
    }
    instruction.execute(wave_, instruction);
    for (unsigned r = 0; r < target.count; ++r) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const size_t at = r * kLanes + static_cast<unsigned>(lane);
        const unsigned high = facts.nan_bits == 64 ? target.first + (r | 1) : target.first + r;
        const uint32_t word = wave_.vector[high * kLanes + static_cast<unsigned>(lane)];
        const uint32_t infinity = facts.nan_bits == 64 ? 0x7ff00000u : 0x7f800000u;
        result[at] = (word & 0x7fffffffu) > infinity ? ~0u : 0u;
      }
    }
    for (const auto& [range, words] : saved)
      std::copy(words.begin(), words.end(), wave_.vector + range.first * kLanes);
    return result;
  };
  const std::vector<uint32_t> undefined = spread(true),
                              doubtful = origin ? spread(false) : std::vector<uint32_t>(undefined.size(), 0u);
  for (unsigned r = 0; r < target.count; ++r) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const size_t at = r * kLanes + static_cast<unsigned>(lane);
      registers_.set(target.first + r, lane, undefined[at], doubtful[at] ? origin : 0);
    }
  }
  set_written();
}

// ---- Lane crossings

void WaveWatch::flow_exchange(const Instruction& instruction, int lane_a, int lane_b) {
  const unsigned a = instruction.destination, b = instruction.source[0].index;
  const uint32_t undefined_a = registers_.undefined_bits(a, lane_a),
                 undefined_b = registers_.undefined_bits(b, lane_b);
  // v_swap_b32 exchanges registers and crosses no lanes.
  const bool crosses = lane_a != lane_b;
  uint32_t origin_a = crosses ? taken_from(a, lane_a).origin : registers_.origin_of(a, lane_a);
  uint32_t origin_b = crosses ? taken_from(b, lane_b).origin : registers_.origin_of(b, lane_b);
  const auto stale = [&](unsigned r, int lane, uint32_t undefined) {
    return !wave_.lane_mask[lane] && (undefined || !(registers_.written_by[r] >> lane & 1));
  };
  constexpr const char* kReason = "a lane crossing (swap) takes a value from an inactive lane";
  if (stale(a, lane_a, undefined_a)) origin_a = doubt(kReason, bit_of(lane_a));
  if (stale(b, lane_b, undefined_b)) origin_b = doubt(kReason, bit_of(lane_b));
  if (wave_.lane_mask[lane_a]) registers_.set(a, lane_a, undefined_b, origin_b);
  if (wave_.lane_mask[lane_b]) registers_.set(b, lane_b, undefined_a, origin_a);
}

void WaveWatch::flow_crossing(const Instruction& instruction, const InstructionFacts& facts) {
  const uint64_t exec = wave_.exec();
  const unsigned target = instruction.destination;
  const unsigned from_register =
      instruction.source[facts.flow == Flow::kPermuteBackward || facts.flow == Flow::kPermuteForward ? 1 : 0]
          .index;
  const auto to_scalar = [&](int lane, bool doubtful_lane, const char* reason) {
    if (!is_vector(instruction.source[0])) {
      registers_.set_scalar(target, 0, 0, 0);
      return;
    }
    LaneState got = taken_from(from_register, lane);
    if (doubtful_lane) got.origin = doubt(reason, bit_of(lane));
    registers_.set_scalar(target, got.undefined, got.origin ? ~0u : 0u, got.origin);
  };
  LaneState results[kLanes];
  switch (facts.flow) {
    case Flow::kReadFirstLane:
      to_scalar(exec ? std::countr_zero(exec) : 0, exec == 0,
                "v_readfirstlane with no active lane takes lane 0");
      return;
    case Flow::kReadLane:
    case Flow::kWriteLane: {
      const Source& select = instruction.source[1];
      const bool select_bad = is_scalar(select) && registers_.scalar_undefined[select.index];
      const int lane = selected_lane(instruction);
      if (facts.flow == Flow::kReadLane) {
        const bool stale = !wave_.lane_mask[lane] && (registers_.undefined_bits(from_register, lane) ||
                                                      !(registers_.written_by[from_register] >> lane & 1));
        to_scalar(lane, stale && is_vector(instruction.source[0]),
                  "v_readlane takes a value from an inactive lane");
        if (select_bad) registers_.scalar_undefined[target] = ~0u;
      } else {
        const Source& value = instruction.source[0];
        const bool scalar = is_scalar(value);
        registers_.set(
            target, lane, scalar ? registers_.scalar_undefined[value.index] : 0,
            scalar && registers_.scalar_doubtful[value.index] ? registers_.scalar_origin[value.index] : 0);
        registers_.written_by[target] |= bit_of(lane);
      }
      return;
    }
    case Flow::kSwap:
      for (int lane = 0; lane < kLanes; ++lane) flow_exchange(instruction, lane, lane);
      return;
    case Flow::kSwapHalves:
      for (int lane = 0; lane < 32; ++lane) flow_exchange(instruction, lane + 32, lane);
      return;
    case Flow::kSwapRows:
      for (int row : {0, 32}) {
        for (int lane = 0; lane < 16; ++lane) flow_exchange(instruction, row + 16 + lane, row + lane);
      }
      return;
    case Flow::kPermuteBackward:
    case Flow::kSwizzle: {
      uint64_t inactive = 0, outside = 0;
      const uint32_t offset = static_cast<uint32_t>(instruction.immediate);
      const unsigned address = instruction.source[0].index;
      const bool permutes = facts.flow == Flow::kPermuteBackward;
      uint64_t doubtful = 0;
      for_lanes(exec, [&](int lane) {
        uint32_t place = 0;
        if (permutes) {
          place = wave_.vector[address * kLanes + static_cast<unsigned>(lane)] + offset;
          if (place / 4 >= kLanes) outside |= bit_of(lane), doubtful |= bit_of(lane);
        }
        const int from = permutes ? static_cast<int>(place / 4 & 63) : generic::swizzle_source(offset, lane);
        if (wave_.lane_mask[from]) {
          results[lane] = taken_from(from_register, from);
        } else {
          inactive |= bit_of(from);
          doubtful |= bit_of(lane);
        }
        if (permutes && registers_.undefined_bits(address, lane)) results[lane].undefined = ~0u;
        if (permutes && registers_.origin_of(address, lane))
          results[lane].origin = registers_.origin_of(address, lane);
      });
      if (doubtful) {
        const uint32_t origin =
            outside ? doubt("a lane crossing takes a value from a lane outside the wave", outside)
                    : doubt("a lane crossing takes a value from an inactive lane", inactive);
        for_lanes(doubtful, [&](int lane) { results[lane].origin = origin; });
      }
      break;
    }
    default: {  // kPermuteForward
      uint64_t sent = 0;
      for_lanes(exec, [&](int lane) {
        const unsigned address = instruction.source[0].index;
        const uint32_t place = wave_.vector[address * kLanes + static_cast<unsigned>(lane)] +
                               static_cast<uint32_t>(instruction.immediate);
        const int to = static_cast<int>(place / 4 & 63);
        sent |= bit_of(to);
        results[to] = taken_from(from_register, lane);
        if (registers_.undefined_bits(address, lane)) results[to].undefined = ~0u;
      });
      if (exec & ~sent) {
        const uint32_t origin =
            doubt("a lane crossing gives a lane a value that no active lane has sent", exec & ~sent);
        for_lanes(exec & ~sent, [&](int lane) { results[lane].origin = origin; });
      }
      break;
    }
  }
  for_lanes(exec,
            [&](int lane) { registers_.set(target, lane, results[lane].undefined, results[lane].origin); });
  registers_.written_by[target] = exec;
}

// ---- Scalars

void WaveWatch::flow_scalar(const Instruction& instruction, const InstructionFacts& facts, bool bad) {
  if (!bad) {
    set_clean(facts, 0);
    if (facts.writes_scc) {
      registers_.scc_undefined = false;
      registers_.scc_origin = 0;
    }
    return;
  }
  uint32_t origin = facts.reads_scc ? registers_.scc_origin : 0;
  bool undefined_scc = facts.reads_scc && registers_.scc_undefined;
  bool any_undefined = undefined_scc, any_doubtful = origin != 0;
  for (unsigned i = 0; i < facts.read_count; ++i) {
    for (unsigned s = facts.reads[i].first; s < unsigned{facts.reads[i].first} + facts.reads[i].count; ++s) {
      any_undefined |= registers_.scalar_undefined[s] != 0;
      any_doubtful |= registers_.scalar_doubtful[s] != 0;
      if (!origin && registers_.scalar_doubtful[s]) origin = registers_.scalar_origin[s];
    }
  }
  uint32_t undefined[scalar_register::kCount] = {}, doubtful[scalar_register::kCount] = {};
  bool scc_undefined = any_undefined, scc_doubtful = any_doubtful;
  const bool bits =
      facts.flow == Flow::kScalarBits && !undefined_scc && !(facts.reads_scc && registers_.scc_origin);
  if (bits) {
    struct {
      uint32_t scalar[scalar_register::kCount], lane_mask[kLanes], scc;
    } saved;
    std::memcpy(saved.scalar, wave_.scalar, sizeof saved.scalar);
    std::memcpy(saved.lane_mask, wave_.lane_mask, sizeof saved.lane_mask);
    saved.scc = wave_.scc;
    const auto restore = [&] {
      std::memcpy(wave_.scalar, saved.scalar, sizeof saved.scalar);
      std::memcpy(wave_.lane_mask, saved.lane_mask, sizeof saved.lane_mask);
      wave_.scc = saved.scc;
    };
    // Returns whether SCC depends on the bits.
    const auto spread = [&](const uint32_t* bad_bits, uint32_t* result) {
      bool scc_depends = false;
      for (unsigned i = 0; i < facts.read_count; ++i) {
        uint32_t trial[2][scalar_register::kCount], scc[2];
        for (int ones : {0, 1}) {
          for (unsigned s = facts.reads[i].first; s < unsigned{facts.reads[i].first} + facts.reads[i].count;
               ++s)
            wave_.scalar[s] = ones ? wave_.scalar[s] | bad_bits[s] : wave_.scalar[s] & ~bad_bits[s];
          instruction.execute(wave_, instruction);
          std::memcpy(trial[ones], wave_.scalar, sizeof trial[ones]);
          scc[ones] = wave_.scc;
          restore();
        }
        scc_depends |= scc[0] != scc[1];
        for (unsigned w = 0; w < facts.write_count; ++w) {
          for (unsigned s = facts.writes[w].first;
               s < unsigned{facts.writes[w].first} + facts.writes[w].count; ++s)
            result[s] |= trial[0][s] ^ trial[1][s];
        }
      }
      return scc_depends;
    };
    scc_undefined = spread(registers_.scalar_undefined, undefined);
    scc_doubtful = spread(registers_.scalar_doubtful, doubtful);
  }
  for (unsigned w = 0; w < facts.write_count; ++w) {
    for (unsigned s = facts.writes[w].first; s < unsigned{facts.writes[w].first} + facts.writes[w].count;
         ++s) {
      registers_.set_scalar(s,
                            bits            ? undefined[s]
                            : any_undefined ? ~0u
                                            : 0u,
                            bits           ? doubtful[s]
                            : any_doubtful ? ~0u
                                           : 0u,
                            origin);
    }
  }
  if (facts.writes_scc) {
    registers_.scc_undefined = scc_undefined;
    registers_.scc_origin = scc_doubtful ? origin : 0;
  }
}

void WaveWatch::flow_scalar_memory(const InstructionFacts& facts) {
  uint32_t undefined[scalar_register::kCount] = {};  // of what is loaded
  for (const ScalarPart& part : scalar_parts_) {
    AllocationShadow& shadow = *shadow_of(part.address, part.bytes);
    const uint64_t offset = part.address - shadow.address();
    const auto element = [&] { return shadow.element_at(offset); };
    if (part.kind != AccessKind::kStore && !shadow.all_written()) {
      for (uint32_t byte = 0; byte < part.bytes; ++byte) {
        if (!shadow.written(offset + byte))
          undefined[part.first_register + byte / 4] |= 0xffu << (8 * (byte % 4));
      }
    }
    if (part.kind == AccessKind::kLoad) continue;
    // The data of an atomic are all that it names; those of a store come part by part.
    const unsigned count =
        part.kind == AccessKind::kStore ? part.bytes / 4 : facts.reads[facts.read_count - 1].count;
    bool bad = false, doubtful = false;
    uint32_t origin = 0;
    for (unsigned s = part.first_register; s < part.first_register + count; ++s) {
      bad |= registers_.scalar_undefined[s] != 0;
      doubtful |= registers_.scalar_doubtful[s] != 0;
      if (!origin && registers_.scalar_doubtful[s]) origin = registers_.scalar_origin[s];
    }
    if (bad || doubtful)
      report_bad("a store writes bits that nobody has written", "which reaches the store", bad, doubtful,
                 origin, element);
    if (part.kind != AccessKind::kAtomic) continue;
    if (undefined[part.first_register] | undefined[part.first_register + part.bytes / 4 - 1])
      report_bad("an atomic changes bytes that nobody has written", "", 1, 0, 0, element);
    shadow.mark_written(offset, part.bytes);
  }
  set_clean(facts, 0);
  if (!facts.returns_data) return;
  const RegisterRange& target = facts.writes[0];
  for (unsigned s = target.first; s < unsigned{target.first} + target.count; ++s)
    registers_.set_scalar(s, undefined[s], 0, 0);
}

// ---- Memory

LocalShadow* WaveWatch::local_shadow(const ObservedAccess& access, int lane, uint64_t& address) {
  if (access.space == Space::kLds || access.space == Space::kLdsDelivery) return &group_.lds();
  if (access.space == Space::kScratch || address >> 32 == kPrivateAperture >> 32) {
    address = static_cast<uint32_t>(address) + static_cast<uint64_t>(lane) * wave_.scratch_bytes;
    return &scratch_;
  }
  if (address >> 32 == kSharedAperture >> 32) {
    address = static_cast<uint32_t>(address);
    return &group_.lds();
  }
  return nullptr;
}

WaveWatch::LaneState WaveWatch::byte_states(const ObservedAccess& access, int lane, uint32_t first_byte,
                                            uint32_t count) {
  LaneState state;
  uint64_t address = access.address[lane] + first_byte;
  if (const LocalShadow* local = local_shadow(access, lane, address)) {
    for (uint32_t i = 0; i < count && address + i < local->size(); ++i) {
      if (local->undefined(address + i)) state.undefined |= 0xffu << (8 * i);
      if (!state.origin) state.origin = local->origin(address + i);
    }
    return state;
  }
  const AllocationShadow* shadow = shadow_of(address, count);
  if (!shadow || shadow->all_written()) return state;
  for (uint32_t i = 0; i < count; ++i) {
    if (!shadow->written(address - shadow->address() + i)) state.undefined |= 0xffu << (8 * i);
  }
  return state;
}

void WaveWatch::flow_load(const InstructionFacts& facts, const ObservedAccess& access,
                          unsigned first_register) {
  if (access.all_written) return;
  const unsigned words = (access.bytes + 3) / 4;
  for_lanes(access.lanes, [&](int lane) {
    uint64_t first = access.address[lane];
    const LocalShadow* local = local_shadow(access, lane, first);
    if (local && first + access.bytes <= local->size() && local->good(first, access.bytes)) return;
    for (unsigned w = 0; w < words; ++w) {
      const uint32_t count = std::min<uint32_t>(4, access.bytes - 4 * w);
      LaneState state = byte_states(access, lane, 4 * w, count);
      if (!state.undefined && !state.origin) continue;
      if (facts.sign_extended && state.undefined >> (8 * count - 1) & 1)
        state.undefined |= ~0u << (8 * count - 1);
      if (facts.loaded_bits == 0xffff0000u) state.undefined <<= 16;
      state.undefined &= facts.loaded_bits;
      const unsigned r = first_register + w;
      registers_.set(r, lane, registers_.undefined_bits(r, lane) | state.undefined,
                     state.origin ? state.origin : registers_.origin_of(r, lane));
    }
  });
}

void WaveWatch::flow_store(const Instruction& instruction, const ObservedAccess& access,
                           unsigned data_register) {
  const bool high = row_of(instruction).mnemonic.ends_with("d16_hi");
  uint64_t undefined_lanes = 0, doubtful_lanes = 0;
  uint32_t origin = 0;
  int first_bad = -1;
  uint64_t bad = 0;
  for (uint32_t w = 0; w < (access.bytes + 3) / 4; ++w)
    bad |= (registers_.undefined_lanes[data_register + w] | registers_.doubtful_lanes[data_register + w]) &
           access.lanes;
  if (!bad && access.kind == AccessKind::kStore) {
    // Good data; global memory has noted the store already.
    for_lanes(access.lanes, [&](int lane) {
      uint64_t first = access.address[lane];
      LocalShadow* local = local_shadow(access, lane, first);
      if (local && first < local->size())
        local->set_good(first, std::min<uint64_t>(access.bytes, local->size() - first));
    });
    return;
  }
  for_lanes(access.lanes, [&](int lane) {
    for (uint32_t w = 0; w < (access.bytes + 3) / 4; ++w) {
      const uint32_t count = std::min<uint32_t>(4, access.bytes - 4 * w);
      uint32_t word = registers_.undefined_bits(data_register + w, lane);
      if (high) word >>= 16;
      if (count < 4) word &= (1u << (8 * count)) - 1;
      const uint32_t word_origin = registers_.origin_of(data_register + w, lane);
      uint64_t address = access.address[lane] + 4 * w;
      if (LocalShadow* local = local_shadow(access, lane, address)) {
        for (uint32_t i = 0; i < count && address + i < local->size(); ++i) {
          const bool undefined = word >> (8 * i) & 0xff;
          const bool stays = access.kind == AccessKind::kAtomic && local->undefined(address + i);
          local->set(address + i, undefined || stays, word_origin);
        }
        continue;
      }
      if (word) undefined_lanes |= bit_of(lane);
      if (word_origin) doubtful_lanes |= bit_of(lane), origin = origin ? origin : word_origin;
      if ((word || word_origin) && first_bad < 0) first_bad = lane;
      AllocationShadow* shadow = shadow_of(address, count);
      if (!shadow) continue;
      if (access.kind == AccessKind::kAtomic && !shadow->all_written()) {
        const LaneState old = byte_states(access, lane, 4 * w, count);
        if (old.undefined)
          report_bad("an atomic changes bytes that nobody has written", "", bit_of(lane), 0, 0,
                     [&] { return shadow->element_at(address - shadow->address()); });
      }
      if (access.kind == AccessKind::kAtomic) shadow->mark_written(address - shadow->address(), count);
    }
  });
  if (undefined_lanes | doubtful_lanes) {
    report_bad("a store writes bits that nobody has written", "which reaches the store", undefined_lanes,
               doubtful_lanes, origin, [&]() -> std::string {
                 const AllocationShadow* shadow = shadow_of(access.address[first_bad], access.bytes);
                 return shadow ? shadow->element_at(access.address[first_bad] - shadow->address())
                               : std::string();
               });
  }
}

void WaveWatch::flow_memory(const Instruction& instruction, const InstructionFacts& facts) {
  const uint64_t exec = wave_.exec();
  const RegisterRange* data[2] = {};
  unsigned data_count = 0;
  for (unsigned i = 0; i < facts.read_count; ++i) {
    const RegisterRange& range = facts.reads[i];
    if (!range.scalar && range.role == OperandRole::kData && data_count < 2) data[data_count++] = &range;
  }
  const bool loads = facts.returns_data && facts.write_count > 0;
  const unsigned target = loads ? facts.writes[0].first : 0;
  std::vector<std::pair<const ObservedAccess*, unsigned>> to_load;
  unsigned load_index = 0, store_index = 0;
  for (size_t i = 0; i < access_count_; ++i) {
    ObservedAccess& access = accesses_[i];
    if (access.kind != AccessKind::kStore && loads)
      to_load.emplace_back(&access, target + load_index++ * ((access.bytes + 3) / 4));
  }
  if (loads) {
    const bool whole = facts.loaded_bits == ~0u;
    for (unsigned r = target; r < target + facts.writes[0].count; ++r) registers_.written_by[r] = exec;
    const auto load_all = [&] {
      for (unsigned r = target; r < target + facts.writes[0].count; ++r) {
        if (whole) {
          registers_.set_good(r, exec);
        } else {
          for_lanes(exec & registers_.undefined_lanes[r], [&](int lane) {
            registers_.set(r, lane, registers_.undefined_bits(r, lane) & ~facts.loaded_bits,
                           registers_.origin_of(r, lane));
          });
        }
      }
      for (const auto& [access, first] : to_load) flow_load(facts, *access, first);
    };
    if (data_count == 0) {
      load_all();
    } else {  // an atomic that returns: its data are checked while the shadow still has them
      for (size_t i = 0; i < access_count_; ++i) {
        if (accesses_[i].kind == AccessKind::kLoad) continue;
        flow_store(instruction, accesses_[i], data[std::min(store_index, data_count - 1)]->first);
        ++store_index;
      }
      load_all();
      return;
    }
    if (facts.transposed_bits) {
      // Lane l of a row of 16 collects elements of what other lanes address.
      constexpr unsigned kMost = 3;
      const unsigned registers = facts.writes[0].count;
      const int bits = facts.transposed_bits, elements = static_cast<int>(32 * registers) / bits,
                per_column = 16 / elements;
      uint32_t undefined[kMost * kLanes], result[kMost * kLanes];
      uint32_t origin = 0;
      for (unsigned r = 0; r < registers; ++r) {
        for (int lane = 0; lane < kLanes; ++lane) {
          undefined[r * kLanes + static_cast<unsigned>(lane)] = registers_.undefined_bits(target + r, lane);
          if (!origin) origin = registers_.origin_of(target + r, lane);
        }
      }
      for (int lane = 0; lane < kLanes; ++lane) {
        generic::TupleRow<kMost> row;
        for (int n = 0; n < elements; ++n) {
          const int from = (lane & ~15) + (lane / elements) % per_column + per_column * n;
          row.append(generic::tuple_element(undefined, from, lane % elements, bits), bits);
        }
        row.write(result, lane);
      }
      for_lanes(exec, [&](int lane) {
        for (unsigned r = 0; r < registers; ++r)
          registers_.set(target + r, lane, result[r * kLanes + static_cast<unsigned>(lane)], origin);
      });
    }
    return;
  }
  if (facts.to_lds) {
    const ObservedAccess* from = nullptr;
    const ObservedAccess* to = nullptr;
    for (size_t i = 0; i < access_count_; ++i)
      (accesses_[i].space == Space::kLdsDelivery ? to : from) = &accesses_[i];
    if (!to) return;
    for_lanes(to->lanes, [&](int lane) {
      const bool loaded = from && from->lanes >> lane & 1;
      for (uint32_t byte = 0; byte < to->bytes; ++byte) {
        const uint64_t at = to->address[lane] + byte;
        if (at >= group_.lds().size()) continue;
        const bool undefined =
            loaded && !from->all_written && byte < from->bytes && byte_states(*from, lane, byte, 1).undefined;
        group_.lds().set(at, undefined, 0);
      }
    });
    return;
  }
  for (size_t i = 0; i < access_count_; ++i) {
    if (data_count == 0) break;
    flow_store(instruction, accesses_[i], data[std::min(store_index, data_count - 1)]->first);
    ++store_index;
  }
}

}  // namespace mhcheck::simulator
