#include "engine/sched/shared_heads.h"

#include <algorithm>

#include "base/check.h"
#include "engine/sched/sequence.h"

namespace kantha::sched {

std::uint64_t SharedHeads::key_of(const Sequence& sequence) const {
  std::uint64_t hash = 0x9e3779b97f4a7c15U ^ sequence.spec.salt;
  for (std::int32_t i = 0; i < block_size_; ++i) {
    hash ^= static_cast<std::uint32_t>(sequence.tokens[static_cast<std::size_t>(i)]);
    hash *= 0x00000100000001b3U;
    hash ^= hash >> 29;
  }
  return hash;
}

void SharedHeads::insert(Sequence& sequence) {
  if (sequence.wanted() < block_size_) return;
  prefills_.emplace(key_of(sequence), &sequence);
  sequence.leads = true;
}

void SharedHeads::erase(Sequence& sequence) {
  if (!sequence.leads) return;
  sequence.leads = false;
  const auto [first, last] = prefills_.equal_range(key_of(sequence));
  const auto found =
      std::find_if(first, last, [&](const auto& entry) { return entry.second == &sequence; });
  CHECK(found != last, "a leader is remembered");
  prefills_.erase(found);
}

std::int32_t SharedHeads::equal_tokens(const Sequence& a, const Sequence& b) const {
  const auto end = std::ranges::mismatch(a.tokens, b.tokens).in1;
  const auto equal = static_cast<std::int32_t>(end - a.tokens.begin());
  return equal / block_size_ * block_size_;
}

std::optional<SharedHead> SharedHeads::find(const Sequence& sequence, std::int32_t known) const {
  if (prefills_.empty() || sequence.wanted() < block_size_) return {};
  SharedHead best{.tokens = known + block_size_ - 1};
  int compared = 0;
  const auto [first, last] = prefills_.equal_range(key_of(sequence));
  for (auto entry = first; entry != last && compared < kCompared; ++entry, ++compared) {
    Sequence& leader = *entry->second;
    if (leader.spec.salt != sequence.spec.salt || leader.spec.priority > sequence.spec.priority) {
      continue;
    }
    const std::int32_t equal = equal_tokens(sequence, leader);
    if (equal > best.tokens && equal > leader.computed) best = {&leader, equal};
  }
  if (best.leader == nullptr) return {};
  const std::int32_t gain = best.tokens - known;
  if (gain < kWorthTokens && 2 * gain < sequence.wanted() - known) return {};
  return best;
}

}  // namespace kantha::sched
