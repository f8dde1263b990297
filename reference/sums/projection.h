// The projection's sums over K, for many tokens at once and nearly without error.
//
// After Ozaki, Ogita, Oishi and Rump (2012): x and fn are cut into slices of so few bits, relative to the
// largest entry of a block of kDepth along K, that the products of slices and their sums over the block are
// exact in double. The blocks' sums are gathered with error-free additions. What the slices leave out is
// added with a rigorous bound. docs/reference.md has the numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/sums/long_sum.h"

namespace mhcheck::sums {

// One row of K numbers that the projection reads: `parts` contiguous runs of equal length (the streams).
struct ProjectedRow {
  // Numbers, how well the reference knows them (empty: exactly) and how far a kernel's may be off (empty: not
  // at all).
  struct Part {
    const double* mid;
    const double* rad;
    const double* off;
  };
  std::vector<Part> parts;
};

struct TokenSums {
  std::vector<LongSum> projection;  // one a row of fn
  LongSum sqrsum;
};

class Projection {
 public:
  // fn is row-major [rows, parts * part_length].
  Projection(std::span<const float> fn, int rows, int parts, std::int64_t part_length);

  int rows() const { return rows_; }
  // The sums of each token's row. Any grouping of tokens gives the same bits.
  std::vector<TokenSums> multiply(std::span<const ProjectedRow> tokens) const;

 private:
  struct Block {
    int part;
    std::int64_t first;  // within the part
    int depth;
    std::vector<double> slices;     // [depth][2 rows]: two slices of fn, most significant first
    std::vector<double> magnitude;  // [depth][rows]: |fn| rounded up to the first slice's grid
    std::vector<double> exact;      // [depth][rows]
    std::vector<double> dropped;    // [rows]: largest part of fn beyond the two slices
  };

  int rows_;
  std::vector<Block> blocks_;
  std::vector<double> nonzeros_;  // by row of fn
  std::vector<double> largest_;   // by row of fn
};

}  // namespace mhcheck::sums
