// RapidCheck generators of fp32 parameters. RapidCheck's own ones draw decimal fractions of moderate size,
// while numerical code breaks at the edges of the format.
#pragma once

#include <rapidcheck.h>

namespace mhcheck::properties {

// Any finite value. Half of them lie on the format's edges: zeros, the smallest and largest subnormal and
// normal numbers, one, and the neighbours of these and of powers of two; the others have random bits. Shrinks
// to zero, to one, to positive values and to fewer bits of mantissa.
rc::Gen<float> finite_floats();

// From 0 to 1, zero and subnormals included, with logarithms about uniform: whatever an epsilon may be.
// Shrinks as finite_floats does.
rc::Gen<float> epsilons();

}  // namespace mhcheck::properties
