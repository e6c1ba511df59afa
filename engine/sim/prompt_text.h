#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/rng.h"
#include "engine/sim/workload.h"

/// Tokens that mean nothing but are the same where prompts share a prefix and differ elsewhere.
namespace kantha::sim {

/// Ends every answer, and is nowhere else.
inline constexpr TokenId kEndToken = 0;

/// The token of request `index` at `position` of prompt and output together.
inline TokenId token_at(std::uint64_t seed, const Arrival& arrival, std::int32_t index,
                        std::int32_t position) {
  const bool shared = position < arrival.prefix_tokens;
  const auto text = static_cast<std::uint64_t>(shared ? arrival.prefix : index);
  const std::uint64_t key = random_bits(seed, 2 * text + (shared ? 1 : 0));
  const auto bits = random_bits(key, static_cast<std::uint64_t>(position));
  return static_cast<TokenId>(bits >> 33) | 1;
}

}  // namespace kantha::sim
