#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// The passes that touch every logit of a block, with the widest vectors that the
/// machine has. The bits do not depend on the width: lanes are combined in one fixed order, and
/// where a multiplication is fused with an addition it is so everywhere.
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
  float max = 0;      ///< of the row, or of a block
  float inverse = 1;  ///< 1 / temperature
};

/// exp((logit - max) / temperature) within 2 ulp for logit ≤ max; 0 below exp(-87).
float weight_of(float logit, WeightScale scale);
/// Sum of the weights of some logits, in floats of fixed order: meant for a block. `weights`
/// [logits.size()] takes them, or is empty.
float weigh_block(std::span<const float> logits, WeightScale scale, std::span<float> weights = {});
/// As weigh_block, of those logits only that are above a floor.
float weigh_above(std::span<const float> logits, WeightScale scale, float floor);
/// How many of some logits are above a floor.
std::size_t count_above(std::span<const float> logits, float floor);
/// Sum of a block's weights, measured from its own maximum (as block_maximum gives it), so that it
/// can be taken before the row's is known: between 1 and the block's size, and 0 for a block that
/// holds no token that can be drawn.
float block_weight(std::span<const float> logits, float maximum, float inverse_temperature);

}  // namespace kantha::exec
