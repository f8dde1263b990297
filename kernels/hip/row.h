// Rows of elements in global memory.
#pragma once

#include "kernels/hip/gpu.h"

namespace mhc {

// Neighbouring elements of a row that a thread takes together: eight, which are 16 bytes of a 16-bit format,
// where every group of eight begins on 16 bytes; else one.
template <class Element, int kWidth>
using Pack = Element __attribute__((ext_vector_type(kWidth)));

constexpr int kWidest = 8;
using Floats = Pack<float, kWidest>;

// Tensors begin on 16 bytes, and so do rows of a multiple of eight 16-bit elements. Eight floats are two
// pieces of 16 bytes, and need no more than each of them.
template <class Element, int kWidth>
using AlignedPack =
    Element __attribute__((ext_vector_type(kWidth), aligned(kWidth == 1 ? sizeof(Element) : 16)));

// Elements from base[index] on. The distance in bytes has 32 bits: where all lanes have one base it stays in
// scalar registers, and a lane adds only that distance to it.
template <int kWidth, class Element>
MHC_DEVICE Pack<Element, kWidth> load(const Element* base, unsigned index) {
  const auto* from = reinterpret_cast<const char*>(base) + index * static_cast<unsigned>(sizeof(Element));
  return *reinterpret_cast<const AlignedPack<Element, kWidth>*>(from);
}

template <int kWidth, class Element>
MHC_DEVICE void store(Element* base, unsigned index, Pack<Element, kWidth> elements) {
  auto* to = reinterpret_cast<char*>(base) + index * static_cast<unsigned>(sizeof(Element));
  *reinterpret_cast<AlignedPack<Element, kWidth>*>(to) = elements;
}

template <int kWidth, class Element>
MHC_DEVICE Pack<float, kWidth> to_floats(Pack<Element, kWidth> elements) {
  return __builtin_convertvector(elements, Pack<float, kWidth>);
}

// Rounds to nearest even.
template <class Element, int kWidth>
MHC_DEVICE Pack<Element, kWidth> to_elements(Pack<float, kWidth> values) {
  return __builtin_convertvector(values, Pack<Element, kWidth>);
}

}  // namespace mhc
