#include "properties/random_row.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "reference/base/vectorised.h"

namespace mhcheck::properties {
namespace {

// ---- The normal distribution, in pieces of equal probability --------------------------------------------
//
// A word's upper bits choose one of kPieces intervals of equal probability under the normal distribution, its
// lower bits a place in it, uniformly. The knots come from + - * / alone, which IEEE 754 fixes to the last
// bit (the host's libm does not enter), and an element costs one look-up, one multiplication and one
// addition.

constexpr int kPieceBits = 12;
constexpr std::size_t kPieces = std::size_t{1} << kPieceBits;
constexpr int kPlaceBits = 32 - kPieceBits;

struct Piece {
  float low;
  float width;
};

struct Normal {
  double distribution;  // P(Z <= z) - 1/2
  double density;
};

// Power series in z: at |z| < 3.5, where they are used, rounding stays below 1e-12.
Normal normal_at(double z) {
  constexpr double kInverseSqrtTwoPi = 0.3989422804014326779399460599344;
  const double minus_half_square = -z * z / 2;
  double power = 1, density = 0, distribution = 0;  // power: (-z^2/2)^k / k!
  for (int k = 0; k < 60; ++k) {
    density += power;
    distribution += power * z / (2 * k + 1);
    power = power * minus_half_square / (k + 1);
  }
  return {kInverseSqrtTwoPi * distribution, kInverseSqrtTwoPi * density};
}

std::array<Piece, kPieces> make_pieces() {
  constexpr std::size_t kHalf = kPieces / 2;
  std::array<double, kHalf + 1> knots;  // of the upper half
  knots[0] = 0;
  for (std::size_t i = 1; i < kHalf; ++i) {
    const double probability = static_cast<double>(i) / kPieces;
    double z = knots[i - 1];
    // Newton from below on a concave function: never overshoots, converged long before the last step.
    for (int step = 0; step < 8; ++step) {
      const Normal normal = normal_at(z);
      z += (probability - normal.distribution) / normal.density;
    }
    knots[i] = z;
  }
  knots[kHalf] = kLargestGaussian;

  std::array<Piece, kPieces> pieces;
  for (std::size_t i = 0; i < kHalf; ++i) {
    const auto low = static_cast<float>(knots[i]), high = static_cast<float>(knots[i + 1]);
    pieces[kHalf + i] = {low, high - low};
    pieces[kHalf - 1 - i] = {-high, high - low};
  }
  return pieces;
}

}  // namespace

MHCHECK_VECTORISED
void RandomRow::words(std::uint32_t lane, std::int64_t first, std::span<std::uint32_t> out) const {
  constexpr std::size_t kBlocks = 32;
  constexpr std::size_t kWords = 4 * kBlocks;
  PhiloxBlocks<kBlocks> blocks;
  for (std::size_t done = 0; done < out.size(); done += kWords) {
    philox4x32(counter(lane, first + static_cast<std::int64_t>(done)), key_, blocks);
    std::array<std::uint32_t, kWords> in_order;
    for (std::size_t i = 0; i < kWords; ++i) in_order[i] = blocks[i % 4][i / 4];
    std::copy_n(in_order.begin(), std::min(kWords, out.size() - done), out.begin() + done);
  }
}

void RandomRow::gaussians(std::uint32_t lane, std::int64_t first, std::span<float> out) const {
  static const std::array<Piece, kPieces> pieces = make_pieces();
  constexpr std::size_t kChunk = 256;
  std::array<std::uint32_t, kChunk> buffer;
  for (std::size_t done = 0; done < out.size(); done += kChunk) {
    const std::size_t count = std::min(kChunk, out.size() - done);
    words(lane, first + static_cast<std::int64_t>(done), std::span(buffer).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      const Piece& piece = pieces[buffer[i] >> kPlaceBits];
      constexpr std::uint32_t kPlaceMask = (1u << kPlaceBits) - 1;
      const float place =
          static_cast<float>(static_cast<std::int32_t>(buffer[i] & kPlaceMask)) * (1.0f / (1u << kPlaceBits));
      out[done + i] = piece.low + piece.width * place;
    }
  }
}

}  // namespace mhcheck::properties
