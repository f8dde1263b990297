#include "kernels/mutants/zoo.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

namespace mhcheck::mutants {
namespace {

using enum Op;

// clang-format off
constexpr Mutant kZoo[] = {
    // ---- projection ----
    {.name = "projection_zero", .op = mhc_pre, .stage = "sums",
     .broken = "the projection returns zeros",
     .report = "vLLM's tests pass with it"},
    {.name = "fn_rounded_to_bf16", .op = mhc_pre, .stage = "sums",
     .broken = "fn is rounded to bf16 where fp32 products are promised"},
    {.name = "fn_cut_to_tf32", .op = mhc_pre_gemm_sqrsum, .stage = "sums",
     .broken = "fn loses its low 13 bits where fp32 products are promised"},
    {.name = "last_tile_dropped", .op = mhc_pre, .stage = "sums",
     .broken = "the last 64 elements of K are left out"},
    {.name = "ragged_tail_dropped", .op = mhc_pre, .stage = "sums",
     .broken = "a split's part of K that is no multiple of 64 loses its tail",
     .report = "AITER #5286"},
    {.name = "ragged_tail_overread", .op = mhc_pre, .stage = "sums",
     .broken = "a split's ragged tail is read up to 64, into the next split",
     .report = "AITER #5286"},
    {.name = "row_end_overread", .op = mhc_pre, .stage = "sums",
     .broken = "a row's ragged tail is read up to 64, into the next token and past the tensor",
     .report = "AITER #4432", .caught_by = Check::fault},
    {.name = "split_remainder_dropped", .op = mhc_pre_gemm_sqrsum, .stage = "sums",
     .broken = "K divided by the splits rounding down: the rest belongs to none"},
    {.name = "stream_not_projected", .op = mhc_pre, .stage = "sums",
     .broken = "the last residual stream is left out of the projection"},
    {.name = "streams_swapped_in_fn", .op = mhc_pre, .stage = "sums",
     .broken = "each stream meets its neighbour's columns of fn"},
    {.name = "sqrsum_of_one_stream", .op = mhc_pre, .stage = "sums",
     .broken = "the sum of squares is four times that of the first stream"},
    {.name = "squares_rounded_to_bf16", .op = mhc_pre_gemm_sqrsum, .stage = "sums",
     .broken = "every square is rounded to bf16 before it is added"},
    {.name = "fn_offset_by_one", .op = mhc_pre, .stage = "sums",
     .broken = "fn is read one element off"},
    {.name = "fn_read_past_its_end", .op = mhc_pre, .stage = "sums",
     .broken = "the last element of a row of fn is read one further, at the end past the tensor",
     .report = "AITER #3768", .caught_by = Check::fault},
    {.name = "fn_read_column_major", .op = mhc_pre, .stage = "sums",
     .broken = "fn [M,K] is read as [K,M]"},
    {.name = "half_wave_reduced", .op = mhc_pre, .stage = "sums",
     .broken = "a sum over 32 lanes on a wave of 64",
     .report = "TileLang #2099"},
    {.name = "tree_of_three_waves", .op = mhc_pre, .stage = "sums",
     .broken = "a tree over three waves leaves the third out",
     .report = "TileLang #2542",
     .patch = R"patch([{"op": "replace", "path": "/launches/0/block", "value": [192]}])patch"},
    {.name = "sums_added_to_garbage", .op = mhc_pre, .stage = "sums",
     .broken = "the sums are added to an output that nobody set to zero",
     .report = "vLLM #41972"},

    // ---- races ----
    {.name = "missing_barrier", .op = mhc_pre_gemm_sqrsum, .stage = "sums",
     .broken = "no barrier between the waves' stores to LDS and the sum over them",
     .report = "TileOPs #1584"},
    {.name = "missing_barrier_last_wave_adds", .op = mhc_pre_gemm_sqrsum, .stage = "sums",
     .broken = "no barrier, and the wave that adds is the last: right as long as waves run in order",
     .caught_by = Check::schedule},
    {.name = "sqrsum_stored_by_every_wave", .op = mhc_pre_gemm_sqrsum, .stage = "sums",
     .broken = "every wave stores a sum of squares to the place that one of them owns",
     .caught_by = Check::schedule},
    {.name = "tile_refilled_too_early", .op = mhc_pre_gemm_sqrsum, .stage = "sums",
     .broken = "an LDS tile is filled again while another wave may still read it",
     .caught_by = Check::schedule},
    {.name = "waves_added_by_atomics", .op = mhc_pre, .stage = "sums",
     .broken = "atomics add the waves in the order in which they come",
     .caught_by = Check::schedule,
     .patch = R"patch([{"op": "add", "path": "/workspace/0/initial", "value": "0"},
                  {"op": "add", "path": "/workspace/1/initial", "value": "0"}])patch"},

    // ---- waits ----
    {.name = "element_used_before_its_wait", .op = mhc_pre_gemm_sqrsum, .stage = "sums",
     .broken = "residual is used without waiting for its load", .caught_by = Check::sanitizer},
    {.name = "wait_count_one_too_high", .op = mhc_pre_gemm_sqrsum, .stage = "sums",
     .broken = "a wait for fn lets one load more be outstanding than may be",
     .report = "AITER #3796", .caught_by = Check::sanitizer},
    {.name = "lds_read_used_before_its_wait", .op = mhc_pre_gemm_sqrsum, .stage = "sums",
     .broken = "sums of the waves are used without waiting for LDS", .caught_by = Check::sanitizer},

    // ---- splits, mean, gates ----
    {.name = "split_lost", .op = mhc_pre, .stage = "finish",
     .broken = "the last K-split is not added"},
    {.name = "split_counted_twice", .op = mhc_pre, .stage = "finish",
     .broken = "the last K-split is added twice"},
    {.name = "split_read_past_the_end", .op = mhc_pre, .stage = "finish",
     .broken = "a number of splits that is no power of two is rounded up to one",
     .caught_by = Check::fault},
    {.name = "splits_and_tokens_confused", .op = mhc_pre, .stage = "finish",
     .broken = "the partial sums [S,T] are read as [T,S]"},
    {.name = "mix_of_the_neighbour_token", .op = mhc_pre, .stage = "finish",
     .broken = "a token gets the mixes of the one beside it"},
    {.name = "other_tokens_times_zero", .op = mhc_pre, .stage = "finish",
     .broken = "another token is masked by a factor 0, which NaN survives", .caught_by = Check::law,
     .law = "nan_isolation"},
    {.name = "mean_over_hidden_size", .op = mhc_pre, .stage = "finish",
     .broken = "the mean of squares divides by H in place of n*H",
     .report = "TensorRT-LLM #13587"},
    {.name = "mean_over_all_streams", .op = mhc_pre_delayed, .stage = "finish",
     .broken = "the mean of squares divides by n*H where a broadcast entry has H"},
    {.name = "rms_eps_left_out", .op = mhc_pre, .stage = "finish",
     .broken = "no rms_eps", .report = "TileOPs #715"},
    {.name = "rms_eps_outside_the_root", .op = mhc_pre, .stage = "finish",
     .broken = "rms_eps is added to the root"},
    {.name = "rms_eps_before_the_division", .op = mhc_pre, .stage = "finish",
     .broken = "rms_eps is added to the sum of squares, not to their mean"},
    {.name = "inverse_rms_rounded_to_bf16", .op = mhc_pre, .stage = "finish",
     .broken = "1/rms is rounded to bf16"},
    {.name = "scale_of_the_wrong_group", .op = mhc_pre, .stage = "finish",
     .broken = "hc_scale of pre and post are swapped"},
    {.name = "base_of_the_wrong_group", .op = mhc_pre, .stage = "finish",
     .broken = "hc_base of pre and post are swapped"},
    {.name = "base_offset_by_one", .op = mhc_pre, .stage = "finish",
     .broken = "hc_base is read one element off"},
    {.name = "hc_pre_eps_left_out", .op = mhc_pre, .stage = "finish",
     .broken = "no hc_pre_eps"},
    {.name = "hc_pre_eps_inside_the_gate", .op = mhc_pre, .stage = "finish",
     .broken = "hc_pre_eps is added to the logit"},
    {.name = "next_pre_mix_without_eps", .op = mhc_pre_delayed, .stage = "finish",
     .broken = "the pre_mix handed to the next sublayer lacks hc_pre_eps"},
    {.name = "post_multiplier_ignored", .op = mhc_pre, .stage = "finish",
     .broken = "no hc_post_mult_value"},
    {.name = "post_multiplier_on_the_logit", .op = mhc_pre, .stage = "finish",
     .broken = "hc_post_mult_value multiplies the logit"},

    // ---- comb ----
    {.name = "sinkhorn_one_pass_short", .op = mhc_pre, .stage = "finish",
     .broken = "one Sinkhorn pass too few"},
    {.name = "sinkhorn_always_twenty_passes", .op = mhc_pre, .stage = "finish",
     .broken = "sinkhorn_repeat is ignored, 20 is built in"},
    {.name = "sinkhorn_rows_first", .op = mhc_pre, .stage = "finish",
     .broken = "every Sinkhorn pass begins with the rows, the first too"},
    {.name = "softmax_along_the_wrong_axis", .op = mhc_pre, .stage = "finish",
     .broken = "the softmax runs over columns"},
    {.name = "sinkhorn_ends_with_rows", .op = mhc_pre, .stage = "finish",
     .broken = "the last normalisation of columns is left out"},
    {.name = "hc_sinkhorn_eps_left_out", .op = mhc_pre, .stage = "finish",
     .broken = "no hc_sinkhorn_eps", .report = "AITER had a Sinkhorn of each kind"},
    {.name = "hc_sinkhorn_eps_not_in_softmax", .op = mhc_pre, .stage = "finish",
     .broken = "hc_sinkhorn_eps is not added to the softmax"},
    {.name = "hc_sinkhorn_eps_not_in_the_sums", .op = mhc_pre, .stage = "finish",
     .broken = "hc_sinkhorn_eps is not in the divisors", .report = "TileOPs #172"},
    {.name = "comb_stored_transposed", .op = mhc_pre, .stage = "finish",
     .broken = "comb_mix is stored transposed"},

    // ---- collapse ----
    {.name = "stream_not_collapsed", .op = mhc_pre, .stage = "finish",
     .broken = "the collapse leaves the last stream out"},
    {.name = "weights_of_streams_reversed", .op = mhc_pre_delayed, .stage = "finish",
     .broken = "the collapse takes pre_mix in reverse order",
     .patch = R"patch([{"op": "add", "path": "/limits/-", "value": {"require": "entry == carried", "message": "no entry"}}])patch"},
    {.name = "collapse_with_this_pre_mix", .op = mhc_pre_delayed, .stage = "finish",
     .broken = "the collapse takes this sublayer's pre_mix, not the one before's"},
    {.name = "entry_collapsed_like_carried", .op = mhc_pre_delayed, .stage = "finish",
     .broken = "at model entry the streams are collapsed where the first is the layer's input"},
    {.name = "truncated_to_bf16", .op = mhc_pre, .stage = "finish",
     .broken = "layer_input is cut to bf16, not rounded", .report = "AITER #2586"},
    {.name = "rounded_through_fp16", .op = mhc_pre, .stage = "finish",
     .broken = "layer_input is rounded to fp16 before bf16"},
    {.name = "last_row_unwritten", .op = mhc_pre, .stage = "finish",
     .broken = "the last token's outputs are not written", .report = "vLLM #41972", .caught_by = Check::memory},
    {.name = "one_element_past_the_row", .op = mhc_pre, .stage = "finish",
     .broken = "an odd row is written one element too far, into the next and past the tensor",
     .report = "AITER #5044", .caught_by = Check::fault},

    // ---- rmsnorm ----
    {.name = "sqrt2_norm", .op = mhc_pre, .stage = "finish",
     .broken = "a sum of squares over 64 threads that are two half waves: half of it is lost, the norm is sqrt(2) high",
     .report = "vLLM #56342", .caught_by = Check::bias,
     .patch = R"patch([{"op": "replace", "path": "/launches/1/block", "value": [96]}])patch"},
    {.name = "norm_eps_left_out", .op = mhc_pre, .stage = "finish",
     .broken = "no norm_eps", .report = "TileOPs #715"},
    {.name = "norm_eps_outside_the_root", .op = mhc_pre, .stage = "finish",
     .broken = "norm_eps is added to the root"},
    {.name = "norm_eps_as_a_floor", .op = mhc_pre, .stage = "finish",
     .broken = "norm_eps is the least mean square in place of a summand"},
    {.name = "norm_mean_over_all_streams", .op = mhc_pre, .stage = "finish",
     .broken = "the norm's mean divides by n*H"},
    {.name = "norm_divides_by_one_less", .op = mhc_pre, .stage = "finish",
     .broken = "the norm's mean divides by H - 1"},
    {.name = "norm_half_wave_reduced", .op = mhc_pre, .stage = "finish",
     .broken = "the norm sums over 32 lanes on a wave of 64", .report = "TileLang #2099"},
    {.name = "norm_of_the_unrounded_collapse", .op = mhc_pre, .stage = "finish",
     .broken = "the norm reads fp32 where it promises the stored collapse", .report = "AITER #2586"},
    {.name = "norm_squares_before_rounding", .op = mhc_pre, .stage = "finish",
     .broken = "the norm's squares come from fp32 where it promises the stored collapse", .report = "AITER #3651"},
    {.name = "norm_weight_offset_by_one", .op = mhc_pre, .stage = "finish",
     .broken = "norm_weight is read one element off"},
    {.name = "norm_weight_in_the_streams_format", .op = mhc_pre, .stage = "finish",
     .broken = "norm_weight is read in the format of the residual"},
    {.name = "norm_weight_plus_one", .op = mhc_pre, .stage = "finish",
     .broken = "norm_weight is taken as an offset from 1, as other models store it"},

    // ---- mhc_post ----
    {.name = "comb_used_untransposed", .op = mhc_post, .stage = "post",
     .broken = "comb_mix is used untransposed", .report = "no sum of rows or columns shows it"},
    {.name = "residual_stream_dropped", .op = mhc_post, .stage = "post",
     .broken = "the last residual stream is left out"},
    {.name = "post_mix_of_one_stream", .op = mhc_post, .stage = "post",
     .broken = "every stream gets post_mix of the first"},
    {.name = "comb_rounded_to_bf16", .op = mhc_post, .stage = "post",
     .broken = "comb_mix is rounded to bf16"},
    {.name = "x_of_the_token_before", .op = mhc_post, .stage = "post",
     .broken = "the sublayer's output of the token before"},
    {.name = "residual_updated_in_place", .op = mhc_post, .stage = "post",
     .broken = "the result is stored over the residual as well", .report = "SGLang #28005",
     .caught_by = Check::memory},
    {.name = "lane_left_out", .op = mhc_post, .stage = "post",
     .broken = "one lane in 128 does not store", .caught_by = Check::memory},
    {.name = "byte_offset_wraps", .op = mhc_post, .stage = "post",
     .broken = "a distance in bytes has too few bits and wraps, as token*stride in int32 does",
     .report = "b12x #120",
     .own_case = "mhc_post:bf16:t1024:n4:h2304:seed=1",
     .why_own_case = "16 MiB of residual; a case of the merge profile behind hundreds of smaller ones"},
    {.name = "streams_in_grid_y", .op = mhc_post, .stage = "post",
     .broken = "tokens times streams in grid.y, which ends at 65535", .report = "vLLM #45099",
     .caught_by = Check::fault,
     .patch = R"patch([{"op": "replace", "path": "/launches/0/grid", "value": ["1", "num_tokens * hc_mult"]}])patch",
     .own_case = "mhc_post:bf16:t16384:n4:h16:seed=1",
     .why_own_case = "more tokens than a profile has; hidden_size is small to make up for it"},

    // ---- the host's faults ----
    {.name = "empty_batch_launched", .op = mhc_pre, .stage = "",
     .broken = "no tokens, and a grid of 0 is launched", .report = "SGLang #38952", .caught_by = Check::fault,
     .patch = R"patch([{"op": "remove", "path": "/launches/0/when"}])patch"},
    {.name = "hidden_size_of_another_model", .op = mhc_pre, .stage = "",
     .broken = "beyond 4096 the kernel for 4096 runs", .report = "TensorRT-LLM #13710",
     .caught_by = Check::memory,
     .patch = R"patch([{"op": "replace", "path": "/launches/1/args/12", "value": {"i32": "min(hidden_size, 4096)"}}])patch"},
    {.name = "norm_forgotten", .op = mhc_pre, .stage = "",
     .broken = "a fallback runs without the fused norm", .report = "ATOM #1102",
     .patch = R"patch([{"op": "replace", "path": "/launches/1/args/6", "value": {"i64": "0"}}])patch"},
    {.name = "norm_eps_is_hc_pre_eps", .op = mhc_pre, .stage = "",
     .broken = "hc_pre_eps is passed as norm_eps", .report = "vmlx-swift #381",
     .patch = R"patch([{"op": "replace", "path": "/launches/1/args/22", "value": {"f32": "hc_pre_eps"}}])patch"},
    {.name = "fp16_read_as_bf16", .op = mhc_pre, .stage = "",
     .broken = "fp16 streams are launched as bf16",
     .patch = R"patch([{"op": "replace", "path": "/launches/0/args/6", "value": {"i32": "0"}},
                  {"op": "replace", "path": "/launches/1/args/16", "value": {"i32": "0"}}])patch"},
    {.name = "outputs_in_the_other_order", .op = mhc_pre_delayed, .stage = "",
     .broken = "post_mix and next pre_mix are returned in each other's place", .report = "AITER #1522",
     .patch = R"patch([{"op": "replace", "path": "/launches/2/args/7", "value": "out.next_pre_mix"},
                  {"op": "replace", "path": "/launches/2/args/10", "value": "out.post_mix"}])patch"},
    {.name = "old_residual_projected", .op = mhc_fused_post_pre, .stage = "",
     .broken = "the projection reads the residual from before mhc_post",
     .patch = R"patch([{"op": "replace", "path": "/launches/1/args/0", "value": "in.residual"}])patch"},
    {.name = "old_residual_collapsed", .op = mhc_fused_post_pre, .stage = "",
     .broken = "the collapse reads the residual from before mhc_post",
     .patch = R"patch([{"op": "replace", "path": "/launches/2/args/2", "value": "in.residual"}])patch"},
    {.name = "unrounded_residual_projected", .op = mhc_fused_post_pre, .stage = "",
     .broken = "the projection reads fp32 where it promises the stored next_residual", .report = "AITER #3651",
     .patch = R"patch([{"op": "add", "path": "/workspace/-",
                   "value": {"name": "next", "dtype": "fp32", "shape": ["num_tokens", "hc_hidden_size"]}},
                  {"op": "replace", "path": "/launches/1/args/0", "value": "ws.next"},
                  {"op": "replace", "path": "/launches/1/args/6", "value": {"i32": "2"}},
                  {"op": "add", "path": "/launches/0",
                   "value": {"kernel": "post_correct", "when": "num_tokens > 0", "grid": ["num_tokens"], "block": [256],
                             "args": ["in.x", "in.residual", "in.post_mix", "in.comb_mix", "ws.next",
                                      {"i32": "hidden_size"}, {"i32": "dtype == fp16"}, {"i32": "2"}]}}])patch"},
    {.name = "splits_chosen_by_the_batch", .op = mhc_pre, .stage = "",
     .broken = "the number of K-splits depends on num_tokens, and with it the order of the sums",
     .report = "SGLang #37292", .caught_by = Check::law, .law = "batch_invariance",
     .patch = R"patch([{"op": "replace", "path": "/let/splits",
                   "value": "ceildiv(hc_hidden_size, 1024 * (1 + (num_tokens > 1)))"}])patch"},
};
// clang-format on

nlohmann::json base_json() {
  std::ifstream file(MHCHECK_MUTANTS_MANIFEST);
  if (!file) throw kernels::ManifestError(fmt::format("{}: cannot be read", MHCHECK_MUTANTS_MANIFEST));
  return nlohmann::json::parse(file);
}

}  // namespace

std::span<const Mutant> zoo() { return kZoo; }

kernels::Manifest base_manifest() { return kernels::load_manifest(MHCHECK_MUTANTS_MANIFEST); }

kernels::Manifest manifest_of(const Mutant& mutant) {
  nlohmann::json manifest = base_json();
  manifest["name"] = mutant.name;
  // The fault is in one operator; the others would be the base.
  nlohmann::json entry = manifest["operators"][std::string(row_of(mutant.op).name)];
  if (!mutant.patch.empty()) entry = entry.patch(nlohmann::json::parse(mutant.patch));
  if (!mutant.stage.empty()) {
    const std::string correct = fmt::format("{}_correct", mutant.stage);
    for (nlohmann::json& launch : entry["launches"]) {
      if (launch["kernel"] == correct) launch["kernel"] = fmt::format("{}_{}", mutant.stage, mutant.name);
    }
  }
  manifest["operators"] = {{std::string(row_of(mutant.op).name), entry}};
  return kernels::parse_manifest(manifest.dump(), MHCHECK_MUTANTS_MANIFEST);
}

}  // namespace mhcheck::mutants
