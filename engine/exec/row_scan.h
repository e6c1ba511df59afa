#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "engine/exec/row_kernels.h"

/// Fast looks at one row of logits. The engine thread owns the objects; buffers are reused.
namespace kantha::exec {

/// A token and its logit; better = higher logit, then lower id.
struct Candidate {
  float logit = 0;
  TokenId token = 0;
  float weight = 0;  ///< set by RowWeights::weigh
  bool better_than(const Candidate& other) const {
    return logit != other.logit ? logit > other.logit : token < other.token;
  }
};

/// A row and the maxima of its blocks: with them argmax, top n and "all above x" look at few
/// blocks, whatever the vocabulary. The logits stay alive and unchanged until the next scan, but
/// for what `mask` changes.
class RowScan {
 public:
  /// Takes logits [vocabulary] f32 with the maxima [logit_blocks] of their blocks as block_maximum
  /// gives them; empty maxima are computed here. Says what is wrong with a row that no distribution
  /// can be made of: NaN, +inf, or nothing above -inf.
  std::optional<std::string> scan(std::span<const float> logits,
                                  std::span<const float> maxima = {});
  /// Sets tokens of the scanned row to -inf; `logits` is that row. Says what is wrong afterwards.
  std::optional<std::string> mask(std::span<float> logits, std::span<const TokenId> tokens);

  float max() const { return max_; }
  /// The best token: highest logit, lowest id of equals.
  TokenId argmax() const;
  /// The n best (fewer when the vocabulary is smaller), in no order, into `kept`.
  void best(std::size_t n, std::vector<Candidate>& kept) const;
  /// Everything with logit ≥ floor and above -inf, by rising id, into `kept`.
  void above(float floor, std::vector<Candidate>& kept) const;

 private:
  std::optional<std::string> judge();

  std::span<const float> logits_;
  std::vector<float> block_max_;
  mutable std::vector<float> order_;  ///< scratch of best()
  float max_ = 0;
};

/// Softmax numerators of a row, exp((logit - max) / temperature), computed where they are asked
/// for: only sums over all tokens touch the whole row.
class RowWeights {
 public:
  /// 1e-5 ≤ temperature; `max` is the row's. The logits stay alive and unchanged until the next
  /// call.
  void set(std::span<const float> logits, float max, float temperature);
  float of(TokenId token) const {
    return weight_of(logits_[static_cast<std::size_t>(token)], scale_);
  }
  /// Sets the weights of some tokens of the row.
  void weigh(std::span<Candidate> kept) const;
  /// Adds up all weights, block by block.
  double add_up();
  /// As add_up has found.
  double total() const { return total_; }
  /// A depth d (in temperatures below the best) such that tokens less than d deep weigh at least
  /// `need`, while those less than d - kDepthStep deep weigh less; infinity when all are needed.
  /// Rounding may be off by a token at the edges.
  float depth_of(double need) const;
  static constexpr float kDepthStep = 1.0F / 64;
  /// After add_up: the token at which the running sum by rising id passes target;
  /// 0 ≤ target < total().
  TokenId token_at(double target) const;

 private:
  std::span<const float> block(std::size_t index) const;

  std::span<const float> logits_;
  WeightScale scale_;
  std::vector<double> block_sums_;        ///< of kLogitBlock weights each
  mutable std::vector<double> by_depth_;  ///< scratch of depth_of()
  double total_ = 0;
};

}  // namespace kantha::exec
