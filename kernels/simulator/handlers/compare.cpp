#include <cmath>

#include "kernels/simulator/handlers/lanes.h"
#include "kernels/simulator/handlers/tables.h"

// VOPC: a lane mask from a comparison, to VCC or a scalar pair, and to EXEC for v_cmpx.
namespace mhcheck::simulator::MHCHECK_ISA {
namespace {

template <class A, class B, class Op, bool kWritesExec>
struct Comparison {
  static void execute(Wave& wave, const Instruction& instruction) {
    const uint32_t* a = source<A>(wave, instruction, 0);
    const uint32_t* b = source<B>(wave, instruction, 1);
    uint32_t* flags = wave.result;
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane)
      flags[lane] = Op{}(A::load(a, lane), B::load(b, lane)) ? 1u : 0u;
    const uint64_t mask = gather_mask(wave, flags);
    write_scalar64(wave, instruction.scalar_destination, mask);
    if (kWritesExec) write_scalar64(wave, scalar_register::kExec, mask);
  }
};

// Class bits: signalling NaN, quiet NaN, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf.
template <class Word, int kMantissaBits, int kExponentBits>
struct ClassOf {
  bool operator()(Word a, uint32_t wanted) const {
    constexpr Word kInfinity = ((Word(1) << kExponentBits) - 1) << kMantissaBits;
    const Word magnitude = a & ((Word(1) << (kMantissaBits + kExponentBits)) - 1);
    const bool negative = a >> (kMantissaBits + kExponentBits) & 1;
    unsigned index = 0;
    if (magnitude > kInfinity) {
      index = magnitude >> (kMantissaBits - 1) & 1 ? 1 : 0;
    } else {
      const unsigned size = magnitude == kInfinity ? 3 : magnitude >> kMantissaBits ? 2 : magnitude ? 1 : 0;
      index = negative ? 5 - size : 6 + size;
    }
    return wanted >> index & 1;
  }
};

struct False {
  template <class T>
  bool operator()(T, T) const {
    return false;
  }
};
struct True {
  template <class T>
  bool operator()(T, T) const {
    return true;
  }
};
struct Less {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct Equal {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct LessEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct NotEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a != b;
  }
};
struct GreaterEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
// Floats only: lg is ordered and unequal; the n-forms are true on unordered operands.
struct LessGreater {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b || a > b;
  }
};
struct Ordered {
  template <class T>
  bool operator()(T a, T b) const {
    return a == a && b == b;
  }
};
struct Unordered {
  template <class T>
  bool operator()(T a, T b) const {
    return a != a || b != b;
  }
};
template <class Op>
struct Not {
  template <class T>
  bool operator()(T a, T b) const {
    return !Op{}(a, b);
  }
};

template <class A, class Op, bool kWritesExec, class B = A>
constexpr Row compare(std::string_view mnemonic) {
  return {mnemonic,
          Comparison<A, B, Op, kWritesExec>::execute,
          InstructionClass::kValu,
          Type::kMask,
          {A::type, B::type},
          kNoTraits};
}

// The condition names are the manual's; each exists as v_cmp and as v_cmpx for every type.
#define MHCHECK_BOTH(type, Element, name, Op) \
  compare<Element, Op, false>("v_cmp_" name "_" type), compare<Element, Op, true>("v_cmpx_" name "_" type)
#define MHCHECK_INTEGER_COMPARISONS(type, Element)                                             \
  MHCHECK_BOTH(type, Element, "f", False), MHCHECK_BOTH(type, Element, "lt", Less),            \
      MHCHECK_BOTH(type, Element, "eq", Equal), MHCHECK_BOTH(type, Element, "le", LessEqual),  \
      MHCHECK_BOTH(type, Element, "gt", Greater), MHCHECK_BOTH(type, Element, "ne", NotEqual), \
      MHCHECK_BOTH(type, Element, "ge", GreaterEqual), MHCHECK_BOTH(type, Element, "t", True)
#define MHCHECK_FLOAT_COMPARISONS(type, Element)                                                            \
  MHCHECK_BOTH(type, Element, "f", False), MHCHECK_BOTH(type, Element, "lt", Less),                         \
      MHCHECK_BOTH(type, Element, "eq", Equal), MHCHECK_BOTH(type, Element, "le", LessEqual),               \
      MHCHECK_BOTH(type, Element, "gt", Greater), MHCHECK_BOTH(type, Element, "lg", LessGreater),           \
      MHCHECK_BOTH(type, Element, "ge", GreaterEqual), MHCHECK_BOTH(type, Element, "o", Ordered),           \
      MHCHECK_BOTH(type, Element, "u", Unordered), MHCHECK_BOTH(type, Element, "nge", Not<GreaterEqual>),   \
      MHCHECK_BOTH(type, Element, "nlg", Not<LessGreater>),                                                 \
      MHCHECK_BOTH(type, Element, "ngt", Not<Greater>), MHCHECK_BOTH(type, Element, "nle", Not<LessEqual>), \
      MHCHECK_BOTH(type, Element, "neq", Not<Equal>), MHCHECK_BOTH(type, Element, "nlt", Not<Less>),        \
      MHCHECK_BOTH(type, Element, "tru", True)

constexpr Row kRows[] = {
    MHCHECK_INTEGER_COMPARISONS("i16", I16),
    MHCHECK_INTEGER_COMPARISONS("u16", U16),
    MHCHECK_INTEGER_COMPARISONS("i32", I32),
    MHCHECK_INTEGER_COMPARISONS("u32", U32),
    MHCHECK_INTEGER_COMPARISONS("i64", I64),
    MHCHECK_INTEGER_COMPARISONS("u64", U64),
    MHCHECK_FLOAT_COMPARISONS("f16", F16),
    MHCHECK_FLOAT_COMPARISONS("f32", F32),
    MHCHECK_FLOAT_COMPARISONS("f64", F64),
    compare<H16, ClassOf<uint32_t, 10, 5>, false, B32>("v_cmp_class_f16"),
    compare<H16, ClassOf<uint32_t, 10, 5>, true, B32>("v_cmpx_class_f16"),
    compare<S32, ClassOf<uint32_t, 23, 8>, false, B32>("v_cmp_class_f32"),
    compare<S32, ClassOf<uint32_t, 23, 8>, true, B32>("v_cmpx_class_f32"),
    compare<S64, ClassOf<uint64_t, 52, 11>, false, B32>("v_cmp_class_f64"),
    compare<S64, ClassOf<uint64_t, 52, 11>, true, B32>("v_cmpx_class_f64"),
};

#undef MHCHECK_FLOAT_COMPARISONS
#undef MHCHECK_INTEGER_COMPARISONS
#undef MHCHECK_BOTH

}  // namespace

std::span<const Row> compare_rows() { return kRows; }

}  // namespace mhcheck::simulator::MHCHECK_ISA
