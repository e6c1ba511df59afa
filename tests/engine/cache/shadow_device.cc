#include "tests/engine/cache/shadow_device.h"

#include <algorithm>
#include <utility>

#include "base/rng.h"

namespace kantha::cache {

ShadowDevice::ShadowDevice(KvCacheOptions options)
    : options_(std::move(options)),
      slots_(static_cast<std::size_t>(options_.block_count * options_.block_size)) {}

void ShadowDevice::copy(const BlockCopy& copy) {
  const std::int32_t size = options_.block_size;
  CHECK(copy.from != copy.to, "a copy has two ends");
  std::copy_n(slots_.begin() + copy.from * size, size, slots_.begin() + copy.to * size);
}

std::vector<std::uint64_t> ShadowDevice::values(std::span<const TokenId> tokens, std::uint64_t salt,
                                                std::int32_t group) const {
  std::vector<std::uint64_t> values;
  std::uint64_t history = random_bits(salt, static_cast<std::uint64_t>(group));
  for (const TokenId token : tokens) {
    history = random_bits(history, static_cast<std::uint64_t>(token));
    values.push_back(history);
  }
  return values;
}

void ShadowDevice::write(const SequenceBlocks& blocks, std::span<const TokenId> tokens,
                         std::uint64_t salt, std::int32_t first, std::int32_t end) {
  for (std::int32_t group = 0; group < std::ssize(options_.groups); ++group) {
    const std::vector<std::uint64_t> wanted = values(tokens, salt, group);
    for (std::int32_t p = first; p < end; ++p) {
      slots_[static_cast<std::size_t>(blocks.slot(group, p))] = wanted[static_cast<std::size_t>(p)];
    }
  }
}

bool ShadowDevice::reads_right(const SequenceBlocks& blocks, std::span<const TokenId> tokens,
                               std::uint64_t salt, std::int32_t first, std::int32_t end) const {
  for (std::int32_t group = 0; group < std::ssize(options_.groups); ++group) {
    const std::int32_t window = options_.groups[static_cast<std::size_t>(group)].window;
    const std::int32_t seen = window == 0 ? 0 : std::max(0, first - window + 1);
    const std::vector<std::uint64_t> wanted = values(tokens, salt, group);
    for (std::int32_t p = seen; p < end; ++p) {
      if (blocks.block(group, p / options_.block_size) == kNoBlock) return false;
      const std::uint64_t read = slots_[static_cast<std::size_t>(blocks.slot(group, p))];
      if (read != wanted[static_cast<std::size_t>(p)]) return false;
    }
  }
  return true;
}

}  // namespace kantha::cache
