#include "engine/grammar/mask_table.h"

#include <algorithm>

namespace kantha::grammar {

MaskTable::~MaskTable() {
  for (std::size_t i = 0; i < count_; ++i) delete slots_[i].load(std::memory_order_relaxed);
}

void MaskTable::resize(std::size_t states, std::size_t words) {
  constexpr std::size_t kBytesMin = 8u << 20;
  bytes_max_ = std::max(kBytesMin, kMasksMax * words * sizeof(std::uint64_t));
  slots_ = std::make_unique<std::atomic<const LocalMask*>[]>(states);
  count_ = states;
}

const LocalMask* MaskTable::keep(std::size_t state, std::unique_ptr<const LocalMask> mask) {
  const std::size_t size = mask->memory_bytes();
  if (bytes_.load(std::memory_order_relaxed) + size > bytes_max_) return nullptr;
  const LocalMask* kept = nullptr;
  if (slots_[state].compare_exchange_strong(kept, mask.get(), std::memory_order_acq_rel)) {
    bytes_.fetch_add(size, std::memory_order_relaxed);
    return mask.release();
  }
  return kept;
}

}  // namespace kantha::grammar
