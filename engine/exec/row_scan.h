#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"

/// Fast passes over one row of logits. The engine thread owns the objects; buffers are reused.
namespace kantha::exec {

/// A token and its logit; better = higher logit, then lower id.
struct Candidate {
  float logit = 0;
  TokenId token = 0;
  bool better_than(const Candidate& other) const {
    return logit != other.logit ? logit > other.logit : token < other.token;
  }
};

/// Maxima of a row and of its blocks of 64: with them argmax, top n and "all above x" look at few
/// blocks, whatever the vocabulary.
class RowScan {
 public:
  static constexpr std::size_t kBlock = 64;

  /// Reads logits [vocabulary] f32, which stay alive and unchanged until the next scan. Says what
  /// is wrong with a row that no distribution can be made of: NaN, +inf, or nothing above -inf.
  std::optional<std::string> scan(std::span<const float> logits);

  float max() const { return max_; }
  /// The best token: highest logit, lowest id of equals.
  TokenId argmax() const;
  /// The n best (fewer when the vocabulary is smaller), in no order, into `kept`.
  void best(std::size_t n, std::vector<Candidate>& kept) const;
  /// Everything with logit ≥ floor and above -inf, by rising id, into `kept`.
  void above(float floor, std::vector<Candidate>& kept) const;

 private:
  std::span<const float> logits_;
  std::vector<float> block_max_;
  mutable std::vector<float> order_;  ///< scratch of best()
  float max_ = 0;
};

/// Softmax numerators of a row, exp((logit - max) / temperature), with their sums.
class RowWeights {
 public:
  /// 1e-5 ≤ temperature; `max` is the row's. The logits stay alive and unchanged until the next
  /// call.
  void compute(std::span<const float> logits, float max, float temperature);
  float of(TokenId token) const { return weights_[static_cast<std::size_t>(token)]; }
  double total() const { return total_; }
  /// A depth d (in temperatures below the best) such that tokens less than d deep weigh at least
  /// `need`, while those less than d - kDepthStep deep weigh less; infinity when all are needed.
  /// Rounding may be off by a token at the edges.
  float depth_of(double need) const;
  static constexpr float kDepthStep = 1.0F / 64;
  /// The token at which the running sum by rising id passes target; 0 ≤ target < total().
  TokenId token_at(double target) const;

 private:
  std::span<const float> logits_;
  float max_ = 0;
  float inverse_ = 1;                     ///< of the temperature
  std::vector<float> weights_;            ///< [vocabulary], 1 at the best token
  std::vector<double> block_sums_;        ///< of RowScan::kBlock weights each
  mutable std::vector<double> by_depth_;  ///< scratch of depth_of()
  double total_ = 0;
};

}  // namespace kantha::exec
