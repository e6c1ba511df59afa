#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
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
/// for what is told to `look_again`.
class RowScan {
 public:
  /// Takes logits [vocabulary] f32 with the maxima [logit_blocks] of their blocks as block_maximum
  /// gives them; empty maxima are computed here. Says what is wrong with a row that no distribution
  /// can be made of: NaN, +inf, or nothing above -inf.
  std::optional<std::string> scan(std::span<const float> logits,
                                  std::span<const float> maxima = {});
  /// Logits of the scanned row have changed in these blocks. Says what is wrong afterwards.
  std::optional<std::string> look_again(std::span<const std::size_t> blocks);

  std::span<const float> logits() const { return logits_; }
  /// Of the blocks, as they are after `look_again`.
  std::span<const float> maxima() const { return block_max_; }
  /// Those that `look_again` was told of, in no order.
  std::span<const std::size_t> changed_blocks() const { return changed_blocks_; }
  float max() const { return max_; }
  /// The best token: highest logit, lowest id of equals.
  TokenId argmax() const;
  /// The n best (fewer when the vocabulary is smaller), in no order, into `kept`.
  void best(std::size_t n, std::vector<Candidate>& kept) const;
  /// How many tokens have a higher logit.
  std::size_t count_above(float logit) const;
  /// Everything with logit ≥ floor and above -inf, by rising id, into `kept`.
  void above(float floor, std::vector<Candidate>& kept) const;

 private:
  std::optional<std::string> judge();

  std::span<const float> logits_;
  std::vector<float> block_max_;
  std::vector<std::size_t> changed_blocks_;
  mutable std::vector<float> order_;  ///< scratch of best()
  float max_ = 0;
};

/// Calls visit(logits, floor) for each block of a scanned row that may hold tokens better than one:
/// those of these logits that are above the floor. Ends when it returns false.
template <class Visit>
void for_each_better(const RowScan& scan, TokenId token, Visit visit) {
  const std::span<const float> logits = scan.logits();
  const std::span<const float> maxima = scan.maxima();
  const auto place = static_cast<std::size_t>(token);
  const float logit = logits[place];
  // Equals with a lower id are better, those with a higher one are not.
  const float below = std::nextafter(logit, -std::numeric_limits<float>::infinity());
  for (std::size_t i = 0; i < maxima.size(); ++i) {
    if (maxima[i] < logit) continue;
    const std::size_t start = i * kLogitBlock;
    const std::size_t end = std::min(start + kLogitBlock, logits.size());
    const std::size_t middle = std::clamp(place, start, end);
    if (middle > start && !visit(logits.subspan(start, middle - start), below)) return;
    if (middle < end && !visit(logits.subspan(middle, end - middle), logit)) return;
  }
}

/// Softmax numerators of a scanned row, exp((logit - max) / temperature), computed where they are
/// asked for, and the sums of its blocks, which a forward pass may have taken.
class RowWeights {
 public:
  /// 1e-5 ≤ temperature. The scanned row stays alive and unchanged until the next call.
  void set(const RowScan& scan, float temperature);
  float of(TokenId token) const {
    return weight_of(scan_->logits()[static_cast<std::size_t>(token)], scale_);
  }
  /// Sets the weights of some tokens of the row.
  void weigh(std::span<Candidate> kept) const;
  /// Adds up all weights, block by block. `sums` [logit_blocks] are block_weight of the blocks at
  /// this temperature, before any change; without them the whole row is read.
  double add_up(std::span<const float> sums = {});
  /// As add_up has found.
  double total() const { return total_; }
  /// Weight of all tokens that are better than one, each block's in floats; adds no further than
  /// to `limit`.
  double better_than(TokenId token, double limit) const;
  /// A depth d (in temperatures below the best) such that tokens less than d deep weigh at least
  /// `need`, while those less than d - kDepthStep deep weigh less; infinity when all are needed.
  /// Rounding may be off by a token at the edges.
  float depth_of(double need) const;
  static constexpr float kDepthStep = 1.0F / 64;
  /// After add_up: the token at which the running sum by rising id passes target;
  /// 0 ≤ target < total().
  TokenId token_at(double target) const;

 private:
  TokenId token_in(std::size_t block, double target) const;

  const RowScan* scan_ = nullptr;
  WeightScale scale_;
  std::vector<float> block_scales_;       ///< weights of the blocks' best tokens
  std::vector<double> masses_;            ///< of the blocks
  mutable std::vector<double> by_depth_;  ///< scratch of depth_of()
  double total_ = 0;
};

}  // namespace kantha::exec
