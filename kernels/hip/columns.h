// Columns of a row, eight a lane, for a product over all columns.
#pragma once

#include "kernels/hip/gpu.h"
#include "kernels/hip/row.h"

namespace mhc {

// Whether all columns that a wave takes lie inside the row, which then is of a multiple of eight columns. In
// ragged rows columns are loaded one by one, and those past the end are zero.
enum class Columns { kWhole, kRagged };

// The row begins at base[row]; `first` and `end` count from there.
template <Columns kColumns, class Element>
MHC_DEVICE Pack<Element, kWidest> load_columns(const Element* base, unsigned row, int first, int end) {
  if constexpr (kColumns == Columns::kWhole) return load<kWidest>(base, row + first);
  Pack<Element, kWidest> elements;
#pragma unroll
  for (int i = 0; i < kWidest; ++i) {
    // Without a branch: the last column stands in for those past the end.
    const Element element = load<1>(base, row + min(first + i, end - 1))[0];
    elements[i] = first + i < end ? element : Element{0};
  }
  return elements;
}

template <Columns kColumns, class Element>
MHC_DEVICE void store_columns(Element* base, unsigned row, int first, int end,
                              Pack<Element, kWidest> elements) {
  if constexpr (kColumns == Columns::kWhole) {
    store<kWidest>(base, row + first, elements);
  } else {
#pragma unroll
    for (int i = 0; i < kWidest; ++i) {
      if (first + i < end) store<1, Element>(base, row + first + i, elements[i]);
    }
  }
}

}  // namespace mhc
