#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// The passes that touch every logit of a block, with the widest vectors that the
/// machine has. The bits do not depend on the width: lanes are combined in one fixed order and no
/// multiplication is fused with an addition.
namespace kantha::exec {

/// Logits per block; a row's last block may be shorter.
inline constexpr std::size_t kLogitBlock = 256;
constexpr std::size_t logit_blocks(std::size_t vocabulary) {
  return (vocabulary + kLogitBlock - 1) / kLogitBlock;
}

/// The largest of some logits, or of blocks' maxima; NaN when one of them is NaN or +inf, because
/// no distribution can be made of such a row.
float block_maximum(std::span<const float> logits);
/// Index of the first that equals `value`; size() when none does.
std::size_t first_equal(std::span<const float> logits, float value);

/// Where a weight is measured from.
struct WeightScale {
  float max = 0;      ///< of the row
  float inverse = 1;  ///< 1 / temperature
};

/// exp((logit - max) / temperature) within 2 ulp for logit ≤ max; 0 below exp(-87).
float weight_of(float logit, WeightScale scale);
/// Sum of the weights of up to kLogitBlock logits; `weights` [logits.size()] takes them, or is
/// empty.
double weigh_block(std::span<const float> logits, WeightScale scale, std::span<float> weights = {});

}  // namespace kantha::exec
