#include "reference/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>

#include "reference/arithmetic/mp_arithmetic.h"
#include "reference/arithmetic/tracked_arithmetic.h"
#include "reference/contract.h"
#include "reference/evaluation.h"
#include "reference/sums/projection.h"

namespace mhcheck::reference {

Certification& Certification::operator+=(const Certification& other) {
  for (int level = 0; level < kLevels; ++level) elements[level] += other.elements[level];
  return *this;
}

namespace {

constexpr int bits_of_level(int level) { return 64 << level; }  // level 1: 128 bits

using contract::RowId;
using contract::RowKind;

TrackedArithmetic::Row exact_row(std::vector<double> values) {
  auto row = std::make_shared<TrackedRow>();
  row->mid = std::move(values);
  return row;
}

MpArithmetic::Row exact_mp_row(std::vector<double> values) {
  return [shared = std::make_shared<const std::vector<double>>(std::move(values))](std::size_t h) {
    return MpBall((*shared)[h]);
  };
}

// A scalar that the reference knows far better than any kernel. Only sums whose terms span more than the
// slices of the projection fail.
bool near_enough(const Tracked& x) {
  return std::isfinite(x.rad) && x.rad <= 0x1p-20 * x.kernel[Radii::kDeterministic];
}

// The sums over K are formed, and near enough.
bool known(const contract::Sums<Tracked>& sums) {
  return !sums.projection.empty() && near_enough(sums.sqrsum) &&
         std::ranges::all_of(sums.projection, near_enough);
}

// One token in multiprecision, at one precision; computes what it is asked for. Where `sums` are given, they
// stand for the projection sums: balls that the doubles left.
class MpToken {
 public:
  MpToken(const Problem& problem, const RoundingProfile& profile, const CaseInputs& inputs, std::int64_t t,
          int bits, const contract::Sums<Tracked>* sums, const MpArithmetic::KnownRounding& known)
      : bits_(bits),
        precision_(bits),
        problem_(problem),
        inputs_(inputs),
        t_(t),
        given_sums_(sums),
        arithmetic_(problem.dtype, static_cast<std::size_t>(problem.hidden_size), known),
        operator_(arithmetic_, problem, profile),
        in_(token_inputs<MpArithmetic>(problem, inputs, t, exact_mp_row)) {
    operator_.post_stage(in_, out_);
  }

  int bits() const { return bits_; }

  MpBall element(Source source, std::size_t stream, std::size_t index) {
    const MpBall::ScopedPrecision scope(bits_);
    switch (source) {
      case Source::next_residual:
        return out_.next_residual[stream](index);
      case Source::expanded:
        return operator_.residual()[stream](index);
      case Source::layer_input:
        if (!collapsed_) {
          if (collapse_needs_mixes(problem_)) need_mixes();
          operator_.collapse_stage(in_, out_);
          collapsed_ = true;
        }
        return (*out_.layer_input)(index);
      default:
        if (source == Source::projection || source == Source::sqrsum) {
          need_sums();
        } else {
          need_mixes();
        }
        return scalar_of(source, index, out_.mixes, sums_);
    }
  }

  // The collapse before a fused rmsnorm, which is rounded on the way.
  MpBall collapsed(std::size_t index) {
    const MpBall::ScopedPrecision scope(bits_);
    if (collapse_needs_mixes(problem_)) need_mixes();
    if (problem_.op == Op::mhc_pre_delayed && problem_.entry != Entry::carried) {
      return operator_.residual().front()(index);
    }
    const std::vector<MpBall>& weights = collapse_needs_mixes(problem_) ? out_.mixes.pre : in_.pre_mix;
    return arithmetic_.combine(weights, operator_.residual())(index);
  }

 private:
  void need_sums() {
    if (have_sums_) return;
    sums_.terms = mean_terms(problem_);
    if (given_sums_ != nullptr && known(*given_sums_)) {
      const auto ball = [](const Tracked& sum) { return MpBall::around(sum.mid, sum.rad); };
      for (const Tracked& sum : given_sums_->projection) sums_.projection.push_back(ball(sum));
      sums_.sqrsum = ball(given_sums_->sqrsum);
    } else if (problem_.op == Op::mhc_pre_big_fuse) {
      const auto sum_of = [&](const std::string& name, std::size_t e) {
        MpBall sum;
        for (const double partial : inputs_.partials(name, t_, e)) sum = sum + MpBall(partial);
        return sum;
      };
      for (std::int64_t m = 0; m < problem_.hc_mult3(); ++m)
        sums_.projection.push_back(sum_of("gemm_out_mul", m));
      sums_.sqrsum = sum_of("gemm_out_sqrsum", 0);
    } else if (row_of(problem_.op).projection) {
      const Tensor& fn = inputs_.tensor(fn_name(problem_));
      const auto rows = static_cast<std::size_t>(fn.shape()[0]),
                 hidden = static_cast<std::size_t>(problem_.hidden_size);
      const std::span<const float> weights = fn.floats();
      const std::size_t length = operator_.projected().size() * hidden;
      sums_.projection.assign(rows, MpBall());
      for (std::size_t part = 0; part < operator_.projected().size(); ++part) {
        for (std::size_t h = 0; h < hidden; ++h) {
          const MpBall x = operator_.projected()[part](h), squared = operator_.squared()[part](h);
          sums_.sqrsum = sums_.sqrsum + squared * squared;
          for (std::size_t m = 0; m < rows; ++m) {
            sums_.projection[m].add_product(x, weights[m * length + part * hidden + h]);
          }
        }
      }
    }
    have_sums_ = true;
  }
  void need_mixes() {
    if (have_mixes_) return;
    need_sums();
    operator_.mix_stage(in_, sums_, out_);
    have_mixes_ = true;
  }

  int bits_;
  MpBall::ScopedPrecision precision_;  // while the constructor runs; each request sets its own
  const Problem& problem_;
  const CaseInputs& inputs_;
  std::int64_t t_;
  const contract::Sums<Tracked>* given_sums_;
  MpArithmetic arithmetic_;
  contract::Operator<MpArithmetic> operator_;
  contract::TokenInputs<MpArithmetic> in_;
  contract::TokenOutputs<MpArithmetic> out_;
  contract::Sums<MpBall> sums_;
  bool have_sums_ = false, have_mixes_ = false, collapsed_ = false;
};

struct Certified {
  std::uint32_t bits;
  double value;
  double error;  // how far `value` may be from the exact result
  int level;
};

// Decides what double arithmetic leaves open for one token, with more bits each time.
//
// The sums over K are by far the most work. Double arithmetic knows them to 2^-60 of their terms, which is
// mostly enough: the first level takes them from there, once they are formed. The same goes for the rounded
// next_residual that they and the collapse read: a rounding that is certain is so at every level.
class Escalation : public RowResolver {
 public:
  // Either may be null: then it does not come from double arithmetic.
  Escalation(const Problem& problem, const RoundingProfile& profile, const CaseInputs& inputs, std::int64_t t,
             const contract::Sums<Tracked>* sums, const contract::TokenOutputs<TrackedArithmetic>* outputs)
      : problem_(problem), profile_(profile), inputs_(inputs), t_(t), sums_(sums), outputs_(outputs) {}

  Certified element(Source source, Dtype dtype, std::size_t stream, std::size_t index) {
    return decide(dtype, fmt::format("stream {}, element {}", stream, index),
                  [&](MpToken& token) { return token.element(source, stream, index); });
  }

  std::uint32_t resolve(RowId id, std::size_t index) override {
    // A row that is rounded on the way may be an output as well.
    if (const Certified* known = resolved(id, index)) return known->bits;
    const auto ask = [&](MpToken& token) {
      switch (id.kind) {
        case RowKind::next_residual:
          return token.element(Source::next_residual, static_cast<std::size_t>(id.stream), index);
        case RowKind::collapsed:
          return token.collapsed(index);
        case RowKind::layer_input:
          break;
      }
      return token.element(Source::layer_input, 0, index);
    };
    const Certified decided =
        decide(problem_.dtype, fmt::format("stream {}, element {}", id.stream, index), ask);
    resolved_[{id.kind, id.stream, index}] = decided;
    return decided.bits;
  }

  // What resolve() found for an element of a row, if it was asked.
  const Certified* resolved(RowId id, std::size_t index) const {
    const auto found = resolved_.find({id.kind, id.stream, index});
    return found == resolved_.end() ? nullptr : &found->second;
  }

 private:
  template <class Ask>
  Certified decide(Dtype dtype, const std::string& where, const Ask& ask) {
    for (int level = 1; level < Certification::kLevels; ++level) {
      try {
        MpToken& token = at_level(level);
        const MpBall::ScopedPrecision scope(token.bits());
        const MpBall value = ask(token);
        if (const std::optional<std::uint32_t> bits = value.rounded(dtype)) {
          return {*bits, value.undefined() ? std::nan("") : value.midpoint(), value.midpoint_error(), level};
        }
      } catch (const PrecisionTooLow&) {
        // a rounding on the way is open at this precision
      }
    }
    throw NotCertified(fmt::format("{}: token {}, {}: the rounding to {} is still open at {} bits",
                                   row_of(problem_.op).name, t_, where, name_of(dtype),
                                   bits_of_level(Certification::kLevels - 1)));
  }

  MpToken& at_level(int level) {
    std::unique_ptr<MpToken>& token = tokens_[level];
    if (!token) {
      token = std::make_unique<MpToken>(problem_, profile_, inputs_, t_, bits_of_level(level),
                                        level == 1 ? sums_ : nullptr,
                                        [this](RowId id, std::size_t h) { return known_rounding(id, h); });
    }
    return *token;
  }

  std::optional<std::uint32_t> known_rounding(RowId id, std::size_t index) const {
    if (outputs_ == nullptr || id.kind != RowKind::next_residual) return std::nullopt;
    const auto& certified = outputs_->next_residual[static_cast<std::size_t>(id.stream)]->certified;
    return certified ? std::optional((*certified)[index]) : std::nullopt;
  }

  const Problem& problem_;
  const RoundingProfile& profile_;
  const CaseInputs& inputs_;
  std::int64_t t_;
  const contract::Sums<Tracked>* sums_;
  const contract::TokenOutputs<TrackedArithmetic>* outputs_;
  std::array<std::unique_ptr<MpToken>, Certification::kLevels> tokens_;
  std::map<std::tuple<RowKind, int, std::size_t>, Certified> resolved_;
};

// One token in double: everything it gives, and what it needs to stay alive meanwhile.
struct FastToken {
  FastToken(const Problem& problem, const RoundingProfile& profile, const CaseInputs& inputs, std::int64_t t,
            const sums::SumModel& model, const ReferenceOptions& options)
      : escalation(problem, profile, inputs, t, options.start_at_multiprecision ? nullptr : &sums,
                   options.start_at_multiprecision ? nullptr : &out),
        arithmetic(problem.dtype, model, escalation),
        evaluation(arithmetic, problem, profile),
        in(token_inputs<TrackedArithmetic>(problem, inputs, t, exact_row)) {}

  Escalation escalation;
  TrackedArithmetic arithmetic;
  contract::Operator<TrackedArithmetic> evaluation;
  contract::TokenInputs<TrackedArithmetic> in;
  contract::TokenOutputs<TrackedArithmetic> out;
  contract::Sums<Tracked> sums;
};

double usable_radius(double radius) { return radius >= 0 ? radius : HUGE_VAL; }

}  // namespace

std::string level_name(int level) {
  return level == 0 ? "double" : fmt::format("{} bits", bits_of_level(level));
}

struct Reference::State {
  Problem problem;
  RoundingProfile profile;
  ReferenceOptions options;
  CaseInputs inputs;
  sums::SumModel model;
  bool shared_finite;
  std::optional<sums::Projection> projection;

  State(const Problem& p, const RoundingProfile& r, const TensorMap& tensors, const ReferenceOptions& o)
      : problem(p),
        profile(r),
        options(o),
        inputs(problem, tensors),
        model{r.projection, o.independent_roundings,
              row_of(p.op).post_stage && r.next_residual == NextResidual::unrounded},
        shared_finite(inputs.shared_are_finite()) {
    if (row_of(p.op).projection && shared_finite) {
      const Tensor& fn = inputs.tensor(fn_name(problem));
      const int parts = fn.shape()[1] == p.hidden_size ? 1 : p.hc_mult;
      projection.emplace(fn.floats(), static_cast<int>(fn.shape()[0]), parts, p.hidden_size);
    }
  }

  void undefined(Block& block, std::int64_t t) const {
    for (OutputBlock& output : block.outputs) {
      const std::size_t first = static_cast<std::size_t>(t) * output.elements_per_token;
      for (std::size_t e = first; e < first + output.elements_per_token; ++e) {
        set(output, e, {format_of(output.spec.dtype).quiet_nan(), std::nan(""), 0, 0},
            Radii{{HUGE_VAL, HUGE_VAL, HUGE_VAL}});
      }
      block.certification.elements[0] += output.elements_per_token;
    }
  }

  // Radii are around the exact result; in the output they are around `value`.
  static void set(OutputBlock& output, std::size_t e, const Certified& certified, const Radii& radii) {
    output.value[e] = certified.value;
    output.rounded[e] = certified.bits;
    const double size = std::fabs(certified.value);
    const auto around_value = [&](int kind) {
      return usable_radius((radii[kind] + certified.error) * error_model::kOutward);
    };
    output.deterministic[e] = around_value(Radii::kDeterministic);
    // An fp32 evaluation that overflows on the way gives anything.
    if (size + output.deterministic[e] > error_model::kLargest) output.deterministic[e] = HUGE_VAL;
    const bool unbounded = output.deterministic[e] == HUGE_VAL;
    output.probabilistic[e] =
        unbounded ? HUGE_VAL : std::min(output.deterministic[e], around_value(Radii::kProbabilistic));
    output.systematic[e] =
        unbounded ? HUGE_VAL : std::min(output.probabilistic[e], around_value(Radii::kSystematic));
  }

  void write_row(OutputBlock& output, std::size_t first, const TrackedRow& row, RowId id, Source source,
                 FastToken& token, Certification& certification) const {
    const Dtype dtype = output.spec.dtype;
    // Stored numbers are handed on as they are, with the sign of a zero: no arithmetic has to decide them.
    const bool escalate_all = options.start_at_multiprecision && row.rad_data() != nullptr;
    const std::vector<std::uint32_t>* bits =
        escalate_all ? nullptr : &certify(row, dtype, id, token.escalation);
    for (std::size_t h = 0; h < row.size(); ++h) {
      Certified certified;
      if (escalate_all) {
        certified = token.escalation.element(source, dtype, static_cast<std::size_t>(id.stream), h);
      } else if (const Certified* decided = token.escalation.resolved(id, h)) {
        certified = *decided;
      } else {
        certified = {(*bits)[h], row.mid[h], row.rad ? (*row.rad)[h] : 0, 0};
      }
      ++certification.elements[certified.level];
      Radii radii;
      for (int k = 0; k < Radii::kKinds; ++k) {
        const double* off = row.kernel_data(k);
        radii[k] = off != nullptr ? off[h] : 0;
      }
      set(output, first + h, certified, radii);
    }
  }

  void write_scalar(OutputBlock& output, std::size_t e, const Tracked& x, Source source, std::size_t index,
                    FastToken& token, Certification& certification) const {
    const Dtype dtype = output.spec.dtype;
    const double wide = x.rad + std::fabs(x.mid) * 0x1p-52;
    const std::uint32_t low = encode(dtype, x.mid - wide), high = encode(dtype, x.mid + wide);
    // An exact zero has no sign.
    Certified certified{wide == 0 ? 0 : low, x.mid, x.rad, 0};
    const bool open = wide != 0 && (low != high || !near_enough(x));
    if (open || options.start_at_multiprecision) {
      certified = token.escalation.element(source, dtype, 0, index);
    }
    ++certification.elements[certified.level];
    set(output, e, certified, x.kernel);
  }

  void write(Block& block, std::int64_t t, FastToken& token) const {
    for (OutputBlock& output : block.outputs) {
      const Source source = source_of(output.spec.name);
      const std::size_t first = static_cast<std::size_t>(t) * output.elements_per_token;
      const auto hidden = static_cast<std::size_t>(problem.hidden_size);
      if (!is_row(source)) {
        for (std::size_t e = 0; e < output.elements_per_token; ++e) {
          write_scalar(output, first + e, scalar_of(source, e, token.out.mixes, token.sums), source, e, token,
                       block.certification);
        }
      } else if (source == Source::layer_input) {
        write_row(output, first, **token.out.layer_input, RowId{RowKind::layer_input}, source, token,
                  block.certification);
      } else {
        const auto& rows =
            source == Source::next_residual ? token.out.next_residual : token.evaluation.residual();
        for (std::size_t j = 0; j < rows.size(); ++j) {
          write_row(output, first + j * hidden, *rows[j], RowId{RowKind::next_residual, static_cast<int>(j)},
                    source, token, block.certification);
        }
      }
    }
  }

  static sums::ProjectedRow row_of_sums(const std::vector<TrackedArithmetic::Row>& parts) {
    sums::ProjectedRow row;
    for (const auto& part : parts) {
      row.parts.push_back({part->mid.data(), part->rad_data(), part->kernel_data(Radii::kDeterministic)});
    }
    return row;
  }

  // The projection sums of the tokens of a block, in one product.
  void project(std::vector<std::unique_ptr<FastToken>>& tokens) const {
    std::vector<sums::ProjectedRow> projected, squared;
    for (const auto& token : tokens) {
      if (!token) continue;
      projected.push_back(row_of_sums(token->evaluation.projected()));
      squared.push_back(row_of_sums(token->evaluation.squared()));
    }
    const std::vector<sums::TokenSums> results = projection->multiply(projected);
    // Where the squares are of other values, their sum comes from a second product, whose projection nobody
    // needs.
    const bool apart = row_of(problem.op).post_stage && profile.next_residual == NextResidual::fp32_sumsq;
    const std::vector<sums::TokenSums> squares =
        apart ? projection->multiply(squared) : std::vector<sums::TokenSums>{};
    std::size_t next = 0;
    for (const auto& token : tokens) {
      if (!token) continue;
      const sums::TokenSums& result = results[next];
      const sums::LongSum& sqrsum = apart ? squares[next].sqrsum : result.sqrsum;
      ++next;
      for (const sums::LongSum& sum : result.projection)
        token->sums.projection.push_back(bounded(sum, model));
      // Squares are formed in fp32, whatever the projection's products are.
      token->sums.sqrsum = bounded(sqrsum, {ProjectionPrecision::fp32, options.independent_roundings});
      token->sums.terms = mean_terms(problem);
    }
  }

  void take_partial_sums(FastToken& token, std::int64_t t) const {
    const auto sum_of = [&](const std::string& name, std::size_t e) {
      sums::LongSum sum;
      for (const double partial : inputs.partials(name, t, e)) {
        sum.value += partial;
        sum.magnitude += std::fabs(partial);
        sum.terms += partial != 0;
        sum.largest = std::max(sum.largest, std::fabs(partial));
      }
      sum.rad = (sum.terms + 1) * error_model::kDoubleUnit * sum.magnitude;
      sum.magnitude *= error_model::kOutward;
      return bounded(sum, {ProjectionPrecision::fp32, options.independent_roundings});
    };
    for (std::int64_t m = 0; m < problem.hc_mult3(); ++m) {
      token.sums.projection.push_back(sum_of("gemm_out_mul", static_cast<std::size_t>(m)));
    }
    token.sums.sqrsum = sum_of("gemm_out_sqrsum", 0);
    token.sums.terms = mean_terms(problem);
  }
};

Reference::Reference(const Problem& problem, const RoundingProfile& profile, const TensorMap& inputs,
                     const ReferenceOptions& options) {
  if (const std::string why = why_illegal(problem); !why.empty()) throw std::invalid_argument(why);
  for (const TensorSpec& spec : input_specs(problem)) {
    const auto found = inputs.find(std::string(spec.name));
    if (found == inputs.end()) throw std::invalid_argument(fmt::format("input {} is missing", spec.name));
    const Tensor& tensor = found->second;
    if (tensor.dtype() != spec.dtype || tensor.shape() != spec.shape) {
      throw std::invalid_argument(fmt::format("input {} is {} {}, must be {} {}", spec.name,
                                              name_of(tensor.dtype()), to_string(tensor.shape()),
                                              name_of(spec.dtype), to_string(spec.shape)));
    }
  }
  state_ = std::make_unique<const State>(problem, profile, inputs, options);
}

Reference::~Reference() = default;

Block Reference::evaluate(std::int64_t first, std::int64_t count) const {
  const State& s = *state_;
  Block block;
  block.first_token = first;
  block.num_tokens = count;
  for (const TensorSpec& spec : output_specs(s.problem)) {
    OutputBlock& output = block.outputs.emplace_back();
    output.spec = spec;
    // The extents after that of the tokens.
    const std::ptrdiff_t tokens_axis = spec.partial_sums ? 1 : 0;
    output.elements_per_token =
        element_count(Extents(spec.shape.begin() + tokens_axis + 1, spec.shape.end()));
    const std::size_t size = static_cast<std::size_t>(count) * output.elements_per_token;
    output.value.resize(size);
    output.rounded.resize(size);
    output.deterministic.resize(size);
    output.probabilistic.resize(size);
    output.systematic.resize(size);
  }

  std::vector<std::unique_ptr<FastToken>> tokens(static_cast<std::size_t>(count));
  for (std::int64_t t = 0; t < count; ++t) {
    if (!s.shared_finite || !s.inputs.token_is_finite(first + t)) continue;
    auto token = std::make_unique<FastToken>(s.problem, s.profile, s.inputs, first + t, s.model, s.options);
    token->evaluation.post_stage(token->in, token->out);
    tokens[t] = std::move(token);
  }
  if (s.projection) s.project(tokens);
  for (std::int64_t t = 0; t < count; ++t) {
    if (!tokens[t]) {
      s.undefined(block, t);
      continue;
    }
    FastToken& token = *tokens[t];
    if (s.problem.op == Op::mhc_pre_big_fuse) s.take_partial_sums(token, first + t);
    if (needs_mixes(s.problem)) token.evaluation.mix_stage(token.in, token.sums, token.out);
    token.evaluation.collapse_stage(token.in, token.out);
    s.write(block, t, token);
    tokens[t].reset();
  }
  return block;
}

}  // namespace mhcheck::reference
