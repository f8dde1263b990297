#include "properties/case_generator.h"

#include <algorithm>
#include <utility>

#include "properties/decidable.h"
#include "properties/float_generators.h"
#include "properties/production_sizes.h"
#include "properties/regimes.h"

namespace mhcheck::properties {
namespace {

// ---- One axis each -------------------------------------------------------------------------------------

// All equally likely, both ends included. RapidCheck's inRange leaves out the end.
template <class Integer>
rc::Gen<Integer> between(Integer first, Integer last) {
  return rc::gen::inRange<Integer>(first, last + 1);
}

rc::Gen<std::int64_t> multiples(std::int64_t step, std::int64_t first, std::int64_t last) {
  return rc::gen::map(between(first / step, last / step), [step](std::int64_t i) { return i * step; });
}

rc::Gen<std::int64_t> token_counts() {
  const rc::Gen<std::int64_t> beside_tiles =
      rc::gen::apply([](std::int64_t tile, std::int64_t step) { return tile + step; },
                     multiples(kTile, kTile, 16 * kTile), rc::gen::element<std::int64_t>(-1, 0, 1));
  return rc::gen::weightedOneOf<std::int64_t>({{1, rc::gen::just<std::int64_t>(0)},
                                               {4, rc::gen::just<std::int64_t>(1)},
                                               {6, between<std::int64_t>(2, 9)},
                                               {5, beside_tiles},
                                               {3, between<std::int64_t>(10, 255)},
                                               {2, between<std::int64_t>(256, 2048)}});
}

rc::Gen<std::int64_t> hidden_sizes() {
  return rc::gen::weightedOneOf<std::int64_t>({{5, rc::gen::elementOf(kProductionHiddenSizes)},
                                               {8, multiples(kWave, kSweepFirst, kSweepLast)},
                                               {4, between<std::int64_t>(1, kSweepFirst - 1)},
                                               {2, between(kSweepFirst, kSweepLast)},
                                               {1, multiples(kWave, kSweepLast, 2 * kSweepLast)}});
}

// Production has four streams.
rc::Gen<int> stream_counts() {
  return rc::gen::weightedOneOf<int>({{3, rc::gen::just(4)}, {1, between(1, kMaxHcMult)}});
}

rc::Gen<int> sinkhorn_repeats(int smallest) {
  return rc::gen::weightedOneOf<int>(
      {{8, rc::gen::element(smallest, 1, 2, 20, 20, 50)}, {3, between(1, 30)}, {1, between(1, 200)}});
}

rc::Gen<int> split_counts() {
  return rc::gen::weightedOneOf<int>(
      {{2, rc::gen::just(1)}, {3, rc::gen::element(2, 4, 8, 16, 64)}, {3, between(2, 33)}});
}

rc::Gen<float> any_epsilon() {
  return rc::gen::weightedOneOf<float>(
      {{8, rc::gen::element(1e-6f, 1e-6f, 0.0f, 1e-20f, 1e-2f)}, {2, epsilons()}});
}

rc::Gen<float> post_mult_values() {
  return rc::gen::weightedOneOf<float>(
      {{6, rc::gen::element(2.0f, 1.0f)}, {2, rc::gen::element(0.75f, 0.0f, -1.0f)}, {2, finite_floats()}});
}

// ---- A whole case --------------------------------------------------------------------------------------

// Draws one value after the other, each from random numbers of its own.
class Draws {
 public:
  explicit Draws(const rc::Random& random) : random_(random) {}

  template <class T>
  T operator()(const rc::Gen<T>& values) {
    return values(random_.split(), rc::kNominalSize).value();
  }
  std::uint64_t bits() { return random_.split().next(); }
  rc::Random random() { return random_.split(); }

 private:
  rc::Random random_;
};

// What the time of a case goes with, in elements of streams and weights.
struct Size {
  std::int64_t weights;    // for each of hidden_size
  std::int64_t per_token;  // whatever the hidden_size
};

Size size_of(const Problem& problem) {
  const OperatorRow& row = row_of(problem.op);
  // Sigmoids, a Sinkhorn balance and its error analysis take as long as so many elements of a long sum.
  constexpr std::int64_t kMixes = 4096;
  const bool mixes = row.projection || (row.parameters & (kRmsEps | kSinkhornRepeat)) != 0;
  return {row.projection ? problem.hc_mult3() * problem.hc_mult : 0, mixes ? kMixes : 0};
}

// Tokens and hidden_size that keep elements_of the problem to `most`, unless one token alone exceeds it.
void draw_extents(Draws& draw, std::int64_t most, Problem& problem) {
  constexpr int kTries = 3;
  for (int i = 0; i < kTries; ++i) {
    problem.hidden_size = draw(hidden_sizes());
    problem.num_tokens = draw(token_counts());
    if (elements_of(problem) <= most) return;
  }
  // Of what is too large either extent gives way: many tokens of short rows, few tokens of long ones.
  const Size size = size_of(problem);
  const std::int64_t of_hidden_size_1 = problem.num_tokens * problem.hc_mult + size.weights;
  const std::int64_t most_hidden =
      (most - problem.num_tokens * size.per_token) / std::max<std::int64_t>(of_hidden_size_1, 1);
  if (most_hidden >= 1 && draw(rc::gen::element(false, true, true, true))) {
    const bool whole_waves = most_hidden >= kWave && draw(rc::gen::element(false, true));
    problem.hidden_size =
        draw(whole_waves ? multiples(kWave, kWave, most_hidden) : between<std::int64_t>(1, most_hidden));
    return;
  }
  const std::int64_t most_tokens =
      (most - problem.hidden_size * size.weights) / (problem.hc_hidden_size() + size.per_token);
  problem.num_tokens = most_tokens <= 1 ? 1 : draw(between<std::int64_t>(1, most_tokens));
}

// Half of the cases within the usual size, a few far beyond it.
std::int64_t draw_most_elements(Draws& draw, std::int64_t usual) {
  return draw(rc::gen::weightedElement<std::int64_t>({{50, 1}, {40, 8}, {9, 32}, {1, 128}})) * usual;
}

void draw_parameters(Draws& draw, Problem& problem) {
  const unsigned parameters = row_of(problem.op).parameters;
  Parameters& q = problem.parameters;
  q.rms_eps = draw(any_epsilon());
  q.hc_pre_eps = draw(any_epsilon());
  q.hc_sinkhorn_eps = draw(any_epsilon());
  q.norm_eps = draw(any_epsilon());
  q.hc_post_mult_value = draw(post_mult_values());
  if ((parameters & kSinkhornRepeat) != 0) {
    Problem head_mode = problem;
    head_mode.parameters.sinkhorn_repeat = 0;
    q.sinkhorn_repeat = draw(sinkhorn_repeats(why_illegal(head_mode).empty() ? 0 : 1));
  }
}

// What the operator does not depend on goes back to its default.
Case canonical(const Case& c) { return parse_descriptor(to_descriptor(c)); }

Case draw_case(Draws draw, const CaseSpace& space) {
  Case c;
  Problem& p = c.problem;
  p.op = draw(rc::gen::elementOf(space.operators));
  const OperatorRow& row = row_of(p.op);
  p.dtype = draw(rc::gen::elementOf(space.dtypes));
  if (row.streams) p.hc_mult = draw(stream_counts());
  draw_extents(draw, draw_most_elements(draw, space.usual_elements), p);
  if (row.needs_norm || (row.fused_norm && draw(rc::gen::element(false, true)))) {
    p.norm_weight = draw(rc::gen::element(Dtype::bf16, Dtype::fp16, Dtype::fp32));
  }
  if (row.entries) p.entry = draw(rc::gen::element(Entry::carried, Entry::entry, Entry::broadcast));
  // A projection may be split inside of an operator too, where nothing of it shows.
  if (row.splits || (row.projection && draw(rc::gen::element(false, true)))) p.split_k = draw(split_counts());
  draw_parameters(draw, p);
  c.profile = space.profile(p.op);
  make_decidable(c);
  const std::span<const Regime> regimes = all_regimes();
  c.regime = regimes[draw(between<std::size_t>(0, regimes.size() - 1))].name;
  c.seed = draw.bits();
  return canonical(c);
}

Case draw_taken_case(const rc::Random& random, const CaseSpace& space) {
  constexpr int kTries = 300;
  Draws draw(random);
  Case c;
  for (int i = 0; i < kTries; ++i) {
    c = draw_case(Draws(draw.random()), space);
    if (space.takes(c.problem)) break;
  }
  return c;
}

// ---- Simpler cases -------------------------------------------------------------------------------------

// Collects the variations of one case that are legal and differ from it.
class Variations {
 public:
  explicit Variations(const Case& from) : from_(from) {}

  template <class Change>
  void add(Change change) {
    Case varied = from_;
    change(varied);
    if (!why_illegal(varied.problem).empty()) return;
    varied = canonical(varied);
    if (varied == from_ || std::ranges::find(found_, varied) != found_.end()) return;
    found_.push_back(std::move(varied));
  }

  std::vector<Case> take() { return std::move(found_); }

 private:
  const Case& from_;
  std::vector<Case> found_;
};

template <class Integer>
std::vector<Integer> towards(Integer value, Integer target) {
  std::vector<Integer> steps;
  rc::Seq<Integer> seq = rc::shrink::towards(value, target);
  while (const rc::Maybe<Integer> step = seq.next()) steps.push_back(*step);
  return steps;
}

// One, then sizes that kernels with a list of their own may take, then any.
std::vector<std::int64_t> smaller_hidden_sizes(std::int64_t hidden) {
  std::vector<std::int64_t> sizes{1, kWave, kSweepFirst};
  sizes.insert(sizes.end(), kProductionHiddenSizes.begin(), kProductionHiddenSizes.end());
  const std::vector<std::int64_t> halves = towards<std::int64_t>(hidden, 1);
  sizes.insert(sizes.end(), halves.begin(), halves.end());
  if (hidden > kWave) sizes.push_back((hidden - 1) / kWave * kWave);
  std::erase_if(sizes, [hidden](std::int64_t size) { return size >= hidden; });
  return sizes;
}

}  // namespace

std::int64_t elements_of(const Problem& problem) {
  const Size size = size_of(problem);
  return problem.num_tokens * (problem.hc_hidden_size() + size.per_token) +
         problem.hidden_size * size.weights;
}

std::vector<Case> simpler_cases(const Case& c) {
  const Problem& p = c.problem;
  const Parameters defaults;
  Variations simpler(c);
  // Zero first: a failure without any token is the simplest there is.
  for (const std::int64_t tokens : towards<std::int64_t>(p.num_tokens, 0)) {
    simpler.add([&](Case& v) { v.problem.num_tokens = tokens; });
    if (tokens == 0 && p.num_tokens > 1) simpler.add([&](Case& v) { v.problem.num_tokens = 1; });
  }
  for (const std::int64_t hidden : smaller_hidden_sizes(p.hidden_size)) {
    simpler.add([&](Case& v) { v.problem.hidden_size = hidden; });
  }
  simpler.add([](Case& v) { v.regime = Case().regime; });
  simpler.add([](Case& v) { v.problem.norm_weight.reset(); });
  if (row_of(p.op).streams) {
    for (const int streams : towards(p.hc_mult, 1)) {
      simpler.add([&](Case& v) { v.problem.hc_mult = streams; });
    }
  }
  simpler.add([](Case& v) { v.problem.entry = Entry::carried; });
  for (const int splits : towards(p.split_k, 1)) simpler.add([&](Case& v) { v.problem.split_k = splits; });
  simpler.add([&](Case& v) {
    const int repeat = v.problem.parameters.sinkhorn_repeat;
    v.problem.parameters = defaults;
    v.problem.parameters.sinkhorn_repeat = repeat;
  });
  for (float Parameters::*value :
       {&Parameters::rms_eps, &Parameters::hc_pre_eps, &Parameters::hc_sinkhorn_eps, &Parameters::norm_eps,
        &Parameters::hc_post_mult_value}) {
    simpler.add([&](Case& v) { v.problem.parameters.*value = defaults.*value; });
  }
  for (const int repeat : towards(p.parameters.sinkhorn_repeat, 0)) {
    simpler.add([&](Case& v) { v.problem.parameters.sinkhorn_repeat = repeat; });
  }
  simpler.add([](Case& v) { v.problem.dtype = Dtype::bf16; });
  if (p.norm_weight) simpler.add([](Case& v) { v.problem.norm_weight = Dtype::bf16; });
  simpler.add([](Case& v) { v.seed = Case().seed; });
  return simpler.take();
}

rc::Gen<Case> cases(const CaseSpace& space) {
  return [space](const rc::Random& random, int) {
    return rc::shrinkable::shrinkRecur(draw_taken_case(random, space), [](const Case& c) {
      return rc::seq::fromContainer(simpler_cases(c));
    });
  };
}

}  // namespace mhcheck::properties
