#include "engine/sched/token_counts.h"

#include <algorithm>

namespace kantha::sched {

void TokenCounts::follow(std::span<const TokenId> tokens, std::int32_t prompt_count,
                         bool with_prompt) {
  const auto prompt = static_cast<std::size_t>(prompt_count);
  if (!with_prompt) counted_ = std::max(counted_, prompt);
  for (; counted_ < tokens.size(); ++counted_) {
    Entry& entry = entry_of(tokens[counted_]);
    ++(counted_ < prompt ? entry.in_prompt : entry.in_output);
  }
}

/// Where the token is, or would be put.
std::size_t TokenCounts::slot_of(TokenId token) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = (static_cast<std::size_t>(token) * 0x9E3779B97F4A7C15U >> 20) & mask;
  while (slots_[slot] != 0 && entries_[static_cast<std::size_t>(slots_[slot]) - 1].token != token) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

TokenCounts::Entry& TokenCounts::entry_of(TokenId token) {
  if (slots_.size() < 2 * (entries_.size() + 1)) grow();
  std::int32_t& place = slots_[slot_of(token)];
  if (place == 0) {
    entries_.push_back({.token = token});
    place = static_cast<std::int32_t>(entries_.size());
  }
  return entries_[static_cast<std::size_t>(place) - 1];
}

void TokenCounts::grow() {
  constexpr std::size_t kFewest = 64;
  const std::size_t size = std::max(kFewest, 2 * slots_.size());
  slots_.assign(size, 0);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    slots_[slot_of(entries_[i].token)] = static_cast<std::int32_t>(i) + 1;
  }
}

}  // namespace kantha::sched
