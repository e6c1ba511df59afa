#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/exec/logit_editor.h"
#include "engine/exec/row_scan.h"
#include "engine/sched/generate_spec.h"
#include "engine/sched/sequence.h"

/// From a row of logits to a token.
namespace kantha::exec {

/// What one draw depends on besides its logits.
struct DrawPoint {
  std::uint64_t position = 0;  ///< index of the output token, resumed ones included
  LogitEdits edits = {};
};

/// One row of logits as a forward pass has written it.
struct LogitRow {
  std::span<float> logits;             ///< [vocabulary]; edits overwrite
  std::span<const float> maxima = {};  ///< [logit_blocks] of its blocks; empty: not known
  /// [logit_blocks] block_weight of its blocks at inverse_sum_temperature; empty: not known.
  std::span<const float> sums = {};
};

/// The best token is taken, whatever the seed.
bool is_greedy(const sched::SamplingParams& sampling);
/// The inverse temperature at which a draw wants sums of its row's blocks; 0 when it needs none.
float inverse_sum_temperature(const sched::SamplingParams& sampling);

/// Draws tokens. A pure function of (logits, sampling, point): the random numbers are functions of
/// (seed, position), so neighbours in the batch do not matter and a resumed request goes on with
/// the numbers that it would have had. Whether maxima and sums are given makes no difference to the
/// bits. One thread at a time; buffers are reused.
///
/// Where a row has maxima and sums, a draw reads a few of its blocks: greedy the one of the best
/// token; under top_k, or min_p alone, those that can hold what is kept; else the one that the
/// random number falls into. top_p redraws what it would have cut: a token stays when those that
/// are better weigh less than top_p, which is looked up in the blocks whose maximum is above it,
/// and gives what is left its exact distribution, as rejection does. When a few draws in a row are
/// cut, what is kept is put together and drawn from. Log-probabilities read the whole row when the
/// draw needs sums at another temperature than 1.
///
/// Order, over the distribution as it stands after the step before (as Hugging Face has it, and
/// llama.cpp but for its late temperature):
///   1. edits (logit_editor.h): what may not come, biases, penalties;
///   2. temperature: below 1e-5 the best token is taken (lowest id of equals) and that is all;
///   3. top_k: the k best;
///   4. top_p: the fewest best whose probability reaches top_p, at least one;
///   5. min_p: those with at least min_p times the best one's probability;
///   6. typical_p: the fewest whose probability reaches it, those first whose surprise
///      -log(p) is next to the entropy of what is left (arXiv 2202.00666).
/// Log-probabilities are those of the raw logits, before all this: logit - log(sum exp), summed in
/// double. NaN, +inf or no possible token give SampledToken::error, with `forbidden` when the model
/// would have had one.
class Sampler {
 public:
  sched::SampledToken sample(const LogitRow& row, const sched::SamplingParams& sampling,
                             const DrawPoint& point);

  /// Scores one token of a prompt: writes entry `place` of `scores`. A row that no distribution can
  /// be made of leaves NaN there. Sums, where they are given, are at temperature 1.
  void score(const LogitRow& row, TokenId token, sched::PromptScores& scores, std::size_t place);

 private:
  void take_logprobs(std::span<const float> sums, std::size_t count);
  TokenId draw(const LogitRow& row, const sched::SamplingParams& sampling, std::uint64_t position);
  bool keeps(TokenId token, const sched::SamplingParams& sampling) const;
  TokenId draw_from_kept(const sched::SamplingParams& sampling, double unit);
  void keep_above(float floor);
  void keep_top_p_of_all(const sched::SamplingParams& sampling);
  void keep_top_p(double need, std::size_t begin);
  void keep_typical(double typical_p);
  bool cuts_to_top_k(const sched::SamplingParams& sampling) const;
  TokenId draw_kept(double unit) const;
  double mass(std::size_t begin, std::size_t end) const;

  LogitEditor editor_;
  std::vector<float> raw_;  ///< logits before they were edited, where both are wanted
  RowScan scan_;
  RowWeights weights_;
  std::vector<Candidate> kept_;
  double log_sum_ = 0;
  std::vector<sched::TokenLogprob> top_;
};

}  // namespace kantha::exec
