#include "reference/sums/projection.h"

#include <algorithm>
#include <cmath>

#include "reference/base/vectorised.h"
#include "reference/sums/exact_product.h"

namespace mhcheck::sums {
namespace {

// Bits of a slice of x and of fn, and terms of a block: 21 + 24 + log2(256) = 53, the bits of a double.
constexpr int kXBits = 21;
constexpr int kFnBits = 24;
constexpr int kDepth = 256;

// What a slice leaves of x is handled entry by entry while it is sparse, and sliced again otherwise.
constexpr int kSparseShare = 16;

// Entries of fn below this may be flushed, or the low part that a kernel splits them into.
constexpr double kSmallestEntry = 0x1p-100;

using error_model::kDoubleUnit;
using error_model::kFlush;

// The grid of a slice: a power of two, with |largest| <= grid * 2^bits. No grid, and so no number, for an
// infinity.
double grid_for(double largest, int bits) {
  if (!std::isfinite(largest)) return std::nan("");
  return largest > 0 ? std::ldexp(1.0, std::ilogb(largest) + 1 - bits) : 0;
}

// value rounded to a multiple of grid, exactly: adding 1.5 * 2^52 grids leaves no bits below the grid.
inline double to_grid(double value, double grid) {
  const double shift = 0x1.8p52 * grid;
  return (value + shift) - shift;
}

// |value| rounded up to a multiple of grid.
inline double up_to_grid(double value, double grid) {
  const double magnitude = std::fabs(value);
  const double nearest = to_grid(magnitude, grid);
  return nearest + (nearest < magnitude ? grid : 0.0);
}

// Sums and maxima over k = 0 .. count-1 of term(k), in lanes, which vector instructions do side by side. The
// order is the same on every machine.
constexpr int kLanes = 8;

template <class Term, class Join>
[[gnu::always_inline]] inline double over_lanes(int count, Term&& term, Join&& join) {
  double lanes[kLanes] = {};
  int k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] = join(lanes[lane], term(k + lane));
  }
  for (int lane = 0; k + lane < count; ++lane) lanes[lane] = join(lanes[lane], term(k + lane));
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) lanes[lane] = join(lanes[lane], lanes[lane + half]);
  }
  return lanes[0];
}

template <class Term>
[[gnu::always_inline]] inline double sum_of(int count, Term&& term) {
  return over_lanes(count, term, [](double a, double b) { return a + b; });
}

// Of nonnegative terms.
template <class Term>
[[gnu::always_inline]] inline double largest_of(int count, Term&& term) {
  return over_lanes(count, term, [](double a, double b) { return a < b ? b : a; });
}

// A sum kept as an unevaluated pair, with a bound on what the low part has lost.
struct PairSum {
  double high = 0, low = 0, low_absolute = 0;
  int additions = 0;

  void add_low(double value) {
    low += value;
    low_absolute += std::fabs(value);
    ++additions;
  }
  void add(double value) {  // Knuth's TwoSum: high + value exactly, the error to the low part
    const double sum = high + value;
    const double part = sum - high;
    add_low((high - (sum - part)) + (value - part));
    high = sum;
  }
  double value() const { return high + low; }
  // Of value(), as a sum of everything added.
  double error() const {
    return std::fabs(value()) * kDoubleUnit + (additions + 1) * kDoubleUnit * low_absolute;
  }
};

struct Leftover {
  int k;
  double value;
};

// The sums of one token, while the blocks go by.
struct Accumulator {
  std::vector<PairSum> sum;
  std::vector<double> rad, magnitude, off;
  PairSum squares;
  double squares_rad = 0, squares_off = 0, nonzeros = 0, largest = 0, largest_rad = 0;
};

}  // namespace

Projection::Projection(std::span<const float> fn, int rows, int parts, std::int64_t part_length)
    : rows_(rows), nonzeros_(rows), largest_(rows) {
  const std::int64_t row_length = parts * part_length;
  for (int m = 0; m < rows; ++m) {
    for (std::int64_t k = 0; k < row_length; ++k) {
      const double value = std::fabs(static_cast<double>(fn[m * row_length + k]));
      if (value != 0) nonzeros_[m] += 1;
      largest_[m] = std::max(largest_[m], value);
    }
  }
  for (int part = 0; part < parts; ++part) {
    for (std::int64_t first = 0; first < part_length; first += kDepth) {
      Block block{part, first, static_cast<int>(std::min<std::int64_t>(kDepth, part_length - first)),
                  {},   {},    {},
                  {},   {},    {}};
      block.slices.resize(static_cast<std::size_t>(block.depth) * 2 * rows);
      block.magnitude.resize(static_cast<std::size_t>(block.depth) * rows);
      block.exact.resize(static_cast<std::size_t>(block.depth) * rows);
      block.dropped.resize(rows);
      block.flushed.resize(rows);
      block.largest.resize(rows);
      for (int m = 0; m < rows; ++m) {
        const float* values = fn.data() + m * row_length + part * part_length + first;
        double largest = 0;
        for (int k = 0; k < block.depth; ++k)
          largest = std::max(largest, std::fabs(static_cast<double>(values[k])));
        block.largest[m] = largest;
        const double grid = grid_for(largest, kFnBits);
        const double second_grid = grid * std::ldexp(1.0, -kFnBits - 1);
        for (int k = 0; k < block.depth; ++k) {
          const double value = values[k];
          const double first_slice = to_grid(value, grid);
          const double second_slice = to_grid(value - first_slice, second_grid);
          block.slices[static_cast<std::size_t>(k) * 2 * rows + m] = first_slice;
          block.slices[static_cast<std::size_t>(k) * 2 * rows + rows + m] = second_slice;
          block.magnitude[static_cast<std::size_t>(k) * rows + m] = up_to_grid(value, grid);
          block.exact[static_cast<std::size_t>(k) * rows + m] = value;
          if (value != 0 && std::fabs(value) < kSmallestEntry) block.flushed[m] = kFlush;
          block.dropped[m] = std::max(block.dropped[m], std::fabs(value - first_slice - second_slice));
        }
      }
      blocks_.push_back(std::move(block));
    }
  }
}

MHCHECK_VECTORISED
std::vector<TokenSums> Projection::multiply(std::span<const ProjectedRow> tokens) const {
  const int count = static_cast<int>(tokens.size());
  const int rows = rows_;
  std::vector<Accumulator> gathered(count);
  for (Accumulator& a : gathered) {
    a.sum.resize(rows);
    a.rad.resize(rows);
    a.magnitude.resize(rows);
    a.off.resize(rows);
  }
  std::vector<double> slice(static_cast<std::size_t>(count) * kDepth), magnitude(slice.size()),
      product(static_cast<std::size_t>(count) * 2 * rows), magnitudes(static_cast<std::size_t>(count) * rows);
  std::vector<double> absolute_sum(count), subnormal_sum(count);

  for (const Block& block : blocks_) {
    const int depth = block.depth;
    const auto is_sparse = [&](std::size_t entries) {
      return entries * kSparseShare < static_cast<std::size_t>(depth);
    };
    std::vector<std::vector<Leftover>> leftovers(count);
    bool any_rad = false, any_off = false;

    // Both products add to the tokens in `which` alone: what is added to a token depends on that token only,
    // so that any grouping of tokens gives the same bits.
    const auto multiply_slice = [&](const std::vector<char>& which) {
      exact_product(slice.data(), count, depth, block.slices.data(), 2 * rows, product.data());
      for (int t = 0; t < count; ++t) {
        if (!which[t]) continue;
        for (int m = 0; m < rows; ++m) {
          PairSum& sum = gathered[t].sum[m];
          sum.add(product[static_cast<std::size_t>(t) * 2 * rows + m]);
          sum.add_low(product[static_cast<std::size_t>(t) * 2 * rows + rows + m]);
        }
      }
    };
    // sum_k |entry| |fn| to within the grids, upwards; the entries are in `magnitude`.
    const auto multiply_magnitude = [&](const std::vector<char>& which, auto&& add) {
      exact_product(magnitude.data(), count, depth, block.magnitude.data(), rows, magnitudes.data());
      for (int t = 0; t < count; ++t) {
        if (!which[t]) continue;
        for (int m = 0; m < rows; ++m)
          add(gathered[t], m, magnitudes[static_cast<std::size_t>(t) * rows + m]);
      }
    };

    for (int t = 0; t < count; ++t) {
      const ProjectedRow::Part& part = tokens[t].parts[block.part];
      const double* x = part.mid + block.first;
      any_rad |= part.rad != nullptr;
      any_off |= part.off != nullptr;
      Accumulator& a = gathered[t];
      const auto size_of = [x](int k) { return std::fabs(x[k]); };
      const double largest = largest_of(depth, size_of);
      const double absolute = sum_of(depth, size_of);
      const double subnormal = sum_of(depth, [&](int k) { return size_of(k) < kFlush ? size_of(k) : 0.0; });
      double nonzeros = sum_of(depth, [x](int k) { return x[k] != 0 ? 1.0 : 0.0; });
      // The slices of an entry together may be larger than the entry, by twice what the first leaves: in all
      // less than 2^-12 of the largest.
      absolute_sum[t] = absolute * (1 + 0x1p-11);
      subnormal_sum[t] = subnormal;
      a.largest = std::max(a.largest, largest);
      // What is zero here may be none exactly, or none in a kernel.
      for (const double* offsets : {part.rad, part.off}) {
        if (offsets == nullptr || nonzeros == depth) continue;
        for (int k = 0; k < depth; ++k) nonzeros += x[k] == 0 && offsets[block.first + k] != 0;
      }
      a.nonzeros += nonzeros;
      const double grid = grid_for(largest, kXBits);
      double* row = &slice[static_cast<std::size_t>(t) * depth];
      double* row_magnitude = &magnitude[static_cast<std::size_t>(t) * depth];
      for (int k = 0; k < depth; ++k) {
        row[k] = to_grid(x[k], grid);
        row_magnitude[k] = up_to_grid(x[k], grid);
      }
      a.squares.add(
          sum_of(depth, [row](int k) { return row[k] * row[k]; }));  // exact: 42 bits each, 50 in all
      if (largest_of(depth, [x, row](int k) { return std::fabs(x[k] - row[k]); }) == 0) continue;
      for (int k = 0; k < depth; ++k) {
        const double left = x[k] - row[k];  // exact
        if (left == 0) continue;
        leftovers[t].push_back({k, left});
        const double rest = left * (x[k] + row[k]);  // x^2 - row^2, three roundings
        a.squares.add_low(rest);
        a.squares_rad += 3 * kDoubleUnit * std::fabs(rest);
      }
    }
    const std::vector<char> everyone(count, 1);
    multiply_slice(everyone);
    multiply_magnitude(everyone, [](Accumulator& a, int m, double value) { a.magnitude[m] += value; });
    for (int t = 0; t < count; ++t) {
      for (int m = 0; m < rows; ++m) {
        gathered[t].rad[m] += absolute_sum[t] * block.dropped[m];
        gathered[t].off[m] += absolute_sum[t] * block.flushed[m] + subnormal_sum[t] * block.largest[m];
      }
    }

    // A second slice for the tokens that need it, which leaves less than 2^-42 of the largest entry.
    std::vector<char> dense(count);
    for (int t = 0; t < count; ++t) dense[t] = !is_sparse(leftovers[t].size());
    if (std::find(dense.begin(), dense.end(), 1) != dense.end()) {
      std::fill(slice.begin(), slice.end(), 0.0);
      for (int t = 0; t < count; ++t) {
        if (!dense[t]) continue;
        double largest = 0;
        for (const Leftover& l : leftovers[t]) largest = std::max(largest, std::fabs(l.value));
        const double grid = grid_for(largest, kXBits);
        std::vector<Leftover> still_left;
        for (const Leftover& l : leftovers[t]) {
          const double taken = to_grid(l.value, grid);
          slice[static_cast<std::size_t>(t) * depth + l.k] = taken;
          if (l.value != taken) still_left.push_back({l.k, l.value - taken});
        }
        leftovers[t] = std::move(still_left);
      }
      multiply_slice(dense);
    }
    for (int t = 0; t < count; ++t) {
      Accumulator& a = gathered[t];
      for (const Leftover& l : leftovers[t]) {
        const double* f = &block.exact[static_cast<std::size_t>(l.k) * rows];
        for (int m = 0; m < rows; ++m) {
          const double value = l.value * f[m];
          a.sum[m].add_low(value);
          a.rad[m] += 2 * kDoubleUnit * std::fabs(value);
        }
      }
    }

    // How far the entries themselves may be off: on the reference's side, and on the kernel's.
    const auto multiply_offsets = [&](auto&& offsets_of, auto&& add, auto&& add_square) {
      std::vector<char> many(count);
      for (int t = 0; t < count; ++t) {
        const ProjectedRow::Part& part = tokens[t].parts[block.part];
        const double* offsets = offsets_of(part);
        double* row = &magnitude[static_cast<std::size_t>(t) * depth];
        std::fill(row, row + depth, 0.0);
        if (offsets == nullptr) continue;
        offsets += block.first;
        const double* x = part.mid + block.first;
        double largest = 0;
        std::size_t nonzeros = 0;
        for (int k = 0; k < depth; ++k) {
          largest = std::max(largest, offsets[k]);
          nonzeros += offsets[k] != 0;
        }
        if (offsets_of(part) == part.rad) {
          gathered[t].largest_rad = std::max(gathered[t].largest_rad, largest);
        }
        many[t] = !is_sparse(nonzeros);
        const double grid = grid_for(largest, kXBits);
        for (int k = 0; k < depth; ++k) {
          if (offsets[k] == 0) continue;
          const double size = std::fabs(x[k]) + (part.rad != nullptr ? part.rad[block.first + k] : 0);
          add_square(gathered[t], offsets[k] * (2 * size + offsets[k]));
          if (many[t]) {
            row[k] = up_to_grid(offsets[k], grid);
            continue;
          }
          const double* f = &block.exact[static_cast<std::size_t>(k) * rows];
          for (int m = 0; m < rows; ++m) add(gathered[t], m, offsets[k] * std::fabs(f[m]));
        }
      }
      if (std::find(many.begin(), many.end(), 1) != many.end()) multiply_magnitude(many, add);
    };
    if (any_rad) {
      multiply_offsets([](const ProjectedRow::Part& part) { return part.rad; },
                       [](Accumulator& a, int m, double value) { a.rad[m] += value; },
                       [](Accumulator& a, double value) { a.squares_rad += value; });
    }
    if (any_off) {
      multiply_offsets([](const ProjectedRow::Part& part) { return part.off; },
                       [](Accumulator& a, int m, double value) { a.off[m] += value; },
                       [](Accumulator& a, double value) { a.squares_off += value; });
    }
  }

  // The sum of the squares up to a threshold that is known only now.
  const auto swallowed_squares = [&](const ProjectedRow& row, double threshold) {
    double swallowed = 0;
    for (const Block& block : blocks_) {
      const double* x = row.parts[block.part].mid + block.first;
      swallowed +=
          sum_of(block.depth, [x, threshold](int k) { return x[k] * x[k] <= threshold ? x[k] * x[k] : 0.0; });
    }
    return swallowed;
  };

  // Sums of nonnegative numbers, a few for each block and leftover: none loses more than this share.
  constexpr double kGathered = 1 + 0x1p-30;
  std::vector<TokenSums> result(count);
  for (int t = 0; t < count; ++t) {
    const Accumulator& a = gathered[t];
    const double largest = (a.largest + a.largest_rad) * kGathered;
    TokenSums& sums = result[t];
    for (int m = 0; m < rows; ++m) {
      LongSum& sum = sums.projection.emplace_back();
      sum.value = a.sum[m].value();
      sum.rad = (a.sum[m].error() + a.rad[m]) * kGathered;
      sum.magnitude = (a.magnitude[m] + a.rad[m]) * kGathered;
      sum.terms = std::min(a.nonzeros, nonzeros_[m]);
      sum.largest = largest * largest_[m] * kGathered;
      sum.along.r.fill(a.off[m] * kGathered);
    }
    LongSum& squares = sums.sqrsum;
    squares.value = a.squares.value();
    squares.rad = (a.squares.error() + a.squares_rad) * kGathered;
    squares.magnitude = (squares.value + squares.rad) * kGathered;
    squares.terms = a.nonzeros;
    squares.largest = largest * largest * kGathered;
    squares.swallowed = swallowed_squares(tokens[t], swallowed_below(squares.magnitude)) * kGathered;
    squares.along.r.fill(a.squares_off * kGathered);
  }
  return result;
}

}  // namespace mhcheck::sums
