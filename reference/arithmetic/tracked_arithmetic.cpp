#include "reference/arithmetic/tracked_arithmetic.h"

#include <algorithm>
#include <cmath>

#include "reference/arithmetic/sinkhorn_error.h"
#include "reference/base/vectorised.h"

namespace mhcheck {
namespace {

using error_model::kDoubleFlush;
using error_model::kDoubleUnit;
using error_model::kFlush;
using error_model::kLargest;
using error_model::kUnit;
using tracked_detail::outward;

using Values = std::vector<double>;

TrackedRow::Array share(Values values) { return std::make_shared<const Values>(std::move(values)); }

template <Dtype D>
std::vector<std::uint32_t> certify_as(const TrackedRow& row, contract::RowId id, RowResolver& resolver) {
  const std::size_t size = row.size();
  std::vector<std::uint32_t> bits(size);
  const double* rad = row.rad_data();
  for (std::size_t h = 0; h < size; ++h) {
    if (rad == nullptr) {
      bits[h] = encode<D>(row.mid[h]);
      continue;
    }
    // The sum and the difference round to nearest, at most half an ulp of a double inwards; the radius is
    // widened by more than that.
    const double wide = rad[h] + std::fabs(row.mid[h]) * 0x1p-52;
    const std::uint32_t low = encode<D>(row.mid[h] - wide), high = encode<D>(row.mid[h] + wide);
    if (wide == 0) {
      bits[h] = 0;  // an exact zero has no sign
    } else if (low == high && std::isfinite(wide)) {
      bits[h] = low;
    } else {
      bits[h] = resolver.resolve(id, h);
    }
  }
  return bits;
}

// How far from `rounded` the rounding of any number within `radius` of `mid` can be.
template <Dtype D>
double rounding_distance(double mid, double radius, double rounded) {
  constexpr FloatFormat f = format_of(D);
  // Nothing moves while the number stays clear of the nearest boundary, which is at least a quarter of the
  // spacing above |rounded| away (a quarter below a power of two, half elsewhere).
  constexpr double kClear = 0.249 / static_cast<double>(1u << f.precision);
  if (std::fabs(mid - rounded) + radius < std::fabs(rounded) * kClear) return 0;
  const double wide = radius + std::fabs(mid) * 0x1p-52;
  const double low = decode(D, encode<D>(mid - wide)), high = decode(D, encode<D>(mid + wide));
  const double distance = std::max(high - rounded, rounded - low);
  return distance >= 0 ? distance : HUGE_VAL;
}

}  // namespace

const std::vector<std::uint32_t>& certify(const TrackedRow& row, Dtype storage, contract::RowId id,
                                          RowResolver& resolver) {
  if (!row.certified) {
    row.certified = std::make_shared<const std::vector<std::uint32_t>>(
        storage == Dtype::bf16 ? certify_as<Dtype::bf16>(row, id, resolver)
                               : certify_as<Dtype::fp16>(row, id, resolver));
  }
  return *row.certified;
}

// sum_j c_j * row_j: on the kernel's side every term passes one product and up to n-1 additions, or n fused
// ones.
MHCHECK_VECTORISED
TrackedArithmetic::Row TrackedArithmetic::combine(std::span<const Tracked> coefficients,
                                                  std::span<const Row> rows) {
  const std::size_t size = rows.front()->size();
  const auto n = static_cast<double>(rows.size());
  auto result = std::make_shared<TrackedRow>();
  Values& mid = result->mid;
  mid.assign(size, 0.0);
  Values absolute(size), rad(size);

  // What comes along: one array when coefficients and rows are exact in the kernel, or err alike in all three
  // kinds.
  bool alike = true;
  for (std::size_t j = 0; j < rows.size(); ++j) {
    const Radii& c = coefficients[j].kernel;
    alike = alike && c[0] == c[1] && c[1] == c[2] && rows[j]->kernel[0] == rows[j]->kernel[1] &&
            rows[j]->kernel[1] == rows[j]->kernel[2];
  }
  const int kinds = alike ? 1 : Radii::kKinds;
  std::array<Values, Radii::kKinds> along;
  for (int k = 0; k < kinds; ++k) along[k].assign(size, 0.0);

  double any_coefficient = 0;
  for (std::size_t j = 0; j < rows.size(); ++j) {
    const double c = coefficients[j].mid;
    const double c_rad = coefficients[j].rad;
    const double c_size = std::fabs(c);
    const double* x = rows[j]->mid.data();
    any_coefficient = std::max(any_coefficient,
                               coefficients[j].magnitude() + coefficients[j].kernel[Radii::kDeterministic]);
    for (std::size_t h = 0; h < size; ++h) {
      mid[h] += c * x[h];
      absolute[h] += c_size * std::fabs(x[h]);
    }
    if (c_rad != 0) {
      for (std::size_t h = 0; h < size; ++h) rad[h] += c_rad * std::fabs(x[h]);
    }
    if (const double* x_rad = rows[j]->rad_data()) {
      for (std::size_t h = 0; h < size; ++h) rad[h] += (c_size + c_rad) * x_rad[h];
    }
    for (int k = 0; k < kinds; ++k) {
      // A coefficient that is subnormal in a kernel may be taken as zero.
      const double c_kernel = coefficients[j].kernel[k];
      const bool subnormal = c_size - c_rad - c_kernel < kFlush;
      const double c_off = c_kernel + (subnormal ? std::min(kFlush, c_size + c_rad + c_kernel) : 0);
      double* sum = along[k].data();
      if (c_off != 0) {
        for (std::size_t h = 0; h < size; ++h) sum[h] += c_off * std::fabs(x[h]);
        if (const double* x_rad = rows[j]->rad_data()) {
          for (std::size_t h = 0; h < size; ++h) sum[h] += c_off * x_rad[h];
        }
      }
      if (const double* x_off = rows[j]->kernel_data(k)) {
        const double factor = c_size + c_rad + c_off;
        for (std::size_t h = 0; h < size; ++h) sum[h] += factor * x_off[h];
      }
    }
  }

  const double roundings = n * kUnit * (1 + 0x1p-16);
  const double flush = kFlush * (n * any_coefficient + 2 * n);
  for (std::size_t h = 0; h < size; ++h) {
    rad[h] = outward(rad[h] + (n + 1) * kDoubleUnit * (absolute[h] + rad[h])) +
             (absolute[h] != 0 ? kDoubleFlush : 0);
  }
  for (int k = 0; k < kinds; ++k) {
    double* sum = along[k].data();
    for (std::size_t h = 0; h < size; ++h) {
      const double moved = sum[h];
      const double largest = absolute[h] + rad[h] + moved;  // at least that of any partial sum
      const double radius = outward(moved + roundings * largest) + (largest != 0 ? flush : 0);
      sum[h] = largest + radius <= kLargest ? radius : HUGE_VAL;
    }
  }
  result->rad = share(std::move(rad));
  for (int k = 0; k < kinds; ++k) result->kernel[k] = share(std::move(along[k]));
  for (int k = kinds; k < Radii::kKinds; ++k) result->kernel[k] = result->kernel[0];
  return result;
}

// The row as stored, exact from here on; where a kernel may have rounded the other way, its radius says so.
TrackedArithmetic::Row TrackedArithmetic::round(const Row& row, contract::RowId id) {
  const std::vector<std::uint32_t>& bits = certify(*row, storage_, id, resolver_);
  auto result = std::make_shared<TrackedRow>();
  result->mid.resize(bits.size());
  for (std::size_t h = 0; h < bits.size(); ++h) result->mid[h] = decode(storage_, bits[h]);

  const double* rad = row->rad_data();
  for (int k = 0; k < Radii::kKinds; ++k) {
    if (k > 0 && row->kernel[k] == row->kernel[k - 1]) {
      result->kernel[k] = result->kernel[k - 1];
      continue;
    }
    const double* off = row->kernel_data(k);
    if (off == nullptr) continue;  // exact in the kernel: it stores the same
    Values distance(bits.size());
    for (std::size_t h = 0; h < bits.size(); ++h) {
      const double radius = off[h] + (rad != nullptr ? rad[h] : 0);
      distance[h] = storage_ == Dtype::bf16
                        ? rounding_distance<Dtype::bf16>(row->mid[h], radius, result->mid[h])
                        : rounding_distance<Dtype::fp16>(row->mid[h], radius, result->mid[h]);
    }
    result->kernel[k] = share(std::move(distance));
  }
  return result;
}

Tracked TrackedArithmetic::mean_square(const Row& row) {
  const double* y = row->mid.data();
  const double* rad = row->rad_data();
  const std::size_t size = row->size();
  sums::LongSum sum;
  double along_rad = 0;
  for (std::size_t h = 0; h < size; ++h) {
    sum.value += y[h] * y[h];
    sum.terms += y[h] != 0 || (rad != nullptr && rad[h] != 0);
    sum.largest = std::max(sum.largest, y[h] * y[h]);
    if (rad != nullptr) along_rad += rad[h] * (2 * std::fabs(y[h]) + rad[h]);
  }
  const double gathered = 1 + static_cast<double>(size) * 2 * kDoubleUnit;
  sum.rad =
      (along_rad + (static_cast<double>(size) + 1) * kDoubleUnit * sum.value + sum.terms * kDoubleFlush) *
      gathered;
  sum.magnitude = (sum.value + sum.rad) * gathered;
  const double swallowed_below = sums::swallowed_below(sum.magnitude);
  for (std::size_t h = 0; h < size; ++h) {
    if (y[h] * y[h] <= swallowed_below) sum.swallowed += y[h] * y[h];
  }
  for (int k = 0; k < Radii::kKinds; ++k) {
    if (k > 0 && row->kernel[k] == row->kernel[k - 1]) {
      sum.along[k] = sum.along[k - 1];
      continue;
    }
    const double* off = row->kernel_data(k);
    if (off == nullptr) continue;
    double moved = 0, terms = 0;
    for (std::size_t h = 0; h < size; ++h) {
      moved += off[h] * (2 * std::fabs(y[h]) + off[h]);
      terms += y[h] != 0 || off[h] != 0 || (rad != nullptr && rad[h] != 0);
    }
    sum.terms = std::max(sum.terms, terms);
    if (rad != nullptr) {
      for (std::size_t h = 0; h < size; ++h) moved += 2 * off[h] * rad[h];
    }
    sum.along[k] = moved * gathered;
  }
  // Squares of a row are formed in fp32, whatever the projection does.
  return sums::bounded(sum, {ProjectionPrecision::fp32, model_.independent_roundings}) /
         Tracked(static_cast<double>(size));
}

MHCHECK_VECTORISED
TrackedArithmetic::Row TrackedArithmetic::divide_by_root(const Row& y, const Tracked& s, const Row& weight) {
  const std::size_t size = y->size();
  const Tracked inverse = mhcheck::divide_by_root(Tracked(1), s);
  auto result = std::make_shared<TrackedRow>();
  result->mid.resize(size);
  Values rad(size);
  const double* w = weight->mid.data();
  const double* x = y->mid.data();
  const double* x_rad = y->rad_data();
  const double inverse_size = inverse.magnitude();
  for (std::size_t h = 0; h < size; ++h) {
    const double wx = std::fabs(w[h]) * (std::fabs(x[h]) + (x_rad != nullptr ? x_rad[h] : 0));
    result->mid[h] = x[h] * inverse.mid * w[h];
    const double moved =
        wx * inverse.rad + (x_rad != nullptr ? std::fabs(w[h]) * x_rad[h] * inverse_size : 0);
    rad[h] = outward(moved + 3 * kDoubleUnit * (wx * inverse_size + moved)) + (wx != 0 ? kDoubleFlush : 0);
  }
  // Two products, whatever their order.
  constexpr double kRoundings = 2 * error_model::kRounding * kUnit * (1 + 0x1p-16);
  for (int k = 0; k < Radii::kKinds; ++k) {
    const double* x_off = y->kernel_data(k);
    const double inverse_off = inverse.kernel[k];
    Values radius(size);
    if (!std::isfinite(inverse_off)) {  // perhaps 1 / sqrt(0), which makes a NaN even of zeros
      std::ranges::fill(radius, HUGE_VAL);
      result->kernel[k] = share(std::move(radius));
      continue;
    }
    for (std::size_t h = 0; h < size; ++h) {
      const double w_size = std::fabs(w[h]);
      const double x_size = std::fabs(x[h]) + (x_rad != nullptr ? x_rad[h] : 0);
      const double off = x_off != nullptr ? x_off[h] : 0;
      // A row's exact zero stays one.
      if (x_size == 0 && off == 0) continue;
      const double moved = w_size * (x_size * inverse_off + off * (inverse_size + inverse_off));
      // Flushed may be a factor or either product, and what multiplies it then scales the loss.
      radius[h] = outward(moved + kRoundings * (w_size * x_size * inverse_size + moved)) +
                  kFlush * (2 + (w_size + x_size + off + 1) * (inverse_size + inverse_off + 1));
    }
    result->kernel[k] = share(std::move(radius));
  }
  result->rad = share(std::move(rad));
  return result;
}

contract::SquareMatrix<Tracked> TrackedArithmetic::balance(const contract::SquareMatrix<Tracked>& logits,
                                                           const Tracked& eps, int repeat) {
  return balance_tracked(logits, eps.mid, repeat);
}

}  // namespace mhcheck
