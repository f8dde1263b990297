// Every kernel of the zoo, the correct base first, in one code object. zoo.cpp has the rows.
#include "kernels/mutants/base/collapse.h"
#include "kernels/mutants/base/expand.h"
#include "kernels/mutants/base/finish.h"
#include "kernels/mutants/base/head.h"
#include "kernels/mutants/base/norm.h"
#include "kernels/mutants/base/post.h"
#include "kernels/mutants/base/sinkhorn.h"
#include "kernels/mutants/base/sums.h"
#include "kernels/mutants/broken/collapse.h"
#include "kernels/mutants/broken/comb.h"
#include "kernels/mutants/broken/expand.h"
#include "kernels/mutants/broken/head.h"
#include "kernels/mutants/broken/layer_input.h"
#include "kernels/mutants/broken/mixes.h"
#include "kernels/mutants/broken/next_residual.h"
#include "kernels/mutants/broken/norm.h"
#include "kernels/mutants/broken/projection.h"
#include "kernels/mutants/broken/races.h"
#include "kernels/mutants/broken/rmsnorm.h"
#include "kernels/mutants/broken/sinkhorn.h"
#include "kernels/mutants/broken/sqrt2_norm.h"
#include "kernels/mutants/broken/waits.h"

MHC_SUMS_KERNEL(correct, mutants::sums<mutants::CorrectSums>)
MHC_FINISH_KERNEL(correct, mutants::finish<mutants::CorrectFinish>)
MHC_POST_KERNEL(correct, mutants::post<mutants::CorrectPost>)
MHC_HEAD_KERNEL(correct, CorrectHead)
MHC_COLLAPSE_KERNEL(correct, CorrectCollapse)
MHC_EXPAND_KERNEL(correct, CorrectExpand)
MHC_SINKHORN_KERNEL(correct, CorrectSinkhorn)
MHC_NORM_KERNEL(correct, CorrectNorm)

// broken/projection.h
MHC_SUMS(projection_zero)
MHC_SUMS(fn_rounded_to_bf16)
MHC_SUMS(fn_cut_to_tf32)
MHC_SUMS(last_tile_dropped)
MHC_SUMS(ragged_tail_dropped)
MHC_SUMS(ragged_tail_overread)
MHC_SUMS(row_end_overread)
MHC_SUMS(split_remainder_dropped)
MHC_SUMS(stream_not_projected)
MHC_SUMS(streams_swapped_in_fn)
MHC_SUMS(sqrsum_of_one_stream)
MHC_SUMS(squares_rounded_to_bf16)
MHC_SUMS(fn_offset_by_one)
MHC_SUMS(fn_read_past_its_end)
MHC_SUMS(fn_read_column_major)
MHC_SUMS(half_wave_reduced)
MHC_SUMS(tree_of_three_waves)
MHC_SUMS(sums_added_to_garbage)
MHC_SUMS_KERNEL(accumulators_round_down, mutants::accumulators_round_down)

// broken/races.h
MHC_SUMS(missing_barrier)
MHC_SUMS(missing_barrier_last_wave_adds)
MHC_SUMS(sqrsum_stored_by_every_wave)
MHC_SUMS(tile_refilled_too_early)
MHC_SUMS(waves_added_by_atomics)
MHC_SUMS(splits_added_by_atomics)

// broken/waits.h
MHC_SUMS(element_used_before_its_wait)
MHC_SUMS(wait_count_one_too_high)
MHC_SUMS(lds_read_used_before_its_wait)

// broken/mixes.h
MHC_FINISH(split_lost)
MHC_FINISH(split_counted_twice)
MHC_FINISH(split_read_past_the_end)
MHC_FINISH(splits_and_tokens_confused)
MHC_FINISH(mix_of_the_neighbour_token)
MHC_FINISH(other_tokens_times_zero)
MHC_FINISH(mean_over_hidden_size)
MHC_FINISH(mean_over_all_streams)
MHC_FINISH(mean_over_one_less)
MHC_FINISH(rms_eps_left_out)
MHC_FINISH(rms_eps_outside_the_root)
MHC_FINISH(rms_eps_before_the_division)
MHC_FINISH(inverse_rms_rounded_to_bf16)
MHC_FINISH(scale_of_the_wrong_group)
MHC_FINISH(base_of_the_wrong_group)
MHC_FINISH(base_offset_by_one)
MHC_FINISH(hc_pre_eps_left_out)
MHC_FINISH(hc_pre_eps_inside_the_gate)
MHC_FINISH(next_pre_mix_without_eps)
MHC_FINISH(pre_mix_handed_on_unchanged)
MHC_FINISH(post_multiplier_ignored)
MHC_FINISH(post_multiplier_on_the_logit)

// broken/comb.h
MHC_FINISH(sinkhorn_one_pass_short)
MHC_FINISH(sinkhorn_always_twenty_passes)
MHC_FINISH(sinkhorn_rows_first)
MHC_FINISH(softmax_along_the_wrong_axis)
MHC_FINISH(sinkhorn_ends_with_rows)
MHC_FINISH(hc_sinkhorn_eps_left_out)
MHC_FINISH(hc_sinkhorn_eps_not_in_softmax)
MHC_FINISH(hc_sinkhorn_eps_not_in_the_sums)
MHC_FINISH(comb_stored_transposed)

// broken/layer_input.h
MHC_FINISH(stream_not_collapsed)
MHC_FINISH(weights_of_streams_reversed)
MHC_FINISH(collapse_with_this_pre_mix)
MHC_FINISH(entry_collapsed_like_carried)
MHC_FINISH(truncated_to_bf16)
MHC_FINISH(rounded_through_fp16)
MHC_FINISH(last_row_unwritten)
MHC_FINISH(one_element_past_the_row)

// broken/norm.h
MHC_FINISH(norm_eps_left_out)
MHC_FINISH(norm_eps_outside_the_root)
MHC_FINISH(norm_eps_as_a_floor)
MHC_FINISH(norm_mean_over_all_streams)
MHC_FINISH(norm_divides_by_one_less)
MHC_FINISH(norm_half_wave_reduced)
MHC_FINISH(norm_of_the_unrounded_collapse)
MHC_FINISH(norm_squares_before_rounding)
MHC_FINISH(norm_weight_offset_by_one)
MHC_FINISH(norm_weight_in_the_streams_format)
MHC_FINISH(norm_weight_plus_one)

// broken/next_residual.h
MHC_POST(comb_used_untransposed)
MHC_POST(residual_stream_dropped)
MHC_POST(post_mix_of_one_stream)
MHC_POST(comb_rounded_to_bf16)
MHC_POST(x_of_the_token_before)
MHC_POST(residual_updated_in_place)
MHC_POST(byte_offset_wraps)
MHC_POST(lane_left_out)

// broken/sqrt2_norm.h
MHC_FINISH_KERNEL(sqrt2_norm, mutants::sqrt2_norm)
// broken/next_residual.h
MHC_POST_KERNEL(streams_in_grid_y, mutants::streams_in_grid_y)

// broken/head.h
MHC_HEAD(head_scale_of_each_stream)
MHC_HEAD(head_eps_left_out)
MHC_HEAD(head_gate_doubled)
MHC_HEAD(head_mean_over_hidden_size)
MHC_HEAD(head_gates_read_before_the_barrier)
MHC_HEAD(head_stores_whole_vectors_only)

// broken/collapse.h
MHC_COLLAPSE(stream_stride_from_token_stride)
MHC_COLLAPSE(token_offset_wraps_at_2_gib)
MHC_COLLAPSE(pre_mix_read_stream_major)
MHC_COLLAPSE(pre_mix_rounded_to_bf16)
MHC_COLLAPSE(collapse_rounded_at_every_stream)

// broken/expand.h
MHC_EXPAND(repeated_as_a_whole)
MHC_EXPAND(streams_behind_each_element)
MHC_EXPAND(expanded_through_fp16)
MHC_EXPAND(only_the_first_stream_expanded)

// broken/sinkhorn.h
MHC_SINKHORN(matrices_one_row_apart)
MHC_SINKHORN(sinkhorn_stops_when_rows_agree)
MHC_SINKHORN(hc_sinkhorn_eps_in_the_sum_of_exponentials)
MHC_SINKHORN(sinkhorn_of_logarithms)
MHC_SINKHORN(sinkhorn_of_whole_groups_only)
MHC_SINKHORN(sinkhorn_of_phantom_tokens)

// broken/rmsnorm.h
MHC_NORM(second_pass_ignores_row_stride)
MHC_NORM(rmsnorm_rounded_before_the_weight)
MHC_NORM(rmsnorm_mean_over_a_power_of_two)
MHC_NORM(norm_eps_built_in)
