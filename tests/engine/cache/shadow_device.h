#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/cache/sequence_blocks.h"

/// What a device would have in its KV blocks.
namespace kantha::cache {

/// Each slot keeps a number that stands for the key and value of a token: of its group, its salt
/// and all tokens up to it. A sequence's tokens are written and read through its blocks, as a model
/// does, and what is read is compared with what the tokens ask for.
class ShadowDevice {
 public:
  explicit ShadowDevice(KvCacheOptions options);

  void copy(const BlockCopy& copy);
  /// Writes tokens [first, end) of `tokens` in every group.
  void write(const SequenceBlocks& blocks, std::span<const TokenId> tokens, std::uint64_t salt,
             std::int32_t first, std::int32_t end);
  /// Reads what tokens [first, end) attend to. False when a row is missing or holds something else.
  bool reads_right(const SequenceBlocks& blocks, std::span<const TokenId> tokens,
                   std::uint64_t salt, std::int32_t first, std::int32_t end) const;

 private:
  std::vector<std::uint64_t> values(std::span<const TokenId> tokens, std::uint64_t salt,
                                    std::int32_t group) const;

  KvCacheOptions options_;
  std::vector<std::uint64_t> slots_;  ///< [block_count, block_size]
};

}  // namespace kantha::cache
